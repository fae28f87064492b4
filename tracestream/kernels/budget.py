"""Whether an agent kept to its token budget, and by how much it did not.

Rule, numbers and words are the seed's (praisonaiagents 1.7, ``eval/context_eval.py``).
"""

from typing import NamedTuple

from tracestream.results import BudgetComplianceResult

# All from the seed.
NEUTRAL_SCORE = 5.0
"""The score where there is no budget."""
MAX_SCORE = 10.0
MIN_SCORE = 1.0
OVERRUN_SCALE = 10.0
"""Points lost per budget overrun: twice the budget would give 0, so the least score is 1."""


class BudgetScore(NamedTuple):
    """The score of one budget.

    Attributes:
        within: Whether the tokens used are at most the budget, or there is no budget.
        score: 1..10; 5 without a budget.
        reasoning: The same, in words.
    """

    within: bool
    score: float
    reasoning: str


def score_budget(used: int, budget: int) -> BudgetScore:
    """Return how well an agent kept to its budget.

    Args:
        used: Tokens used.
        budget: Tokens allowed; 0 or less means no budget.

    Raises:
        OverflowError: The overrun is beyond a float (over 308 digits).

    Example:
        >>> score_budget(8_200, 10_000)
        BudgetScore(within=True, score=10.0, reasoning='Within budget (8200/10000 tokens)')
        >>> score_budget(125, 100)
        BudgetScore(within=False, score=7.5, reasoning='Exceeded budget by 25% (125/100 tokens)')
        >>> score_budget(125, 0)
        BudgetScore(within=True, score=5.0, reasoning='No budget defined; neutral score')
    """
    if budget <= 0:
        return BudgetScore(True, NEUTRAL_SCORE, "No budget defined; neutral score")
    if used <= budget:
        return BudgetScore(True, MAX_SCORE, f"Within budget ({used}/{budget} tokens)")
    overrun = (used - budget) / budget
    score = max(MIN_SCORE, MAX_SCORE - overrun * OVERRUN_SCALE)
    reasoning = f"Exceeded budget by {overrun * 100:.0f}% ({used}/{budget} tokens)"
    return BudgetScore(False, score, reasoning)


def budget_result(agent_name: str, used: int, budget: int) -> BudgetComplianceResult:
    """Return the score of a budget as the result that users see.

    Example:
        >>> budget_result("writer", 125, 100).compliance_score
        7.5
    """
    within, score, reasoning = score_budget(used, budget)
    return BudgetComplianceResult(
        agent_name=agent_name,
        used_tokens=used,
        budget_tokens=budget,
        within_budget=within,
        compliance_score=score,
        reasoning=reasoning,
    )
