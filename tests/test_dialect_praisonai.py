import json

import pytest

from tracestream.dialects import praisonai
from tracestream.dialects.base import MAX_TOKENS
from tracestream.schema import EVENTS, SPANS, Kind

COLUMNS = list(praisonai.COLUMNS)


def read(record, columns=COLUMNS):
    """The row of a record, without what is absent, and its notes as (reason, detail)."""
    notes = []
    data = record if isinstance(record, bytes) else json.dumps(record).encode()
    rows = praisonai.reader(columns)(data, lambda reason, detail: notes.append((reason, detail)))
    assert len(rows) <= 1
    row = dict(zip(columns, rows[0], strict=True)) if rows else None
    return row and {name: value for name, value in row.items() if value is not None}, notes


def cell(record, column):
    (row, notes) = read(record, [column])
    assert not notes
    return row.get(column)


def event(event_type="llm_response", **fields):
    return {"event_type": event_type, **fields}


HEAD = {
    "schema_version": "1.1",
    "timestamp": 1796049839.5891318,
    "session_id": "sess-1",
    "run_id": "r1",
    "agent_name": "Researcher",
    "sequence_num": 5,
    "parent_seq": 3,
    "messages_count": 2,
    "tokens_used": 412,
    "tokens_budget": 128000,
    "prompt_tokens": 40,
    "completion_tokens": 7,
    "cost_usd": 0.25,
    "node_id": "agent:Researcher",
    "branch_id": "b",
    "content_hash": "ff",
}
ALWAYS = {
    "session_id": "sess-1",
    "run_id": "r1",
    "seq": 5,
    "ts": 1796049839_589131800,
    "agent": "Researcher",
    "ordinal": 0,
    "has_payload": False,
}
ACTION = {"schema_version": "1.0", "timestamp": 2, "agent_id": "a1", "agent_name": "R"}

