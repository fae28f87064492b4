"""The tokens that handoff scores count: words of ASCII letters and digits, lower-cased.

The rule, Unicode word boundaries included, is the seed's (praisonaiagents 1.7,
``eval/context_eval.py``): a run of word characters is a token only if all of it is ASCII letters or
digits, so ``snake_case`` and ``word漢字`` hold none.
"""

import re
from collections.abc import Iterator

MIN_TOKEN_CHARS = 4
"""Shorter words are no tokens. From the seed."""

TOKEN = re.compile(rf"\b[a-zA-Z0-9]{{{MIN_TOKEN_CHARS},}}\b")
"""A token, to be looked for in lower-cased text. From the seed."""


def iter_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a text, lower-cased, in order, repeats included.

    Lower-casing comes first and matters: it turns U+212A (Kelvin sign) into ``k`` and U+0130 into
    ``i`` and a combining dot, which ends a word.

    Args:
        text: Any text. An empty one has no tokens.

    Yields:
        Strings of 4 or more characters out of ``a-z0-9``. Memory: one lower-cased copy of the text.

    Example:
        >>> list(iter_tokens("The Report, report_2 and the 2024 report"))
        ['report', '2024', 'report']
    """
    return (match.group() for match in TOKEN.finditer(text.lower()))


def distinct_tokens(text: str) -> set[str]:
    """Return the distinct tokens of a text.

    Example:
        >>> sorted(distinct_tokens("Report 2024: the report"))
        ['2024', 'report']
    """
    return set(iter_tokens(text))
