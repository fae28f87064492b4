import json
from dataclasses import fields
from random import Random

import pytest
from praisonaiagents.eval import context_eval as theirs

from tracestream import results as ours

NAMES = ["ContextHandoffResult", "BudgetComplianceResult", "ContextEvalResult"]


def shape(dataclass):
    return [(f.name, f.default, f.default_factory) for f in fields(dataclass)]


def result(module, scores, spent):
    handoffs = [
        module.ContextHandoffResult("a", "b", score, 7.0, score < 5.0, "lost", "why")
        for score in scores
    ]
    budgets = [module.BudgetComplianceResult("a", 1, 2, score == 10, score) for score in spent]
    return module.ContextEvalResult(handoffs, budgets, "1234abcd", "name")


@pytest.mark.parametrize("name", NAMES)
def test_fields_order_and_defaults_are_the_references(name):
    assert shape(getattr(ours, name)) == shape(getattr(theirs, name))


@pytest.mark.parametrize("seed", range(200))
def test_means_and_dicts_equal_the_reference_to_the_bit(seed):
    rng = Random(seed)
    scores = [rng.uniform(2, 10) for _ in range(rng.choice([0, 1, 2, 3, 50]))]
    spent = [rng.uniform(1, 10) for _ in range(rng.choice([0, 1, 7]))]
    mine, other = result(ours, scores, spent), result(theirs, scores, spent)
    # Text shows every bit of a float and the order of the keys.
    assert json.dumps(mine.to_dict()) == json.dumps(other.to_dict())


def test_nothing_evaluated_scores_zero():
    empty = ours.ContextEvalResult()
    assert (empty.handoff_score, empty.budget_score, empty.overall_score) == (0.0, 0.0, 0.0)
    assert empty.content_loss_detected is False


@pytest.mark.parametrize(
    ("scores", "spent", "overall"),
    [([4.0, 8.0], [], 6.0), ([], [3.0], 3.0), ([4.0, 8.0], [10.0], 8.0)],
    ids=["handoffs only", "budgets only", "both"],
)
def test_overall_averages_the_dimensions_present(scores, spent, overall):
    assert result(ours, scores, spent).overall_score == overall


def test_one_lossy_handoff_is_content_loss():
    assert result(ours, [10.0, 4.9], []).content_loss_detected is True
    assert result(ours, [10.0, 5.0], []).content_loss_detected is False


def test_results_do_not_share_their_lists():
    ours.ContextEvalResult().handoffs.append("x")
    assert ours.ContextEvalResult().handoffs == []
