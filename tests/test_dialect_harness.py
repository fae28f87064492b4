"""Harness traces: what is recognised, how a record is read, and that it is one run."""

import gzip
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests import nasty
from tests.documents import jsonl
from tracestream import HarnessEvaluator, read_batches
from tracestream.batches import Scan
from tracestream.dialects import detect, harness
from tracestream.dialects.base import Refused
from tracestream.folds import Folds
from tracestream.inspection import inspect_traces
from tracestream.quality import Quality
from tracestream.schema import EVENTS, PARTIALS, RECORD_NUMBER, SPANS, check
from tracestream.sources import discover

DATA = Path(__file__).parent / "data" / "harness"
SHARED = Path(__file__).parents[2] / "shared"
COLUMNS = ["run_id", "kind", "ordinal", "has_payload", "harness", "artifacts"]


def read(record, columns=COLUMNS):
    """The row of a record and its notes as (reason, detail)."""
    notes = []
    data = record if isinstance(record, bytes) else json.dumps(record).encode()
    rows = harness.reader(columns)(data, lambda reason, detail: notes.append((reason, detail)))
    assert len(rows) <= 1
    return dict(zip(columns, rows[0], strict=True)) if rows else None, notes


def facts(record):
    row, notes = read(record, ["harness"])
    assert not notes
    return row["harness"]


def names(record):
    row, notes = read(record, ["artifacts"])
    assert not notes
    return row["artifacts"]


# ---- what is recognised ----

TOLD = [
    {"tool_calls": 0},
    {"judge_score": 7},
    {"tool_schema": {}},
    {"tool_trace": 1, "tool_calls": 2},
    {"tool_calls": 1, "artifacts": ["out.txt"]},
    {"tools": None, "judge_score": None},
    {"tool_schema": {}, "judge_score": 7, "id": 3},
    {"id": "1", "name": "smoke", "model": "m", "prompt": "p", "response": "r", "tool_calls": []},
    {"run_id": "r", "agent": "a", "timestamp": 1, "error": None, "input": "", "judge_score": 1},
    {"scenario": "s", "tools": [], "outputs": {}, "metadata": {"role": "x"}, "tool_trace": []},
]
OTHERS = {
    "nothing": {},
    "a PraisonAI event": {
        "event_type": "tool_end",
        "tool_calls": 1,
        "artifacts": [],
        "judge_score": 1,
    },
    "a PraisonAI event of a wrong type": {"event_type": 7, "tool_calls": 1, "artifacts": []},
    "a chat with tools": {"messages": [], "tools": []},
    "a chat with tools and files": {"messages": [], "tools": [], "files": []},
    "a message": {"role": "assistant", "content": None, "tool_calls": []},
    "a span of a trace": {"trace_id": "1", "tool_calls": [], "outputs": {}},
    "a typed row": {"type": "tool", "tools": [], "outputs": {}},
    "a LangSmith run": {"id": "1", "run_type": "llm", "inputs": {}, "outputs": {}},
    "a trace of tools and outputs": {"tools": [], "outputs": {}, "name": "x", "prompt": "p"},
    "a definition": {"name": "x", "tools": [], "files": [], "artifacts": []},
    "a completion": {"id": "1", "choices": [{"message": {"tool_calls": []}}], "tool_calls": []},
    "a part of a stream": {"content": "x", "tool_calls": []},
    "a turn with its usage": {"usage": {}, "tool_calls": 1},
    "a Langfuse row": {"traceId": "1", "tool_calls": [], "judge_score": 1},
    "a row of an observation": {"span_id": "1", "tool_calls": []},
    "a span": {"spanId": "1", "tool_schema": {}},
    "a run of a tracer": {"run_type": "llm", "tool_calls": []},
    "an Agents SDK span": {"object": "trace.span", "tool_calls": []},
    "an Inspect event": {"event": "model", "tool_calls": []},
    "a SWE-agent step": {"action": "ls", "observation": "", "tool_calls": []},
    "a step": {"step_number": 1, "observations": "", "tool_calls": []},
    "a manifest": {"name": "x", "files": []},
    "files alone": {"files": []},
    "outputs alone": {"outputs": [], "artifacts": [], "files": []},
    "tools alone": {"tools": []},
    "near names": {"toolcalls": 1, "artifact": [], "Tools": []},
}