EVENT_COLUMNS = {
    "session_start": ({"framework": "praisonai"}, "run_start", {}),
    "session_end": ({}, "run_end", {}),
    "agent_start": ({"role": "R", "goal": "g"}, "agent_start", {}),
    "agent_end": ({}, "agent_end", {}),
    "agent_handoff": (
        {"from_agent": "a", "to_agent": "b", "reason": "r"},
        "handoff",
        {"target": "b"},
    ),
    "message_added": ({"role": "user", "content": "Hi"}, "other", {"text": "Hi"}),
    "tool_call_start": (
        {"tool_name": "search", "tool_args": {"q": [1]}},
        "tool_call",
        {"tool": "search", "tool_args": b'{"q": [1]}', "call_id": "5", "family": "context"},
    ),
    "tool_call_end": (
        {"tool_name": "search", "result": "3 hits", "error": "none", "duration_ms": 8.5},
        "tool_result",
        {
            "tool": "search",
            "text": "3 hits",
            "error": "none",
            "duration_ms": 8.5,
            "call_id": "3",
            "family": "context",
        },
    ),
    "llm_request": (
        {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
        "request",
        {
            **{
                "model": "m",
                "messages": b'[{"role": "user", "content": "Hi"}]',
                "has_payload": True,
            },
            **{"context_tokens": 412, "budget_tokens": 128000},
        },
    ),
    "llm_response": (
        {
            "response_content": "Yes",
            "response_tokens": 7,
            "finish_reason": "stop",
            "duration_ms": 9,
            "model": "m",
        },
        "response",
        {
            **{"model": "m", "text": "Yes", "has_payload": True, "duration_ms": 9.0},
            **{"input_tokens": 40, "output_tokens": 7, "cost_usd": 0.25},
        },
    ),
    "task_start": ({"name": "t"}, "other", {}),
    "task_end": ({"status": "completed", "output_preview": "p"}, "other", {"status": "completed"}),
    **{
        name: ({"any": "thing"}, "other", {})
        for name in (
            *(
                "workflow_start",
                "workflow_end",
                "step_start",
                "step_end",
                "context_snapshot",
                "memory_store",
            ),
            *(
                "memory_search",
                "knowledge_search",
                "knowledge_add",
                "approval_requested",
                "approval_decided",
            ),
        )
    },
}


@pytest.mark.parametrize("event_type", EVENT_COLUMNS)
def test_context_events_to_columns(event_type):
    data, kind, columns = EVENT_COLUMNS[event_type]
    row, notes = read({**HEAD, "event_type": event_type, "data": data})
    assert not notes
    assert row == {**ALWAYS, "event_type": event_type, "kind": kind, **columns}


ACTION_COLUMNS = {
    "agent_start": ({}, "agent_start", {}),
    "agent_end": (
        {"duration_ms": 0.5, "status": "ok"},
        "agent_end",
        {"duration_ms": 0.5, "status": "ok"},
    ),
    "tool_start": (
        {"tool_name": "search", "tool_args": {"q": "x"}},
        "tool_call",
        {"tool": "search", "tool_args": b'{"q": "x"}', "family": "action"},
    ),
    "tool_end": (
        {
            "tool_name": "search",
            "tool_result_summary": "3",
            "duration_ms": 8.0,
            "status": "error",
            "error_message": "ENOENT",
        },
        "tool_result",
        {
            "tool": "search",
            "text": "3",
            "duration_ms": 8.0,
            "status": "error",
            "error": "ENOENT",
            "family": "action",
        },
    ),
    "error": (
        {"tool_name": "search", "status": "error", "error_message": "E"},
        "other",
        {"tool": "search", "status": "error", "error": "E"},
    ),
    "output": ({"tool_result_summary": "done"}, "other", {"text": "done"}),
}


@pytest.mark.parametrize("event_type", ACTION_COLUMNS)
def test_action_events_to_columns(event_type):
    fields, kind, columns = ACTION_COLUMNS[event_type]
    row, notes = read({**ACTION, "event_type": event_type, **fields})
    assert not notes
    common = {"agent": "R", "ts": 2_000_000_000, "ordinal": 0, "has_payload": False}
    assert row == {**common, "event_type": event_type, "kind": kind, **columns}


def test_bare_events_are_events():
    row, notes = read({"event_type": "tool_start", "tool_name": "search"})
    assert row == {
        **{"event_type": "tool_start", "kind": "tool_call", "tool": "search", "family": "action"},
        **{"ordinal": 0, "has_payload": False},
    }
    assert not notes


def test_every_column_of_the_schemas_is_given():
    given_elsewhere = {"source", "line", "offset", "length", "record"}
    assert set(COLUMNS) == {*EVENTS.names, *SPANS.names} - given_elsewhere


def test_an_unknown_event_is_kept_and_noted():
    row, notes = read(event("hologram_start", agent_name="a", data={"content": 5, "model": "m"}))
    assert (row["kind"], row["event_type"], row["agent"], row["model"]) == (
        "other",
        "hologram_start",
        "a",
        "m",
    )
    assert notes == [("unknown_event", "hologram_start")]


@pytest.mark.parametrize("event_type", ["", "LLM_RESPONSE", " llm_request", "llm_response\0"])
def test_no_event_type_is_relabelled(event_type):
    row, notes = read(event(event_type, data={"response_content": "text", "messages": [1]}))
    assert (row["kind"], row["event_type"], row["has_payload"]) == (Kind.OTHER, event_type, False)
    assert [reason for reason, _ in notes] == ["unknown_event"]


TOP_LEVEL = {
    "timestamp": ["1796049839", True, [], {}],
    "session_id": [1.5, True, ["s"], {}],
    "run_id": [2.0, False, [], {}],
    "agent_name": [7, True, ["a"], {"name": "a"}],
    "sequence_num": ["5", 5.5, True, [], 2**63, -(2**63) - 1, 1e19],
    "parent_seq": ["3", {}, 1.25],
    "tokens_used": ["412", 0.5, [], True, MAX_TOKENS + 1, 1e300],
    "tokens_budget": ["128000", {}, -MAX_TOKENS - 1],
    "prompt_tokens": ["40", 40.5, [40], 2**70],
    "completion_tokens": ["7", {}, False],
    "cost_usd": ["0.25", True, {"usd": 1}, 1e16, 10**400],
    "tool_name": [7, ["search"], {}],
    "tool_result_summary": [7, [], {"hits": 3}],
    "duration_ms": ["8.5", True, [8.5], 10**400],
    "status": [0, True, {}],
    "error_message": [{"code": 2}, 404, []],
    "data": ["text", 7, [], True],
}
IN_DATA = {
    "response_content": ("llm_response", "text", [7, [{"type": "text"}], {}, True]),
    "content": ("message_added", "text", [7, [{"type": "text"}], {}]),
    "error": ("tool_call_end", "error", [{"code": 2}, 404, True]),
    "status": ("task_end", "status", [7, {}, ["completed"]]),
    "tool_name": ("tool_call_start", "tool", [7, {}, []]),
    "duration_ms": ("tool_call_end", "duration_ms", ["8", [], True]),
    "model": ("llm_request", "model", [4, {}, []]),
    "to_agent": ("agent_handoff", "target", [7, ["b"]]),
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field in TOP_LEVEL for value in TOP_LEVEL[field]]
)
def test_a_field_of_the_wrong_type_is_missing_and_the_rest_of_the_record_counts(field, value):
    whole = {
        **HEAD,
        "event_type": "llm_response",
        "status": "ok",
        "tool_name": "t",
        "duration_ms": 1,
        "error_message": "e",
        "data": {"response_content": "Yes"},
    }
    row, notes = read({**whole, field: value})
    assert [reason for reason, _ in notes] == ["wrong_type"]
    assert notes[0][1].startswith(f"{field}: ")
    without, _ = read({name: whole[name] for name in whole if name != field})
    assert row == without


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field in IN_DATA for value in IN_DATA[field][2]]
)
def test_a_field_of_data_of_the_wrong_type_is_missing_and_the_rest_counts(field, value):
    event_type, column, _ = IN_DATA[field]
    data = {"model": "m", "tool_name": "t", "to_agent": "b", "status": "s"}
    row, notes = read({**HEAD, "event_type": event_type, "data": {**data, field: value}})
    assert [reason for reason, _ in notes] == ["wrong_type"]
    assert notes[0][1].startswith(f"{field}: ")
    assert column not in row
    data.pop(field, None)
    assert row == read({**HEAD, "event_type": event_type, "data": data})[0]


