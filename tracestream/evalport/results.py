"""An evaluation report as an EvalPort result set.

Equal to the reference (praisonaiagents 1.7, ``eval/evalport.py``) wherever that gives a result, but for
what docs/decisions/0005-where-the-evalport-mapping-differs.md lists.
"""

import math
import uuid
from datetime import UTC, datetime
from typing import Any

from tracestream.evalport.fields import dict_of, misfit
from tracestream.evalport.terms import (
    ERROR_TYPE,
    GRADER_TYPE,
    NAMESPACE,
    RAW_SCORE,
    RUNNER,
    SPEC_VERSION,
    VERDICT_GRADER,
)
from tracestream.package import EvalReport, EvalResult
from tracestream.version import __version__


def report_to_evalport(
    report: EvalReport, *, run_id: str | None = None, started_at: str | None = None
) -> dict[str, Any]:
    """Return a report as an EvalPort result set, a dict to be written as JSON.

    Scores outside 0..1 are brought to the nearer end, and the score as it was is kept beside. What is
    no score at all (NaN, a boolean, a text, a number too large for a float) is null, which means
    not verified, so that it does not pass. Of a case that passed, each criterion with a score has
    passed.

    A report without results gives a result set that no validator accepts, as the reference does.

    Args:
        report: The report, such as what `EvalSuite.run` returns; it stays as it is.
        run_id: Which run; None or empty takes a random one.
        started_at: When it started, as in RFC 3339; None or empty takes the time now. With both
            given, the same report gives the same document.

    Raises:
        EvalPortError: A field has no place in a result set; `.pointer` says where it would stand.

    Example:
        >>> report = EvalReport("math", 1, 1, 0, 1.5, [EvalResult("addition", True, 1.5)])
        >>> document = report_to_evalport(report, run_id="ci-1", started_at="2026-09-30T00:00:00Z")
        >>> document["results"][0]["grader_results"][0]["metadata"]
        {'openeval.raw_score': 1.5}
        >>> document["summary"]["avg_score"]
        1.0
    """
    results = [_result(result, f"/results/{n}") for n, result in enumerate(report.results)]
    summary: dict[str, Any] = {
        "total": report.total_cases,
        "passed": report.passed_cases,
        "failed": report.failed_cases,
        "pass_rate": report.pass_rate,
    }
    native: dict[str, Any] = {
        "thresholds_met": dict_of(report.thresholds_met, f"/metadata/{NAMESPACE}/thresholds_met")
    }
    average = unit_score(report.average_score)
    if average is not None:
        summary["avg_score"] = average
        if average != report.average_score:
            native["average_score"] = raw_score(report.average_score)
    return {
        "version": SPEC_VERSION,
        "suite_id": report.package_name,
        "run_id": run_id or uuid.uuid4().hex,
        "started_at": started_at or datetime.now(UTC).isoformat(),
        "runner": {"name": RUNNER, "version": __version__},
        "results": results,
        "summary": summary,
        "metadata": {NAMESPACE: native},
    }


def _result(result: EvalResult, pointer: str) -> dict[str, Any]:
    verdict = _grader_result(VERDICT_GRADER, result.score, result.passed)
    scores = dict_of(result.criteria_scores, f"{pointer}/grader_results")
    scores.pop(VERDICT_GRADER, None)
    item: dict[str, Any] = {
        "test_case_id": result.case_name,
        "passed": verdict["passed"],
        "grader_results": [
            verdict,
            *(_grader_result(name, score, result.passed) for name, score in scores.items()),
        ],
    }
    if result.actual_output is not None:
        item["actual_output"] = str(result.actual_output)
    duration_ms = _duration_ms(result.latency_ms, f"{pointer}/duration_ms")
    if duration_ms is not None:
        item["duration_ms"] = duration_ms
    if result.error is not None:
        item["error"] = {"type": ERROR_TYPE, "message": str(result.error)}
    if result.record is not None:
        item["metadata"] = {NAMESPACE: {"record": result.record}}
    return item


def _grader_result(grader: str, raw: Any, passed: Any) -> dict[str, Any]:
    score = unit_score(raw)
    item: dict[str, Any] = {
        "grader_id": grader,
        "type": GRADER_TYPE,
        "score": score,
        "passed": bool(passed) and score is not None,
    }
    if score is not None and score != raw:
        item["metadata"] = {RAW_SCORE: raw_score(raw)}
    return item


def unit_score(raw: Any) -> float | None:
    """Return a score brought to 0..1, or None for what is no score."""
    if isinstance(raw, bool) or not isinstance(raw, int | float) or raw != raw:
        return None
    try:
        return min(1.0, max(0.0, float(raw)))
    except OverflowError:
        return None


def raw_score(raw: float) -> float | str:
    """Return a score as JSON can hold it: what is infinite has no number there, so its name."""
    if math.isinf(raw):
        return "Infinity" if raw > 0 else "-Infinity"
    return raw


def _duration_ms(latency_ms: Any, pointer: str) -> int | None:
    """Return whole milliseconds; None for None, NaN, and what is negative or infinite."""
    if latency_ms is None:
        return None
    try:
        return round(latency_ms) if latency_ms >= 0 else None
    except OverflowError:
        return None
    except TypeError as error:
        raise misfit(latency_ms, "a number", pointer) from error