@pytest.mark.parametrize("record", TOLD, ids=json.dumps)
def test_a_field_that_tells_is_enough_whatever_else_there_is(record):
    assert detect(record) is harness


@pytest.mark.parametrize("case", OTHERS)
def test_records_of_other_formats_are_left_to_them(case):
    assert not harness.sniff(OTHERS[case])
    assert detect(OTHERS[case]) is not harness


def test_the_rule_names_every_field_it_uses():
    told = harness.recognised_by
    assert sorted(re.findall(r"`(\w+)`", told)) == sorted(harness._TELLING | harness._FOREIGN)


@pytest.mark.parametrize("field", sorted(harness._FOREIGN))
def test_each_field_of_other_formats_is_enough_to_leave_it_to_them(field):
    assert not harness.sniff({"tool_calls": 1, "judge_score": 9, field: None})


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared")
def test_no_sample_of_another_format_is_taken_for_a_harness_trace():
    sources = inspect_traces(SHARED / "samples").to_dict()["sources"]
    assert len(sources) > 10
    assert [s["source"] for s in sources if s["dialect"] == "harness"] == []


# ---- how a record is read ----


def test_a_record_is_one_event_the_end_of_a_run():
    row, notes = read({"tool_calls": 2, "artifacts": ["a"], "judge_score": 7})
    assert row == {
        **{"run_id": RECORD_NUMBER, "kind": "run_end", "ordinal": 0, "has_payload": False},
        "harness": {"tool_calls": 2, "schema_hash": None, "judge_score": 7.0, "refused": []},
        "artifacts": ["a"],
    }
    assert notes == []


@pytest.mark.parametrize("column", [*EVENTS.names, *SPANS.names])
def test_every_other_column_is_empty(column):
    if column not in COLUMNS:
        assert read({"tool_calls": 2}, [column])[0] == {column: None}


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        *(("3", 3), ("-1", 0), ("0", 0), ("true", 1), ("false", 0), ("null", 0), ('""', 0)),
        *(('"abc"', 3), (r'"\ud83d\ude42"', 1), ("[]", 0), ("[ ]", 0), ("[[1, 2], {}, null]", 3)),
        *(('{"a": 1, "b": 2}', 2), ('{"a": 1, "a": 2}', 1), ("9" * 400, 2**63 - 1), ("-0.0", 0)),
    ],
)
def test_calls_are_a_count_or_what_is_counted(calls, count):
    assert facts(b'{"tool_calls": %s}' % calls.encode())["tool_calls"] == count


def test_the_first_field_that_is_true_counts():
    assert facts({"tool_calls": [], "tool_trace": 0, "tools": [1, 2]})["tool_calls"] == 2
    assert facts({"tool_calls": 1, "tool_trace": 5, "tools": 7})["tool_calls"] == 1
    assert names({"artifacts": [], "files": {"x": "a"}, "outputs": ["b"]}) == ["a"]


@pytest.mark.parametrize(
    ("artifacts", "expected"),
    [
        (["a", {"path": "b", "name": "x"}, {"name": "c"}], ["a", "b", "c"]),
        ([{"path": "", "file": "a"}, {"filename": 3}, {"artifact": ["x"]}], ["a", "3", "['x']"]),
        ({"one": "a", "two": {"path": "b"}}, ["a", "b"]),
        ([None, True, 2.5, {}, {"size": 1}], ["None", "True", "2.5", "{}", "{'size': 1}"]),
        ("ab", ["a", "b"]),
        ([], []),
        (None, []),
        ([10**30, "é🙂"], [str(10**30), "é🙂"]),
        (["\ud800a"], ["\ufffda"]),
    ],
)
def test_artifacts_have_names(artifacts, expected):
    row, _ = read({"artifacts": artifacts})
    assert row["artifacts"] == expected


@pytest.mark.parametrize(
    ("judge", "score"),
    [
        ("7", 7.0),
        ("6.5", 6.5),
        ('" 8.5 "', 8.5),
        ("true", 1.0),
        ("false", 0.0),
        ("null", None),
        ("0", 0.0),
    ],
)
def test_a_judge_score_is_a_number_or_its_text(judge, score):
    assert facts(b'{"judge_score": %s}' % judge.encode())["judge_score"] == score


