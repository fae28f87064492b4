"""Which runs a test case gets, and what they answered."""

import gzip
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents import jsonl, request, response, tool_start
from tests.evalport import case, suite
from tests.suiteruns import answer_of, contains, graded, prepared, write_bytes
from tracestream.batches import Scan
from tracestream.errors import InputError
from tracestream.evalport.answers import COLUMNS, Answers
from tracestream.evalport.matching import RunIndex, read_traces
from tracestream.evalport.rules import digest
from tracestream.evalport.running import SuiteRun
from tracestream.quality import Quality
from tracestream.sources import discover


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").mkdir()
    return tmp_path


def test_a_run_answers_with_its_last_text_whoever_gave_it(folder):
    events = jsonl(
        response("a", "first", "r1"),
        response("b", "last words", "r1"),
        response("a", "of another run", "r2"),
        response("a", "", "r1"),
        response(None, None, "r1"),
        request("a", ["asked"], "r1"),
    )
    write_bytes("traces/t.jsonl", events)
    result_set, _ = graded(suite(case("r1", graders=[contains("last")])))
    assert answer_of(result_set) == [("r1", None, "last words")]
    assert result_set["results"][0]["metadata"] == {"tracestream": {"run": "traces/t.jsonl#r1"}}


def test_an_answer_of_no_agent_counts(folder):
    write_bytes("traces/r1.jsonl", jsonl({**response("a", "words"), "agent_name": None}))
    assert answer_of(graded(suite(case("r1")))[0]) == [("r1", None, "words")]


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_events_without_an_id_are_of_the_one_run_beside_them(batch_rows):
    def answers_to(*events, key="r1"):
        wanted = RunIndex({digest(key)})
        sources = discover(jsonl(*events))
        answers = Answers(lambda record: 0, lambda key: wanted.is_wanted(sources[0], key.run_id))
        found = []
        for batch in Scan(sources, COLUMNS, Quality(), batch_rows=batch_rows):
            found += answers.update(batch)
        found += answers.finish()
        return [(each.name.run_id, each.output and each.output.line) for each in found]

    one, two = response("a", "x", "r1"), response("a", "x", "r2")
    none = {**response("a", "x"), "session_id": "s"}
    start = {"event_type": "session_start", "session_id": "s", "data": {}}
    one_s, two_s = {**one, "session_id": "s"}, {**two, "session_id": "s"}
    assert answers_to(one_s, none, start) == [("r1", 2)]
    assert answers_to(none, one_s, start) == [("r1", 2)]
    assert answers_to(one_s, one_s, none, one_s) == [("r1", 4)]
    assert answers_to(start, one_s, two_s) == [("r1", 2), ("r2", None)]
    assert answers_to(one_s, two_s, none) == [("r1", 1), ("r2", None), ("s", 3)]
    assert answers_to(one, response("a", "x")) == [("r1", 2)]


def test_runs_are_given_back_as_soon_as_their_source_is_over():
    data = [jsonl(*(response("a", "x", f"{n}{m}") for m in "ab")) for n in range(3)]
    sources = discover([io.BytesIO(each) for each in data])
    answers = Answers(lambda record: 0, lambda key: True)
    scan = Scan(sources, COLUMNS, Quality(), batch_rows=1)
    given = [[run.name.run_id for run in answers.update(batch)] for batch in scan]
    assert given == [[], [], ["0a", "0b"], [], ["1a", "1b"], []]
    assert [run.name.run_id for run in answers.finish()] == ["2a", "2b"]
    assert answers.finish() == []


def test_only_answers_that_somebody_asks_for_are_kept_of_a_stream():
    events = jsonl(
        *(response("a", f"{run} says {n}", run) for n in range(3) for run in ("r1", "r2")),
        request("a", ["much"], "r1"),
        response("a", "of no run"),
    )
    kept = []
    answers = Answers(lambda record: kept.append(record) or 0, lambda key: key.run_id != "r2")
    for batch in Scan(discover(events), COLUMNS, Quality(), batch_rows=4):
        answers.update(batch)
    texts = [json.loads(record)["data"]["response_content"] for record in kept]
    assert texts == ["r1 says 1", "r1 says 2", "of no run"]
    found = {run.name.run_id: run.output is not None for run in answers.finish()}
    assert found == {"r1": True, "r2": False, None: True}


def test_test_cases_find_runs_by_id_then_name_then_file_then_metadata(folder):
    write_bytes("traces/one.jsonl", jsonl(response("a", "by file")))
    write_bytes("traces/two.jsonl.gz", gzip.compress(jsonl(response("a", "by id", "one"))))
    write_bytes("traces/3#.jsonl", jsonl(response("a", "by name", "x#1"), response("a", "y", "y")))
    cases = [
        case("one"),
        case("two"),
        case("traces/3#.jsonl#x%231"),
        case("traces/one.jsonl"),
        case("else", metadata={"run_id": "one"}),
        case("other", metadata={"run_id": "traces/two.jsonl.gz#one"}),
        case("y", metadata={"run_id": "one"}),
        case("none", metadata={"run_id": 7}),
        case("3#", metadata={"run_id": "one"}),
    ]
    result_set, run = graded(suite(*cases))
    assert answer_of(result_set) == [
        ("one", None, "by id"),
        ("two", None, "by id"),
        ("traces/3#.jsonl#x%231", None, "by name"),
        ("traces/one.jsonl", None, "by file"),
        ("else", None, "by id"),
        ("other", None, "by id"),
        ("y", None, "y"),
        ("none", None, None),
        ("3#", 1, "by name"),
        ("3#", 2, "y"),
    ]
    assert run.n_results["no_run"] == 1


