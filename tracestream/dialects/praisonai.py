"""PraisonAI traces: one event an object, in three shapes that one file may mix.

- *ContextEvent* 1.0 and 1.1: `session_id`, `sequence_num`, `agent_name`, `tokens_used`,
  `tokens_budget`, `prompt_tokens`, `completion_tokens`, `cost_usd`, and `data` with what the event is
  about; 1.1 adds `run_id`, `parent_seq`, `node_id`, `branch_id`.
- *ActionEvent* 1.0: `agent_id`, `agent_name`, `tool_name`, `tool_args`, `tool_result_summary`,
  `duration_ms`, `status`, `error_message` at the top level; no session: a file is one run.
- *bare events*: `event_type` and little else.

Run: `run_id`, else `session_id`, else the source. Agent: `agent_name`. Request: `llm_request` with
`data.messages`, as recorded. Response: `llm_response` with `data.response_content`. Tools: the
families `tool_start`/`tool_end` and `tool_call_start`/`tool_call_end` are counted apart. Usage:
`prompt_tokens` and `completion_tokens` of `llm_response`; `tokens_used` and `tokens_budget` of
`llm_request` are context occupancy. Order: the file's, as a resumed session restarts its numbers.

Checked against praisonaiagents 1.7.17 (`trace/context_events.py`, `trace/protocol.py`).
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any

import msgspec

from tracestream.dialects.base import (
    INT64_MAX,
    INT64_MIN,
    Cost,
    Id,
    Integer,
    Note,
    Number,
    Reader,
    Row,
    Text,
    Tokens,
    decode_clean,
    fill,
    is_absent,
    is_text,
    parse_record,
    text_of,
)
from tracestream.jsontext import is_truthy, parse, repeated_key
from tracestream.schema import Kind

name = "praisonai"
title = "PraisonAI ContextEvents, ActionEvents and bare events"
recognised_by = "objects with a string `event_type`"
cut_mark: str | None = r"\.\.\.\[[0-9,]+ chars, showing first/last portions\]\.\.\."


class Data(msgspec.Struct, gc=False):
    """`data` of a ContextEvent: the fields this dialect knows. Raw ones are read only if asked for."""

    messages: msgspec.Raw = msgspec.Raw()
    response_content: msgspec.Raw = msgspec.Raw()
    content: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()
    tool_args: msgspec.Raw = msgspec.Raw()
    status: Text = None
    tool_name: Text = None
    duration_ms: Number = None
    model: Text = None
    to_agent: Text = None


class Event(msgspec.Struct, gc=False):
    """One record: ContextEvent, ActionEvent or bare."""

    event_type: str
    timestamp: Number = None
    session_id: Id = None
    run_id: Id = None
    agent_name: Text = None
    sequence_num: Integer = None
    parent_seq: Integer = None
    tokens_used: Tokens = None
    tokens_budget: Tokens = None
    prompt_tokens: Tokens = None
    completion_tokens: Tokens = None
    cost_usd: Cost = None
    tool_name: Text = None
    tool_args: msgspec.Raw = msgspec.Raw()
    tool_result_summary: Text = None
    duration_ms: Number = None
    status: Text = None
    error_message: Text = None
    data: Data | None = None


_NO_DATA = Data()
_LARGE_BYTES = 4096
_NEAR_SECONDS = 2.0**32
_decode = msgspec.json.Decoder(Event).decode

ACTION, CONTEXT = "action", "context"

_TYPES: dict[str, tuple[Kind, str | None]] = {
    "llm_request": (Kind.REQUEST, None),
    "llm_response": (Kind.RESPONSE, None),
    "tool_call_start": (Kind.TOOL_CALL, CONTEXT),
    "tool_call_end": (Kind.TOOL_RESULT, CONTEXT),
    "tool_start": (Kind.TOOL_CALL, ACTION),
    "tool_end": (Kind.TOOL_RESULT, ACTION),
    "agent_handoff": (Kind.HANDOFF, None),
    "agent_start": (Kind.AGENT_START, None),
    "agent_end": (Kind.AGENT_END, None),
    "session_start": (Kind.RUN_START, None),
    "session_end": (Kind.RUN_END, None),
    **dict.fromkeys(
        (
            *("workflow_start", "workflow_end", "task_start", "task_end", "step_start", "step_end"),
            *("message_added", "context_snapshot", "memory_store", "memory_search"),
            *("knowledge_search", "knowledge_add", "approval_requested", "approval_decided"),
            *("error", "output"),
        ),
        (Kind.OTHER, None),
    ),
}
"""Every event type this version knows: what it is, and the family its tool calls are counted in."""

_UNKNOWN: tuple[Kind, str | None] = (Kind.OTHER, None)
_STRINGS = {
    "llm_response": "response_content",
    "message_added": "content",
    "tool_call_end": "error",
}
_TEXT_FIELDS = {
    "llm_response": "response_content",
    "message_added": "content",
    "tool_call_end": "result",
}


def _kind(event: Event) -> str:
    return _TYPES.get(event.event_type, _UNKNOWN)[0].value


def _family(event: Event) -> str | None:
    return _TYPES.get(event.event_type, _UNKNOWN)[1]


def _has_payload(event: Event) -> bool:
    data = event.data or _NO_DATA
    if event.event_type == "llm_request":
        return is_truthy(data.messages)
    if event.event_type == "llm_response":
        return is_text(data.response_content) and len(memoryview(data.response_content)) > 2
    return False


def _text(event: Event) -> str | None:
    field = _TEXT_FIELDS.get(event.event_type)
    if field is None or event.data is None:
        return event.tool_result_summary
    raw: msgspec.Raw = getattr(event.data, field)
    if field != "result" or is_absent(raw) or is_text(raw):
        return text_of(raw)
    # A tool may return any value; its JSON is its text, written anew whichever parser read it.
    return json.dumps(parse(bytes(raw)).value)


def _messages(event: Event) -> bytes | None:
    if event.data is None or event.event_type != "llm_request" or is_absent(event.data.messages):
        return None
    return bytes(event.data.messages)


def _tool(event: Event) -> str | None:
    return event.tool_name or (event.data or _NO_DATA).tool_name


def _tool_args(event: Event) -> bytes | None:
    for raw in (event.tool_args, (event.data or _NO_DATA).tool_args):
        if not is_absent(raw):
            return bytes(raw)
    return None


def _call_id(event: Event) -> str | None:
    """Return what pairs a tool call with its end: the sequence number of its start."""
    if _family(event) != CONTEXT:
        return None
    number = event.sequence_num if event.event_type == "tool_call_start" else event.parent_seq
    return None if number is None else str(number)


def _timestamp(event: Event) -> int | None:
    """Return nanoseconds since 1970: of the decimal text of the seconds, not of their binary value."""
    if event.timestamp is None:
        return None
    seconds = event.timestamp
    microseconds = round(seconds * 1e6) if abs(seconds) < _NEAR_SECONDS else 0
    if (
        microseconds / 1e6 == seconds
    ):  # its shortest decimal text has six digits or fewer behind the point
        return microseconds * 1000
    nanoseconds = int(Decimal(repr(event.timestamp)).scaleb(9).to_integral_value())
    return nanoseconds if INT64_MIN <= nanoseconds <= INT64_MAX else None


def _of(event_type: str, field: str) -> Callable[[Event], Any]:
    """Return a field, but only of events of one type."""
    value_of = attrgetter(field)
    return lambda event: value_of(event) if event.event_type == event_type else None


COLUMNS: dict[str, Callable[[Event], Any]] = {
    "session_id": attrgetter("session_id"),
    "run_id": attrgetter("run_id"),
    "seq": attrgetter("sequence_num"),
    "ts": _timestamp,
    "kind": _kind,
    "event_type": attrgetter("event_type"),
    "agent": attrgetter("agent_name"),
    "target": lambda event: (
        event.data.to_agent if event.data and event.event_type == "agent_handoff" else None
    ),
    "call_id": _call_id,
    "text": _text,
    "messages": _messages,
    "tool": _tool,
    "tool_args": _tool_args,
    "status": lambda event: event.status or (event.data or _NO_DATA).status,
    "error": lambda event: event.error_message or text_of((event.data or _NO_DATA).error),
    "duration_ms": lambda event: (
        event.duration_ms if event.duration_ms is not None else (event.data or _NO_DATA).duration_ms
    ),
    "input_tokens": _of("llm_response", "prompt_tokens"),
    "output_tokens": _of("llm_response", "completion_tokens"),
    "context_tokens": _of("llm_request", "tokens_used"),
    "budget_tokens": _of("llm_request", "tokens_budget"),
    "cost_usd": _of("llm_response", "cost_usd"),
    "model": lambda event: (event.data or _NO_DATA).model,
    "family": _family,
    "has_payload": _has_payload,
    "ordinal": lambda event: 0,
    "harness": lambda event: None,
    "artifacts": lambda event: None,
}
"""How each column of EVENTS and SPANS is read from an event."""


def sniff(record: Mapping[str, Any]) -> bool:
    """Say whether a record is an event: it has a string `event_type`."""
    return isinstance(record.get("event_type"), str)


def reader(columns: Collection[str]) -> Reader:
    """Return what reads records into these columns; see `base.Dialect`."""
    getters = tuple(COLUMNS[column] for column in columns)

    def read(record: bytes, note: Note) -> Sequence[Row]:
        event = _event(record, note)
        if event is None:
            return ()
        if event.event_type not in _TYPES:
            note("unknown_event", event.event_type)
        elif event.event_type in _STRINGS and event.data is not None:
            field = _STRINGS[event.event_type]
            value = getattr(event.data, field)
            if not is_text(value) and not is_absent(value):
                note("wrong_type", f"{field}: not a string")
        return (tuple([get(event) for get in getters]),)

    return read


def _event(record: bytes, note: Note) -> Event | None:
    event = decode_clean(_decode, record)
    if event is not None:
        is_large = len(record) > _LARGE_BYTES
        large = _large(event.data) if is_large and event.data is not None else ()
        key = repeated_key(record, "data", large=large)
    else:
        values = parse_record(record, note)
        if not sniff(values):
            note("wrong_shape", "keys: " + ", ".join(values))
            return None
        event = fill(Event, values, note)
        key = repeated_key(record, "data")
    if key is not None:
        note("duplicate_key", key)
    return event


def _large(data: Data) -> list[msgspec.Raw]:
    """Return what makes a record long."""
    values = (data.messages, data.response_content, data.content, data.result)
    return [value for value in values if len(memoryview(value)) > _LARGE_BYTES]
