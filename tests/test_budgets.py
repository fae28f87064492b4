"""Which budget counts, in which order, for which run, and what was used of it."""

import io

import pytest

from tests.documents import graded, jsonl, read_report, request, response, tool_start
from tracestream import ConfigError, grade
from tracestream.ledgers import read_ledger


def test_a_ledger_and_budgets_are_refused_together():
    with pytest.raises(ConfigError, match=r"both budget and ledger .*\nHint: "):
        grade(b"", budget={"a": 5}, ledger=[{"agent_name": "a", "budget_tokens": 5}])


# ---- which budget counts ----

TRACE = [
    request("a", ["x"], "r1", tokens_used=10, tokens_budget=100),
    response("a", "x", "r1", prompt_tokens=7, completion_tokens=5),
    request("b", ["x"], "r1", tokens_used=20, tokens_budget=100),
    request("b", ["x"], "r1", tokens_used=15, tokens_budget=200),
    response("b", "x", "r1", prompt_tokens=3, completion_tokens=2),
    response("b", "x", "r1", prompt_tokens=6, completion_tokens=2),
    request("c", ["x"], "r1", tokens_used=30),
    tool_start("search", "r1"),
]


def budgets(*events, **options):
    """Return (agent, used, budget) of each budget row."""
    rows = grade(jsonl(*(events or TRACE)), **options).budgets.rows()
    return [row[1:4] for row in rows]


def row(agent, budget, used=None, run=None):
    return {"agent_name": agent, "used_tokens": used, "budget_tokens": budget, "run": run}


def test_without_any_the_trace_has_the_budgets():
    assert budgets() == [("a", 10, 100), ("b", 20, 200)]


def test_budgets_given_by_name_come_before_the_traces():
    assert budgets(budget={"b": 50}) == [("b", 20, 50)]


def test_a_budget_by_name_comes_before_the_one_for_any():
    expected = [("a", 10, 5), ("b", 20, 50), ("c", 30, 5)]
    assert budgets(budget={"*": 5, "b": 50}) == expected
    assert budgets(budget={"b": 50, "*": 5}) == expected


def test_a_ledger_comes_before_the_traces_budgets():
    assert budgets(ledger=[row("c", 7)]) == [("c", 30, 7)]


def test_rows_are_in_the_order_of_the_ledger():
    ledger = [row("c", 3), row("a", 1), row("c", 4, used=9), row("b", 2)]
    assert budgets(ledger=ledger) == [("c", 30, 3), ("a", 10, 1), ("c", 9, 4), ("b", 20, 2)]


def test_rows_of_budgets_are_in_the_order_of_the_agents():
    assert [agent for agent, *_ in budgets(budget={"c": 1, "b": 1, "a": 1})] == ["a", "b", "c"]
    chain = {"agents": ["c", "a"], "budget": {"*": 1}}
    assert [agent for agent, *_ in budgets(**chain)] == ["c", "a", "b"]


def test_an_agent_that_is_absent_has_no_row_unless_a_ledger_gives_its_use():
    assert budgets(budget={"a": 1, "stranger": 1}) == [("a", 10, 1)]
    chain = {"agents": ["a", "stranger"], "budget": {"*": 1}}
    assert [agent for agent, *_ in budgets(**chain)] == ["a", "b", "c"]
    assert budgets(ledger=[row("stranger", 1), row("b", 1)]) == [("b", 20, 1)]
    assert budgets(ledger=[row("stranger", 1, used=5)]) == [("stranger", 5, 1)]


@pytest.mark.parametrize("zero", [{"budget": {"b": 0}}, {"ledger": [row("b", 0)]}], ids=repr)
def test_a_budget_of_0_that_is_given_scores_the_neutral_5(zero):
    (run,) = graded(grade(jsonl(*TRACE), **zero))["runs"]
    (budget,) = run["context"]["budgets"]
    assert (budget["compliance_score"], budget["within_budget"]) == (5.0, True)
    assert run["context"]["budget_score"] == 5.0


def test_a_budget_of_0_in_a_trace_is_none():
    event = request("a", ["x"], tokens_used=10, tokens_budget=0)
    assert budgets(event) == []
    assert budgets({**event, "tokens_budget": 50}, event) == [("a", 10, 50)]
    assert budgets({**event, "tokens_budget": -5}) == []


def test_budgets_of_a_trace_are_in_requests_only():
    assert budgets(response("a", "x", tokens_used=10, tokens_budget=100)) == []


def test_a_trace_has_the_last_positive_budget_and_the_largest_use():
    counts = [(10, 100), (900, 0), (50, 200), (70, -3)]
    events = [request("a", ["x"], tokens_used=u, tokens_budget=b) for u, b in counts]
    assert budgets(*events) == [("a", 900, 200)]


# ---- what was used ----

USE = [row(agent, 1) for agent in "abc"]


def test_usage_is_the_peak_of_context_where_the_trace_has_it():
    assert budgets(ledger=USE) == [("a", 10, 1), ("b", 20, 1), ("c", 30, 1)]
    assert budgets(ledger=USE, usage="peak") == budgets(ledger=USE)


