"""What the evaluators hand back: one result per handoff, per budget, and per evaluation.

Fields, their order, the defaults and the keys of ``to_dict`` are those of the seed (praisonaiagents
1.7, ``eval/context_eval.py`` and ``eval/results.py``), so that a stored document reads the same
whichever wrote it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

RULE = "=" * 60
"""Above and below the head of a printed summary."""


def strict(document: Any, default: Callable[[Any], Any] | None = None) -> Any:
    """Return a copy of a document that holds nothing but strict JSON: NaN and Infinity are None.

    Args:
        document: What JSON can say; tuples become lists, keys become texts.
        default: What makes something of a value that JSON cannot say.

    Raises:
        TypeError: It holds what JSON cannot say.
        ValueError: It holds itself, or an integer too long to be written.
        RecursionError: It is nested too deep.

    Example:
        >>> strict({"judge_score": float("nan"), "score": 0.75, "asked": (1, float("inf"))})
        {'judge_score': None, 'score': 0.75, 'asked': [1, None]}
    """
    return json.loads(json.dumps(document, default=default), parse_constant=lambda name: None)


@dataclass
class ContextHandoffResult:
    """How much of one agent's last output the next agent was given.

    Attributes:
        from_agent: Whose output.
        to_agent: Whose input.
        context_passed_score: 2..10, the share of the output that arrived; 5 if a side is missing.
        context_relevance_score: 5 (a side is missing), 7 (by tokens) or 9 (verbatim).
        content_loss_detected: Whether context_passed_score is under 5.
        lost_content_summary: What was lost, in words; empty without loss.
        reasoning: Which pair was looked at, in words.

    Example:
        >>> ContextHandoffResult("a", "b", 10.0, 9.0, False).to_dict()["context_passed_score"]
        10.0
    """

    from_agent: str
    to_agent: str
    context_passed_score: float
    context_relevance_score: float
    content_loss_detected: bool
    lost_content_summary: str = ""
    reasoning: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, in their order."""
        return dict(vars(self))


