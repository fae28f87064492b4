"""Every row of the table of damage, as written instances, read in every way there is to read them."""

import io
import itertools
import re
from pathlib import Path

import pytest

from tests.damage.frame_instances import COMPRESS, FRAMES
from tests.damage.instances import record
from tests.damage.line_instances import LINES
from tests.damage.readings import blocks_of, read
from tests.damage.value_instances import VALUES
from tracestream import grade, read_batches
from tracestream.quality import REASONS

INSTANCES = [*LINES, *VALUES, *FRAMES]
SIZES = (1, 7, 64, 64 << 10)
SHARED = Path(__file__).parents[3] / "shared"

WITHOUT_A_REASON = {
    "blanks": "CRLF; blank and white-space lines; empty file",
    "line_separators": "U+2028, U+2029, U+0085 inside strings",
    "case_of_keys": "keys equal but for case",
    "long_integers": "integers over 64 bits as ids",
    "arrays": "JSON array",
    "malformed_element": "`malformed_record` in an array",
    "documents": "pretty-printed objects one after another",
    "members": "several gzip members, several zstd frames",
}
"""Rows of the table that are no reason of the ledger, and how they begin."""
ELSEWHERE = {
    "unreadable_source": "test_sources.py: a file system is needed, not bytes",
    "cut_content": "test_scored.py: said of what is scored",
}
WITH_THEIR_DIALECT = {"repeated_usage", "container_usage"}
"""Rows that come with the first dialect that counts usage that way."""

every_instance = pytest.mark.parametrize(
    "instance", INSTANCES, ids=lambda each: f"{each.row}: {each.name}"
)


def test_every_instance_has_its_own_name():
    names = [(each.row, each.name) for each in INSTANCES]
    assert len(set(names)) == len(names)


def test_every_reason_has_an_instance_and_no_instance_is_of_another():
    rows = {each.row for each in INSTANCES} | set(ELSEWHERE)
    assert rows - set(WITHOUT_A_REASON) == set(REASONS) - WITH_THEIR_DIALECT
    assert set(WITHOUT_A_REASON) <= rows


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared")
def test_exactly_the_rows_that_come_with_a_dialect_are_missing():
    table = re.findall(
        r"^\| (?!reason)([^|-][^|]*) \|[^|]*\| ([^|]*) \|",
        (SHARED / "damage.md").read_text("utf-8"),
        re.MULTILINE,
    )
    rows = {each.row for each in INSTANCES} | set(ELSEWHERE)
    starts = {start: row for row, start in WITHOUT_A_REASON.items()}
    named = []
    for first, what in table:
        begins = [start for start in starts if f"{first} {what}".lstrip("– ").startswith(start)]
        named.append(starts[begins[0]] if begins else first.strip("`"))
    assert len(set(named)) == len(named) >= 35
    assert set(named) - rows == WITH_THEIR_DIALECT
    assert rows - set(named) == set()


@every_instance
def test_events_and_ledger_are_what_is_written(instance):
    reading = read(instance.data, **instance.options)
    assert instance.compared(reading) == instance.expected


def ways(instance, path):
    """Every way to read an instance, by name: what is read, and with which options."""
    data = instance.data
    path.write_bytes(data)
    found = {f"file, {size}": (str(path), {"block_bytes": size}) for size in SIZES}
    found |= {f"blocks, {size}": (blocks_of(data, size), {}) for size in SIZES}
    found["file object"] = (io.BytesIO(data), {})
    if instance.store is None:
        for codec, compress in COMPRESS.items():
            found[codec] = (compress(data), {})
            found[f"{codec}, 1"] = (blocks_of(compress(data), 1), {})
    return found


@every_instance
def test_every_way_to_read_it_gives_the_same(instance, tmp_path):
    expected = read(instance.data, **instance.options)
    if len(instance.data) > 20_000:
        pytest.skip("byte by byte it takes too long: test_bounds.py has what is large")
    for way, (source, options) in ways(instance, tmp_path / "a.jsonl").items():
        assert read(source, **options, **instance.options) == expected, way


HEALTHY = {
    f"{name}.jsonl": b"".join(
        record(n, session_id=name, agent_name=f"agent {n % 2}") + b"\n" for n in range(6)
    )
    for name in "az"
}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """A folder of healthy files, and what grading it gives by run."""
    folder = tmp_path_factory.mktemp("healthy")
    for name, data in HEALTHY.items():
        (folder / name).write_bytes(data)
    return folder, runs_of(grade(str(folder)))


def runs_of(report):
    return {run["run"]: run for run in report.runs_table.to_pylist()}


@every_instance
def test_it_is_graded_alone_and_in_a_folder_where_the_others_are_unaffected(instance, healthy):
    folder, alone = healthy
    path = folder / "m.jsonl"
    path.write_bytes(instance.data)
    try:
        report = grade(str(folder), **instance.options)
        events = read_batches(str(folder), columns=["source", "tool"], **instance.options)
        by_source = {
            source: [row["tool"] for row in rows]
            for source, rows in itertools.groupby(
                events.read_all().to_pylist(), key=lambda row: row["source"]
            )
        }
    finally:
        path.unlink()
    others = {name: run for name, run in runs_of(report).items() if run["source"] != str(path)}
    assert others == alone
    assert by_source.pop(str(path), []) == [event.tool for event in instance.events]
    assert [len(tools) for tools in by_source.values()] == [6, 6]
    alone_graded = grade(instance.data, **instance.options)
    assert alone_graded.summary["events"] == len(instance.events)
    assert alone_graded.summary["tool_calls"] == sum(
        b'"tool_start"' in part.data for part in instance.parts if part.is_record and part.tool
    )
    # The ledger is that of the damaged source alone: its name, its places, and the healthy records.
    single = alone_graded.ledger.to_dict()
    whole = report.ledger.to_dict()
    assert whole["records"] == single["records"] + 12
    assert {e["source"] for r in whole["reasons"].values() for e in r["examples"]} <= {str(path)}
    for reason in (*whole["reasons"].values(), *single["reasons"].values()):
        for example in reason["examples"]:
            del example["source"]
    assert {**whole, "records": 0} == {**single, "records": 0}
