"""`run_scope="corpus"`: runs of one id are one run, whichever file they are in."""

import gzip

import pytest

from tests.documents import graded, jsonl, request, response, tool_start
from tracestream import ConfigError, grade

LATE, EARLY = 20.0, 10.0


def rotated(folder, newer, older, *, compress=False):
    """Write two files of a rotated log: the name of the newer one comes first."""
    for name, events in (("log.jsonl", newer), ("log.jsonl.1", older)):
        data = jsonl(*events)
        (folder / name).write_bytes(gzip.compress(data, mtime=0) if compress else data)
    return folder


def at(time, *events):
    return [{**event, "timestamp": time + n} for n, event in enumerate(events)]


OLDER = (
    response("a", "alpha beta gamma delta", "r"),
    request("b", ["nothing"], "r", tokens_used=5, tokens_budget=100),
    tool_start("search", "r"),
)
NEWER = (request("b", ["alpha beta gamma delta"], "r", tokens_used=7, tokens_budget=10),)


@pytest.mark.parametrize("compress", [False, True])
def test_a_rotated_log_is_one_run_in_the_order_of_time(tmp_path, compress):
    folder = rotated(tmp_path, at(LATE, *NEWER), at(EARLY, *OLDER), compress=compress)
    (run,) = graded(grade(folder, run_scope="corpus"))["runs"]
    assert (run["run"], run["run_id"]) == ("r", "r")
    assert run["source"] == str(folder / "log.jsonl")
    assert [h["from_agent"] for h in run["context"]["handoffs"]] == ["a"]
    assert run["context"]["handoff_score"] == 10.0
    (budget,) = run["context"]["budgets"]
    assert (budget["used_tokens"], budget["budget_tokens"]) == (7, 10)
    assert run["harness"]["tool_call_count"] == 1


def test_each_file_is_a_name_space_of_its_own_unless_asked(tmp_path):
    runs = graded(grade(rotated(tmp_path, NEWER, OLDER)))["runs"]
    assert [run["run"].rpartition("/")[2] for run in runs] == ["log.jsonl#r", "log.jsonl.1#r"]


@pytest.mark.parametrize("untimed", ["newer", "older"])
def test_without_a_time_on_every_exchange_the_order_is_that_of_the_sources(tmp_path, untimed):
    newer = NEWER if untimed == "newer" else at(LATE, *NEWER)
    older = OLDER if untimed == "older" else at(EARLY, *OLDER)
    (run,) = graded(grade(rotated(tmp_path, newer, older), run_scope="corpus"))["runs"]
    # log.jsonl comes first, so b is first seen there, and its last request is in log.jsonl.1.
    assert [h["from_agent"] for h in run["context"]["handoffs"]] == ["b"]
    (budget,) = run["context"]["budgets"]
    assert budget["budget_tokens"] == 100


def test_a_tool_call_without_a_time_does_not_decide_the_order(tmp_path):
    older = [*at(EARLY, *OLDER[:2]), OLDER[2]]
    (run,) = graded(grade(rotated(tmp_path, at(LATE, *NEWER), older), run_scope="corpus"))["runs"]
    assert run["context"]["handoff_score"] == 10.0


def test_runs_without_an_id_stay_in_their_files(tmp_path):
    nameless = [response("a", "x", None)]
    runs = graded(grade(rotated(tmp_path, nameless, nameless), run_scope="corpus"))["runs"]
    assert [run["run"] for run in runs] == [
        str(tmp_path / "log.jsonl"),
        str(tmp_path / "log.jsonl.1"),
    ]


def test_events_of_a_session_join_its_one_run_in_another_file(tmp_path):
    session = [{**response("a", "alpha beta", None), "session_id": "s"}]
    with_run = [{**request("b", ["alpha beta"], "r"), "session_id": "s"}]
    (run,) = graded(grade(rotated(tmp_path, session, with_run), run_scope="corpus"))["runs"]
    assert (run["run"], run["context"]["handoff_score"]) == ("r", 10.0)


def test_a_file_whose_events_are_all_in_runs_of_others_is_no_run(tmp_path):
    report = grade(rotated(tmp_path, at(LATE, *NEWER), at(EARLY, *OLDER)), run_scope="corpus")
    assert (report.summary["runs"], report.summary["events"]) == (1, 4)


def test_another_scope_is_refused():
    with pytest.raises(ConfigError, match="run_scope is 'run'"):
        grade(b"", run_scope="run")