def test_runs_of_one_id_are_attempts_in_the_order_of_the_traces(folder):
    for name in ("b", "a", "c"):
        write_bytes(f"traces/{name}.jsonl", jsonl(response("a", f"of {name}", "r1")))
    result_set, _ = graded(suite(case("r1")), ["traces/b.jsonl", "traces"])
    assert answer_of(result_set) == [("r1", 1, "of b"), ("r1", 2, "of a"), ("r1", 3, "of c")]


def test_runs_that_no_test_case_names_are_counted(folder):
    write_bytes("traces/t.jsonl", jsonl(*(response("a", "x", f"r{n}") for n in range(5))))
    with prepared(suite(case("r1"), case("r3"))) as ready:
        with read_traces(discover("traces"), ready.wanted) as found:
            list(SuiteRun(ready, found, run_id="r", started_at=found.earliest).parts())
        assert (found.runs.n_runs, found.runs.n_unused) == (5, 3)


def test_harness_traces_record_neither_outputs_nor_names_of_tools(folder):
    write_bytes("traces/h.jsonl", b'{"tool_calls": ["search"], "artifacts": []}\n')
    document = suite(case("h", graders=[contains("x")], expected_tools=["search"]))
    result_set, run = graded(document)
    (result,) = result_set["results"]
    assert result["passed"] is False
    assert "error" not in result
    assert dict(run.skips) == {"output_not_recorded": 1, "tools_not_recorded": 1}
    assert dict(run.n_results) == {"unscored": 1}


def test_odd_characters_of_an_output_are_replaced(folder):
    write_bytes("traces/a.jsonl", jsonl(response("a", "half \ud800 pair\x00")))
    result_set, _ = graded(suite(case("a", graders=[contains("pair")])))
    assert answer_of(result_set) == [("a", None, "half \ufffd pair\x00")]


def test_what_the_writer_cut_is_told(folder):
    text = "begin\n...[8 chars, showing first/last portions]...\nend"
    write_bytes("traces/a.jsonl", jsonl(response("a", text)))
    write_bytes("traces/b.jsonl", jsonl(response("a", "whole")))
    result_set, run = graded(suite(case("a"), case("b"), case("c", metadata={"run_id": "a"})))
    cut = [each["metadata"].get("tracestream", {}).get("cut") for each in result_set["results"]]
    assert cut == [True, None, True]
    assert run.n_cut == 2


def test_a_file_that_changes_while_it_is_graded_is_an_error(folder):
    write_bytes("traces/a.jsonl", jsonl(response("a", "x")))
    with (
        prepared(suite(case("a"))) as ready,
        read_traces(discover("traces"), ready.wanted) as found,
    ):
        write_bytes("traces/a.jsonl", b"")
        run = SuiteRun(ready, found, run_id="r", started_at=found.earliest)
        with pytest.raises(InputError, match="changed while it was graded"):
            list(run.parts())


RUNS = st.sampled_from([None, "r1", "r2", "r3"])
TEXTS = st.sampled_from(["", "x", "y", "xy", None])
EVENTS = st.lists(
    st.one_of(
        st.builds(response, st.sampled_from(["a", "b", ""]), TEXTS, RUNS),
        st.builds(tool_start, st.sampled_from(["t", "u"]), RUNS),
        st.builds(request, st.just("a"), st.just(["m"]), RUNS),
    ),
    max_size=12,
)


def expected(events, name):
    """Say what a run answered, the slow way: its last text, and its starts of tool calls."""
    ids = {event.get("run_id") for event in events} - {None}
    only = len(ids) == 1

    def belongs(event):
        return event.get("run_id") == name or (only and "run_id" not in event and {name} == ids)

    own = [event for event in events if belongs(event)]
    texts = [event["data"].get("response_content") for event in own]
    tools = [event["tool_name"] for event in own if event["event_type"] == "tool_start"]
    return own, next(filter(None, reversed(texts)), None), tools


@settings(max_examples=60)
@given(st.lists(EVENTS, min_size=1, max_size=4), st.booleans(), st.lists(st.sampled_from("tu")))
def test_every_result_set_is_valid_and_says_what_the_runs_answered(
    tmp_path_factory, files, zips, tools
):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("run")
        patch.chdir(folder)
        (folder / "traces").mkdir()
        for n, events in enumerate(files):
            data = jsonl(*events)
            path = f"traces/f{n}.jsonl"
            write_bytes(path + ".gz" * zips, gzip.compress(data) if zips else data)
        fields = {"expected_tools": tools} if tools else {}
        cases = [case(name, graders=[contains("x")], **fields) for name in ("r1", "r2", "r3")]
        result_set, _ = graded(suite(*cases))
    wanted = []
    for name in ("r1", "r2", "r3"):
        runs = [expected(events, name) for events in files]
        runs = [run for run in runs if run[0]]
        for attempt, (_, text, called) in enumerate(runs, 1):
            scores = [float("x" in (text or ""))]
            if tools:
                left = list(called)
                found = [tool for tool in tools if tool in left and not left.remove(tool)]
                scores.append(pytest.approx(len(found) / len(tools)))
            wanted.append((name, attempt if len(runs) > 1 else None, text, scores))
        if not runs:
            wanted.append((name, None, None, [None] * (1 + bool(tools))))
    got = [
        (*each, [grader["score"] for grader in result["grader_results"]])
        for each, result in zip(answer_of(result_set), result_set["results"], strict=True)
    ]
    assert got == wanted
