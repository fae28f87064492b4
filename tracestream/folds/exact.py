"""Float sums that do not depend on order: kept exact, rounded once.

A sum is kept as an expansion: its nearest float, then the nearest float of what that leaves, and so on
(`math.fsum` finds each). Equal sums have equal expansions, so sums of parts add to the sum of the whole,
to the bit.
"""

import math
from collections.abc import Iterable

Expansion = tuple[float, ...]
"""Floats, largest first, whose exact sum is the value; () is zero."""


def expand(values: Iterable[float]) -> Expansion:
    """Return the exact sum of finite values.

    Example:
        >>> expand([1e16, 1.0, 1.0, 1.0])
        (1.0000000000000004e+16, -1.0)
    """
    rest, expansion = list(values), []
    while nearest := math.fsum(rest):
        expansion.append(nearest)
        rest.append(-nearest)
    return tuple(expansion)


def rounded(expansion: Expansion) -> float:
    """Return the float nearest to the value."""
    return expansion[0] if expansion else 0.0