@dataclass
class BudgetComplianceResult:
    """Whether one agent kept to its token budget.

    Attributes:
        agent_name: Whose budget.
        used_tokens: Tokens used.
        budget_tokens: Tokens allowed; 0 or less means no budget.
        within_budget: Whether used_tokens is at most budget_tokens, or there is no budget.
        compliance_score: 1..10; 5 without a budget.
        reasoning: The same, in words.

    Example:
        >>> BudgetComplianceResult("a", 5, 10, True, 10.0).to_dict()["within_budget"]
        True
    """

    agent_name: str
    used_tokens: int
    budget_tokens: int
    within_budget: bool
    compliance_score: float
    reasoning: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, in their order."""
        return dict(vars(self))


@dataclass
class ContextEvalResult:
    """The handoffs and budgets of one evaluation, and their means.

    Means use the builtin ``sum``, which rounds differently from Python 3.12 on: a score is equal to
    the seed's on the same Python minor version.

    Attributes:
        handoffs: One result per pair of neighbours in the agent order.
        budgets: One result per budget, in ledger order.
        eval_id: Short id of this evaluation.
        name: Name of this evaluation.

    Example:
        >>> result = ContextEvalResult(budgets=[BudgetComplianceResult("a", 5, 10, True, 10.0)])
        >>> result.handoff_score, result.budget_score, result.overall_score
        (0.0, 10.0, 10.0)
    """

    handoffs: list[ContextHandoffResult] = field(default_factory=list)
    budgets: list[BudgetComplianceResult] = field(default_factory=list)
    eval_id: str = ""
    name: str = ""

    @property
    def handoff_score(self) -> float:
        """Mean context_passed_score of the handoffs, 0..10; 0.0 if there are none."""
        return _mean([handoff.context_passed_score for handoff in self.handoffs])

    @property
    def budget_score(self) -> float:
        """Mean compliance_score of the budgets, 0..10; 0.0 if there are none."""
        return _mean([budget.compliance_score for budget in self.budgets])

    @property
    def overall_score(self) -> float:
        """Mean of handoff_score and budget_score, whichever were evaluated, 0..10; else 0.0."""
        dimensions = []
        if self.handoffs:
            dimensions.append(self.handoff_score)
        if self.budgets:
            dimensions.append(self.budget_score)
        return _mean(dimensions)

    @property
    def content_loss_detected(self) -> bool:
        """Whether any handoff lost content."""
        return any(handoff.content_loss_detected for handoff in self.handoffs)

    def to_dict(self) -> dict[str, Any]:
        """Return the ids, the means, then every handoff and budget, as plain dicts and lists."""
        return {
            "eval_id": self.eval_id,
            "name": self.name,
            "handoff_score": self.handoff_score,
            "budget_score": self.budget_score,
            "overall_score": self.overall_score,
            "content_loss_detected": self.content_loss_detected,
            "handoffs": [handoff.to_dict() for handoff in self.handoffs],
            "budgets": [budget.to_dict() for budget in self.budgets],
        }


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores) if scores else 0.0


@dataclass
class HarnessResult:
    """Whether a run passes the four harness gates: artifacts, tool calls, tool schema, judge.

    Fields and `to_dict` are the seed's (praisonaiagents 1.7). A gate nobody asked for is passed.

    Attributes:
        passed: All gates passed.
        score: Passed gates out of four, 0..1.
        tool_call_count: Tool calls of the run.
        tool_calls_sufficient: There are as many as asked for.
        schema_hash: Hash of the recorded tool schema; None if there is none.
        schema_consistent: It is the hash asked for.
        artifacts_complete: Every artifact asked for is there.
        missing_artifacts: Those that are not.
        judge_score: Recorded judge score, 0..10; None if there is none.
        judge_passed: It reaches the threshold.
        eval_id: Short id of this evaluation.
        name: Name of this evaluation.
        timestamp: When it was made, ISO 8601, local time.
        metadata: What was asked.
        score_scale: The scale of `score`.
    """

    passed: bool
    score: float
    tool_call_count: int = 0
    tool_calls_sufficient: bool = True
    schema_hash: str | None = None
    schema_consistent: bool = True
    artifacts_complete: bool = True
    missing_artifacts: list[str] = field(default_factory=list)
    judge_score: float | None = None
    judge_passed: bool = True
    eval_id: str = ""
    name: str = ""
    timestamp: str = field(default_factory=lambda: datetime.now().isoformat())
    metadata: dict[str, Any] = field(default_factory=dict)
    score_scale: str = "fraction"

    @property
    def overall_score(self) -> float:
        """The score on the scale that suites share, 0..10."""
        return self.score * 10.0

    def to_dict(self) -> dict[str, Any]:
        """Return every field but the scale, as the seed names and orders them."""
        return {
            "eval_id": self.eval_id,
            "name": self.name,
            "passed": self.passed,
            "score": self.score,
            "tool_call_count": self.tool_call_count,
            "tool_calls_sufficient": self.tool_calls_sufficient,
            "schema_hash": self.schema_hash,
            "schema_consistent": self.schema_consistent,
            "artifacts_complete": self.artifacts_complete,
            "missing_artifacts": self.missing_artifacts,
            "judge_score": self.judge_score,
            "judge_passed": self.judge_passed,
            "timestamp": self.timestamp,
            "metadata": self.metadata,
        }

    def to_json(self) -> str:
        """Return `to_dict` as indented JSON; a number that is not finite is null.

        Raises:
            TypeError: `metadata` holds what JSON cannot.
        """
        return json.dumps(strict(self.to_dict()), indent=2)

    def print_summary(self) -> None:
        """Print what came of each gate to standard output."""
        print(_harness_summary(self))


def _harness_summary(result: HarnessResult) -> str:
    def line(passed: bool, words: str) -> str:
        return f"  {'✅' if passed else '❌'} {words}"

    missing = ", ".join(map(str, result.missing_artifacts))
    judge = "none" if result.judge_score is None else f"{result.judge_score:.1f}/10"
    return "\n".join(
        [
            "",
            RULE,
            f"HarnessEvaluator Results: {result.name}",
            RULE,
            f"Score: {result.score:.2f} ({'passed' if result.passed else 'failed'})",
            line(result.tool_calls_sufficient, f"Tool calls: {result.tool_call_count}"),
            line(result.artifacts_complete, f"Artifacts missing: {missing or 'none'}"),
            line(result.schema_consistent, f"Tool schema: {result.schema_hash or 'none'}"),
            line(result.judge_passed, f"Judge score: {judge}"),
            RULE,
            "",
        ]
    )
