"""What `grade` makes of traces, rule by rule; the numbers themselves are held to the reference."""

import io

import pytest

from tests.documents import graded, jsonl, request, response, tool_start
from tracestream import ConfigError, DialectError, FrameError, grade

OUT = "alpha beta gamma delta"


def runs(*events, **options):
    return graded(grade(jsonl(*events), **options))["runs"]


def handoffs(*events, **options):
    """Return (from, to, passed, relevance, lost) of each handoff of the only run."""
    (run,) = runs(*events, **options)
    return [tuple(handoff.values())[:5] for handoff in run["context"]["handoffs"]]


# ---- handoffs ----


def test_a_pair_is_scored_from_the_last_response_and_the_last_messages():
    events = [
        response("a", "old words"),
        request("b", ["old words"]),
        response("a", OUT),
        response("a", ""),
        request("b", ["alpha BETA"]),
        request("b", []),
    ]
    assert handoffs(*events) == [("a", "b", 8.0, 7.0, False)]


@pytest.mark.parametrize(
    "events",
    [
        (response("a", ""), request("b", ["x"])),
        (response("a", "x"), request("b", [])),
        (request("a", ["x"]), request("b", ["x"])),
        (response("a", "x"), response("b", "x")),
    ],
)
def test_a_pair_with_a_side_missing_is_neutral(events):
    assert handoffs(*events) == [("a", "b", 5.0, 5.0, False)]


@pytest.mark.parametrize("messages", [[OUT], OUT, {"content": OUT}, [[OUT * 2]]], ids=repr)
def test_an_output_that_stands_in_the_messages_is_exact(messages):
    report = grade(jsonl(response("a", OUT), request("b", messages)))
    assert report.handoffs["exact"].to_list() == [True]
    assert report.handoffs["context_passed_score"].to_list() == [10.0]
    assert report.handoffs["output_tokens"].to_list() == [None]


def test_the_first_200_characters_make_an_output_exact():
    output = "x" * 200 + " and what was cut off"
    assert handoffs(response("a", output), request("b", [output[:200]]))[0][2] == 10.0
    assert handoffs(response("a", output), request("b", [output[:199]]))[0][2] == 2.0


def test_messages_are_matched_as_python_writes_them():
    """A line end in a message is two characters there, as in the reference."""
    assert handoffs(response("a", "one\ntwo"), request("b", ["one\ntwo"]))[0][2] == 2.0
    assert handoffs(response("a", "it's"), request("b", ["it's"]))[0][2] == 10.0


def test_a_score_under_5_is_a_loss_with_words():
    (run,) = runs(response("a", OUT), request("b", ["nothing"]))
    (handoff,) = run["context"]["handoffs"]
    summary = "Only 20% of output content found in next agent's input"
    assert (handoff["context_passed_score"], handoff["lost_content_summary"]) == (2.0, summary)
    assert handoff["reasoning"] == "Context flow from a to b"
    assert handoff["content_loss_detected"] is run["context"]["content_loss_detected"] is True


@pytest.mark.parametrize("content", [["parts"], {"text": "x"}, 5, True], ids=repr)
def test_a_response_that_is_no_string_does_not_count_and_is_noted(content):
    report = grade(jsonl(response("a", OUT), response("a", content), request("b", [OUT])))
    assert report.handoffs["context_passed_score"].to_list() == [10.0]
    assert report.ledger.count("doubt") == 1
    assert "wrong_type" in report.ledger.entries


def test_null_is_absent_and_no_wrong_type():
    report = grade(jsonl(response("a", OUT), response("a", None), request("b", None)))
    assert report.ledger.entries == {}
    assert report.handoffs["context_passed_score"].to_list() == [5.0]


# ---- agents ----


def test_agents_are_in_the_order_of_their_first_exchange_with_content_or_without():
    events = [
        {"event_type": "agent_start", "agent_name": "c"},
        request("b", None),
        response("", OUT),
        response("a", ""),
        response("b", OUT),
        request("c", [OUT]),
    ]
    assert [pair[:2] for pair in handoffs(*events)] == [("b", "a"), ("a", "c")]


def test_given_agents_are_the_chain_of_every_run_and_a_missing_one_is_neutral():
    events = [response("a", OUT), request("b", [OUT])]
    assert handoffs(*events, agents=["a", "b"]) == [("a", "b", 10.0, 9.0, False)]
    assert handoffs(*events, agents=["a", "stranger", "b"]) == [
        ("a", "stranger", 5.0, 5.0, False),
        ("stranger", "b", 5.0, 5.0, False),
    ]


def test_an_agent_may_be_in_the_chain_twice():
    events = [response("a", OUT), request("b", [OUT]), response("b", OUT), request("a", [OUT])]
    assert [pair[:3] for pair in handoffs(*events, agents=["a", "b", "a"])] == [
        ("a", "b", 10.0),
        ("b", "a", 10.0),
    ]