def test_several_wrong_types_in_one_record_are_noted_one_by_one():
    _, notes = read(event(agent_name=1, tokens_used="x", data={"response_content": [], "model": 2}))
    assert sorted(detail.split(":")[0] for _, detail in notes) == [
        "agent_name",
        "model",
        "response_content",
        "tokens_used",
    ]


@pytest.mark.parametrize(
    "field",
    [*TOP_LEVEL, *(f"data.{field}" for field in (*IN_DATA, "messages", "result", "tool_args"))],
)
def test_null_is_absent(field):
    event_type = IN_DATA.get(field.removeprefix("data."), ("llm_request",))[0]
    record = {"event_type": event_type, "agent_name": "a"}
    absent = {name: record[name] for name in record if name != field}
    absent = {**absent, "data": {}} if field.startswith("data.") else absent
    null = (
        {**absent, "data": {field.removeprefix("data."): None}}
        if field.startswith("data.")
        else {**absent, field: None}
    )
    assert read(null) == read(absent)
    assert not read(null)[1]


PAYLOADS = {
    "messages": ({"messages": [1]}, "llm_request", True),
    "text for messages": ({"messages": "x"}, "llm_request", True),
    "a number for messages": ({"messages": 7}, "llm_request", True),
    "empty messages": ({"messages": []}, "llm_request", False),
    "blank messages": ({"messages": {}}, "llm_request", False),
    "zero messages": ({"messages": 0.0}, "llm_request", False),
    "null messages": ({"messages": None}, "llm_request", False),
    "no messages": ({}, "llm_request", False),
    "response content of a request": ({"response_content": "x"}, "llm_request", False),
    "response": ({"response_content": "x"}, "llm_response", True),
    "blank response": ({"response_content": " "}, "llm_response", True),
    "empty response": ({"response_content": ""}, "llm_response", False),
    "messages of a response": ({"messages": [1]}, "llm_response", False),
    "content of another event": (
        {"content": "x", "messages": [1], "response_content": "x"},
        "message_added",
        False,
    ),
}


@pytest.mark.parametrize("case", PAYLOADS)
def test_which_events_carry_text_to_score(case):
    data, event_type, expected = PAYLOADS[case]
    assert cell(event(event_type, data=data), "has_payload") is expected


def test_columns_of_an_event_without_data_or_with_an_empty_one():
    for data in ({}, {"data": {}}, {"data": None}):
        row, notes = read({**HEAD, **data, "event_type": "llm_request"})
        assert row == {
            **ALWAYS,
            "event_type": "llm_request",
            "kind": "request",
            "context_tokens": 412,
            "budget_tokens": 128000,
        }
        assert not notes


@pytest.mark.parametrize("result", ["text", "", {"hits": [1, 2.5]}, [], 7, False])
def test_the_result_of_a_tool_is_its_text_or_its_json(result):
    text = result if isinstance(result, str) else json.dumps(result)
    assert cell(event("tool_call_end", data={"result": result}), "text") == text


def test_the_top_level_comes_before_data():
    record = {
        **ACTION,
        "event_type": "tool_end",
        "tool_name": "top",
        "status": "s",
        "error_message": "e",
        "duration_ms": 0,
    }
    row, _ = read(
        {
            **record,
            "tool_args": 0,
            "data": {
                "tool_name": "d",
                "status": "d",
                "error": "d",
                "duration_ms": 5,
                "tool_args": 1,
            },
        }
    )
    assert [row[name] for name in ("tool", "status", "error", "duration_ms", "tool_args")] == [
        "top",
        "s",
        "e",
        0.0,
        b"0",
    ]