def test_usage_total_sums_input_and_output():
    trace = grade(jsonl(*TRACE), ledger=USE, usage="total")
    assert [row[1:3] for row in trace.budgets.rows()] == [("a", 12), ("b", 13)]
    (run,) = graded(trace)["runs"]
    assert run["reasons"] == ["no budget to score for c: its token usage is not recorded"]


BARE = [
    response("a", "x", prompt_tokens=7, completion_tokens=5),
    response("a", "x", prompt_tokens=9, completion_tokens=1),
    response("b", "x", completion_tokens=4),
]


def test_usage_unset_is_total_where_no_context_is_recorded():
    assert budgets(*BARE, budget={"*": 1}) == [("a", 22, 1), ("b", 4, 1)]


def test_usage_peak_is_the_largest_input_of_a_call_where_no_context_is_recorded():
    assert budgets(*BARE, budget={"*": 1}, usage="peak") == [("a", 9, 1)]


def test_used_tokens_of_a_ledger_come_before_the_traces():
    assert budgets(ledger=[row("a", 1, used=0), row("b", 1, used=5)]) == [("a", 0, 1), ("b", 5, 1)]


def test_sums_beyond_64_bits_stay_at_the_largest():
    tokens = 1 << 48
    events = [response("a", "x", prompt_tokens=tokens, completion_tokens=tokens)] * 40_000
    report = grade(jsonl(*events), budget={"a": 5}, usage="total")
    largest = (1 << 63) - 1
    assert report.budgets["used_tokens"].to_list() == [largest]
    assert graded(report)["summary"]["input_tokens"] == largest


# ---- which run ----


def corpus(folder):
    for name, run_id in (("one", "r1"), ("two", "r1"), ("three", "r3")):
        event = request("a", ["x"], run_id, tokens_used=1)
        (folder / f"{name}.jsonl").write_bytes(jsonl(event))
    return [folder / f"{name}.jsonl" for name in ("one", "two", "three")]


@pytest.mark.parametrize(
    ("run", "counts"),
    [
        (None, [1, 1, 1]),
        ("", [1, 1, 1]),
        ("r1", [1, 1, 0]),
        ("r3", [0, 0, 1]),
        ("{}/two.jsonl#r1", [0, 1, 0]),
        ("{}/two.jsonl", [0, 0, 0]),
        ("nobody", [0, 0, 0]),
    ],
)
def test_a_row_is_for_a_run_by_its_name_or_its_id_or_for_all(tmp_path, run, counts):
    run = run and run.format(tmp_path)
    report = grade(corpus(tmp_path), ledger=[row("a", 5, run=run)])
    documents = graded(report)["runs"]
    assert [len(document["context"]["budgets"]) for document in documents] == counts
    if any(counts):
        assert report.problems == ()
    else:
        assert report.problems[0].startswith(
            f"the ledger names the run {run!r}, which is in no run"
        )


def test_rows_for_all_runs_and_for_one_keep_the_order_of_the_ledger(tmp_path):
    ledger = [row("a", 1, run="r3"), row("a", 2), row("a", 3, run="r1"), row("a", 4), row("a", 5)]
    report = grade(corpus(tmp_path), ledger=ledger)
    runs = [run["context"]["budgets"] for run in graded(report)["runs"]]
    assert [[b["budget_tokens"] for b in run] for run in runs] == [[2, 3, 4, 5]] * 2 + [
        [1, 2, 4, 5]
    ]


def test_the_order_of_a_long_ledger_is_kept_too():
    rows = [row("a", number, used=1, run="other") for number in range(40)]
    rows[1], rows[33] = row("a", 1, run="r1"), row("a", 33)
    assert [budget for _, _, budget in budgets(ledger=rows)] == [1, 33]


def test_a_run_with_half_a_surrogate_pair_can_be_written():
    options = graded(grade(jsonl(*TRACE), ledger=[row("a", 1, run="\ud800")]))["options"]
    assert options["ledger"] == [row("a", 1, run="\ufffd")]


def test_a_row_is_not_counted_twice_where_run_and_id_are_the_same():
    stream = io.BytesIO(jsonl(request("a", ["x"], tokens_used=1)))
    stream.name = "r1"
    assert grade(stream, ledger=[row("a", 5, run="r1")]).budgets.height == 1


class Counted(list):
    """Counts how often it is gone through."""

    n = 0

    def __iter__(self):
        Counted.n += 1
        return super().__iter__()


def test_a_ledger_is_not_searched_run_by_run(monkeypatch):
    """Else 50,000 runs and a row for each would be 2,500,000,000 comparisons."""
    monkeypatch.setattr("tracestream.grading.read_ledger", lambda rows: Counted(read_ledger(rows)))
    numbers = range(100)
    events = [response("a", "x", f"r{number}", prompt_tokens=1) for number in numbers]
    rows = [row("a", number, used=1, run=f"r{number}") for number in numbers]
    assert grade(jsonl(*events), ledger=rows).budgets["budget_tokens"].to_list() == list(numbers)
    assert 0 < Counted.n < 10


def test_the_report_holds_the_rows_and_not_the_file(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text("budget_tokens,agent_name,run\n100,a,\n", "utf-8")
    data = grade(jsonl(*TRACE), ledger=path).to_json()
    assert read_report(data)["options"]["ledger"] == [row("a", 100)]
    assert b"ledger.csv" not in data
