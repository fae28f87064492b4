"""The four harness gates of a run: artifacts, tool calls, tool schema, judge score.

Rule and numbers are the seed's (praisonaiagents 1.7, ``eval/harness_eval.py``).
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

N_GATES = 4


class Recorded(NamedTuple):
    """What a trace records for the harness gates, where its format can.

    Attributes:
        tool_calls: Tool calls of the run.
        schema_hash: Hash of its tool schema; None without one.
        judge_score: Its judge score; NaN if that is no number, None without one.
        refused: Fields that could not be judged, in words.
        artifacts: Those of the artifacts asked for that it has.
    """

    tool_calls: int = 0
    schema_hash: str | None = None
    judge_score: float | None = None
    refused: Sequence[str] = ()
    artifacts: Sequence[str] = ()


class HarnessScore(NamedTuple):
    """How the four gates went.

    Attributes:
        passed: All of them.
        score: Passed gates out of four, 0..1.
        missing_artifacts: Asked for and not there, in the order asked.
        tool_calls_sufficient: The tool call gate.
        schema_consistent: The schema gate.
        judge_passed: The judge gate.
    """

    passed: bool
    score: float
    missing_artifacts: tuple[str, ...]
    tool_calls_sufficient: bool
    schema_consistent: bool
    judge_passed: bool


def score_harness(
    tool_calls: int,
    *,
    artifacts: Collection[str] = (),
    schema_hash: str | None = None,
    required_artifacts: Sequence[str] = (),
    min_tool_calls: int = 0,
    expected_schema_hash: str | None = None,
    judge_passed: bool = True,
) -> HarnessScore:
    """Return how a run does at the four gates; a gate that is not asked for is passed.

    Args:
        tool_calls: Tool calls of the run.
        artifacts: Names of what it left.
        schema_hash: Hash of its tool schema, or None.
        required_artifacts: Names that must be there.
        min_tool_calls: Least number of calls.
        expected_schema_hash: The hash the schema must have; None asks nothing.
        judge_passed: Whether its judge score is high enough: who asks knows what no score means.

    Example:
        >>> score_harness(2, min_tool_calls=3)[:2]
        (False, 0.75)
    """
    missing = tuple(name for name in required_artifacts if name not in artifacts)
    sufficient = tool_calls >= min_tool_calls
    consistent = expected_schema_hash is None or schema_hash == expected_schema_hash
    gates = (not missing, sufficient, consistent, judge_passed)
    passed, score = all(gates), sum(gates) / N_GATES
    return HarnessScore(passed, score, missing, sufficient, consistent, judge_passed)
