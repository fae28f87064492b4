"""What a report says: summary, exit code, run documents, and that nothing else gets into it."""

import math
import subprocess
import sys

import polars as pl
import pytest

from tests.documents import graded, jsonl, request, response
from tests.reports import ALL, ALONE, HANDED_ON, IDLE, LOST, TOOLS, of
from tracestream import grade
from tracestream.schema import BUDGETS, HANDOFFS, RUNS

# ---- the summary ----


def test_the_summary_counts_and_averages_what_is_there():
    report = of(*ALL)
    assert report.summary == {
        "runs": 5,
        "passed": 4,
        "failed": 0,
        "ungradable": 1,
        "handoff_score": 6.0,
        "budget_score": 5.0,
        "overall_score": 6.75,
        "content_loss_runs": 1,
        "tool_calls": 2,
        "input_tokens": 7,
        "output_tokens": 5,
        "events": 8,
        "bytes": len(jsonl(*ALL)),
    }
    assert graded(report)["summary"] == report.summary


@pytest.mark.parametrize("events", [TOOLS, IDLE, ()], ids=["tools", "idle", "empty"])
def test_a_mean_of_nothing_is_null(events):
    summary = graded(of(*events))["summary"]
    for name in ("handoff", "budget", "overall"):
        assert summary[f"{name}_score"] is None
    assert (summary["input_tokens"], summary["output_tokens"]) == (None, None)
    assert (summary["content_loss_runs"], summary["tool_calls"]) == (0, 2 * (events == TOOLS))


def test_a_mean_over_runs_is_the_exact_sum_rounded_once():
    """The builtin sum of Python 3.11 gives another float here, in some order of the runs."""
    scores = [3, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41]
    events = [request("a", ["x"], f"r{s}", tokens_used=100 + s, tokens_budget=100) for s in scores]
    report = of(*events)
    column = report.runs["budget_score"].to_list()
    assert report.summary["budget_score"] == math.fsum(column) / len(column)
    assert of(*reversed(events)).summary["budget_score"] == report.summary["budget_score"]


def test_usage_is_summed_over_the_runs_that_record_it():
    both = of(response("a", "x", "1", prompt_tokens=7), response("a", "x", "2"))
    assert both.summary["input_tokens"] == 7
    assert both.summary["output_tokens"] is None
    assert [run["usage"]["input_tokens"] for run in graded(both)["runs"]] == [7, None]


def test_a_sum_beyond_64_bits_stays_at_the_end_of_the_range():
    tokens = 1 << 48
    runs = ("r1", "r2")
    events = [response("a", "x", run, prompt_tokens=tokens) for run in runs for _ in range(33_000)]
    summary = graded(of(*events))["summary"]
    assert summary["input_tokens"] == (1 << 63) - 1


# ---- the exit code ----

EXITS = {
    "all pass": (HANDED_ON, {}, 0),
    "a loss is no failure unless asked": (LOST, {}, 0),
    "a gate fails": ((*HANDED_ON, *LOST), {"min_score": 8}, 1),
    "a loss fails": ((*HANDED_ON, *LOST), {"fail_on_content_loss": True}, 1),
    "ungradable beside graded": ((*HANDED_ON, *IDLE), {}, 0),
    "nothing to grade": (IDLE, {}, 2),
    "empty": ((), {}, 2),
    "an agent that no run has": (HANDED_ON, {"agents": ["a", "stranger"]}, 2),
    "an agent that some run has": ((*HANDED_ON, *ALONE), {"agents": ["a", "b"]}, 0),
    "a budget for an agent that no run has": (HANDED_ON, {"budget": {"stranger": 5}}, 2),
    "a ledger with an agent that no run has": (
        HANDED_ON,
        {"ledger": [{"agent_name": "stranger", "budget_tokens": 5}]},
        2,
    ),
    "a ledger that says what a stranger used": (
        HANDED_ON,
        {"ledger": [{"agent_name": "stranger", "used_tokens": 1, "budget_tokens": 5}]},
        0,
    ),
    "a budget for any": (HANDED_ON, {"budget": {"*": 5}}, 0),
    "a ledger for a run that is not there": (
        HANDED_ON,
        {"ledger": [{"agent_name": "a", "used_tokens": 1, "budget_tokens": 5, "run": "no"}]},
        2,
    ),
    "no run has handoffs": ((*ALONE, *TOOLS), {"min_handoff": 1}, 2),
    "no run has handoffs, for losses": (ALONE, {"fail_on_content_loss": True}, 2),
    "no run has budgets": (HANDED_ON, {"min_budget": 1}, 2),
    "no run has a score": (TOOLS, {"min_score": 1}, 2),
    "some run has it": ((*HANDED_ON, *ALONE), {"min_handoff": 1}, 0),
    "too few tool calls": (HANDED_ON, {"min_tool_calls": 1}, 1),
    "2 outranks 1": (LOST, {"min_handoff": 9, "agents": ["a", "b", "stranger"]}, 2),
    "strict, clean": (HANDED_ON, {"strict": True}, 0),
    "strict, ungradable": ((*HANDED_ON, *IDLE), {"strict": True}, 1),
    "strict, a gate without its dimension": (
        (*HANDED_ON, *ALONE),
        {"strict": True, "min_handoff": 1},
        1,
    ),
    "strict, no gate": ((*HANDED_ON, *ALONE), {"strict": True}, 0),
    "strict, failed": (LOST, {"strict": True, "min_score": 8}, 1),
    "strict, nothing to grade": (IDLE, {"strict": True}, 2),
}


