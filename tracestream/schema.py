"""The Arrow schemas that the layers hand to each other.

EVENTS is what a reader gives, PARTIALS what folds hand back from any split of the input, and
HANDOFFS, BUDGETS and RUNS are what a report holds. A new column is a new schema version.
"""

import argparse
import json
from enum import StrEnum
from pathlib import Path

import pyarrow as pa

from tracestream.errors import SchemaError

SCHEMA_VERSION = 1


class Kind(StrEnum):
    """What an event is, whatever the trace format calls it."""

    REQUEST = "request"
    RESPONSE = "response"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    HANDOFF = "handoff"
    USAGE = "usage"
    ARTIFACT = "artifact"
    AGENT_START = "agent_start"
    AGENT_END = "agent_end"
    RUN_START = "run_start"
    RUN_END = "run_end"
    OTHER = "other"


_CODE = pa.dictionary(pa.int32(), pa.string())


def _schema(name: str, *fields: pa.Field) -> pa.Schema:
    return pa.schema(list(fields), metadata={"tracestream.schema": f"{name}/{SCHEMA_VERSION}"})


def _column(name: str, kind: pa.DataType, doc: str, *, nullable: bool = True) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})


EVENTS = _schema(
    "events",
    _column("source", _CODE, "the source as given, relative where it was", nullable=False),
    _column("line", pa.int64(), "1-based line, element number or ordinal", nullable=False),
    _column("offset", pa.int64(), "byte offset in the decompressed source", nullable=False),
    _column("length", pa.int64(), "bytes of the record the event comes from", nullable=False),
    _column("session_id", pa.string(), "the coarser id that groups runs, as recorded"),
    _column("run_id", pa.string(), "the finest run id, as recorded"),
    _column("seq", pa.int64(), "sequence number, as recorded"),
    _column("ts", pa.timestamp("ns", "UTC"), "when the event happened"),
    _column("kind", _CODE, "what the event is: a value of Kind", nullable=False),
    _column("event_type", _CODE, "the format's own name of the event, as recorded"),
    _column("agent", _CODE, "the agent that acted"),
    _column("target", pa.string(), "the agent handed to (handoffs)"),
    _column("call_id", pa.string(), "id that pairs a call with its result"),
    _column("text", pa.large_string(), "response, message or result text"),
    _column("messages", pa.large_binary(), "the request's messages: JSON, as recorded"),
    _column("tool", pa.string(), "name of the tool called"),
    _column("tool_args", pa.large_binary(), "the tool's arguments: JSON, as recorded"),
    _column("status", pa.string(), "status, as recorded"),
    _column("error", pa.large_string(), "error text, as recorded"),
    _column("duration_ms", pa.float64(), "how long it took, milliseconds"),
    _column("input_tokens", pa.int64(), "tokens sent to the model by this call"),
    _column("output_tokens", pa.int64(), "tokens the model gave back in this call"),
    _column("context_tokens", pa.int64(), "tokens in the agent's context at this request"),
    _column("budget_tokens", pa.int64(), "token budget in force at this request"),
    _column("cost_usd", pa.float64(), "cost of this call, US dollars"),
    _column("model", pa.string(), "the model called"),
)
"""One row is one event."""

RECORD_NUMBER = object()
"""In a row, in place of a run id: the number of the row's record, as text. A dialect does not see it."""

HARNESS = pa.struct(
    [
        pa.field("tool_calls", pa.int64(), nullable=False),
        pa.field("schema_hash", pa.string()),
        pa.field("judge_score", pa.float64()),
        pa.field("refused", pa.list_(pa.string()), nullable=False),
    ]
)
"""What a whole run records for the harness gates. A judge score that is no number is NaN; `refused` says
in words which fields could not be judged."""

SPANS = _schema(
    "spans",
    _column("source", pa.int32(), "order of the source", nullable=False),
    EVENTS.field("line"),
    EVENTS.field("offset"),
    EVENTS.field("length"),
    _column("ordinal", pa.int32(), "which event of its record, from 0", nullable=False),
    _column("session_id", _CODE, "as in EVENTS"),
    _column("run_id", _CODE, "as in EVENTS"),
    EVENTS.field("kind"),
    EVENTS.field("agent"),
    _column("tool", _CODE, "as in EVENTS"),
    _column("family", _CODE, "tool events counted together: starts, or ends without starts"),
    EVENTS.field("input_tokens"),
    EVENTS.field("output_tokens"),
    EVENTS.field("context_tokens"),
    EVENTS.field("budget_tokens"),
    EVENTS.field("cost_usd"),
    _column(
        "has_payload", pa.bool_(), "a request with messages, a response with text", nullable=False
    ),
    _column("harness", HARNESS, "what a run of which this is all records for the harness gates"),
    _column("artifacts", pa.list_(pa.string()), "the names of its artifacts; read if asked for"),
    _column("record", pa.large_binary(), "the record, where its source cannot be read again"),
)
"""The narrow projection that grading folds: codes, and where each payload lies; no text."""

