"""A graded corpus as EvalPort: a suite with a test case for each run, and its result set.

Both are written run by run, from the runs of the report document; what is held does not go with them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tracestream.errors import EvalPortError
from tracestream.evalport.conformance import element_check, schema_faults
from tracestream.evalport.merging import Summary
from tracestream.evalport.pins import check_pins
from tracestream.evalport.results import raw_score, unit_score
from tracestream.evalport.strictjson import document_parts, write_json
from tracestream.evalport.terms import (
    AGGREGATION_STATUS,
    COST,
    GRADER_TYPE,
    RAW_SCORE,
    RUNNER,
    SPEC_VERSION,
    UNSCORED,
)
from tracestream.kernels.harness import N_GATES
from tracestream.version import __version__

SUITE_ID = "tracestream"
HANDOFF, BUDGET, HARNESS = "context_handoff", "token_budget", "harness"
GRADERS = {
    HANDOFF: "How much of each agent's output reached the next agent; passed if no content was lost",
    BUDGET: "Whether each agent kept to its token budget",
    HARNESS: "Four gates: artifacts, tool calls, tool schema, judge score",
}
"""The graders of the suite, and what each says of itself."""

NATIVE_TOP = 10.0
"""Native scores of handoffs and budgets go up to it, and are divided by it."""

Runs = Callable[[], Iterable[Mapping[str, Any]]]


class Export:
    """The EvalPort documents of a report.

    Args:
        head: The report document without its runs.
        runs: Gives the runs of the report document, as often as asked.
        run_id: Of the result set.
        started_at: Of the result set, as in RFC 3339.

    Raises:
        EvalPortError: A result set cannot have this id or this time, or no run could be graded.
    """

    def __init__(
        self, head: Mapping[str, Any], runs: Runs, *, run_id: str, started_at: str
    ) -> None:
        check_pins(run_id, started_at)
        if head["summary"]["runs"] == head["summary"]["ungradable"]:
            raise EvalPortError(
                "no EvalPort result set: no run could be graded, and one without results is not valid\n"
                "Hint: the report says why.",
                pointer="/results",
            )
        self._options = head["options"]
        self._runs = runs
        self._ours = {RUNNER: {"scoring": head["scoring"], "options": head["options"]}}
        self._head = {
            "version": SPEC_VERSION,
            "suite_id": SUITE_ID,
            "run_id": run_id,
            "started_at": started_at,
            "runner": {"name": RUNNER, "version": __version__},
        }

        self._summary = Summary()

    def to_dict(self) -> dict[str, Any]:
        """Return the result set: all of it in memory."""
        return {**self._head, "results": list(self._results()), **self._tail()}

    def parts(self) -> Iterator[bytes]:
        """Yield the result set as JSON, in pieces: a head, a result a line, the summary.

        Raises:
            EvalPortError: A result cannot be valid, as a run has no name; `.pointer` says which.
        """
        results = map(write_json, self._results())
        return document_parts(self._head, "results", results, self._tail)

    def lines(self) -> Iterator[bytes]:
        """Yield the results as JSON Lines; see `parts`."""
        for result in self._results():
            yield write_json(result) + b"\n"

    def companion(self) -> bytes:
        """Return the result set without its results: what stands beside `lines`, once they are written."""
        return write_json({**self._head, **self._tail()}, indent=True) + b"\n"

    def suite_parts(self) -> Iterator[bytes]:
        """Yield the suite that the result set is of, as JSON, in pieces."""
        head = {
            "version": SPEC_VERSION,
            "id": SUITE_ID,
            "graders": [
                {
                    "id": grader,
                    "type": GRADER_TYPE,
                    "params": {"handler": RUNNER},
                    "description": description,
                }
                for grader, description in GRADERS.items()
            ],
            "metadata": self._ours,
        }
        # The input is the run's name: what an agent was asked is the trace's, and stays there.
        cases = (
            write_json({"id": run["run"], "input": run["run"], "graders": list(GRADERS)})
            for run in self._runs()
        )
        return document_parts(head, "test_cases", cases)

    def _results(self) -> Iterator[dict[str, Any]]:
        self._summary = Summary()
        check = element_check("resultset")
        for at, run in enumerate(self._runs()):
            result = run_result(run, self._options)
            for found in schema_faults(check, result, f"/results/{at}"):
                raise EvalPortError(
                    f"no valid EvalPort result: {found.pointer}: {found.message}\nHint: {found.hint}",
                    pointer=found.pointer,
                )
            self._summary.add(result)
            yield result

    def _tail(self) -> dict[str, Any]:
        """Return what stands behind the results, of which the summary is made."""
        return {"summary": self._summary.to_dict(), "metadata": self._ours}


def run_result(run: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the EvalPort result of a run.

    A dimension that the run has not, and all three of an ungradable one, are null: not verified, and not
    passed. The result passes if all others pass, which may differ from the run's verdict: content may be
    lost where no gate asks for it, and a gate on the overall score has no grader.

    Args:
        run: One of the runs of a report document.
        options: The report's.
    """
    graders = [_handoff(run, options), _budget(run, options), _harness(run)]
    scored = [each for each in graders if each["score"] is not None]
    names = ("verdict", "reasons", "source", "run_id", "dialect")
    metadata: dict[str, Any] = {RUNNER: {name: run[name] for name in names}}
    cost = _cost(run["usage"] or {})
    if cost:
        metadata[COST] = cost
    if not scored:
        metadata[AGGREGATION_STATUS] = UNSCORED
    return {
        "test_case_id": run["run"],
        "passed": bool(scored) and all(each["passed"] for each in scored),
        "grader_results": graders,
        "metadata": metadata,
    }