def test_a_judge_score_of_nan_stays_one():
    row, notes = read(b'{"judge_score": NaN}')
    assert math.isnan(row["harness"]["judge_score"])
    assert notes == [("non_finite_number", "")]


WRONG = {
    "tool_calls: float, not a list or a whole number": {"tool_calls": 3.0},
    "tool_trace: float, not a list or a whole number": {"tool_trace": 1.5, "tool_calls": []},
    "artifacts: int, not a list or an object": {"artifacts": 3},
    "files: bool, not a list or an object": {"files": True},
    "outputs: float, not a list or an object": {"outputs": 0.5},
    "judge_score: str, not a number": {"judge_score": "good"},
    "judge_score: list, not a number": {"judge_score": []},
    "judge_score: int, not a number that a float can hold": {"judge_score": 10**400},
}


@pytest.mark.parametrize("words", WRONG)
@pytest.mark.parametrize("columns", [COLUMNS, ["kind"], []], ids=["all", "kind", "none"])
def test_what_cannot_be_judged_is_noted_whatever_the_columns(words, columns):
    row, notes = read(WRONG[words], columns)
    assert notes == [("wrong_type", words)]
    if columns == COLUMNS:
        assert row["harness"]["refused"] == [words]
        assert (row["harness"]["tool_calls"], row["artifacts"]) == (0, [])


def test_a_field_of_the_wrong_type_counts_as_missing():
    row, notes = read({"tool_calls": 3.0, "tools": [1, 2], "artifacts": 1, "outputs": ["a"]})
    assert (row["harness"]["tool_calls"], row["artifacts"]) == (2, ["a"])
    assert [reason for reason, _ in notes] == ["wrong_type"] * 2


@pytest.mark.parametrize(
    "record",
    [b'{"tool_calls": 1, "tool_calls": 2}', b'{"tool_calls":2,"tool_schema":{"a":1,"a":2}}'],
)
def test_of_a_key_that_stands_twice_the_last_counts(record):
    row, ((reason, _),) = read(record)
    assert (row["harness"]["tool_calls"], reason) == (2, "duplicate_key")


def test_an_empty_object_is_a_run_without_anything():
    row, notes = read({})
    assert (row, notes) == (read({"tool_calls": []})[0], [])
    assert HarnessEvaluator({}).run().tool_call_count == row["harness"]["tool_calls"] == 0


@pytest.mark.parametrize("record", [{"event_type": "output"}, {"messages": [], "x": 1}])
def test_an_object_of_another_format_has_the_wrong_shape(record):
    assert read(record) == (None, [("wrong_shape", "keys: " + ", ".join(record))])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b'{"tool_calls": 1', "malformed_record"),
        (b"[1]", "not_an_object"),
        (b'{"tools": %s}' % (b"[" * 200 + b"]" * 200), "deep_nesting"),
        (b'{"tools": %s}' % (b"7" * 4301), "malformed_record"),
    ],
)
def test_a_record_that_gives_no_event_is_refused(record, reason):
    with pytest.raises(Refused) as caught:
        read(record)
    assert caught.value.reason == reason


FIELDS = sorted(harness._FIELDS)
values = nasty.json_values() | st.lists(nasty.json_values(), max_size=3) | st.integers(-3, 3)
records = st.dictionaries(st.sampled_from([*FIELDS, "name", "x"]), values, max_size=7)


@settings(max_examples=60)
@given(records)
def test_strict_and_lenient_reading_give_equal_rows(record):
    """A NaN in a field that nobody asks for makes the strict parser refuse the record."""
    assume(record)  # {} is a run, and an object of which nothing is known is none
    data = json.dumps(record).encode()
    row, notes = read(data)
    lenient_row, lenient_notes = read(data[:-1] + b', "zz": NaN}')
    assert repr(row) == repr(lenient_row)
    parsing = {"non_finite_number", "lone_surrogate", "wrong_shape"}
    kept = [[note for note in some if note[0] not in parsing] for some in (notes, lenient_notes)]
    assert kept[0] == kept[1]


@settings(max_examples=60)
@given(records, st.lists(st.sampled_from(COLUMNS), unique=True))
def test_values_and_notes_do_not_depend_on_the_columns(record, columns):
    row, notes = read(record)
    some, some_notes = read(record, columns)
    assert repr(some) == repr(row and {name: row[name] for name in columns})
    assert some_notes == notes


