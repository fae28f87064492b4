import inspect
import json
import logging
import math
import os
import re
from collections import UserDict
from enum import Enum
from pathlib import Path
from types import SimpleNamespace

import pytest
from praisonaiagents.eval.context_eval import ContextEvaluator as TheirEvaluator
from praisonaiagents.trace.context_events import ContextEventType

from tracestream.evaluators import ContextEvaluator

ORDER = ["researcher", "writer"]


class Plain(Enum):
    RESPONSE = "llm_response"
    REQUEST = "llm_request"


class Unprintable(list):
    def __str__(self):
        raise AssertionError("turned into text")


def response(content, agent="researcher"):
    data = {"response_content": content}
    return {"event_type": "llm_response", "agent_name": agent, "data": data}


def request(messages, agent="writer"):
    return {"event_type": "llm_request", "agent_name": agent, "data": {"messages": messages}}


def passed(*events, order=ORDER):
    return [
        handoff.context_passed_score
        for handoff in ContextEvaluator(events, order).evaluate_handoff()
    ]


HANDED_ON = [response("sales doubled"), request(["sales doubled"])]


def test_signatures_are_the_references():
    for name in ("__init__", "evaluate_handoff", "evaluate_budget", "run"):
        ours, theirs = getattr(ContextEvaluator, name), getattr(TheirEvaluator, name)
        assert [
            (p.name, p.kind, p.default) for p in inspect.signature(ours).parameters.values()
        ] == [(p.name, p.kind, p.default) for p in inspect.signature(theirs).parameters.values()]


def test_nothing_given_is_empty_and_named_after_its_id():
    evaluator = ContextEvaluator()
    assert re.fullmatch("[0-9a-f]{8}", evaluator.eval_id)
    assert evaluator.name == f"eval_{evaluator.eval_id}"
    assert (evaluator.trace_events, evaluator.agent_order, evaluator.budget_ledger) == ([], [], [])
    assert (evaluator.save_results_path, evaluator.verbose) == (None, False)
    assert evaluator.run().overall_score == 0.0
    assert ContextEvaluator(name="").name.startswith("eval_")
    assert ContextEvaluator().eval_id != evaluator.eval_id


def test_repr_names_class_name_and_id():
    evaluator = ContextEvaluator(name="n'1")
    assert repr(evaluator) == f"ContextEvaluator(name=\"n'1\", eval_id='{evaluator.eval_id}')"


def test_result_carries_name_and_id_of_the_evaluator():
    evaluator = ContextEvaluator(name="nightly")
    result = evaluator.run(anything=1)
    assert (result.name, result.eval_id) == ("nightly", evaluator.eval_id)


# ---- events ----


@pytest.mark.parametrize("kind", [str, Plain, ContextEventType], ids=["text", "enum", "text enum"])
def test_events_are_objects_with_any_kind_of_event_type(kind):
    objects = [
        SimpleNamespace(**{**event, "event_type": kind(event["event_type"])}) for event in HANDED_ON
    ]
    assert passed(*objects) == [10.0]


def test_events_are_dicts_or_what_reads_like_one():
    assert passed(*HANDED_ON) == [10.0]
    assert passed(*map(UserDict, HANDED_ON)) == [10.0]
    assert passed(*[{**e, "data": UserDict(e["data"])} for e in HANDED_ON]) == [10.0]


def test_arguments_stand_in_for_what_the_evaluator_holds():
    evaluator = ContextEvaluator(HANDED_ON, ORDER, [{"used_tokens": 1, "budget_tokens": 1}])
    assert evaluator.evaluate_handoff(iter([]))[0].context_passed_score == 5.0
    assert evaluator.evaluate_handoff(agent_order=["writer", "nobody"])[0].to_agent == "nobody"
    assert evaluator.evaluate_handoff(agent_order=[]) == []
    assert evaluator.evaluate_budget([]) == []