def test_a_run_whose_exchanges_carry_no_text_has_no_handoff_dimension():
    events = [response("a", None), request("b", None), tool_start("search")]
    (run,) = runs(*events)
    assert run["context"]["handoffs"] == []
    assert run["reasons"] == ["no handoff to score: no request or response carries text"]
    assert len(handoffs(*events, agents=["a", "b"])) == 1


@pytest.mark.parametrize(
    ("events", "words"), [([response("a", OUT)], "one agent"), ([tool_start("x")], "no agent")]
)
def test_a_run_without_two_agents_has_no_handoff_dimension(events, words):
    (run,) = runs(*events)
    assert run["reasons"] == [f"no handoff to score: {words}"]


@pytest.mark.parametrize(
    "agents",
    ["a,b", b"ab", 5, {"a"}, ["a"], [], ["a", ""], ["a", None], ["a", 5], [["a"], "b"]],
    ids=repr,
)
def test_agents_that_are_no_chain_are_refused(agents):
    with pytest.raises(ConfigError, match=r"^agents "):
        grade(b"", agents=agents)


def test_agents_may_come_from_anything_with_an_order():
    expected = grade(b"", agents=["a", "b"]).to_json()
    for agents in (("a", "b"), iter("ab"), {"a": 1, "b": 2}):
        assert grade(b"", agents=agents).to_json() == expected


# ---- tool calls ----


def named(event_type, tool="search"):
    return {"event_type": event_type, "tool_name": tool}


@pytest.mark.parametrize(
    ("types", "n_calls"),
    [
        (["tool_start", "tool_end", "tool_start"], 2),
        (["tool_end", "tool_end"], 2),
        (["tool_call_start", "tool_call_end", "tool_start"], 2),
        (["tool_call_end", "tool_start", "tool_end"], 2),
    ],
)
def test_tool_calls_are_starts_or_ends_without_any_start_family_by_family(types, n_calls):
    (run,) = runs(*map(named, types))
    assert run["harness"]["tool_call_count"] == n_calls


def test_a_tool_event_without_a_name_is_no_call():
    (run,) = runs(named("tool_start", None), named("tool_start", ""), named("tool_end"))
    assert run["harness"]["tool_call_count"] == 1


# ---- runs ----


def test_a_run_is_gradable_with_a_request_a_response_or_a_tool_call():
    for event in (request("a", None), response(None, None), named("tool_end")):
        (run,) = runs(event)
        assert run["verdict"] == "pass"
    for event in (named("tool_start", None), {"event_type": "agent_start", "agent_name": "a"}):
        (run,) = runs(event)
        assert run["verdict"] == "ungradable"


def test_one_id_in_two_sources_is_two_runs():
    data = jsonl(response("a", "x", "default"))
    report = grade([io.BytesIO(data), io.BytesIO(data)])
    names = [run["run"] for run in graded(report)["runs"]]
    assert names == ["<stream>#default", "<stream> (2)#default"]


def test_events_without_a_run_id_belong_to_the_only_run_of_their_session():
    start = {"event_type": "session_start", "session_id": "s"}
    first, second = ({**response("a", "x", r), "session_id": "s"} for r in ("r1", "r2"))
    assert [run["run_id"] for run in runs(start, first)] == ["r1"]
    assert [run["run_id"] for run in runs(start, first, second)] == ["r1", "r2"]
    busy = {**response("a", "x"), "session_id": "s"}
    assert [run["run_id"] for run in runs(busy, first, second)] == ["s", "r1", "r2"]


def test_order_is_that_of_the_file_and_not_of_time_or_sequence_numbers():
    events = [
        {**response("a", OUT), "timestamp": 9.0, "sequence_num": 9},
        {**response("a", "later"), "timestamp": 1.0, "sequence_num": 1},
        request("b", ["later"]),
    ]
    assert handoffs(*events)[0][2] == 10.0


# ---- arguments ----


@pytest.mark.parametrize(
    "options",
    [
        {"usage": "most"},
        {"usage": ["peak"]},
        {"dialect": "nonsense"},
        {"dialect": None},
        {"on_error": "ignore"},
        {"on_error": None},
        {"max_record_bytes": 0},
        {"max_record_bytes": 1e6},
        {"max_record_bytes": "1"},
        {"max_record_bytes": 1 << 70},
        {"batch_rows": 0},
        {"block_bytes": -1},
    ],
    ids=repr,
)
def test_an_argument_that_makes_no_sense_is_refused_with_a_hint(options):
    with pytest.raises((ConfigError, DialectError), match="\nHint: "):
        grade(b"", **options)


@pytest.mark.parametrize(("data", "error"), [(b"not JSON\n", FrameError), (b"[1]\n", DialectError)])
def test_damage_raises_if_asked_for(data, error):
    clean = jsonl(response("a", "x"), response("a", "x"))
    with pytest.raises(error) as caught:
        grade(clean + data, on_error="raise")
    assert (caught.value.source, caught.value.line, caught.value.offset) == (
        "<bytes>",
        3,
        len(clean),
    )
    assert grade(clean, on_error="raise").exit_code == 0
