"""How much of one agent's output stands in the next agent's input.

Rule and numbers are the seed's (praisonaiagents 1.7, ``eval/context_eval.py``), to the bit.
Whatever scores handoffs, from events in memory or gigabytes of files, calls `score_handoff`.
"""

from collections.abc import Set
from typing import NamedTuple

from tracestream.kernels.tokens import distinct_tokens, iter_tokens
from tracestream.results import ContextHandoffResult

# All from the seed.
NEUTRAL_SCORE = 5.0
"""Passed and relevance where the output or the input is missing."""
EXACT_PASSED_SCORE = 10.0
EXACT_RELEVANCE_SCORE = 9.0
TOKENS_RELEVANCE_SCORE = 7.0
MAX_PASSED_SCORE = 10.0
EXACT_PREFIX_CHARS = 200
"""An output counts as handed on verbatim if this many of its first characters were."""
OVERLAP_SCALE = 12
OVERLAP_BASE = 2
"""passed = overlap * 12 + 2: two thirds of the tokens give the full 10, none of them 2."""
LOSS_BELOW_SCORE = 5.0
"""A passed score under this is a loss of content."""


class HandoffScore(NamedTuple):
    """The score of one handoff.

    Attributes:
        exact: Whether the output, or its first 200 characters, stand in the input as they are.
        output_tokens: Distinct tokens of the output; None if exact or a side is missing.
        shared_tokens: Those of them that the input has too; None likewise.
        passed: 2..10, the share of the output that arrived; 5 if a side is missing.
        relevance: 5 (a side is missing), 7 (by tokens) or 9 (exact).
        loss: Whether passed is under 5.
    """

    exact: bool
    output_tokens: int | None
    shared_tokens: int | None
    passed: float
    relevance: float
    loss: bool


def score_handoff(output: str | None, input_text: str | None) -> HandoffScore:
    """Return how much of an output the input of the next agent holds.

    Args:
        output: The last non-empty response of the first agent; None or empty is missing.
        input_text: Python's ``str()`` of the last non-empty messages of the second, as
            `tracestream.kernels.pyrepr.repr_text` gives it; None or empty is missing.

    Returns:
        The score. Where a side is missing it is the neutral 5, without loss. No tokens are counted
        where the match is exact. Memory: a lower-cased copy of each text in turn, and the distinct
        tokens of the output.

    Example:
        >>> tuple(score_handoff("final report 2024", "[{'content': 'final report 2024'}]"))
        (True, None, None, 10.0, 9.0, False)
        >>> tuple(score_handoff("final report 2024", "a Report"))
        (False, 3, 1, 6.0, 7.0, False)
        >>> tuple(score_handoff("final report 2024", None))
        (False, None, None, 5.0, 5.0, False)
    """
    if not output or not input_text:
        return HandoffScore(False, None, None, NEUTRAL_SCORE, NEUTRAL_SCORE, False)
    # An output that stands in the input as a whole does so with its first 200 characters.
    if output[:EXACT_PREFIX_CHARS] in input_text:
        return HandoffScore(True, None, None, EXACT_PASSED_SCORE, EXACT_RELEVANCE_SCORE, False)
    tokens = distinct_tokens(output)
    n_shared = count_shared(tokens, input_text)
    # The order of the operations is part of the rule: another one rounds differently.
    overlap = n_shared / max(len(tokens), 1)
    passed = min(MAX_PASSED_SCORE, overlap * OVERLAP_SCALE + OVERLAP_BASE)
    loss = passed < LOSS_BELOW_SCORE
    return HandoffScore(False, len(tokens), n_shared, passed, TOKENS_RELEVANCE_SCORE, loss)


def count_shared(tokens: Set[str], text: str) -> int:
    """Return how many of some tokens a text holds.

    Args:
        tokens: Distinct tokens, as `distinct_tokens` gives them.
        text: Read once, and only until every token has been seen.

    Example:
        >>> count_shared({"final", "report"}, "the report of reports")
        1
    """
    unseen = set(tokens)
    if unseen:
        for token in iter_tokens(text):
            if token in unseen:
                unseen.remove(token)
                if not unseen:
                    break
    return len(tokens) - len(unseen)


def loss_summary(passed: float) -> str:
    """Return what a passed score (0..10) says about lost content, in the seed's words.

    Example:
        >>> loss_summary(2.0)
        "Only 20% of output content found in next agent's input"
    """
    return f"Only {passed / 10 * 100:.0f}% of output content found in next agent's input"


def handoff_reasoning(from_agent: str, to_agent: str) -> str:
    """Return which pair of agents a score is about, in the seed's words.

    Example:
        >>> handoff_reasoning("researcher", "writer")
        'Context flow from researcher to writer'
    """
    return f"Context flow from {from_agent} to {to_agent}"


def handoff_result(from_agent: str, to_agent: str, score: HandoffScore) -> ContextHandoffResult:
    """Return a score as the result that users see, summary and reasoning filled in.

    Example:
        >>> handoff_result("a", "b", score_handoff("final report", "nothing")).lost_content_summary
        "Only 20% of output content found in next agent's input"
    """
    return ContextHandoffResult(
        from_agent=from_agent,
        to_agent=to_agent,
        context_passed_score=score.passed,
        context_relevance_score=score.relevance,
        content_loss_detected=score.loss,
        lost_content_summary=loss_summary(score.passed) if score.loss else "",
        reasoning=handoff_reasoning(from_agent, to_agent),
    )