def test_fewer_than_two_agents_read_no_events():
    assert ContextEvaluator(agent_order=["a"]).evaluate_handoff([object()]) == []


@pytest.mark.parametrize("later", [None, "", "missing"])
def test_the_last_non_empty_response_and_messages_count(later):
    blank = [response(later), request(later)]
    if later == "missing":
        blank = [{**event, "data": {}} for event in blank]
    assert passed(response("old text"), request(["old"]), *HANDED_ON, *blank) == [10.0]


def test_only_the_messages_that_are_scored_become_text():
    superseded = request(Unprintable(["x"]))
    elsewhere = request(Unprintable(["x"]), agent="researcher")
    assert passed(superseded, elsewhere, *HANDED_ON) == [10.0]


@pytest.mark.parametrize(
    "data", [None, [], ["response_content"], "text", 7, {}, {"response_content": None}], ids=repr
)
def test_data_that_is_no_mapping_counts_as_empty(data):
    empty = [{**event, "data": data} for event in HANDED_ON]
    assert passed(*empty) == [5.0]
    assert passed(*HANDED_ON, *empty) == [10.0]


@pytest.mark.parametrize(
    "content", [["sales"], {"text": "sales"}, 7, True, b"sales doubled"], ids=repr
)
def test_a_response_that_is_no_string_does_not_count(content):
    assert passed(response(content), HANDED_ON[1]) == [5.0]
    assert passed(*HANDED_ON, response(content)) == [10.0]


@pytest.mark.parametrize(
    "agent", [None, "", [], {}, ["researcher"], {"name": "researcher"}], ids=repr
)
def test_events_without_a_usable_agent_do_not_count(agent):
    strays = [response("other words", agent), request(["other words"], agent)]
    assert passed(*HANDED_ON, *strays) == [10.0]


def test_the_callers_events_are_left_as_they_were():
    before = json.dumps(HANDED_ON)
    passed(*HANDED_ON)
    assert json.dumps(HANDED_ON) == before


# ---- budgets ----


@pytest.mark.parametrize(
    ("count", "tokens"),
    [
        ("8200", 8200),
        (100.9, 100),
        (-100.9, -100),
        (None, 0),
        ("", 0),
        (True, 1),
        (" 7\n", 7),
        ([], 0),
    ],
    ids=repr,
)
def test_counts_go_through_int(count, tokens):
    entry = {"agent_name": "a", "used_tokens": count, "budget_tokens": count}
    (result,) = ContextEvaluator().evaluate_budget([entry])
    assert (result.used_tokens, result.budget_tokens) == (tokens, tokens)
    assert result == ContextEvaluator(budget_ledger=[entry]).run().budgets[0]
    assert vars(result) == vars(TheirEvaluator().evaluate_budget([entry])[0])


@pytest.mark.parametrize(
    ("count", "error"),
    [
        ("100.9", ValueError),
        ("many", ValueError),
        (math.nan, ValueError),
        (math.inf, OverflowError),
    ],
)
def test_counts_that_int_refuses_raise_as_in_the_reference(count, error):
    for evaluator in (ContextEvaluator(), TheirEvaluator()):
        with pytest.raises(error):
            evaluator.evaluate_budget([{"used_tokens": count, "budget_tokens": 1}])


def test_an_entry_without_anything_is_neutral():
    (result,) = ContextEvaluator().evaluate_budget([{}])
    assert (result.agent_name, result.compliance_score) == ("", 5.0)


# ---- summary, log ----


def test_summary_is_printed_only_when_asked_for(capsys):
    evaluator = ContextEvaluator(
        HANDED_ON,
        [*ORDER, "editor"],
        [{"agent_name": "writer", "used_tokens": 3, "budget_tokens": 2}],
        "n",
    )
    evaluator.run()
    assert capsys.readouterr() == ("", "")
    evaluator.run(print_summary=True)
    rule = "=" * 60
    assert capsys.readouterr().out.split("\n") == [
        "",
        rule,
        "ContextEvaluator Results: n",
        rule,
        "Overall Score: 6.2/10",
        "Handoff Score: 7.5/10",
        "  📊 researcher → writer: 10.0/10",
        "  📊 writer → editor: 5.0/10",
        "Budget Score: 5.0/10",
        "  📊 writer: 5.0/10 ❌ over",
        rule,
        "",
        "",
    ]


