"""Harness traces: one object a run, with what the harness gates look at.

Fields, all optional: `tool_calls` (else `tool_trace`, `tools`), a list or a count; `artifacts` (else
`files`, `outputs`), names or structured entries in a list or as the values of an object; `tool_schema`;
`judge_score`, a number or its text. They are read as `HarnessEvaluator` reads them, oddities included
(a text is a list of its characters, `true` is one call). What it stops at with an exception is noted
as `wrong_type` and counts as missing.

Run: one record. Its id is the record's number in its source, as text: the format has none, names in
such records repeat from try to try, and the number leads back to the line. Event: one, of the kind
`run_end`, as the record tells of a run that is over.

Checked against praisonaiagents 1.7.17 (`eval/harness_eval.py`).
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tracestream import harnesstrace
from tracestream.dialects.base import (
    INT64_MAX,
    Note,
    Reader,
    Row,
    decode_clean,
    fill,
    is_absent,
    is_text,
    parse_record,
    text_of,
)
from tracestream.harnesstrace import ARTIFACTS, CALLS, JUDGE, SCHEMA
from tracestream.jsontext import is_truthy, parse, repeated_key, writable
from tracestream.schema import RECORD_NUMBER, Kind

name = "harness"
title = "harness traces: a run an object, for the harness gates"
recognised_by = (
    "objects with `tool_calls`, `tool_trace`, `tool_schema` or `judge_score`, whatever else they have, but "
    "none of what other formats have beside them: `event_type`, `type`, `event`, `object`; `role`, `content`, "
    "`messages`, `choices`, `usage`; `trace_id`, `traceId`, `span_id`, `spanId`, `run_type`; `observation`, "
    "`observations`"
)
cut_mark: str | None = None

_FIELDS = frozenset({*CALLS, *ARTIFACTS, SCHEMA, JUDGE})
_TELLING = _FIELDS - {"tools", *ARTIFACTS}
"""Fields that say by themselves what they are: many formats have files, outputs and tools."""
_FOREIGN = frozenset(
    {
        *("event_type", "type", "event", "object"),  # events of all kinds, and what OpenAI returns
        *(
            "role",
            "content",
            "messages",
            "choices",
            "usage",
        ),  # chats, whose messages have tool_calls
        *("trace_id", "traceId", "span_id", "spanId", "run_type"),  # spans and rows of tracers
        *("observation", "observations"),  # steps of an agent, which are no runs
    }
)
"""Fields by which a record is of another format, whatever else it has."""


class Trace(msgspec.Struct, gc=False):
    """One run."""

    tool_calls: msgspec.Raw = msgspec.Raw()
    tool_trace: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()
    artifacts: msgspec.Raw = msgspec.Raw()
    files: msgspec.Raw = msgspec.Raw()
    outputs: msgspec.Raw = msgspec.Raw()
    tool_schema: msgspec.Raw = msgspec.Raw()
    judge_score: msgspec.Raw = msgspec.Raw()


_EMPTY = Trace()
_decode = msgspec.json.Decoder(Trace).decode
_split_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_split_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def sniff(record: Mapping[str, Any]) -> bool:
    """Say whether a record is a harness trace, by the rule that `recognised_by` tells."""
    keys = record.keys()
    return _FOREIGN.isdisjoint(keys) and not _TELLING.isdisjoint(keys)


def reader(columns: Collection[str]) -> Reader:
    """Return what reads records into these columns; see `base.Dialect`."""
    getters = tuple(COLUMNS.get(column, _nothing) for column in columns)

    def read(record: bytes, note: Note) -> Sequence[Row]:
        trace = _trace(record, note)
        if trace is None:
            return ()
        run = _Run(trace, note)
        return (tuple([get(run) for get in getters]),)

    return read


def _trace(record: bytes, note: Note) -> Trace | None:
    trace = decode_clean(_decode, record)
    if trace is None or trace == _EMPTY:
        values = parse_record(record, note)
        if values and _FIELDS.isdisjoint(values):  # an empty object is a run without anything
            note("wrong_shape", "keys: " + ", ".join(values))
            return None
        trace = fill(Trace, values, note)
    key = repeated_key(record, SCHEMA)
    if key is not None:
        note("duplicate_key", key)
    return trace


class _Run:
    """One run, looked at: every field is, whatever the columns, so that the ledger is always the same."""

    def __init__(self, trace: Trace, note: Note) -> None:
        self._note = note
        self._refused: list[str] = []
        self._schema = trace.tool_schema
        self._calls = self._first(trace, CALLS, _is_countable, "a list or a whole number")
        self._artifacts = self._first(trace, ARTIFACTS, _has_items, "a list or an object")
        self._judge_score = self._judge(trace.judge_score)

    def _first(
        self,
        trace: Trace,
        fields: Iterable[str],
        fits: Callable[[msgspec.Raw], bool],
        wanted: str,
    ) -> msgspec.Raw:
        """Return the first of some fields that is true in Python and of a type that can be used."""
        for field in fields:
            raw: msgspec.Raw = getattr(trace, field)
            if is_truthy(raw):
                if fits(raw):
                    return raw
                self._refuse(field, _value(raw), wanted)
        return msgspec.Raw(b"[]")

    def _judge(self, raw: msgspec.Raw) -> float | None:
        """Return the judge score: NaN if it is no number, None if it is missing or beyond a float."""
        if is_absent(raw):
            return None
        value = _value(raw)
        try:
            return float(value)
        except (TypeError, ValueError):
            self._refuse(JUDGE, value, "a number")
            return math.nan
        except OverflowError:
            self._refuse(JUDGE, value, "a number that a float can hold")
            return None

    def _refuse(self, field: str, value: object, wanted: str) -> None:
        words = f"{field}: {type(value).__name__}, not {wanted}"
        self._refused.append(words)
        self._note("wrong_type", words)

    def harness(self) -> dict[str, Any]:
        """Return the fields of `schema.HARNESS`."""
        schema = self._schema
        return {
            "tool_calls": min(_count(self._calls), INT64_MAX),
            "schema_hash": harnesstrace.schema_hash(_value(schema)) if is_truthy(schema) else None,
            "judge_score": self._judge_score,
            "refused": self._refused,
        }

    def artifacts(self) -> list[str]:
        """Return the names of the artifacts; halves of surrogate pairs replaced, as Arrow cannot hold them."""
        return [*map(writable, _names(self._artifacts))]


def _nothing(run: _Run) -> None:
    return None


COLUMNS: dict[str, Callable[[_Run], Any]] = {
    "run_id": lambda run: RECORD_NUMBER,
    "kind": lambda run: Kind.RUN_END.value,
    "has_payload": lambda run: False,
    "ordinal": lambda run: 0,
    "harness": _Run.harness,
    "artifacts": _Run.artifacts,
}
"""How columns of EVENTS and SPANS are read; the format has nothing for the others."""


def _begins(raw: msgspec.Raw) -> int:
    return memoryview(raw)[0]


def _has_items(raw: msgspec.Raw) -> bool:
    return _begins(raw) in b'[{"'


def _is_countable(raw: msgspec.Raw) -> bool:
    """Say whether a value is a list, an object, a text, `true` or an integer."""
    return _has_items(raw) or isinstance(_value(raw), int)


def _count(calls: msgspec.Raw) -> int:
    """Return the number of tool calls; what is in a list is not decoded."""
    try:
        return len(_split_array(calls))
    except msgspec.DecodeError:  # another type, or what only Python reads
        return harnesstrace.count_calls(_value(calls))


def _names(artifacts: msgspec.Raw) -> Iterable[str]:
    """Return the names of artifacts, decoded one after another."""
    is_list = _begins(artifacts) == ord("[")
    try:
        entries = _split_array(artifacts) if is_list else _split_object(artifacts).values()
    except msgspec.DecodeError:  # a text, or what only Python reads
        return harnesstrace.artifact_names(_value(artifacts))
    return (harnesstrace.artifact_name(_value(entry)) for entry in entries)


def _value(raw: msgspec.Raw) -> Any:
    """Return the value that recorded JSON holds, as Python's own parser reads it."""
    return text_of(raw) if is_text(raw) else parse(bytes(raw)).value
