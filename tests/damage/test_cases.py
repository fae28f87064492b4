"""The damaged files of ../shared/cases: each gives the records that its index says can be recovered."""

import csv
import json
from pathlib import Path

import pytest

from tracestream import grade, read_batches
from tracestream.dialects import dialect_names

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="needs the folder ../shared/cases")

OF_OTHER_FORMATS = {
    "15-128bit-int-ids.jsonl": "otel_genai_spans",
    "28-claude-streamed-duplicates.jsonl": "claude_code",
    "29-otel-container-double-count.jsonl": "otlp_genai",
    "31-codex-cumulative-tokens.jsonl": "codex_rollout",
}
"""Files whose behaviour comes with a dialect of their own."""

REASONS = {
    "01-truncated-tail.jsonl": {"torn_tail": 1},
    "03-torn-prefix-glued.jsonl": {"torn_prefix": 1},
    "05-raw-newline-in-string.jsonl": {"joined_lines": 1},
    "07-utf8-bom.jsonl": {"bom": 1},
    "09-crlf.jsonl": {},
    "11-lone-surrogate.jsonl": {"lone_surrogate": 1},
    "13-duplicate-keys.jsonl": {"duplicate_key": None},
    "17-mixed-types.jsonl": {"wrong_type": 1},
    "19-pretty-array.json": {},
    "21-multi-member.jsonl.gz": {},
    "23-multi-frame.jsonl.zst": {},
    "25-blank-lines.jsonl": {},
    "27-invalid-utf8.jsonl": {"invalid_utf8": 1},
    "33-two-event-families.jsonl": {"unknown_event": 1},
    "35-same-tool-parallel.jsonl": {},
}
"""What the ledger has of the files of PraisonAI; None where the table leaves the number open."""


def index():
    if not CASES.is_dir():
        return {}
    with open(CASES / "INDEX.tsv", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {row["file"]: int(row["recoverable_records"]) for row in rows}


INDEX = index()
every_file = pytest.mark.parametrize("name", INDEX)
files = pytest.mark.parametrize("name", REASONS)


def path_of(name):
    return str(CASES / name)


def events_of(name, *columns):
    return read_batches(path_of(name), columns=columns).read_all().to_pylist()


def test_every_file_is_in_one_of_the_tables():
    assert set(REASONS) | set(OF_OTHER_FORMATS) == set(INDEX)
    assert set(INDEX) == {path.name for path in CASES.iterdir()} - {"INDEX.tsv"}


@every_file
def test_every_recoverable_record_is_read(name):
    assert grade(path_of(name)).ledger.records == INDEX[name]


@every_file
def test_every_recoverable_record_is_read_whichever_format_it_is_taken_for(name):
    report = grade(path_of(name), dialect="praisonai")
    assert report.ledger.records == INDEX[name]
    assert report.ledger.count("loss") <= 1


@files
def test_the_ledger_has_what_happened_and_nothing_else(name):
    entries = grade(path_of(name)).ledger.entries
    assert set(entries) == set(REASONS[name])
    for reason, count in REASONS[name].items():
        assert count is None or entries[reason].count == count


@files
def test_one_run_of_every_event(name):
    report = grade(path_of(name))
    n_runs = 2 if name == "13-duplicate-keys.jsonl" else 1
    assert report.summary["runs"] == n_runs
    assert report.summary["events"] == INDEX[name]
    verdicts = {run["verdict"] for run in report.runs_table.to_pylist()}
    # Of file 17 no call names its tool, so there is nothing to grade.
    assert verdicts == {"ungradable" if name == "17-mixed-types.jsonl" else "pass"}


def test_a_torn_tail_is_said_with_its_offset():
    (example,) = grade(path_of("01-truncated-tail.jsonl")).ledger.entries["torn_tail"].examples
    data = (CASES / "01-truncated-tail.jsonl").read_bytes()
    assert (example.line, example.offset) == (4, data.rindex(b"\n") + 1)


def test_behind_a_torn_prefix_the_record_is_read_once():
    name = "03-torn-prefix-glued.jsonl"
    lines = (CASES / name).read_bytes().split(b"\n")
    at = lines[1].rindex(b'{"schema_version"')
    assert [(row["seq"], row["line"]) for row in events_of(name, "seq", "line")] == [
        *((0, 1), (1, 2), (2, 3)),
    ]
    assert events_of(name, "offset")[1]["offset"] == len(lines[0]) + 1 + at
    ledger = grade(path_of(name)).ledger
    assert ledger.entries["torn_prefix"].examples[0].offset == len(lines[0]) + 1
    assert ledger.bytes_dropped in (at, at - 1)  # with or without the space at its end


def test_a_string_over_several_lines_is_read_whole():
    args = [row["tool_args"] for row in events_of("05-raw-newline-in-string.jsonl", "tool_args")]
    assert json.loads(args[1]) == {"q": "line one\nline two\n\nline four"}
    assert [row["line"] for row in events_of("05-raw-newline-in-string.jsonl", "line")] == [1, 2, 6]


def test_the_last_of_two_equal_keys_wins():
    sessions = [row["session_id"] for row in events_of("13-duplicate-keys.jsonl", "session_id")]
    assert sessions == ["s1", "s1-second", "s1"]


def test_numbers_of_events_are_those_written():
    for name in ("07-utf8-bom.jsonl", "19-pretty-array.json", "21-multi-member.jsonl.gz"):
        assert [row["seq"] for row in events_of(name, "seq")] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "n_calls"),
    [("33-two-event-families.jsonl", 2), ("35-same-tool-parallel.jsonl", 2)],
)
def test_tool_calls_are_counted_once(name, n_calls):
    assert grade(path_of(name)).summary["tool_calls"] == n_calls


def test_calls_of_one_tool_at_once_are_paired_by_what_started_them():
    rows = events_of("35-same-tool-parallel.jsonl", "call_id", "kind", "error")
    failed = {row["call_id"] for row in rows if row["error"]}
    calls = [row["call_id"] for row in rows if row["kind"] == "tool_call"]
    assert failed == {calls[0]}


USAGE = {
    "15-128bit-int-ids.jsonl": (2, 30, None),
    "28-claude-streamed-duplicates.jsonl": (1, 2220, 179),
    "29-otel-container-double-count.jsonl": (1, 300, 30),
    "31-codex-cumulative-tokens.jsonl": (1, 4000, 450),
}


@pytest.mark.parametrize("name", OF_OTHER_FORMATS)
def test_usage_is_counted_once(name):
    if OF_OTHER_FORMATS[name] not in dialect_names():
        pytest.skip(f"there is no dialect {OF_OTHER_FORMATS[name]} yet")
    n_runs, n_in, n_out = USAGE[name]
    summary = grade(path_of(name)).summary
    assert (summary["runs"], summary["input_tokens"]) == (n_runs, n_in)
    assert n_out is None or summary["output_tokens"] == n_out
