"""What one evaluator of a suite gave, read from whatever result it has."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from tracestream.package import EvalResult

PASSING_SCORE = 7.0
"""The score, 0..10, at which a result without a verdict passes. Source: the reference's judges."""

VERDICTS = ("passed", "is_safe", "all_passed")
"""Where a result's verdict may stand: the first that is a boolean."""
SCORES = ("score", "overall_score", "avg_score", "safety_score")
SCORE_KEYS = ("score", "overall_score", "avg_score", "final_score")
"""Where a result's score may stand: the first that is there. The latter are the keys of a dict.
Source: the reference, ``eval/suite.py``."""
_CONTEXT = ("handoffs", "budgets", "content_loss_detected")
"""What a result of a context evaluation has, whoever's class it is."""
_BOOLEANS = ("bool", "bool_")
"""Names of Python's type and of NumPy's, which is none of Python's."""
_SUITE_NAME = re.compile(r"eval_suite_[0-9]{10,}")


class Runnable(Protocol):
    """What a suite can run."""

    def run(self, *, print_summary: bool) -> Any:
        """Return a result that has a score, a verdict, or both."""


class Outcome(NamedTuple):
    """What one evaluator gave: a result with what was read from it, or an exception."""

    key: str
    result: Any = None
    error: Exception | None = None
    score: float | None = None
    """0..10; None if the result has none."""
    passed: bool | None = None
    """None if nothing was scored."""
    criteria: Mapping[str, float] | None = None
    """Scores of its parts, 0..1."""

    @property
    def words(self) -> str:
        """What the exception says; its class, if it cannot say it."""
        try:
            return str(self.error)
        except Exception:
            return type(self.error).__name__

    @property
    def complaint(self) -> str:
        """Which evaluator went wrong, and how."""
        return f"{self.key} failed: {self.words}"


def key_of(index: int, evaluator: Runnable) -> str:
    """Return the key of an evaluator in its suite."""
    return f"{evaluator.__class__.__name__}_{index}"


def name_of(index: int, evaluator: Runnable) -> str:
    """Return the name that an evaluator was given; its key if it has none, or has made one up.

    A name made up holds a random id, or the time for a suite, and is another one in each run.
    """
    try:
        name = str(getattr(evaluator, "name", None) or "")
        is_made_up = name == f"eval_{getattr(evaluator, 'eval_id', '')}"
    except Exception:  # a foreign evaluator may raise when it is read
        return key_of(index, evaluator)
    if not name or is_made_up or _SUITE_NAME.fullmatch(name):
        return key_of(index, evaluator)
    return name


def run_one(index: int, evaluator: Runnable) -> Outcome:
    """Return what an evaluator gives, or the exception it raises."""
    key = key_of(index, evaluator)
    try:
        result = evaluator.run(print_summary=False)
        # Within the try: a foreign result may raise when it is read.
        score = _score(result)
        return Outcome(key, result, None, score, _passed(result, score), _criteria(result))
    except Exception as error:
        return Outcome(key, error=error)


def case_of(outcome: Outcome, name: str) -> EvalResult:
    """Return an outcome as a case of a report, with a score of 0..1."""
    if outcome.error is not None:
        text = outcome.words or type(outcome.error).__name__
        return EvalResult(name, passed=False, score=0.0, error=text, latency_ms=None)
    if outcome.passed is None:
        return EvalResult(name, False, 0.0, error="Nothing was scored", latency_ms=None)
    return EvalResult(
        name,
        passed=outcome.passed,
        score=float(outcome.passed) if outcome.score is None else outcome.score / 10.0,
        latency_ms=None,
        criteria_scores=dict(outcome.criteria or {}),
    )


def _score(result: Any) -> float | None:
    score = _number(_first(result, SCORE_KEYS if isinstance(result, Mapping) else SCORES))
    is_fraction = getattr(result, "score_scale", None) == "fraction" and hasattr(result, "score")
    return score * 10.0 if is_fraction and score is not None else score


def _number(value: Any) -> float | None:
    try:
        number = float(getattr(value, "value", value))
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _passed(result: Any, score: float | None) -> bool | None:
    for verdict in _fields(result, VERDICTS):
        if type(verdict).__name__ in _BOOLEANS:
            return bool(verdict)
    if _is_of_context(result):
        handoffs, budgets, has_loss = _fields(result, _CONTEXT)
        if not handoffs and not budgets:
            return None
        return not has_loss and all(_first(each, ("within_budget",)) for each in budgets)
    return None if score is None else score >= PASSING_SCORE


def _criteria(result: Any) -> dict[str, float]:
    criteria = {}
    for part in ("handoff", "budget") if _is_of_context(result) else ():
        score = _number(_first(result, (f"{part}_score",)))
        if _first(result, (f"{part}s",)) and score is not None:
            criteria[part] = score / 10.0
    return criteria


def _is_of_context(result: Any) -> bool:
    return len(list(_fields(result, _CONTEXT))) == len(_CONTEXT)


def _first(result: Any, names: Iterable[str]) -> Any:
    return next(_fields(result, names), None)


def _fields(result: Any, names: Iterable[str]) -> Iterator[Any]:
    """Yield those of some fields that an object has, or those of some keys that a mapping has."""
    if isinstance(result, Mapping):
        return (result[name] for name in names if name in result)
    return (getattr(result, name) for name in names if hasattr(result, name))
