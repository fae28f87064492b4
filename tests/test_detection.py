"""Which sources are recognised, which are not, and how far they are read."""

import gzip
import json

import pytest

from tests.test_batches import place, scanned
from tracestream.batches import DETECT_RECORDS


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
            summary.problem == "unknown format: first keys: type, uuid; known dialects: praisonai"
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
def test_a_report_of_ours_in_a_folder_is_passed_over(tmp_path, block_bytes, suffix):
    report = b' {\n"schema": "tracestream.report/1", "runs": [{"event_type": "x"}]}' + b" " * 9999
    (tmp_path / f"report.json{suffix}").write_bytes(gzip.compress(report) if suffix else report)
    (tmp_path / "b.jsonl").write_bytes(event(1))
    table, summaries, quality = scanned(str(tmp_path), block_bytes=block_bytes)
    assert table["seq"].to_pylist() == [1]
    assert [(each.is_ours, each.n_bytes) for each in summaries] == [
        (False, len(event(1))),
        (True, 0),
    ]
    assert (quality.entries, quality.records) == ({}, 1)
    (summary,) = scanned(str(tmp_path / f"report.json{suffix}"), block_bytes=block_bytes)[1]
    assert (summary.is_ours, summary.dialect) == (False, None)  # named, it is read
