"""How the verdicts and scores of graders become the verdict of a test case.

Scores of null take no part; who calls leaves them out. Source: the spec's Aggregation Extension.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

ALL, ANY, MAJORITY, WEIGHTED = "all", "any", "majority", "weighted"

MAJORITY_SHARE = 0.5
"""Share of graders that more than must pass, if no threshold says otherwise. Source: the spec."""


def verdict(
    policy: Mapping[str, Any],
    scores: Sequence[float],
    passed: Sequence[bool],
    weights: Sequence[float],
) -> bool:
    """Return what a policy makes of graders.

    Args:
        policy: `strategy`, and `threshold` where that has one.
        scores: Of the graders with a score; without any, the verdict is False.
        passed: Their verdicts.
        weights: Their weights.

    Example:
        >>> verdict({"strategy": "weighted", "threshold": 0.7}, [1.0, 0.5], [True, False], [1.0, 1.0])
        True
    """
    if policy["strategy"] == WEIGHTED:
        mean = weighted_mean(scores, weights)
        return mean is not None and mean >= policy["threshold"]
    return bool(passed) and vote(policy["strategy"], policy.get("threshold"), passed)


def vote(strategy: str, threshold: float | None, passed: Sequence[bool]) -> bool:
    """Return what a strategy that counts verdicts makes of them: `all`, `any` or `majority`.

    Args:
        strategy: One of the three.
        threshold: Of `majority`, the share that has to pass; None: more than half.
        passed: A verdict for each grader with a score; not empty.

    Example:
        >>> vote("majority", None, [True, False]), vote("majority", 0.5, [True, False])
        (False, True)
    """
    if strategy == ANY:
        return any(passed)
    if strategy == MAJORITY:
        share = sum(passed) / len(passed)
        return share > MAJORITY_SHARE if threshold is None else share >= threshold
    return all(passed)


def weighted_mean(scores: Sequence[float], weights: Sequence[float]) -> float | None:
    """Return the weighted mean of scores, rounded once; None where no weight is over 0.

    Args:
        scores: Of graders with a score.
        weights: A weight for each.

    Example:
        >>> weighted_mean([1.0, 0.0], [3, 1])
        0.75
    """
    total = sum(map(Fraction, weights))
    if not total:
        return None
    pairs = zip(scores, weights, strict=True)
    products = (Fraction(score) * Fraction(weight) for score, weight in pairs)
    return float(sum(products, Fraction()) / total)
