"""Grade a suite against traces: an EvalPort result set, a result for each run of each test case.

suite -> what its test cases' runs may be called -> one pass over the traces -> what each of those runs
answered -> the suite again, test case by test case: its runs, their outputs read again, graders, verdict.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tracestream.evalport.aggregation import ALL, verdict
from tracestream.evalport.graders import EXPECTED_TOOLS, SKIP_REASON, Sample, Score, skipped
from tracestream.evalport.matching import Answered, Traces
from tracestream.evalport.merging import Summary
from tracestream.evalport.pins import derived_id
from tracestream.evalport.rules import AGGREGATION
from tracestream.evalport.strictjson import write_json
from tracestream.evalport.suites import Case, Grader, Suite
from tracestream.evalport.terms import (
    AGGREGATION_STATUS,
    ERROR_TYPE,
    RUNNER,
    SPEC_VERSION,
    UNSCORED,
)
from tracestream.jsontext import writable
from tracestream.sources import Source
from tracestream.version import __version__

NO_RUN = "no_run"
"""Skip reason, and code of the error, of a test case without a run."""

PASSED, FAILED = "passed", "failed"

_ALL = {"strategy": ALL}


def run_id_of(suite: Suite, sources: Sequence[Source], options: dict[str, Any]) -> str:
    """Return an id that the same suite, sources and options always have."""
    return derived_id(suite.id, [[source.name, source.size_bytes] for source in sources], options)


class SuiteRun:
    """Grades a suite against what was read of traces.

    Args:
        suite: Checked.
        traces: While their context lasts.
        run_id: Of the result set.
        started_at: Of the result set, as in RFC 3339.

    Attributes:
        skips: How many grader results have no score, by reason.
        n_results: How many results there are so far, by status: `passed`, `failed`, `unscored`, `no_run`.
        n_cut: Outputs that their writer had shortened.
    """

    def __init__(self, suite: Suite, traces: Traces, *, run_id: str, started_at: str) -> None:
        self._suite = suite
        self._traces = traces
        self._head = {
            "version": SPEC_VERSION,
            "suite_id": suite.id,
            "run_id": run_id,
            "started_at": started_at,
            "runner": {"name": RUNNER, "version": __version__},
        }
        self.skips: Counter[str] = Counter()
        self.n_results: Counter[str] = Counter()
        self.n_cut = 0

    def parts(self, on_result: Callable[[dict[str, Any]], None] | None = None) -> Iterator[bytes]:
        """Yield the result set in pieces, graded as it is written; once.

        Args:
            on_result: Called with each result.

        Raises:
            InputError: A record cannot be read again.
        """
        summary = Summary()
        yield write_json(self._head, indent=True).removesuffix(b"\n}") + b',\n  "results": [\n'
        separator = b""
        for result in self._results():
            summary.add(result)
            if on_result is not None:
                on_result(result)
            yield separator + write_json(result)
            separator = b",\n"
        yield b"\n  ],\n" + write_json({"summary": summary.to_dict()}, indent=True)[2:] + b"\n"

    def _results(self) -> Iterator[dict[str, Any]]:
        for case in self._suite.cases():
            runs = self._traces.runs.of(case.keys)
            for attempt, run in enumerate(runs or [None], 1):
                result = self._without_run(case) if run is None else self._graded(case, run)
                self._count(result)
                yield result if len(runs) < 2 else {**result, "attempt": attempt}

    def _graded(self, case: Case, run: Answered) -> dict[str, Any]:
        texts, value = self._traces.texts, case.value
        output = texts.output(run.output)
        sample = Sample(
            None if output is None else writable(output),
            run.tools,
            run.is_recorded,
            value["input"],
            value.get("expected_output"),
            value.get("context"),
            value.get(EXPECTED_TOOLS),
        )
        result = self._result(case, [grader.grade(sample) for grader in case.graders])
        if sample.output is not None:
            result["actual_output"] = sample.output
        ours: dict[str, Any] = {"run": run.name}
        if run.output is not None and texts.cut.pop(run.output, None) is not None:
            self.n_cut += 1
            ours["cut"] = True
        result["metadata"][RUNNER] = ours
        return result

    def _without_run(self, case: Case) -> dict[str, Any]:
        score = skipped(NO_RUN, "there is no run to grade")
        result = self._result(case, [score] * len(case.graders))
        what = "the traces hold no run of this test case"
        result["error"] = {"type": ERROR_TYPE, "message": what, "code": NO_RUN, "retryable": False}
        return result

    def _result(self, case: Case, scores: Sequence[Score]) -> dict[str, Any]:
        graded = list(zip(case.graders, scores, strict=True))
        found = [(grader, score) for grader, score in graded if score.value is not None]
        metadata: dict[str, Any] = {}
        if self._suite.policy is not None:
            metadata[AGGREGATION] = self._suite.policy
        if not found:
            metadata[AGGREGATION_STATUS] = UNSCORED
        passed = verdict(
            self._suite.policy or _ALL,
            [score.value for _, score in found if score.value is not None],
            [score.passed for _, score in found],
            [grader.weight for grader, _ in found],
        )
        return {
            "test_case_id": case.value["id"],
            "passed": passed,
            "grader_results": [_grader_result(*each) for each in graded],
            "metadata": metadata,
        }

    def _count(self, result: dict[str, Any]) -> None:
        self.n_results[status_of(result)] += 1
        if "error" not in result:
            for each in result["grader_results"]:
                if each["score"] is None:
                    self.skips[each["metadata"].get(SKIP_REASON, "error")] += 1


def status_of(result: dict[str, Any]) -> str:
    """Return `passed`, `failed`, `unscored` or `no_run`."""
    if "error" in result:
        return NO_RUN
    if result["passed"]:
        return PASSED
    return UNSCORED if AGGREGATION_STATUS in result["metadata"] else FAILED


def _grader_result(grader: Grader, score: Score) -> dict[str, Any]:
    found: dict[str, Any] = {
        "grader_id": grader.id,
        "type": grader.type,
        "score": score.value,
        "passed": score.passed,
        "reason": score.reason,
    }
    if score.metadata is not None:
        found["metadata"] = score.metadata
    return found
