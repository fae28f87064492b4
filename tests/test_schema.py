import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tracestream import read_batches
from tracestream import schema as schema_module
from tracestream.errors import SchemaError
from tracestream.schema import (
    EVENTS,
    PUBLISHED,
    SPANS,
    TIMED_SPANS,
    Kind,
    check,
    json_schema,
    write_json_schemas,
)

SCHEMAS = Path(__file__).parents[1] / "schemas"

HALF = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.string())])


@pytest.mark.parametrize("kind", [pa.table, pa.RecordBatch.from_pydict], ids=["table", "batch"])
def test_check_counts_nulls_where_there_may_be_none(kind):
    good = kind({"a": pa.array([1, 2]), "b": pa.array(["x", None])}, schema=HALF)
    check(good, HALF)
    check(kind({"a": [], "b": []}, schema=HALF), HALF)
    bad = kind({"a": pa.array([1, None, None]), "b": pa.array(["x", "y", "z"])}, schema=HALF)
    with pytest.raises(SchemaError, match="column 'a' has 2 nulls and may have none"):
        check(bad, HALF)


WRONG = {
    "column missing": {"a": [1]},
    "column too many": {"a": [1], "b": ["x"], "c": [1]},
    "other order": {"b": ["x"], "a": [1]},
    "other name": {"a": [1], "B": ["x"]},
    "other type": {"a": [1.5], "b": ["x"]},
}


@pytest.mark.parametrize("case", WRONG)
def test_check_compares_columns(case):
    with pytest.raises(SchemaError, match="columns are "):
        check(pa.table(WRONG[case]), HALF)


def test_check_sees_nulls_of_dictionary_columns():
    schema = pa.schema([pa.field("k", pa.dictionary(pa.int32(), pa.string()), nullable=False)])
    codes = pa.array([0, None], pa.int32())
    batch = pa.RecordBatch.from_arrays(
        [pa.DictionaryArray.from_arrays(codes, pa.array(["x"]))], schema=schema
    )
    with pytest.raises(SchemaError, match="column 'k' has 1 nulls"):
        check(batch, schema)


def test_events_hold_what_the_design_says():
    required = {"source", "line", "offset", "length", "kind"}
    assert {field.name for field in EVENTS if not field.nullable} == required
    types = {field.name: str(field.type) for field in EVENTS}
    texts = ["session_id", "run_id", "target", "call_id", "tool", "status", "model"]
    integers = [
        "line",
        "offset",
        "length",
        "seq",
        "input_tokens",
        "output_tokens",
        "context_tokens",
        "budget_tokens",
    ]
    assert {types[name] for name in texts} == {"string"}
    assert {types[name] for name in integers} == {"int64"}
    assert {types[name] for name in ("duration_ms", "cost_usd")} == {"double"}
    assert {types[name] for name in ("text", "error")} == {"large_string"}
    assert {types[name] for name in ("messages", "tool_args")} == {"large_binary"}
    assert types["ts"] == "timestamp[ns, tz=UTC]"
    for name in ("source", "kind", "event_type", "agent"):
        assert types[name].startswith("dictionary<values=string")


def test_kinds_are_text():
    assert [str(kind) for kind in Kind] == (
        "request response tool_call tool_result handoff usage artifact agent_start agent_end run_start run_end other"
    ).split()


def test_spans_carry_no_text():
    shared = [
        field
        for field in SPANS
        if field.name in EVENTS.names
        and field.name not in ("source", "session_id", "run_id", "tool")
    ]
    assert all(field == EVENTS.field(field.name) for field in shared)
    assert not {"text", "messages", "tool_args", "error"} & set(TIMED_SPANS.names)


@pytest.mark.parametrize(
    "name",
    [name for name in dir(schema_module) if isinstance(getattr(schema_module, name), pa.Schema)],
)
def test_every_column_says_what_it_is(name):
    for field in getattr(schema_module, name):
        assert field.metadata[b"doc"].decode().strip()


@pytest.mark.parametrize("name", PUBLISHED)
def test_json_schemas_are_draft_2020_12(name):
    document, schema = json_schema(name), PUBLISHED[name]
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == f"tracestream.{name}/1"
    assert (document["type"], document["additionalProperties"]) == ("object", False)
    assert document["required"] == list(document["properties"]) == schema.names
    known = {"string", "integer", "number", "boolean", "array"}
    for field in schema:
        entry = document["properties"][field.name]
        main, *others = entry["type"] if field.nullable else [entry["type"]]
        assert main in known
        assert others == (["null"] if field.nullable else [])
        assert ("items" in entry) == (main == "array")
        assert entry["description"]


def fits(value, entry):
    """Whether a value is of the JSON type of a schema entry; enough of JSON Schema for these."""
    types = entry["type"] if isinstance(entry["type"], list) else [entry["type"]]
    python = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "array": list,
        "null": type(None),
    }
    return any(isinstance(value, python[each]) for each in types)


def test_a_row_of_events_fits_its_json_schema():
    record = {"event_type": "llm_request", "timestamp": 1.5, "agent_name": "a", "tokens_used": 3}
    data = json.dumps({**record, "data": {"messages": [1]}}).encode()
    (row,) = read_batches(data).read_all().to_pylist()
    row = {
        name: value.decode() if isinstance(value, bytes) else value for name, value in row.items()
    }
    row["ts"] = row["ts"].isoformat()
    properties = json_schema("events")["properties"]
    assert list(row) == list(properties)
    assert all(fits(row[name], properties[name]) for name in row)


def test_json_schemas_are_written_and_read_back(tmp_path):
    paths = write_json_schemas(tmp_path)
    assert sorted(path.name for path in paths) == sorted(
        f"{name}.schema.json" for name in PUBLISHED
    )
    for path in paths:
        assert json.loads(path.read_bytes()) == json_schema(path.name.removesuffix(".schema.json"))
        assert path.read_bytes().endswith(b"}\n")


def test_schemas_in_the_checkout_are_those_of_the_code(tmp_path):
    if not SCHEMAS.is_dir():
        pytest.skip("there is no schemas/ folder")
    for path in write_json_schemas(tmp_path):
        assert (SCHEMAS / path.name).read_bytes() == path.read_bytes(), "run `make schemas`"


def test_the_module_writes_schemas(tmp_path):
    command = [sys.executable, "-m", "tracestream.schema", "--write", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    written = sorted(map(str, tmp_path.iterdir()))
    assert sorted(done.stdout.split()) == written
    assert len(written) == len(PUBLISHED)
    assert done.stderr == ""
