"""Which sources are recognised, which are not, and how far they are read."""

import gzip
import json

import pytest

from tests.test_batches import place, scanned
from tracestream.batches import DETECT_BYTES, DETECT_RECORDS


def event(n=0, **fields):
    return json.dumps({"event_type": "output", "sequence_num": n, **fields}).encode() + b"\n"


FOREIGN = b'{"type": "user", "uuid": "1"}\n'


def test_a_format_is_recognised_among_the_first_records():
    data = b"bad\n7\n" + FOREIGN + event(1) + FOREIGN + event(2)
    table, (summary,), quality = scanned(data)
    assert table["seq"].to_pylist() == [1, 2]
    assert (summary.dialect, summary.framing, summary.n_events) == ("praisonai", "lines", 2)
    assert {reason: entry.count for reason, entry in quality.entries.items()} == {
        **{"malformed_record": 1, "not_an_object": 1, "wrong_shape": 2},
    }
    assert (quality.records, quality.skipped) == (4, 2)


@pytest.mark.parametrize(
    ("n_foreign", "is_known"), [(DETECT_RECORDS - 1, True), (DETECT_RECORDS, False)]
)
def test_sixteen_records_are_looked_at(n_foreign, is_known):
    table, (summary,), quality = scanned(FOREIGN * n_foreign + event(1) * 100)
    assert (summary.dialect is not None) == is_known
    if not is_known:
        assert table.num_rows == 0
        assert quality.records == DETECT_RECORDS
        assert place(quality) == [("unknown_format", "<bytes>", 1, 0)]
        assert (
            summary.problem
            == "unknown format: first keys: type, uuid; known dialects: praisonai, harness"
        )


def test_a_megabyte_is_looked_at():
    large = json.dumps({"type": "user", "text": "x" * (300 << 10)}).encode() + b"\n"
    assert [scanned(large * n + event(1))[1][0].dialect for n in (3, 4)] == ["praisonai", None]
    assert [
        scanned(b"x" * (300 << 10) + b"\n" + large * n + event(1))[1][0].dialect for n in (2, 3)
    ] == ["praisonai", None]


def test_the_rest_of_an_unknown_format_is_not_read():
    n_given = 0

    def blocks():
        nonlocal n_given
        for _ in range(10_000):
            n_given += 1
            yield FOREIGN

    scanned(blocks())
    assert n_given <= DETECT_RECORDS + 2


NOT_RECOGNISED = {
    "scalars": (b"1\n2\n", "no JSON object with keys"),
    "rubbish": (b"rubbish\n", "no JSON object with keys"),
    "no keys": (b"{}\n", "no JSON object with keys"),
    "many keys": (
        json.dumps({f"key{n}": n for n in range(99)}).encode(),
        "first keys: key0, key1, key2, key3, key4, key5, key6, key7",
    ),
    "hostile keys": (b'{"\\u001b[31m": 1, "\\ud83d": 2}', "first keys: \\x1b[31m, \\ud83d"),
}


@pytest.mark.parametrize("case", NOT_RECOGNISED)
def test_what_is_not_recognised_is_said(case):
    data, words = NOT_RECOGNISED[case]
    _, (summary,), quality = scanned(data)
    assert summary.problem.startswith(f"unknown format: {words}")
    assert len(summary.problem) < 200
    assert quality.entries["unknown_format"].count == 1


@pytest.mark.parametrize(
    "data", [b"", b"\n \n", b"[]", b"\xef\xbb\xbf"], ids=["empty", "blank", "array", "mark"]
)
def test_nothing_is_no_unknown_format(data):
    table, (summary,), quality = scanned(data)
    assert (table.num_rows, summary.problem, quality.records) == (0, None, 0)
    assert quality.count("loss", "doubt") == 0


def test_a_dialect_given_is_taken_whatever_the_records_are():
    data = FOREIGN * 20 + event(1)
    assert scanned(data, dialect="praisonai")[0]["seq"].to_pylist() == [1]
    _, (summary,), quality = scanned(data, dialect="praisonai")
    assert (summary.dialect, quality.entries["wrong_shape"].count, quality.records) == (
        "praisonai",
        20,
        21,
    )


@pytest.mark.parametrize("block_bytes", [1, 40, 1 << 20])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    "begin",
    [
        b'"schema": "tracestream.report/1"',
        b'"schema_version": "1.0",\n "path": "/a/b.jsonl"',
        b'"version": "1.0.0-rc.5", "suite_id": "s"',
        b'"version":"1.0.0","id":"s"',
    ],
    ids=["report", "pointer", "result set", "suite"],
)
def test_a_document_in_a_folder_of_traces_is_passed_over(tmp_path, begin, block_bytes, suffix):
    report = b' {\n%b, "runs": [{"event_type": "x"}]}' % begin + b" " * 9999
    (tmp_path / f"report.json{suffix}").write_bytes(gzip.compress(report) if suffix else report)
    (tmp_path / "b.jsonl").write_bytes(event(1))
    table, summaries, quality = scanned(str(tmp_path), block_bytes=block_bytes)
    assert table["seq"].to_pylist() == [1]
    assert [(each.is_no_trace, each.n_bytes) for each in summaries] == [
        (False, len(event(1))),
        (True, 0),
    ]
    assert (quality.entries, quality.records) == ({}, 1)
    (summary,) = scanned(str(tmp_path / f"report.json{suffix}"), block_bytes=block_bytes)[1]
    assert (summary.is_no_trace, summary.dialect) == (False, None)  # named, it is read


@pytest.mark.parametrize("n", [1, 20])
def test_records_in_a_long_line_that_is_refused_are_looked_at(n):
    glued = event(1).rstrip() + b" " * (DETECT_BYTES // n) + event(2).rstrip()
    for data in (
        glued * n + b"\n",
        b'{"event_type": "' + b"x" * DETECT_BYTES + event(1),
        b"[" + glued + b"]",
    ):
        table, (summary,), quality = scanned(data)
        assert summary.dialect == "praisonai"
        assert "unknown_format" not in quality.entries
        assert table.num_rows >= 1


def test_of_a_line_that_is_refused_only_the_records_in_it_count():
    foreign = FOREIGN.strip() * (DETECT_RECORDS - 1)
    assert scanned(foreign + b"\n" + event(1))[1][0].dialect == "praisonai"
    assert scanned(foreign + FOREIGN + event(1))[1][0].dialect is None
    assert scanned(b"oops\n" * (DETECT_RECORDS - 1) + event(1))[1][0].dialect == "praisonai"
    assert scanned(b"oops\n" * DETECT_RECORDS + event(1))[1][0].dialect is None