# ---- runs ----


def events(source, **options):
    return (
        read_batches(source, columns=["run_id", "line", "kind"], **options).read_all().to_pylist()
    )


def test_a_run_is_numbered_like_its_record():
    lines = events(DATA / "runs.jsonl")
    assert [(row["run_id"], row["line"], row["kind"]) for row in lines] == [
        (str(n), n, "run_end") for n in (1, 3, 4, 5)
    ]
    assert [row["run_id"] for row in events(DATA / "runs.json")] == ["1", "2"]
    pretty = b'{\n"tool_calls": 1\n}\n{\n"tool_calls": 2\n}\n'
    assert [row["run_id"] for row in events(pretty)] == ["1", "2"]
    assert [row["run_id"] for row in events(gzip.compress((DATA / "runs.json").read_bytes()))] == [
        "1",
        "2",
    ]


def test_numbers_are_there_without_the_column_of_lines():
    table = read_batches(DATA / "runs.jsonl", columns=["run_id"], batch_rows=1).read_all()
    assert table["run_id"].to_pylist() == ["1", "3", "4", "5"]


def folded(batches, artifacts=("out.txt", "plan.md")):
    folds = Folds(len, artifacts=artifacts)
    for batch in batches:
        folds.update(batch)
    return folds


@settings(max_examples=25)
@given(st.integers(1, 4), st.permutations(range(6)), st.integers(0, 6))
def test_partials_of_any_split_merge_to_the_whole_in_any_order(batch_rows, order, cut):
    batches = list(Scan(discover(str(DATA)), SPANS, Quality(), batch_rows=batch_rows))
    whole = folded(batches).finish()
    shuffled = [batches[n] for n in order if n < len(batches)]
    merged = Folds(len)
    for part in (shuffled[cut:], shuffled[:cut]):
        partials = folded(part).partials()
        check(partials, PARTIALS)
        merged.merge(partials)
    assert repr(merged.finish()) == repr(whole)
    assert [(run.name.run_id, run.tool_calls, run.recorded.artifacts) for run in whole] == [
        *(("1", 1, ("out.txt",)), ("2", 0, ())),
        *(("1", 2, ("out.txt", "plan.md")), ("3", 1, ("out.txt",)), ("4", 3, ()), ("5", 2, ())),
    ]


def test_artifacts_nobody_asks_for_are_neither_read_nor_kept():
    schema = SPANS.remove(SPANS.get_field_index("artifacts"))
    batches = list(Scan(discover(DATA / "runs.jsonl"), schema, Quality()))
    runs = folded(batches, artifacts=()).finish()
    assert [run.recorded.artifacts for run in runs] == [()] * 4
    asked = folded(Scan(discover(DATA / "runs.jsonl"), SPANS, Quality()), ("plan.md", "x")).finish()
    assert [run.recorded.artifacts for run in asked] == [("plan.md",), (), (), ()]


def test_inspect_counts_runs_and_calls():
    document = inspect_traces([DATA / "runs.jsonl"]).to_dict()
    (source,) = document["sources"]
    assert (source["dialect"], source["tool_calls"], source["tools"]) == ("harness", 8, [])
    assert [(run["run_id"], run["gradable"]) for run in source["runs"]] == [
        *(("1", True), ("3", True), ("4", True), ("5", True)),
    ]
    assert document["summary"]["kinds"] == [
        {"kind": "run_end", "events": 4, "types": [{"event_type": "", "events": 4}]}
    ]
    assert source["damage"] == {"wrong_type": 3}


def test_the_commands_take_it(run):
    code, out, _ = run("inspect", DATA / "runs.jsonl")
    assert code == 0
    assert "harness, lines" in out
    code, out, _ = run("formats")
    assert code == 0
    assert "harness\n" in out


def test_other_formats_beside_it_stay_what_they_are(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl({"event_type": "output", "run_id": "1"}))
    (tmp_path / "b.jsonl").write_bytes((DATA / "runs.jsonl").read_bytes())
    sources = inspect_traces(tmp_path).to_dict()["sources"]
    assert [source["dialect"] for source in sources] == ["praisonai", "harness"]
