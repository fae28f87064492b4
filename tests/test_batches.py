import gc
import gzip
import io
import json
import logging
import os
import tracemalloc
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import nasty
from tracestream import read_batches
from tracestream.batches import BATCH_BYTES, Scan
from tracestream.dialects import praisonai
from tracestream.errors import (
    ConfigError,
    DialectError,
    FrameError,
    InputError,
    UnknownDialectError,
)
from tracestream.quality import Quality
from tracestream.schema import EVENTS, SPANS, check
from tracestream.sources import discover

COLUMNS = EVENTS.names


def event(n=0, **fields):
    return json.dumps({"event_type": "output", "sequence_num": n, **fields}).encode() + b"\n"


def seqs(source, **options):
    return read_batches(source, columns=["seq"], **options).read_all()["seq"].to_pylist()


def scanned(source, schema=EVENTS, **options):
    """The table of a scan, its summaries and its ledger."""
    quality = Quality()
    scan = Scan(discover(source), schema, quality, **options)
    table = pa.Table.from_batches(list(scan), schema)
    return table, scan.summaries, quality


def place(quality):
    """Reason, source, line and offset of each example."""
    entries = quality.entries.items()
    return [(r, e.source, e.line, e.offset) for r, entry in entries for e in entry.examples]


def test_events_come_with_source_line_offset_and_length(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"\n" + event(0) + event(1))
    (tmp_path / "b.json").write_bytes(b"[" + event(2) + b"," + event(3) + b"]")
    table = read_batches([str(tmp_path / "b.json"), tmp_path / "a.jsonl"]).read_all()
    check(table, EVENTS)
    n = len(event(0))
    assert table.select(["line", "offset", "length", "seq"]).to_pylist() == [
        {"line": 1, "offset": 1, "length": n - 1, "seq": 2},
        {"line": 2, "offset": n + 2, "length": n - 1, "seq": 3},
        {"line": 2, "offset": 1, "length": n - 1, "seq": 0},
        {"line": 3, "offset": 1 + n, "length": n - 1, "seq": 1},
    ]
    names = [str(tmp_path / name) for name in ("b.json", "b.json", "a.jsonl", "a.jsonl")]
    assert table["source"].to_pylist() == names


@given(st.integers(0, 99), st.lists(st.sampled_from(COLUMNS), unique=True))
def test_columns_are_those_asked_for_in_that_order(seed, columns):
    data = nasty.write_jsonl(nasty.nasty_trace(seed), seed)
    table = read_batches(data, columns=columns).read_all()
    assert table.schema.names == columns
    whole = read_batches(data).read_all()
    assert table.num_rows == whole.num_rows
    assert table.to_pylist() == whole.select(columns).to_pylist()


def test_texts_not_asked_for_are_not_decoded(monkeypatch):
    data = json.dumps({"event_type": "llm_response", "data": {"response_content": "x" * 99}})
    n_decoded = 0
    text_of = praisonai.text_of

    def counted(raw):
        nonlocal n_decoded
        n_decoded += len(memoryview(raw)) > 9
        return text_of(raw)

    monkeypatch.setattr(praisonai, "text_of", counted)
    read_batches(data.encode(), columns=["kind", "agent", "offset", "seq"]).read_all()
    assert n_decoded == 0
    read_batches(data.encode(), columns=["text"]).read_all()
    assert n_decoded == 1


@given(
    st.lists(st.integers(0, 99), min_size=1, max_size=3), st.integers(1, 50), st.integers(1, 3000)
)
def test_batch_and_block_sizes_do_not_change_the_table(seeds, batch_rows, block_bytes):
    data = [nasty.write_jsonl(nasty.nasty_trace(seed), seed) + b"{torn" for seed in seeds]
    expected, summaries, quality = scanned([io.BytesIO(each) for each in data])
    sources = [
        iter([each[at : at + block_bytes] for at in range(0, len(each), block_bytes)])
        for each in data
    ]
    table, others, ledger = scanned(sources, batch_rows=batch_rows)
    assert table.drop(["source"]).to_pylist() == expected.drop(["source"]).to_pylist()
    assert [each.n_events for each in others] == [each.n_events for each in summaries]
    assert ledger.skipped == quality.skipped == len(seeds)
    assert (ledger.records, ledger.bytes_dropped) == (quality.records, quality.bytes_dropped)


def test_batches_have_no_more_rows_than_asked_for_and_may_span_sources():
    sources = [io.BytesIO(event(0) * n) for n in (5, 1, 7)]
    batches = list(read_batches(sources, batch_rows=4))
    assert [batch.num_rows for batch in batches] == [4, 4, 4, 1]