@pytest.mark.parametrize(("events", "options", "code"), EXITS.values(), ids=EXITS)
def test_exit_code(events, options, code):
    report = of(*events, **options)
    assert report.exit_code == code
    graded(report)  # the report is there, whatever the code


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (b"", 0),
        (b"not JSON\n", 1),  # loss
        (b"[1]\n", 1),  # doubt
        (b'{"event_type": "llm_response", "agent_name": 5}\n', 1),  # doubt
        (b'{"event_type": "hologram"}\n', 0),  # note
        (b'{"event_type": "llm_response", "x": NaN}\n', 0),  # note
    ],
)
def test_strict_lets_no_loss_and_no_doubt_pass(damage, code):
    data = jsonl(*HANDED_ON) + damage
    assert grade(data).exit_code == 0
    assert grade(data, strict=True).exit_code == code


def test_strict_says_what_it_does_not_let_pass():
    data = jsonl(*HANDED_ON, *ALONE, *IDLE) + b"not JSON\n"
    report = grade(data, strict=True, min_handoff=1)
    assert report.strict_reasons() == [
        "losses or doubts in the quality ledger: 1",
        "ungradable runs: 1",
        "a run has no handoff to score",
    ]


def test_a_problem_is_a_sentence():
    report = of(*TOOLS, agents=["x", "y", "x"], min_score=1)
    assert report.problems == (
        "--agents names the agent 'x', which is in no run (there: none)",
        "--agents names the agent 'y', which is in no run (there: none)",
    )
    report = of(*ALONE, min_handoff=1, min_score=1, min_budget=1)
    assert report.problems == tuple(
        f"{words} in any run"
        for words in ("nothing to score", "no handoff to score", "no budget to score")
    )


# ---- in Python ----


def test_tables_are_polars_frames_of_the_published_columns():
    report = of(*ALL)
    for frame, columns in (
        (report.runs, RUNS),
        (report.handoffs, HANDOFFS),
        (report.budgets, BUDGETS),
    ):
        assert isinstance(frame, pl.DataFrame)
        assert frame.columns == columns.names
    assert report.handoffs["chain"].to_list() == ["first-seen"] * 2
    assert of(*ALL, agents=["a", "b"]).handoffs["chain"].unique().to_list() == ["given"]
    assert report.quality.columns == [
        *("reason", "class", "count", "source", "line", "offset", "detail")
    ]


def test_a_report_prints_in_one_line():
    assert repr(of(*ALL)) == "<Report: 5 runs, 4 passed, 0 failed, 1 ungradable>"


def test_a_report_asks_what_writes_it_only_when_it_is_written():
    """Layers: render knows the report, and not the other way round."""
    program = (
        "import sys\n"
        "import tracestream as ts\n"
        "ts.grade(b'').to_json()\n"
        "assert not any(name.startswith('tracestream.render') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
