import os
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestream.blocks import stamp_of
from tracestream.errors import InputError
from tracestream.sources import discover
from tracestream.spans import Records, Span, Spill

TEXT = b'{"a": 1}\n{"b": 22}\n{"c": 333}\n'


def span(offset, length, *, source=0, kept=None):
    return Span(0, source, offset, 0, length, 1, kept)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def records(path, tmp_path):
    (tmp_path / "b.jsonl").write_bytes(TEXT.upper())
    sources = discover([str(path), str(tmp_path / "b.jsonl"), TEXT])
    stamps = {source.order: stamp_of(os.stat(source.path)) for source in sources if source.path}
    spill = Spill()
    records = Records(sources, stamps, spill)
    yield records
    records.close()
    spill.close()


def n_open():
    return len(os.listdir("/dev/fd"))


def test_a_record_is_read_where_it_lies(records):
    assert records.read(span(9, 9)) == b'{"b": 22}'
    assert records.read(span(0, 8)) == b'{"a": 1}'
    assert records.read(span(9, 9, source=1)) == b'{"B": 22}'
    assert records.read(span(19, 10)) == b'{"c": 333}'


def test_one_file_is_open_at_a_time_and_none_when_closed(records):
    n_before = n_open()
    for source in (0, 1, 1, 0):
        records.read(span(0, 8, source=source))
        assert n_open() == n_before + 1
    records.close()
    records.close()
    assert n_open() == n_before
    assert records.read(span(0, 8)) == b'{"a": 1}'


def grown(path):
    with open(path, "ab") as file:
        file.write(b'{"d": 4444}\n')


def touched_backwards(path):
    # The same time is kept where nothing was written.
    os.utime(path, ns=(0, os.stat(path).st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [grown, touched_backwards, lambda path: os.chmod(path, 0o400)],
    ids=["grown", "read", "chmod"],
)
def test_a_file_that_still_holds_what_was_read_is_taken(records, path, change):
    change(path)
    assert records.read(span(9, 9)) == b'{"b": 22}'


def rewritten(path):
    path.write_bytes(TEXT.swapcase())
    os.utime(path, ns=(0, 7))


def cut(path):
    os.truncate(path, len(TEXT) - 1)


def replaced(path):
    other = path.with_suffix(".new")
    other.write_bytes(TEXT)
    os.replace(other, path)


def replaced_by_a_folder(path):
    path.unlink()
    path.mkdir()


CHANGES = {
    "rewritten": (rewritten, "it was written to"),
    "cut": (cut, "it was replaced or cut"),
    "replaced": (replaced, "it was replaced or cut"),
    "gone": (os.unlink, "No such file"),
    "a folder now": (replaced_by_a_folder, "Is a directory"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_file_that_changed_is_an_error_each_time_it_is_read(records, path, case):
    change, words = CHANGES[case]
    change(path)
    n_before = n_open()
    for _ in range(3):
        with pytest.raises(
            InputError, match=rf"changed while it was graded: .*{words}.*\nHint: "
        ) as caught:
            records.read(span(0, 8))
        assert caught.value.source == str(path)
    assert n_open() == n_before
    assert records.read(span(0, 8, source=1)) == b'{"A": 1}'  # another source is as good as before


def test_a_change_of_an_open_file_shows_at_the_latest_where_it_is_too_short(records, path):
    assert records.read(span(0, 8)) == b'{"a": 1}'
    os.truncate(path, 20)
    with pytest.raises(InputError, match="it is shorter now"):
        records.read(span(19, 10))


def test_kept_records_come_from_the_spill(path):
    spill = Spill()
    assert spill.keep(b"one") == 0
    assert spill.keep(b"") == 3
    assert spill.keep(b"three") == 3
    records = Records(discover([TEXT]), {}, spill)
    assert [records.read(span(99, length, kept=at)) for at, length in ((0, 3), (3, 0), (3, 5))] == [
        b"one",
        b"",
        b"three",
    ]
    spill.close()


def test_a_spill_makes_a_file_only_if_needed_and_leaves_none(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    n_before = n_open()
    empty = Spill()
    empty.close()
    assert n_open() == n_before
    spill = Spill()
    spill.keep(b"x" * 100_000)
    assert n_open() == n_before + 1
    assert not list(tmp_path.iterdir())  # it has no name
    spill.close()
    assert n_open() == n_before


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)),
        unique=True,
    ),
    st.integers(0, 9),
)
def test_spans_are_ordered_by_time_then_place(places, seed):
    spans = [Span(*place, length=Random(seed).randrange(9), line=1, kept=None) for place in places]
    Random(seed).shuffle(spans)
    assert [each[:4] for each in sorted(spans)] == sorted(places)