def test_a_batch_with_texts_ends_by_its_bytes():
    text = "x" * (BATCH_BYTES // 8)
    blocks = [event(n, tool_result_summary=text) for n in range(20)]
    heavy = read_batches(blocks, columns=["seq", "text"])
    assert [batch.num_rows for batch in heavy] == [8, 8, 4]
    light = read_batches(blocks, columns=["seq", "kind"])
    assert [batch.num_rows for batch in light] == [20]


def test_memory_does_not_grow_with_the_input():
    def blocks():
        for n in range(200):
            yield event(n, tool_result_summary="x" * 300_000)

    tracemalloc.start()
    n_rows = sum(
        batch.num_rows for batch in read_batches(blocks(), columns=["seq", "kind", "line"])
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_rows == 200
    assert peak < 4 << 20


def test_the_first_batch_comes_before_the_rest_is_read():
    n_given = 0

    def blocks():
        nonlocal n_given
        for n in range(1000):
            n_given += 1
            yield event(n)

    reader = read_batches(blocks(), batch_rows=10)
    assert n_given == 0
    assert reader.read_next_batch()["seq"].to_pylist() == list(range(10))
    assert n_given <= 11
    assert reader.read_next_batch().num_rows == 10
    assert n_given <= 21


def open_files():
    """Files open under a name of this test."""
    links = [os.path.join("/dev/fd", name) for name in os.listdir("/dev/fd")]
    return [
        link for link in links if os.path.exists(link) and os.path.realpath(link).endswith(".jsonl")
    ]


@pytest.mark.skipif(not os.path.islink("/dev/fd"), reason="open files are not listed as links here")
@pytest.mark.parametrize("how", ["exhausted", "released", "failed"])
def test_files_are_closed(tmp_path, how):
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_bytes(event(0) * 100 + b"bad\n" + event(1) * 100)
    options = {
        "on_error": "raise" if how == "failed" else "report",
        "batch_rows": 10,
        "block_bytes": 300,
    }
    reader = read_batches(str(tmp_path), **options)
    assert not open_files()
    reader.read_next_batch()
    assert len(open_files()) == 1
    if how == "exhausted":
        assert sum(batch.num_rows for batch in reader) == 390
    elif how == "failed":
        with pytest.raises(FrameError):
            reader.read_all()
    del reader
    gc.collect()
    assert not open_files()


N = len(event(0))
RAISED = {
    "malformed": (event(0) + b"bad\n", FrameError, 2, N),
    "torn": (event(0) + b'{"event', FrameError, 2, N),
    "not an object": (event(0) + b"7\n", DialectError, 2, N),
    "wrong shape": (event(0) + b"{}\n", DialectError, 2, N),
    "wrong type": (event(0) + event("5"), DialectError, 2, N),
    "in detection": (b"bad\n" + event(0), FrameError, 1, 0),
    "array": (b"[" + event(0).strip(), FrameError, 2, N),
    "truncated": (gzip.compress(event(0), mtime=0)[:-4], FrameError, None, N),
    "unknown format": (b'{"a": 1}\n', UnknownDialectError, 1, 0),
}


@pytest.mark.parametrize("case", RAISED)
def test_the_first_loss_or_doubt_raises_with_its_place(case):
    data, error, line, offset = RAISED[case]
    with pytest.raises(error, match=r"^<bytes>.*\nHint: ") as caught:
        read_batches(data, on_error="raise").read_all()
    assert type(caught.value) is error
    assert (caught.value.source, caught.value.line, caught.value.offset) == (
        "<bytes>",
        line,
        offset,
    )


def test_notes_do_not_raise():
    assert seqs(b"\xef\xbb\xbf" + event(7, cost_usd=float("nan")), on_error="raise") == [7]


def test_an_unreadable_source_raises_or_is_reported_beside_the_others(tmp_path, caplog):
    (tmp_path / "a.jsonl").write_bytes(event(1))
    (tmp_path / "b.jsonl").symlink_to("nowhere")
    (tmp_path / "c.jsonl").write_bytes(event(2))
    assert seqs(str(tmp_path)) == [1, 2]
    _, summaries, quality = scanned(str(tmp_path))
    assert place(quality) == [("unreadable_source", str(tmp_path / "b.jsonl"), None, 0)]
    assert [each.problem for each in summaries] == [
        None,
        "unreadable: No such file or directory",
        None,
    ]
    with pytest.raises(InputError, match=r"b\.jsonl: the source could not be read"):
        seqs(str(tmp_path), on_error="raise")


def test_a_source_that_breaks_off_keeps_what_was_read():
    def blocks():
        yield event(1) + event(2) + b'{"ev'
        raise OSError(5, "Input/output error")

    table, (summary,), quality = scanned(blocks())
    assert table["seq"].to_pylist() == [1, 2]
    assert summary.problem == "unreadable: Input/output error"
    assert (summary.n_events, list(quality.entries)) == (2, ["unreadable_source"])


def test_a_summary_is_logged_when_all_is_read(caplog):
    reader = read_batches(event(0) + b"bad\n" + event(1) + b"bad\n")
    assert not caplog.records
    with caplog.at_level(logging.INFO, "tracestream"):
        reader.read_all()
    assert caplog.record_tuples == [
        (
            "tracestream",
            logging.WARNING,
            "loss: malformed_record x2: not JSON (first: <bytes>, line 2)",
        )
    ]


@pytest.mark.parametrize(
    "data", [event(0), b"\xef\xbb\xbf" + event(0)], ids=["clean", "notes alone"]
)
def test_nothing_is_logged_without_loss_or_doubt(data, caplog):
    read_batches(data).read_all()
    assert not caplog.records


FOREIGN = b'{"type": "user", "uuid": "1"}\n'


ARGUMENTS = {
    "column": (
        {"columns": ["kind", "nope"]},
        "no column 'nope'\nHint: the columns are source, line",
    ),
    "column twice": ({"columns": ["kind", "seq", "kind"]}, "name each column once"),
    "dialect": (
        {"dialect": "nope"},
        "there is no dialect 'nope'\nHint: the dialects are praisonai",
    ),
    "on_error": ({"on_error": "ignore"}, "on_error is 'ignore'\nHint: it is 'report' or 'raise'"),
    "batch_rows": ({"batch_rows": 0}, "batch_rows is 0\nHint: "),
    "block_bytes": ({"block_bytes": -1}, "block_bytes is -1\nHint: "),
    "max_record_bytes": ({"max_record_bytes": 0}, "max_record_bytes is 0\nHint: "),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_an_argument_that_makes_no_sense_is_an_error_at_once(case):
    options, words = ARGUMENTS[case]
    with pytest.raises((ConfigError, UnknownDialectError)) as caught:
        read_batches(event(0), **options)
    assert words in str(caught.value)


def test_a_path_that_is_not_there_is_an_error_at_once(tmp_path):
    with pytest.raises(InputError):
        read_batches(str(tmp_path / "gone.jsonl"))


@pytest.mark.parametrize("block_bytes", [100, 5000, 1 << 20])
def test_the_bytes_of_a_file_do_not_depend_on_how_far_it_was_read(tmp_path, block_bytes):
    contents = [FOREIGN * 1000, event(1) * 1000, gzip.compress(event(1) * 9999)[:-40], b"bad\n"]
    for n, data in enumerate(contents):
        (tmp_path / f"{n}.jsonl").write_bytes(data)
    _, summaries, _ = scanned(str(tmp_path), block_bytes=block_bytes)
    assert [each.n_bytes for each in summaries] == list(map(len, contents))


def test_records_go_along_where_their_source_cannot_be_read_again(tmp_path):
    data = b"".join(
        json.dumps(each).encode() + b"\n"
        for each in (
            {"event_type": "llm_response", "data": {"response_content": "x"}},
            {"event_type": "llm_response", "data": {"response_content": ""}},
            {"event_type": "tool_start", "tool_name": "t"},
        )
    )
    (tmp_path / "a.jsonl").write_bytes(data)
    assert scanned(str(tmp_path), SPANS)[0]["record"].to_pylist() == [None] * 3
    assert scanned(data, SPANS)[0]["record"].to_pylist() == [data.split(b"\n")[0], None, None]


def test_no_half_of_a_surrogate_pair_gets_into_a_table():
    text = "a\ud83d"
    record = {
        "event_type": text,
        "agent_name": text,
        "run_id": text,
        "session_id": text,
        "tool_name": text,
    }
    data = {"response_content": text, "model": text, "error": text, "to_agent": text}
    for kind in ("llm_response", "agent_handoff", text):
        (row,) = (
            read_batches(json.dumps({**record, "event_type": kind, "data": data}).encode())
            .read_all()
            .to_pylist()
        )
        assert [
            row[name] for name in ("agent", "run_id", "session_id", "tool", "model", "error")
        ] == ["a\ufffd"] * 6


def test_a_trace_of_every_odd_record_is_read(tmp_path):
    rng = Random(5)
    lines = [nasty.write_json(each, rng) for seed in range(40) for each in nasty.nasty_trace(seed)]
    path = Path(tmp_path / "a.jsonl")
    path.write_bytes(b"\r\n".join(lines))
    table, (summary,), quality = scanned(str(path))
    assert table.num_rows == summary.n_events == quality.records == len(lines)
    assert quality.count("loss") == 0
