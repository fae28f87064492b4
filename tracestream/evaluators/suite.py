"""Evaluators run together: one score, one verdict, one report.

Arguments, keys, summary, printed words and overall score are those of the reference (praisonaiagents 1.7,
``eval/suite.py``); the result is a whole `EvalReport` besides, which the reference's is not.
"""

import logging
import math
import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from tracestream.errors import ConfigError
from tracestream.evaluators.base import save_result
from tracestream.evaluators.fingerprint import setup_fingerprint
from tracestream.evaluators.outcome import Outcome, Runnable, case_of, name_of, run_one
from tracestream.package import EvalReport
from tracestream.quality import excerpt

logger = logging.getLogger(__name__)

_RULE = "=" * 60

_MAX_THREADS = 32

_HINT = "Hint: give a list of evaluators, objects with run(print_summary=False)."


@dataclass
class EvalSuiteResult(EvalReport):
    """What a suite gave: the report, with a case per evaluator, and the reference's summary.

    Attributes:
        start_time: When the suite started, in seconds since 1970.
        end_time: When it was done.
        evaluator_results: The result of every evaluator that gave one, by ``{ClassName}_{i}``.
        overall_score: Weighted mean of their scores, 0..10; 0.0 if none has a score.
        success: No evaluator raised. Whether all passed is `all_passed`.
        errors: What evaluators raised, in words.
        fingerprint: Which setup was scored: only results of the same one compare.
    """

    start_time: float = 0.0
    end_time: float = 0.0
    evaluator_results: dict[str, Any] = field(default_factory=dict)
    overall_score: float = 0.0
    success: bool = False
    errors: list[str] = field(default_factory=list)
    fingerprint: str = ""

    @property
    def suite_name(self) -> str:
        """Name of the suite, which is the package name of the report."""
        return self.package_name

    @property
    def duration(self) -> float:
        """How long the suite ran, in seconds."""
        return self.end_time - self.start_time

    @property
    def summary(self) -> dict[str, Any]:
        """The result in seven lines, as the reference names and orders them."""
        return {
            "suite_name": self.suite_name,
            "fingerprint": self.fingerprint,
            "duration": self.duration,
            "overall_score": self.overall_score,
            "success": self.success,
            "num_evaluators": len(self.evaluator_results),
            "errors": len(self.errors),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the report, then what the suite adds; results of evaluators as dicts if they can."""
        results = {
            key: result.to_dict() if hasattr(result, "to_dict") else result
            for key, result in self.evaluator_results.items()
        }
        return {
            **super().to_dict(),
            "suite_name": self.suite_name,
            "start_time": self.start_time,
            "end_time": self.end_time,
            "duration": self.duration,
            "evaluator_results": results,
            "overall_score": self.overall_score,
            "success": self.success,
            "errors": self.errors,
            "summary": self.summary,
        }


class EvalSuite:
    """Runs evaluators together and puts what they give on one scale, into one report.

    An evaluator is any object with ``run(print_summary=False)``. What it gives has a score in the
    first of these that is there, whatever it holds:

    - of an object, the attributes score, overall_score, avg_score, safety_score;
    - of a dict, the keys score, overall_score, avg_score, final_score.

    A score is a number, or its text, or has either as its ``value``; what is no finite number is no
    score. It is 0..10. Only the ``score`` of an object whose score_scale is ``"fraction"`` is 0..1
    and counts ten times; score_scale in a dict says nothing. No score is cut to its scale.

    The verdict is the first of passed, is_safe and all_passed that is a boolean; in a dict they are
    keys. Without one, a result with handoffs, budgets and content_loss_detected, such as a
    `ContextEvalResult`, passes if no content was lost and every budget was kept; any other passes
    with 7 of 10.

    The report has a case per evaluator, scored 0..1, with the evaluator's name, or
    ``{ClassName}_{i}`` where it was given none. A verdict without a score scores 1 or 0. An
    evaluator that raises is a failed case with what it raised as the error, and so is a result in
    which nothing was scored. Cases have no latency: with a name, the same results give the same
    documents.

    Args:
        evaluators: What to run, at least one.
        name: Name of the suite; None or empty becomes ``eval_suite_{seconds since 1970}``.
        parallel: Run up to 32 evaluators at once, each in a thread of its own.
        fail_fast: Raise when an evaluator raises; those not yet started are not run, and nobody
            waits for those that run. An evaluator that fails its gates does not count.
        score_weights: Weight of an evaluator in the overall score, by ``{ClassName}_{i}``; else 1.
            Keys of no evaluator say nothing.
        save_results_path: Where to write the result as JSON, atomically; ``{name}`` and
            ``{timestamp}`` in it are filled in and missing folders made.

    Raises:
        ConfigError: There are no evaluators, or one cannot be run; or a weight is no finite number.

    Example:
        >>> from tracestream.evaluators import ContextEvaluator
        >>> ledger = [{"agent_name": "writer", "used_tokens": 125, "budget_tokens": 100}]
        >>> suite = EvalSuite([ContextEvaluator(budget_ledger=ledger, name="tokens")], name="nightly")
        >>> result = suite.run(print_summary=False)
        >>> result.overall_score, result.success, result.all_passed
        (7.5, True, False)
        >>> result.results[0].case_name, result.results[0].criteria_scores
        ('tokens', {'budget': 0.75})
    """

    def __init__(
        self,
        evaluators: Iterable[Runnable],
        name: str | None = None,
        parallel: bool = False,
        fail_fast: bool = False,
        score_weights: dict[str, float] | None = None,
        save_results_path: str | os.PathLike[str] | None = None,
    ) -> None:
        self.evaluators = _checked_evaluators(evaluators)
        self.name = name or f"eval_suite_{int(time.time())}"
        self.parallel = parallel
        self.fail_fast = fail_fast
        self.score_weights = _checked_weights(score_weights or {})
        self.save_results_path = save_results_path

    def run(self, print_summary: bool = True) -> EvalSuiteResult:
        """Return what every evaluator gave; print and keep it if asked to.

        Args:
            print_summary: Print a summary to standard output.

        Raises:
            RuntimeError: An evaluator raised, and fail_fast is set.
            ConfigError: There are no evaluators any more, or one cannot be run.
        """
        _checked_evaluators(self.evaluators)
        start_time = time.time()
        outcomes = self._run_in_threads() if self.parallel else self._run_in_turn()
        cases = [
            case_of(outcome, name)
            for outcome, name in zip(outcomes, self._case_names(), strict=True)
        ]
        n_passed = sum(case.passed for case in cases)
        result = EvalSuiteResult(
            package_name=self.name,
            total_cases=len(cases),
            passed_cases=n_passed,
            failed_cases=len(cases) - n_passed,
            average_score=sum(case.score for case in cases) / len(cases),
            results=cases,
            start_time=start_time,
            end_time=time.time(),
            evaluator_results={each.key: each.result for each in outcomes if each.error is None},
            overall_score=self._overall_score(outcomes),
            success=all(each.error is None for each in outcomes),
            errors=[each.complaint for each in outcomes if each.error is not None],
            fingerprint=setup_fingerprint(self.evaluators),
        )
        if print_summary:
            print(_summary(result, outcomes))
        save_result(
            result, self.save_results_path, name=self.name, timestamp=int(result.start_time)
        )
        return result

    def _run_in_turn(self) -> list[Outcome]:
        return [self._accept(run_one(index, each)) for index, each in enumerate(self.evaluators)]

    def _run_in_threads(self) -> list[Outcome]:
        pool = ThreadPoolExecutor(min(_MAX_THREADS, len(self.evaluators)))
        try:
            runs = [pool.submit(run_one, index, each) for index, each in enumerate(self.evaluators)]
            for run in as_completed(runs):
                self._accept(run.result())
        finally:
            # A thread cannot be stopped: whoever ends the suite early does not wait for it.
            pool.shutdown(wait=False, cancel_futures=True)
        return [run.result() for run in runs]

    def _accept(self, outcome: Outcome) -> Outcome:
        """Return an outcome, unless it is an exception and ends the suite."""
        if outcome.error is not None:
            logger.error("%s", outcome.complaint)
            if self.fail_fast:
                raise RuntimeError(
                    f"EvalSuite stopped due to fail_fast: {outcome.complaint}"
                ) from outcome.error
        return outcome

    def _overall_score(self, outcomes: list[Outcome]) -> float:
        # Added up in turn, as the reference does: sum() rounds otherwise from Python 3.12 on.
        total, total_weight = 0.0, 0.0
        for outcome in outcomes:
            if outcome.score is not None:
                weight = self.score_weights.get(outcome.key, 1.0)
                total += outcome.score * weight
                total_weight += weight
        return total / total_weight if total_weight > 0 else 0.0

    def _case_names(self) -> list[str]:
        """Return a name per evaluator, numbered from the second of one name on."""
        names: dict[str, None] = {}
        for index, evaluator in enumerate(self.evaluators):
            name = base = name_of(index, evaluator)
            number = 1
            while name in names:
                number += 1
                name = f"{base}#{number}"
            names[name] = None
        return list(names)


def _checked_evaluators(evaluators: Any) -> list[Any]:
    found = list(evaluators) if isinstance(evaluators, Iterable) else []
    if not found:
        raise ConfigError(f"At least one evaluator must be provided\n{_HINT}")
    for index, evaluator in enumerate(found):
        if not callable(getattr(evaluator, "run", None)):
            kind = type(evaluator).__name__
            raise ConfigError(f"evaluator {index}, a {kind!r}, has no run()\n{_HINT}")
    return found


def _checked_weights(weights: Any) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        raise ConfigError(
            f"score_weights is a {type(weights).__name__}\n"
            "Hint: a dict from {ClassName}_{i} to a number, such as {'HarnessEvaluator_0': 2.0}."
        )
    return {key: _checked_weight(key, weight) for key, weight in weights.items()}


def _checked_weight(key: object, weight: object) -> float:
    try:
        number = float(weight) if isinstance(weight, Real) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ConfigError(
            f"the weight of {excerpt(repr(key))} is no finite number\n"
            "Hint: a weight is a number such as 2.0; an evaluator without one has 1."
        )
    return number


def _summary(result: EvalSuiteResult, outcomes: list[Outcome]) -> str:
    lines = [
        "",
        _RULE,
        f"EvalSuite Results: {result.suite_name}",
        _RULE,
        f"Duration: {result.duration:.2f}s",
        f"Success: {result.success}",
        f"Overall Score: {result.overall_score:.1f}/10",
        f"Evaluators Run: {len(result.evaluator_results)}",
    ]
    if result.errors:
        lines += ["", f"Errors ({len(result.errors)}):"]
        lines += [f"  ❌ {error}" for error in result.errors]
    lines += ["", "Evaluator Results:"]
    for outcome in outcomes:
        if outcome.error is None:
            score = "N/A" if outcome.score is None else f"{outcome.score:.1f}"
            lines.append(f"  📊 {outcome.key}: {score}/10")
    return "\n".join([*lines, _RULE, ""])