def test_verbose_logs_start_end_and_file(caplog, tmp_path):
    caplog.set_level(logging.INFO, logger="tracestream.evaluators")
    path = str(tmp_path / "out.json")
    ContextEvaluator(name="quiet", save_results_path=path).run()
    assert caplog.messages == []
    evaluator = ContextEvaluator(name="loud", save_results_path=path, verbose=True)
    evaluator.run()
    assert caplog.messages == [
        f"Starting evaluation: loud (ID: {evaluator.eval_id})",
        "Completed evaluation: loud",
        f"Saved results to: {path}",
    ]


# ---- saving ----


def saved(evaluator_class, folder):
    ledger = [{"agent_name": "é\ud800", "used_tokens": 3, "budget_tokens": 2}]
    ledger.append({"agent_name": Path("no/text")})
    evaluator = evaluator_class(
        HANDED_ON, ORDER, ledger, "n", str(folder / "a" / "{name}-{eval_id}.json")
    )
    evaluator.eval_id = "1234abcd"
    evaluator.run()
    return (folder / "a" / "n-1234abcd.json").read_bytes()


def test_the_saved_file_is_the_references_byte_for_byte(tmp_path):
    assert saved(ContextEvaluator, tmp_path / "ours") == saved(TheirEvaluator, tmp_path / "theirs")
    assert os.listdir(tmp_path / "ours" / "a") == ["n-1234abcd.json"]


def test_a_path_object_is_a_path(tmp_path):
    ContextEvaluator(save_results_path=tmp_path / "{name}.json", name="n").run()
    assert json.loads((tmp_path / "n.json").read_bytes())["name"] == "n"


@pytest.mark.parametrize(
    "path",
    ["{tmp}/file/out.json", "{tmp}", "{tmp}/{{unknown}}.json", "{tmp}/{{", "{tmp}/\0.json"],
    ids=["parent is a file", "is a folder", "placeholder", "brace", "nul"],
)
def test_a_save_that_fails_is_a_warning_and_no_error(path, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    evaluator = ContextEvaluator(HANDED_ON, ORDER, save_results_path=path.format(tmp=tmp_path))
    assert evaluator.run().handoff_score == 10.0
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("Failed to save results: ")
    assert os.listdir(tmp_path) == ["file"]


def recorded(*events):
    """Stand in for a workflow that has run: it has its events."""
    return type("Workflow", (), {"trace_events": list(events)})


def test_a_workflow_of_two_agents_with_a_ledger_is_scored_as_its_documentation_shows(capsys):
    workflow = recorded(
        {
            "event_type": "llm_response",
            "agent_name": "researcher",
            "data": {"response_content": "Agents hand work on to other agents"},
        },
        {
            "event_type": "llm_request",
            "agent_name": "writer",
            "data": {"messages": [{"role": "user", "content": "Report: agents hand work on"}]},
        },
    )
    result = ContextEvaluator(
        trace_events=workflow.trace_events,
        agent_order=["researcher", "writer"],
        budget_ledger=[
            {"agent_name": "researcher", "used_tokens": 8_200, "budget_tokens": 10_000},
            {"agent_name": "writer", "used_tokens": 9_000, "budget_tokens": 6_000},
        ],
    ).run(print_summary=True)
    # Of agents, hand, work and other, three arrive: 3 / 4 * 12 + 2 is more than 10.
    assert (result.handoff_score, result.budget_score, result.overall_score) == (10.0, 7.5, 8.75)
    assert result.content_loss_detected is False
    assert "writer: 5.0/10 ❌ over" in capsys.readouterr().out
