"""Budgets that `grade` scores are those of praisonaiagents, to the bit.

`tests/test_reference.py` holds the class `ContextEvaluator` to the reference on any value; here it is
the path of files: ledger -> rows -> runs -> report, on every value that the command takes.
"""

import json
from random import Random

from praisonaiagents.eval.context_eval import ContextEvaluator as TheirEvaluator

from tests.documents import graded, jsonl, response
from tests.nasty import AGENTS
from tracestream import grade

N_LEDGERS, BLOCK = 2_000, 100
COUNTS = [0, 1, 2, 3, 7, 99, 100, 101, 4096, 8200, 128_000, (1 << 48) - 1, 1 << 48]


def count(rng):
    """Return a number of tokens in any of the forms that the command takes."""
    tokens = rng.choice([rng.choice(COUNTS), rng.randrange(200), rng.randrange(20_000)])
    return rng.choice([tokens, tokens, float(tokens), str(tokens), f" {tokens}\n"])


def ledger(rng):
    """Return the entries of a ledger that stands for itself: it gives every use."""
    entries = []
    for _ in range(rng.randrange(6)):
        entries.append(
            {
                "agent_name": rng.choice(AGENTS),
                "budget_tokens": count(rng),
                "used_tokens": count(rng),
            }
        )
    return entries


def theirs(entries):
    result = TheirEvaluator(budget_ledger=entries).run().to_dict()
    return {name: result[name] for name in ("budgets", "budget_score", "overall_score")}


def test_equal_on_ledgers():
    n_over = n_neutral = 0
    for start in range(0, N_LEDGERS, BLOCK):
        ledgers = {f"r{seed}": ledger(Random(seed)) for seed in range(start, start + BLOCK)}
        events = [response("nobody of the ledgers", "x", run_id) for run_id in ledgers]
        rows = [
            {**entry, "run": run_id} for run_id, entries in ledgers.items() for entry in entries
        ]
        runs = graded(grade(jsonl(*events), ledger=rows))["runs"]
        assert [run["run_id"] for run in runs] == list(ledgers)
        for run in runs:
            expected = theirs(ledgers[run["run_id"]])
            ours = {name: run["context"][name] for name in expected}
            # Text shows every bit of a float and the order of the keys.
            assert json.dumps(ours) == json.dumps(expected), run["run_id"]
            n_over += sum(not budget["within_budget"] for budget in expected["budgets"])
            n_neutral += sum(budget["compliance_score"] == 5.0 for budget in expected["budgets"])
    assert min(n_over, n_neutral) > 100


def test_the_columns_and_the_means_are_equal_too():
    for seed in range(200):
        entries = ledger(Random(seed))
        if not entries:
            continue
        report = grade(jsonl(response("nobody of the ledgers", "x")), ledger=entries)
        expected = theirs(entries)
        keys = ("agent_name", "used_tokens", "budget_tokens", "within_budget", "compliance_score")
        assert [row[1:] for row in report.budgets.rows()] == [
            tuple(budget[key] for key in keys) for budget in expected["budgets"]
        ]
        assert report.runs["budget_score"].to_list() == [expected["budget_score"]]
        assert report.runs["overall_score"].to_list() == [expected["overall_score"]]
