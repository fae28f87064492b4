"""Whether a run passes: the gates that were asked for, and why not, in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

from tracestream.errors import ConfigError
from tracestream.jsontext import writable
from tracestream.kernels.harness import HarnessScore, Recorded, score_harness
from tracestream.quality import excerpt
from tracestream.results import ContextEvalResult

PASS, FAIL, UNGRADABLE = "pass", "fail", "ungradable"

_MAX_CALLS = (1 << 53) - 1
"""The largest integer that every reader of JSON takes."""
_NO_HANDOFF, _NO_BUDGET, _NO_SCORE = "no handoff to score", "no budget to score", "nothing to score"
_NO_JUDGE = "no judge score recorded"
_NO_ARTIFACTS, _NO_SCHEMA = "this trace records no artifacts", "this trace records no tool schema"


class Verdict(NamedTuple):
    """What a run comes to.

    Attributes:
        verdict: pass or fail.
        reasons: The gates it failed, then the gates it has no dimension for.
        harness: The four harness gates.
        missing: The dimensions that a gate asks for and the run has not.
    """

    verdict: str
    reasons: list[str]
    harness: HarnessScore
    missing: frozenset[str]


@dataclass(frozen=True)
class Gates:
    """What a run must reach to pass; nothing is asked by default.

    Attributes:
        min_score: Least overall_score, 0..10.
        min_handoff: Least handoff_score, 0..10.
        min_budget: Least budget_score, 0..10.
        fail_on_content_loss: No handoff may lose content.
        min_tool_calls: Least number of tool calls.
        require_artifacts: Names of artifacts that must be recorded.
        expected_schema_hash: Hash that the recorded tool schema must have.
        judge_threshold: Least recorded judge score, 0..10.
    """

    min_score: float | None = None
    min_handoff: float | None = None
    min_budget: float | None = None
    fail_on_content_loss: bool = False
    min_tool_calls: int = 0
    require_artifacts: tuple[str, ...] = ()
    expected_schema_hash: str | None = None
    judge_threshold: float | None = None

    def __post_init__(self) -> None:
        # What is kept is plain: numbers of other libraries are not, and would not be written.
        for name in ("min_score", "min_handoff", "min_budget", "judge_threshold"):
            self._set(name, _checked_score(name, getattr(self, name)))
        self._set("min_tool_calls", _checked_calls(self.min_tool_calls))
        self._set("require_artifacts", tuple(map(_checked_artifact, self.require_artifacts)))
        self._set("expected_schema_hash", _checked_hash(self.expected_schema_hash))
        if self.fail_on_content_loss not in (True, False):
            shown = excerpt(repr(self.fail_on_content_loss))
            raise ConfigError(f"fail_on_content_loss is {shown}\nHint: it is True or False.")
        self._set("fail_on_content_loss", bool(self.fail_on_content_loss))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def judge(
        self, context: ContextEvalResult, tool_calls: int, recorded: Recorded | None = None
    ) -> Verdict:
        """Return the verdict on a run.

        Args:
            context: Its handoffs and budgets; without any, it has not that dimension.
            tool_calls: Its tool calls.
            recorded: What else it records for the harness gates; None if its format records nothing.
        """
        has_handoffs, has_budgets = bool(context.handoffs), bool(context.budgets)
        failures: list[str] = []
        missing: list[str] = []
        for name, least, has, words in (
            ("overall_score", self.min_score, has_handoffs or has_budgets, _NO_SCORE),
            ("handoff_score", self.min_handoff, has_handoffs, _NO_HANDOFF),
            ("budget_score", self.min_budget, has_budgets, _NO_BUDGET),
        ):
            if least is None:
                continue
            if not has:
                missing.append(words)
            elif getattr(context, name) < least:
                failures.append(f"{name} {_shown(getattr(context, name), least)} < {_plain(least)}")
        if self.fail_on_content_loss:
            if not has_handoffs:
                missing.append(_NO_HANDOFF)
            failures += [
                f"content lost: {handoff.from_agent} -> {handoff.to_agent}"
                for handoff in context.handoffs
                if handoff.content_loss_detected
            ]
        harness = self.score_harness(tool_calls, recorded)
        failures += self._harness_failures(harness, tool_calls, recorded)
        if self.judge_threshold is not None and recorded and recorded.judge_score is None:
            missing.append(_NO_JUDGE)
        reasons = [*failures, *dict.fromkeys(missing)]
        return Verdict(FAIL if failures else PASS, reasons, harness, frozenset(missing))

    def score_harness(self, tool_calls: int, recorded: Recorded | None) -> HarnessScore:
        """Return the four harness gates of a run; see `judge`."""
        known = recorded or Recorded()
        return score_harness(
            tool_calls,
            artifacts=known.artifacts,
            schema_hash=known.schema_hash,
            required_artifacts=self.require_artifacts,
            min_tool_calls=self.min_tool_calls,
            expected_schema_hash=self.expected_schema_hash,
            judge_passed=self._passes_judge(recorded),
        )

    def _passes_judge(self, recorded: Recorded | None) -> bool:
        """Say whether the judge score is high enough; nobody can tell of a format that has none."""
        if self.judge_threshold is None or recorded is None:
            return self.judge_threshold is None
        return recorded.judge_score is None or recorded.judge_score >= self.judge_threshold

    def _harness_failures(
        self, harness: HarnessScore, tool_calls: int, recorded: Recorded | None
    ) -> list[str]:
        known = recorded or Recorded()
        failures = []
        if not harness.tool_calls_sufficient:
            failures.append(f"tool_calls {tool_calls} < {self.min_tool_calls}")
        if harness.missing_artifacts:
            names = ", ".join(dict.fromkeys(harness.missing_artifacts))
            failures.append(_NO_ARTIFACTS if recorded is None else f"artifacts missing: {names}")
        if not harness.schema_consistent:
            words = f"schema_hash {known.schema_hash} is not {self.expected_schema_hash}"
            failures.append(_NO_SCHEMA if known.schema_hash is None else words)
        if not harness.judge_passed:
            failures.append(self._judge_failure(known.judge_score))
        return failures

    def _judge_failure(self, score: float | None) -> str:
        if score is None:
            return "this trace records no judge score"
        if math.isnan(score):
            return "judge_score is no number"
        least = self.judge_threshold or 0.0
        return f"judge_score {_shown(score, least)} < {_plain(least)}"


def no_run_has(missing: Sequence[frozenset[str]]) -> list[str]:
    """Return a sentence for each dimension that a gate asks for and no gradable run has.

    Args:
        missing: What each gradable run misses.

    Example:
        >>> no_run_has([frozenset({"no handoff to score"})])
        ['no handoff to score in any run']
    """
    if not missing:
        return []
    everywhere = frozenset.intersection(*missing)
    return [
        f"{words} in any run"
        for words in (_NO_SCORE, _NO_HANDOFF, _NO_BUDGET, _NO_JUDGE)
        if words in everywhere
    ]


def _checked_score(name: str, value: Any) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 10:
        raise ConfigError(f"{name} is {excerpt(repr(value))}\nHint: scores go from 0 to 10.")
    return abs(float(value))  # -0.0 is 0.0


def _checked_calls(value: Any) -> int:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or not 0 <= value <= _MAX_CALLS:
        raise ConfigError(
            f"min_tool_calls is {excerpt(repr(value))}\nHint: a whole number, 0 or more."
        )
    return int(value)


def _checked_artifact(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(
            f"require_artifacts has {excerpt(repr(value))}, which is no name\nHint: give the names."
        )
    return writable(value)


def _checked_hash(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ConfigError(
            f"expected_schema_hash is {excerpt(repr(value))}, not text\n"
            "Hint: give the hash as the trace has it."
        )
    if value == "":
        raise ConfigError(
            "expected_schema_hash (--expect-schema-hash) is empty\n"
            "Hint: leave it out to ask for none."
        )
    return None if value is None else writable(value)


def _shown(score: float, least: float) -> str:
    """Return a score with one decimal, or as many as it takes to be seen below the least."""
    rounded = f"{score:.1f}"
    return rounded if float(rounded) < least else repr(score)


def _plain(number: float) -> str:
    rounded = f"{number:.1f}"
    return rounded if float(rounded) == number else repr(number)