TIMED_SPANS = SPANS.append(EVENTS.field("ts"))
"""The same with the time: the earliest is told, and runs that are merged across sources are ordered by it."""

SPAN = pa.struct(
    [
        pa.field("time", pa.int64(), nullable=False),
        pa.field("source", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("ordinal", pa.int32(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("line", pa.int64(), nullable=False),
        pa.field("kept", pa.int64()),
    ]
)
"""Where an event lies. (time, source, offset, ordinal) is its order; time is 0 where files give the order."""

PARTIALS = _schema(
    "partials",
    _column(
        "part",
        pa.string(),
        "run, agent, tool, usage or harness: which columns below are set; _by_time: ordered so",
        nullable=False,
    ),
    _column("source", pa.int32(), "order of the source", nullable=False),
    _column("session_id", pa.string(), "as recorded; null where there is none"),
    _column("run_id", pa.string(), "as recorded; null where there is none"),
    _column("agent", pa.string(), "agent, usage: the agent; in usage, null for events of none"),
    _column("family", pa.string(), "tool: the family"),
    _column("tool", pa.string(), "tool: its name"),
    _column("first", SPAN, "run, agent: the first event"),
    _column("output", SPAN, "agent: the last response with text"),
    _column("input", SPAN, "agent: the last request with messages"),
    _column("n_events", pa.int64(), "run: events"),
    _column("n_exchanges", pa.int64(), "run: request and response events"),
    _column("n_texts", pa.int64(), "run: request and response events that carry text"),
    _column("n_untimed", pa.int64(), "run: request and response events without a time"),
    _column("n_starts", pa.int64(), "tool: calls started"),
    _column("n_ends", pa.int64(), "tool: calls ended"),
    _column("peak_context_tokens", pa.int64(), "usage: most tokens in context at one request"),
    _column("peak_input_tokens", pa.int64(), "usage: most tokens sent in one call"),
    _column("input_tokens", pa.int64(), "usage: tokens sent"),
    _column("output_tokens", pa.int64(), "usage: tokens given back"),
    _column("cost_usd", pa.list_(pa.float64()), "usage: US dollars, an exact expansion"),
    _column("budget_tokens", pa.int64(), "usage: the last positive budget"),
    _column("budget_at", SPAN, "usage: the request it stands in"),
    _column("harness", HARNESS, "harness: what the run records"),
    _column("artifacts", pa.list_(pa.string()), "harness: those of the artifacts asked for"),
)
"""What folds hand back from a split; partials of splits merge to the partials of the whole."""

HANDOFFS = _schema(
    "handoffs",
    _column("run", pa.string(), "the run", nullable=False),
    _column("from_agent", pa.string(), "whose output", nullable=False),
    _column("to_agent", pa.string(), "whose input", nullable=False),
    _column("chain", pa.string(), "where the pair is from: first-seen or given", nullable=False),
    _column(
        "exact",
        pa.bool_(),
        "the output, or its first 200 characters, stand in the input",
        nullable=False,
    ),
    _column("output_tokens", pa.int64(), "distinct tokens of the output; null if not counted"),
    _column("shared_tokens", pa.int64(), "those also in the input; null if not counted"),
    _column(
        "context_passed_score", pa.float64(), "2..10; 5 if either side is missing", nullable=False
    ),
    _column("context_relevance_score", pa.float64(), "5, 7 or 9", nullable=False),
    _column("content_loss_detected", pa.bool_(), "context_passed_score < 5", nullable=False),
)
"""One row is one pair of neighbours in a run's chain of agents."""

BUDGETS = _schema(
    "budgets",
    _column("run", pa.string(), "the run", nullable=False),
    _column("agent_name", pa.string(), "whose budget", nullable=False),
    _column("used_tokens", pa.int64(), "tokens used", nullable=False),
    _column("budget_tokens", pa.int64(), "tokens allowed; 0 or less: no budget", nullable=False),
    _column("within_budget", pa.bool_(), "used <= budget, or no budget", nullable=False),
    _column("compliance_score", pa.float64(), "1..10; 5 if no budget", nullable=False),
)
"""One row is one agent's budget in one run."""

RUNS = _schema(
    "runs",
    _column("run", pa.string(), "source, or source#id", nullable=False),
    _column("source", pa.string(), "the source as given", nullable=False),
    _column("run_id", pa.string(), "the run's id, as recorded"),
    _column("dialect", pa.string(), "the trace format"),
    _column("verdict", pa.string(), "pass, fail or ungradable", nullable=False),
    _column("reasons", pa.list_(pa.string()), "why, in words", nullable=False),
    _column("handoff_score", pa.float64(), "0..10; null without handoffs"),
    _column("budget_score", pa.float64(), "0..10; null without budgets"),
    _column("overall_score", pa.float64(), "0..10; mean of those present"),
    _column("content_loss", pa.bool_(), "some handoff lost content"),
    _column("tool_calls", pa.int64(), "tool calls; null if ungradable"),
    _column("harness_score", pa.float64(), "0..1"),
    _column("input_tokens", pa.int64(), "tokens sent to models"),
    _column("output_tokens", pa.int64(), "tokens models gave back"),
    _column("cost_usd", pa.float64(), "US dollars"),
    _column("events", pa.int64(), "events of the run", nullable=False),
    _column("first_offset", pa.int64(), "offset of its first event"),
)
"""One row is one run."""

GRADED = RUNS.append(
    _column("over_budget", pa.list_(pa.string()), "the agents over their budget; null: none")
).append(_column("lost_pairs", pa.list_(pa.string()), "the pairs that lost content; null: none"))
"""The same, and what a table says beside a score."""

RECORDED = _schema(
    "recorded",
    _column("run", pa.string(), "the run", nullable=False),
    *(
        pa.field(field.name, field.type, metadata={"doc": "as in HARNESS"})
        for field in list(HARNESS)[1:3]
    ),
    _column("artifacts", pa.list_(pa.string()), "those of the artifacts asked for", nullable=False),
)
"""One row is one run that records more for the harness gates than tool calls."""

PUBLISHED = {
    "events": EVENTS,
    "handoffs": HANDOFFS,
    "budgets": BUDGETS,
    "runs": RUNS,
}


def clamped(number: int) -> int:
    """Return the integer nearest to a number that an int64 column can hold.

    Example:
        >>> clamped(1 << 70)
        9223372036854775807
    """
    return min(max(number, -1 << 63), (1 << 63) - 1)


def check(table: pa.RecordBatch | pa.Table, schema: pa.Schema) -> None:
    """Raise SchemaError unless a batch or table fits a schema, columns without nulls included.

    pyarrow takes nulls in non-null fields without a word, so they are counted here.
    """
    if not table.schema.equals(schema):
        raise SchemaError(
            f"columns are {table.schema.names}, not {schema.names}, or a type differs"
        )
    for field in schema:
        nulls = table.column(field.name).null_count
        if nulls and not field.nullable:
            raise SchemaError(f"column {field.name!r} has {nulls} nulls and may have none")


_JSON_TYPES = {
    "string": "string",
    "large_string": "string",
    "large_binary": "string",
    "int32": "integer",
    "int64": "integer",
    "double": "number",
    "bool": "boolean",
    "timestamp[ns, tz=UTC]": "string",
}


def _json_type(kind: pa.DataType) -> dict[str, object]:
    if pa.types.is_dictionary(kind):
        return _json_type(kind.value_type)
    if pa.types.is_list(kind):
        return {"type": "array", "items": _json_type(kind.value_type)}
    return {"type": _JSON_TYPES[str(kind)]}


def json_schema(name: str) -> dict[str, object]:
    """Return the JSON Schema (2020-12) of one row of a schema, as `convert` and tables write it.

    Example:
        >>> json_schema("budgets")["required"][:2]
        ['run', 'agent_name']
    """
    schema = PUBLISHED[name]
    properties = {}
    for field in schema:
        entry = _json_type(field.type)
        if field.nullable:
            entry = {**entry, "type": [entry["type"], "null"]}
        entry["description"] = field.metadata[b"doc"].decode()
        properties[field.name] = entry
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"tracestream.{name}/{SCHEMA_VERSION}",
        "title": f"One row of {name.upper()}",
        "type": "object",
        "properties": properties,
        "required": schema.names,
        "additionalProperties": False,
    }


def write_json_schemas(folder: Path) -> list[Path]:
    """Write the JSON Schema of every published table into a folder; return the paths written."""
    paths = []
    for name in PUBLISHED:
        path = folder / f"{name}.schema.json"
        path.write_text(json.dumps(json_schema(name), indent=2) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tracestream.schema", description=write_json_schemas.__doc__
    )
    parser.add_argument("--write", type=Path, required=True, metavar="FOLDER")
    for written in write_json_schemas(parser.parse_args().write):
        print(written)
