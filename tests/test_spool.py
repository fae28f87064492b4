"""Rows of a table are the same in memory and in the file, whole, by column and by place."""

import os
from random import Random

import pyarrow as pa
import pytest

from tracestream.schema import GRADED, RUNS
from tracestream.spool import Spool

N_ROWS = 20_000


def rows(n_rows=N_ROWS):
    generator = Random(7)
    for at in range(n_rows):
        yield {
            "run": f"r{at}é",
            "source": "a",
            "verdict": generator.choice(["pass", "fail"]),
            "reasons": ["why"] * (at % 3),
            "overall_score": None if at % 7 == 0 else generator.random(),
            "content_loss": [True, False, None][at % 3],
            "events": at,
            "lost_pairs": ["a -> b"] if at % 5 == 0 else None,
        }


def filled(n_rows=N_ROWS, **options):
    spool = Spool(GRADED, **options)
    for row in rows(n_rows):
        spool.add(**row)
    return spool


@pytest.fixture(scope="module")
def held():
    return filled()


@pytest.fixture(scope="module")
def kept():
    return filled(memory_bytes=100_000)


def test_many_rows_go_to_the_file_and_few_do_not(held, kept):
    assert (held.is_kept, kept.is_kept) == (False, True)
    assert len(held) == len(kept) == N_ROWS


def test_rows_come_back_as_they_were_added(held, kept):
    table = kept.table()
    assert table.schema.equals(GRADED, check_metadata=True)
    assert table.equals(held.table())
    row = dict.fromkeys(GRADED.names)
    assert table.to_pylist() == [row | given for given in rows()]
    assert kept.table().equals(table)  # as often as asked


def test_columns_come_alone_and_in_the_order_asked(held, kept):
    for spool in (held, kept):
        assert spool.table(RUNS.names).schema.equals(RUNS, check_metadata=True)
        two = next(spool.batches(["events", "run"]))
        assert two.schema.names == ["events", "run"]
        assert two.slice(1, 1).to_pylist() == [{"events": 1, "run": "r1é"}]
        assert spool.column("events").to_pylist() == list(range(N_ROWS))


def test_a_column_is_read_without_the_others(kept, monkeypatch):
    read = []
    real = kept._spill.read
    monkeypatch.setattr(kept._spill, "read", lambda *place: read.append(place[1]) or real(*place))
    kept.column("overall_score")
    one = sum(read)
    kept.table()
    assert one < (sum(read) - one) / 4


@pytest.mark.parametrize("n_places", [0, 1, 1000, N_ROWS])
def test_rows_are_taken_in_the_order_of_their_places(held, kept, n_places):
    places = Random(3).sample(range(N_ROWS), n_places)
    for spool in (held, kept):
        taken = spool.take(pa.array(places, pa.uint64()), ["events", "run"])
        assert taken.column("events").to_pylist() == places
        assert taken.schema.names == ["events", "run"]


def test_rows_may_be_added_after_they_were_read():
    spool = Spool(pa.schema([pa.field("run", pa.string())]), memory_bytes=1)
    spool.add(run="a")
    assert spool.table().to_pylist() == [{"run": "a"}]
    spool.add(run="b")
    assert len(spool) == 2
    assert spool.table().to_pylist() == [{"run": "a"}, {"run": "b"}]


def test_without_rows_there_is_an_empty_table_and_no_file():
    n_open = len(os.listdir("/dev/fd"))
    spool = Spool(RUNS)
    assert spool.table().equals(RUNS.empty_table())
    assert list(spool.batches()) == []
    assert spool.take(pa.array([], pa.uint64())).num_rows == 0
    assert len(os.listdir("/dev/fd")) == n_open


def test_the_file_is_gone_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    n_open = len(os.listdir("/dev/fd"))
    spool = filled(10_000, memory_bytes=1)
    assert len(os.listdir("/dev/fd")) == n_open + 1
    assert list(tmp_path.iterdir()) == []  # it has no name
    del spool
    assert len(os.listdir("/dev/fd")) == n_open
