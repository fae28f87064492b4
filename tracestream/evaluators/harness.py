"""HarnessEvaluator: the four harness gates of a run in memory."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracestream.errors import ConfigError
from tracestream.evaluators.base import Evaluator
from tracestream.harnesstrace import (
    ARTIFACTS,
    CALLS,
    JUDGE,
    SCHEMA,
    artifact_names,
    count_calls,
    first_true,
    schema_hash,
)
from tracestream.kernels.harness import score_harness
from tracestream.package import EvalCase, EvalResult
from tracestream.quality import excerpt
from tracestream.results import HarnessResult

_NAMES = ("id", "name", "scenario")
_INPUTS = ("prompt", "input")


def harness_row_to_eval_case(row: Mapping[str, Any]) -> EvalCase:
    """Return the case that a row of a CSV file of harness scenarios describes.

    Args:
        row: Columns by name: `id` (or `name`, `scenario`), `prompt` (or `input`), `expected`,
            `fixture`, `rubric`; empty ones count as missing, others are passed over. A rubric
            becomes the case's one criterion.

    Raises:
        ConfigError: There is neither prompt nor input; the message names the columns there are.

    Example:
        >>> case = harness_row_to_eval_case({"id": "smoke", "prompt": "write a.txt", "rubric": "kind"})
        >>> case.name, case.input, case.criteria, case.metadata
        ('smoke', 'write a.txt', ['kind'], {'source': 'harness', 'rubric': 'kind'})
    """
    question = first_true(row, _INPUTS)
    if not question:
        filled = ", ".join(str(name) for name, value in row.items() if value)
        raise ConfigError(
            f"a row has neither prompt nor input, only: {excerpt(filled) or 'nothing'}\n"
            "Hint: name a column `prompt`, or leave out rows where it is empty."
        )
    rubric = row.get("rubric")
    notes = {name: row[name] for name in ("fixture", "rubric") if row.get(name)}
    return EvalCase(
        name=str(first_true(row, _NAMES) or "harness_case"),
        input=str(question),
        expected=row.get("expected"),
        criteria=[rubric] if rubric else [],
        metadata={"source": "harness", **notes},
    )


class HarnessEvaluator(Evaluator):
    """Scores a run by four gates: artifacts, tool calls, tool schema, judge score.

    Deterministic, without a model call. Gates and numbers are those of praisonaiagents 1.7, and so
    are the exceptions of values that cannot be counted or compared.

    Args:
        trace: What the run did; None is an empty trace. Its keys, all optional: `tool_calls` (else
            `tool_trace`, `tools`), a list or a count; `artifacts` (else `files`, `outputs`), names
            or structured entries in a list or as the values of a dict; `tool_schema`; `judge_score`,
            a number or its text.
        required_artifacts: Names of artifacts that must be there.
        min_tool_calls: Least number of tool calls.
        expected_schema_hash: Hash that the tool schema must have; None asks nothing.
        judge_threshold: Least judge score, 0..10, of a trace that has one.
        name: Name of the evaluation; None or empty becomes ``eval_{eval_id}``.
        save_results_path: Where to write the result as JSON, atomically; see `Evaluator`.
        verbose: Log what happens, at level INFO.

    Example:
        >>> trace = {"tool_calls": [{"name": "write_file"}], "artifacts": ["out.txt"], "judge_score": 6.5}
        >>> result = HarnessEvaluator(trace, required_artifacts=["out.txt"], min_tool_calls=1).run()
        >>> result.artifacts_complete, result.judge_passed, result.score
        (True, False, 0.75)
    """

    def __init__(
        self,
        trace: dict[str, Any],
        required_artifacts: list[str] | None = None,
        min_tool_calls: int = 0,
        expected_schema_hash: str | None = None,
        judge_threshold: float = 7.0,
        name: str | None = None,
        save_results_path: str | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(name=name, save_results_path=save_results_path, verbose=verbose)
        self.trace = trace or {}
        self.required_artifacts: Sequence[str] = required_artifacts or []
        self.min_tool_calls = min_tool_calls
        self.expected_schema_hash = expected_schema_hash
        self.judge_threshold = judge_threshold
        self._result: HarnessResult | None = None

    def run(self, print_summary: bool = False, **kwargs: Any) -> HarnessResult:
        """Return how the run does at the gates; keep and print it if asked to.

        Args:
            print_summary: Print a summary to standard output.
            **kwargs: Taken and not used, so that a suite may pass the same to every evaluator.

        Raises:
            TypeError: Tool calls or artifacts are of a type that has no items (3.0), or what is
                asked for cannot be compared.
            OverflowError: The judge score is an integer beyond a float.
        """
        self._log("Starting evaluation: %s (ID: %s)", self.name, self.eval_id)
        n_calls = count_calls(first_true(self.trace, CALLS))
        artifacts = set(artifact_names(first_true(self.trace, ARTIFACTS)))
        recorded_hash = schema_hash(self.trace.get(SCHEMA))
        judgement = _judge(self.trace.get(JUDGE), self.judge_threshold)
        gates = score_harness(
            n_calls,
            artifacts=artifacts,
            schema_hash=recorded_hash,
            required_artifacts=self.required_artifacts,
            min_tool_calls=self.min_tool_calls,
            expected_schema_hash=self.expected_schema_hash,
            judge_passed=judgement.passed,
        )
        self._result = result = HarnessResult(
            passed=gates.passed,
            score=gates.score,
            tool_call_count=n_calls,
            tool_calls_sufficient=gates.tool_calls_sufficient,
            schema_hash=recorded_hash,
            schema_consistent=gates.schema_consistent,
            artifacts_complete=not gates.missing_artifacts,
            missing_artifacts=list(gates.missing_artifacts),
            judge_score=judgement.score,
            judge_passed=judgement.passed,
            eval_id=self.eval_id,
            name=self.name,
            metadata={"required_artifacts": self.required_artifacts},
        )
        self._log("Completed evaluation: %s", self.name)
        self._save(result)
        if print_summary:
            result.print_summary()
        return result

    def to_eval_result(self, case_name: str | None = None) -> EvalResult:
        """Return the last result as one of an `EvalReport`, a criterion for each gate; run if need be.

        Args:
            case_name: Name of the case; None or empty takes the name of the evaluation.
        """
        result = self.run() if self._result is None else self._result
        gates = ("artifacts_complete", "tool_calls_sufficient", "schema_consistent", "judge_passed")
        return EvalResult(
            case_name=case_name or self.name,
            passed=result.passed,
            score=result.score,
            criteria_scores={gate: 1.0 if getattr(result, gate) else 0.0 for gate in gates},
        )


class _Judgement(NamedTuple):
    score: float | None
    passed: bool


def _judge(recorded: Any, threshold: float) -> _Judgement:
    """Return the recorded score, and whether it is high enough; none recorded asks nothing."""
    if recorded is None:
        return _Judgement(None, True)
    try:
        score = float(recorded)
        return _Judgement(score, score >= threshold)
    except (TypeError, ValueError):  # no number; or a threshold that is none
        return _Judgement(None, False)
