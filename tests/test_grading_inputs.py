"""The runs that `grade` finds do not depend on how the same events are stored, cut or damaged."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests import nasty
from tracestream import grade
from tracestream import spans as spans_module
from tracestream.folds import Folds

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SHARED = Path(__file__).parents[2] / "shared"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="there is no ../shared folder")

OUT = "alpha beta gamma delta"


def event(event_type, agent, run_id, **data):
    ids = {"session_id": "s", "run_id": run_id}
    return {"event_type": event_type, "agent_name": agent, **ids, "data": data}


def response(agent, content, run_id):
    return event("llm_response", agent, run_id, response_content=content)


def request(agent, messages, run_id):
    return event("llm_request", agent, run_id, messages=messages)


def jsonl(*events):
    return "".join(json.dumps(event) + "\n" for event in events).encode()


EVENTS = [
    {"event_type": "session_start", "session_id": "s"},
    response("a", OUT, "r1"),
    request("b", ["alpha BETA"], "r1"),
    request("x", [{"text": "é\u2028\n\U0001f600 ]}"}], "r2"),
    response("x", 'caf\u00e9 "quoted" \\ \t end', "r2"),
    request("y", ['caf\u00e9 "quoted"'], "r2"),
    event("tool_call_start", "y", "r2", tool_name="search"),
    {**response("b", "more", "r1"), "prompt_tokens": 5},
]


def found(report):
    """The runs of a report, without what says where their source is."""
    runs = report.runs_table.drop(["run", "source", "first_offset"]).to_pylist()
    handoffs = report.handoffs_table.drop(["run"]).to_pylist()
    return runs, handoffs, report.budgets_table.drop(["run"]).to_pylist()


def plain(events):
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events).encode()


SHAPES = {
    "escaped": lambda events: jsonl(*events),
    "compact": lambda events: b"".join(
        json.dumps(e, separators=(",", ":")).encode() + b"\n" for e in events
    ),
    "no newline at the end": lambda events: plain(events).rstrip(b"\n"),
    "crlf": lambda events: plain(events).replace(b"\n", b"\r\n"),
    "mark": lambda events: b"\xef\xbb\xbf" + plain(events),
    "blank lines": lambda events: b"\n \n" + plain(events).replace(b"\n", b"\n\r\n\n"),
    "array": lambda events: json.dumps(events).encode(),
    "pretty array": lambda events: json.dumps(events, indent=2).encode() + b"\n",
    "documents": lambda events: b"\n".join(
        json.dumps(event, indent=4).encode() for event in events
    ),
    "gzip": lambda events: gzip.compress(plain(events)),
    "gzip members": lambda events: b"".join(gzip.compress(plain([event])) for event in events),
    "zstd frames": lambda events: b"".join(zstd.compress(plain([event])) for event in events),
    "bzip2 of an array": lambda events: bz2.compress(json.dumps(events, indent=1).encode()),
    "xz": lambda events: lzma.compress(plain(events)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_events_in_any_shape_give_the_same_runs(shape, tmp_path):
    expected = found(grade(plain(EVENTS)))
    assert [run["run_id"] for run in expected[0]] == ["r1", "r2"]
    assert [each["context_passed_score"] for each in expected[1]] == [8.0, 10.0]
    data = SHAPES[shape](EVENTS)
    path = tmp_path / "a"
    path.write_bytes(data)
    for source in (data, io.BytesIO(data), [data[:90], data[90:]], str(path)):
        report = grade(source)
        assert found(report) == expected
        assert report.ledger.count("loss", "doubt") == 0
        assert report.n_bytes == len(data)


def test_stdin_gives_the_same_runs(tmp_path):
    code = "import tracestream, sys; sys.stdout.buffer.write(tracestream.grade('-').to_json())"
    for data in (plain(EVENTS), gzip.compress(plain(EVENTS))):
        done = subprocess.run(
            [sys.executable, "-c", code], input=data, capture_output=True, check=True
        )
        report = json.loads(done.stdout)
        assert [run["run"] for run in report["runs"]] == ["-#r1", "-#r2"]
        assert report["summary"]["handoff_score"] == 9.0


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 3000), st.booleans())
def test_no_size_changes_a_byte_of_the_report(
    tmp_path_factory, seed, batch_rows, block_bytes, compressed
):
    path = tmp_path_factory.mktemp("sizes") / "a.jsonl"
    data = nasty.write_jsonl(nasty.nasty_trace(seed), seed) + b'bad\n{"torn'
    path.write_bytes(gzip.compress(data, mtime=0)[: -seed % 30 or None] if compressed else data)
    expected = grade(str(path)).to_json()
    assert grade(str(path), batch_rows=batch_rows, block_bytes=block_bytes).to_json() == expected


RUBBISH = [
    b"rubbish",
    b'{"event_type": "llm_resp',
    b'}{"a',
    b"[1, 2",
    b"7",
    b'"text"',
    b"\xff\xfe",
    b"{'a': 1}",
    b"null",
    b"{]",
]


@given(st.integers(0, 10_000), st.data())
def test_damaged_lines_cost_themselves_and_nothing_else(seed, draw):
    """Lines inserted, and lines replaced: the result is that of the source without them."""
    good = nasty.write_jsonl(nasty.nasty_trace(seed), seed).splitlines(keepends=True)
    good = [line for line in good if line.endswith(b"\n")]
    # Not before the first line, which says how the source is framed.
    at = sorted(
        draw.draw(st.sets(st.integers(1, len(good)), max_size=4) if good else st.just(set()))
    )
    lines, n_before = [], 0
    for position in at:
        lines += [*good[n_before:position], draw.draw(st.sampled_from(RUBBISH)) + b"\n"]
        n_before = position
    lines += good[n_before:]
    report, expected = grade(b"".join(lines)), grade(b"".join(good))
    if any(run["dialect"] for run in expected.runs_table.to_pylist()):
        assert found(report) == found(expected)
    assert report.ledger.skipped == len(at)
    examples = [
        example.line
        for reason in ("malformed_record", "not_an_object")
        if reason in report.ledger.entries
        for example in report.ledger.entries[reason].examples
    ]
    assert sorted(examples) == [position + n + 1 for n, position in enumerate(at)]


@given(st.integers(0, 10_000), st.integers(1, 200))
def test_a_torn_tail_costs_the_last_record(seed, n_cut):
    lines = nasty.write_jsonl(nasty.nasty_trace(seed), seed).splitlines(keepends=True)
    assume(lines)
    whole, last = b"".join(lines[:-1]), lines[-1]
    torn = last[: max(1, len(last) - 1 - n_cut)] if last.endswith(b"}\n") else b"{"
    report, expected = grade(whole + torn), grade(whole)
    if lines[:-1]:
        assert found(report) == found(expected)
    ((example),) = report.ledger.entries["torn_tail"].examples
    assert (example.line, example.offset) == (len(lines), len(whole))


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=3))
def test_sources_are_graded_as_if_each_were_alone(seeds):
    sources = [nasty.write_jsonl(nasty.nasty_trace(seed), seed) for seed in seeds]
    together = grade([io.BytesIO(data) for data in sources])
    alone = [grade(io.BytesIO(data)) for data in sources]
    tables = zip(*map(found, alone), strict=True)
    assert found(together) == tuple([row for part in parts for row in part] for parts in tables)
    assert together.n_events == sum(report.n_events for report in alone)


TWO_RUNS = [
    response("a", OUT, "r1"),
    request("b", [OUT], "r1"),
    response("a", OUT, "r2"),
    request("b", [OUT], "r2"),
]


def rewritten(path):
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, ns=(0, 0))


def cut(path):
    os.truncate(path, 10)


def grown(path):
    with open(path, "ab") as file:
        file.write(jsonl(response("a", "new", "r1")))


@pytest.mark.parametrize(
    ("change", "verdict"),
    [(rewritten, "ungradable"), (cut, "ungradable"), (os.unlink, "ungradable"), (grown, "pass")],
)
def test_a_file_that_changes_before_it_is_scored_is_not_graded(
    tmp_path, monkeypatch, change, verdict
):
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(*TWO_RUNS))
    (tmp_path / "b.jsonl").write_bytes(jsonl(*TWO_RUNS))
    finish = Folds.finish

    changes = iter([change])

    def changed(folds):
        for first in changes:  # the runs of this file are finished first
            first(path)
        return finish(folds)

    monkeypatch.setattr(Folds, "finish", changed)
    report = grade(str(tmp_path))
    assert report.runs_table["verdict"].to_pylist() == [verdict, verdict, "pass", "pass"]
    n_unreadable = 2 if verdict == "ungradable" else 0
    entry = report.ledger.entries.get("unreadable_source")
    assert (entry.count if entry else 0) == n_unreadable
    for run in report.runs_table.to_pylist()[:n_unreadable]:
        assert "changed while it was graded" in run["reasons"][0]
    assert report.handoffs_table["context_passed_score"].to_pylist() == [10.0] * (4 - n_unreadable)


def test_a_file_changed_under_its_size_and_time_is_not_mistaken(tmp_path, monkeypatch):
    """The worst case: the record is read where it was, and is another."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(*TWO_RUNS))
    finish = Folds.finish

    def changed(folds):
        path.write_bytes(b" " * len(jsonl(*TWO_RUNS)))
        return finish(folds)

    monkeypatch.setattr(Folds, "finish", changed)
    monkeypatch.setattr(spans_module, "_change", lambda then, now: None)
    report = grade(str(path))
    assert set(report.runs_table["verdict"].to_pylist()) == {"ungradable"}
    assert "a record is not what it was" in report.runs_table["reasons"].to_pylist()[0][0]


def test_texts_are_read_one_at_a_time_and_files_closed(tmp_path):
    for n in range(5):
        (tmp_path / f"{n}.jsonl").write_bytes(jsonl(*TWO_RUNS))
    n_before = len(os.listdir("/dev/fd"))
    assert grade(str(tmp_path)).summary["runs"] == 10
    assert len(os.listdir("/dev/fd")) == n_before


@shared
def test_the_samples_of_praisonai_give_what_their_index_says():
    report = grade(str(SHARED / "samples" / "praisonai"))
    action, context = report.runs_table.to_pylist()
    assert (action["events"], action["tool_calls"], action["run_id"]) == (8, 2, None)
    assert (context["events"], context["tool_calls"]) == (27, 2)
    assert (context["input_tokens"], context["output_tokens"]) == (2104, 150)
    assert report.handoffs_table.num_rows == 1
    assert not report.ledger.entries


def test_a_trace_of_odd_records_is_graded_like_its_tidy_copy():
    for seed in range(30):
        events = nasty.nasty_trace(seed)
        odd = b"".join(
            nasty.write_json({**event, "zz": float("nan")}, Random(seed)) + b"\n"
            for event in events
        )
        assert found(grade(odd)) == found(grade(nasty.write_jsonl(events, seed)))
