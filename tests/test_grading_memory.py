"""What is held while grading goes with the runs of one source, not with those that are done."""

import gzip
import itertools

import pytest

from tests.documents import graded, jsonl, request, response
from tracestream import grade
from tracestream.folds import Folds
from tracestream.spans import Spill
from tracestream.tables import _Asked, _Names

N_SOURCES, RUNS_OF_EACH = 40, 3
BATCH_ROWS = 8


def events(source):
    for run in range(RUNS_OF_EACH):
        name = f"{source}-{run}"
        yield {**response("a", f"words of {name}", name), "timestamp": 100.0 - source}
        yield request("b", [f"words of {name}"], name, tokens_used=run, tokens_budget=1)


def write(folder, compress=False):
    for source in range(N_SOURCES):
        data = jsonl(*events(source))
        path = folder / f"{source:02}.jsonl"
        path.write_bytes(gzip.compress(data, mtime=0) if compress else data)
    return folder


@pytest.fixture
def held(monkeypatch):
    """How many runs the folds held, each time they were finished, and how many bytes the spill."""
    held = {"runs": [], "bytes": []}
    finish, clear = Folds.finish, Spill.clear

    def counted(folds):
        runs = finish(folds)
        held["runs"].append(len(runs))
        assert not folds.partials().num_rows, "the state has gone over into the runs"
        return runs

    def cleared(spill):
        held["bytes"].append(spill._end)
        clear(spill)

    monkeypatch.setattr(Folds, "finish", counted)
    monkeypatch.setattr(Spill, "clear", cleared)
    return held


@pytest.mark.parametrize("compress", [False, True])
def test_state_does_not_grow_with_sources_that_are_done(tmp_path, held, compress):
    report = grade(write(tmp_path, compress), batch_rows=BATCH_ROWS)
    assert report.summary["runs"] == sum(held["runs"]) == N_SOURCES * RUNS_OF_EACH
    assert report.summary["handoff_score"] == 10.0
    assert max(held["runs"]) <= BATCH_ROWS + RUNS_OF_EACH
    # Of a plain file nothing is spilled; of others, not more than what is not yet scored.
    most = (BATCH_ROWS + 2 * RUNS_OF_EACH) * 120
    assert (0 < max(held["bytes"]) < most) if compress else set(held["bytes"]) == {0}


def test_small_sources_stay_together_in_a_batch(tmp_path, held):
    grade(write(tmp_path))
    assert held["runs"] == [(N_SOURCES - 1) * RUNS_OF_EACH, RUNS_OF_EACH]


def test_runs_that_may_go_on_in_another_source_are_finished_at_the_end(tmp_path, held):
    report = grade(write(tmp_path), run_scope="corpus", batch_rows=BATCH_ROWS)
    assert held["runs"] == [N_SOURCES * RUNS_OF_EACH] == [report.summary["runs"]]


@pytest.mark.parametrize("compress", [False, True])
def test_the_report_does_not_depend_on_when_sources_are_finished(tmp_path, compress):
    write(tmp_path, compress)
    for name in ("00.jsonl", "07.jsonl", "39.jsonl", "zz.jsonl"):  # sources without events between
        (tmp_path / name).write_bytes(b"")
    reports = [grade(tmp_path, batch_rows=rows) for rows in (1, 2, 7, 8, 64, 8192)]
    assert len({report.to_json() for report in reports}) == 1
    document = graded(reports[0])
    assert [run["verdict"] for run in document["runs"]].count("ungradable") == 4
    places = [run["source"].rpartition("/")[2] for run in document["runs"]]
    assert places == sorted(places)
    assert {report.earliest for report in reports} == {(100 - 38) * 10**9}


def test_a_source_is_scored_as_it_was_when_it_was_read(tmp_path):
    """What changes once its runs are scored, while others are read, is no damage."""
    write(tmp_path)
    first = tmp_path / "00.jsonl"

    def change(progress):
        if progress.source.endswith("20.jsonl"):
            first.write_bytes(b"another")

    report = grade(tmp_path, batch_rows=BATCH_ROWS, progress=change)
    assert report.summary["handoff_score"] == 10.0
    assert report.summary["ungradable"] == 0
    assert not report.ledger.entries


def test_no_name_is_held_that_cannot_come_twice():
    names = _Names(["a.jsonl", "b.jsonl", "c.jsonl (2)", "a.jsonl#x"])
    for source, run in itertools.product(("a.jsonl", "b.jsonl"), range(100)):
        name = f"{source}#{run}"
        assert names.unused(name, source) == name
    assert not names._n_named
    assert names.unused("a.jsonl#x", "a.jsonl") == "a.jsonl#x"
    assert names.unused("a.jsonl#x", "a.jsonl#x") == "a.jsonl#x (2)"
    assert names.unused("a.jsonl#x (2)", "a.jsonl") == "a.jsonl#x (2) (2)"
    assert names.unused("c.jsonl (2)#r", "c.jsonl (2)") == "c.jsonl (2)#r"
    assert names.unused("c.jsonl (2)#r", "c.jsonl (2)") == "c.jsonl (2)#r (2)"


def test_every_run_has_a_name_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "a.jsonl#r.jsonl", "a.jsonl#r.jsonl (2)"):
        (tmp_path / name).write_bytes(jsonl(response("a", "x")))
    with open("a.jsonl", "ab") as file:
        file.write(jsonl(response("a", "x", "r.jsonl"), response("a", "x", "r.jsonl (2)")))
    sources = ["a.jsonl", "a.jsonl#r.jsonl", "a.jsonl#r.jsonl (2)"]
    for order in itertools.permutations(sources):
        runs = [run["run"] for run in graded(grade(list(order)))["runs"]]
        assert len(runs) == len(set(runs)) == 5


def test_of_names_asked_for_only_those_not_seen_are_held():
    asked = _Asked(["a", "b", None, "*"])
    for number in range(1000):
        asked.saw("a", f"agent {number}")
    assert asked._unseen == {"b"}
    assert len(asked._first) < 20
    (sentence,) = asked.sentences("agent", "--agents", ["a", "b"])
    assert sentence.startswith(
        "--agents names the agent 'b', which is in no run (there: 'a', 'agent 0'"
    )
    assert sentence.endswith(", ...)")