def _handoff(run: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    handoffs = (run["context"] or {}).get("handoffs")
    if not handoffs:
        return _grader_result(HANDOFF, None, False, "no handoff to score")
    score = run["context"]["handoff_score"]
    n_lost = sum(each["content_loss_detected"] for each in handoffs)
    passed = not n_lost and _reaches(score, options["min_handoff"])
    reason = f"{n_lost} of {len(handoffs)} handoffs lost content"
    return _grader_result(HANDOFF, score, passed, reason)


def _budget(run: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    budgets = (run["context"] or {}).get("budgets")
    if not budgets:
        return _grader_result(BUDGET, None, False, "no budget to score")
    score = run["context"]["budget_score"]
    n_over = sum(not each["within_budget"] for each in budgets)
    passed = not n_over and _reaches(score, options["min_budget"])
    reason = f"{n_over} of {len(budgets)} agents over their budget"
    return _grader_result(BUDGET, score, passed, reason)


def _harness(run: Mapping[str, Any]) -> dict[str, Any]:
    harness = run["harness"]
    if harness is None:
        return _grader_result(HARNESS, None, False, "the run cannot be graded")
    # It is 0..1 as it is, so there is no native score to keep.
    return {
        "grader_id": HARNESS,
        "type": GRADER_TYPE,
        "score": harness["score"],
        "passed": harness["passed"],
        "reason": f"{round(harness['score'] * N_GATES)} of {N_GATES} gates passed",
    }


def _reaches(score: float, least: float | None) -> bool:
    return least is None or score >= least


def _grader_result(grader: str, native: float | None, passed: bool, reason: str) -> dict[str, Any]:
    score = None if native is None else unit_score(native / NATIVE_TOP)
    found: dict[str, Any] = {
        "grader_id": grader,
        "type": GRADER_TYPE,
        "score": score,
        "passed": passed and score is not None,
        "reason": reason,
    }
    if native is not None and not math.isnan(native):
        found["metadata"] = {RAW_SCORE: raw_score(native)}
    return found


def _cost(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens and the cost that are known, by the spec's names."""
    known = {
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "estimated_cost_usd": usage.get("cost_usd"),
    }
    return {
        name: value for name, value in known.items() if value is not None and math.isfinite(value)
    }
