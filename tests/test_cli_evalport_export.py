"""`tracestream grade --evalport`: what is written, said, and refused."""

import json
import os
from pathlib import Path

import pytest
from openeval.validate import validate_result_set, validate_suite

from tests.documents import check_document, jsonl, read_json, read_report, response
from tests.reports import ALL, HANDED_ON, IDLE
from tracestream import grade
from tracestream.evalport.validation import validate_value

PINS = ("--run-id", "ci-7", "--started-at", "2026-09-30T00:00:00Z")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.jsonl").write_bytes(jsonl(*ALL))
    (tmp_path / "idle.jsonl").write_bytes(jsonl(*IDLE))
    return tmp_path


def read(path):
    return read_json(Path(path).read_bytes())


def written():
    return sorted(os.listdir())


def test_a_result_set_and_its_suite_are_written(run):
    before = run("grade", "traces")
    asked = ("--evalport", "results.json", "--evalport-suite", "suite.json")
    assert run("grade", "traces", *asked) == before
    results, suite = read("results.json"), read("suite.json")
    assert results == grade("traces").to_evalport()
    assert validate_result_set(results).errors == validate_suite(suite).errors == []
    assert suite["id"] == results["suite_id"]
    cases = [case["id"] for case in suite["test_cases"]]
    assert cases == [result["test_case_id"] for result in results["results"]]
    assert [case["input"] for case in suite["test_cases"]] == cases
    told = run("evalport", "validate", "results.json", "--suite", "suite.json")
    assert told == (
        0,
        "suite.json: valid, suite of 5 test cases\nresults.json: valid, result set of 5 results\n",
        "",
    )


def test_the_same_traces_and_pins_give_the_same_bytes(run):
    for name in ("one", "two"):
        run("grade", "traces", "--evalport", f"{name}.json", *PINS)
        run("grade", "traces", "--evalport", f"{name}.jsonl", *PINS)
    for suffix in (".json", ".jsonl", ".meta.json"):
        assert Path(f"one{suffix}").read_bytes() == Path(f"two{suffix}").read_bytes()
    assert (read("one.json")["run_id"], read("one.json")["started_at"]) == (PINS[1], PINS[3])


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson"])
def test_results_as_lines_have_the_rest_beside_them(run, suffix):
    assert run("grade", "traces", "--evalport", f"results{suffix}", *PINS)[0] == 0
    assert set(written()) == {"idle.jsonl", "results.meta.json", f"results{suffix}", "traces"}
    lines = [read_json(line) for line in Path(f"results{suffix}").read_bytes().splitlines()]
    companion = check_document(read("results.meta.json"), "evalport-companion")
    whole = {**companion, "results": lines}
    assert validate_value(whole).faults == []
    run("grade", "traces", "--evalport", "results.json", *PINS)
    assert read("results.json") == whole


def test_several_outputs_work_together(run):
    outputs = ("-o", "report.json", "-o", "runs.csv", "-o", "report.parquet")
    code, out, err = run("grade", "traces", "--json", *outputs, "--evalport", "results.json")
    assert (code, err) == (0, "")
    report = read_report(out.encode())
    assert Path("report.json").read_text() == out
    assert len(read("results.json")["results"]) == len(report["runs"])
    assert "runs.csv" in written()


def test_a_result_set_may_go_to_stdout(run):
    code, out, err = run("grade", "traces", "--evalport", "-")
    assert (code, err) == (0, "")
    assert read_json(out.encode()) == grade("traces").to_evalport()


def test_verdicts_decide_the_exit_code_not_results(run):
    code, _, _ = run("grade", "traces", "--evalport", "results.json")
    assert (code, read("results.json")["summary"]["failed"]) == (0, 1)
    code, _, _ = run("grade", "traces", "--min-score", 9, "--evalport", "results.json")
    assert code == 1


def test_without_a_gradable_run_the_report_is_written_and_the_result_set_is_not(run):
    Path("results.json").write_text("old")
    asked = ("--evalport", "results.json", "--evalport-suite", "suite.json", "-o", "report.json")
    code, out, err = run("grade", "idle.jsonl", *asked)
    assert code == 2
    assert out.endswith("1 run: 0 passed, 0 failed, 1 ungradable\n")
    assert err.endswith(
        "tracestream: error: no EvalPort result set: no run could be graded, and one without results "
        "is not valid\nHint: the report says why.\n"
    )
    assert "error: nothing to grade: idle.jsonl" in err
    assert Path("results.json").read_text() == "old"
    assert written() == ["idle.jsonl", "report.json", "results.json", "traces"]


REFUSED = {
    "no suffix": (
        ["--evalport", "results"],
        "there is no suffix\nHint: it is one of .json, .jsonl",
    ),
    "csv": (["--evalport", "results.csv"], "'.csv' is unknown"),
    "a suite in lines": (
        ["--evalport-suite", "s.jsonl"],
        "'.jsonl' is unknown\nHint: it is .json.",
    ),
    "no folder": (["--evalport", "missing/r.json"], "there is no folder"),
    "twice": (["--evalport", "r.json", "-o", "./r.json"], "are the same output"),
    "the companion": (["--evalport", "r.jsonl", "-o", "r.meta.json"], "are the same output"),
    "stdout twice": (["--evalport", "-", "--json"], "are the same output"),
    "a trace": (["--evalport", "traces/a.jsonl"], "would be lost"),
    "a pipe for lines": (["--evalport", "pipe.jsonl"], "is no file, and results as JSON Lines"),
    "an empty id": (["--evalport", "r.json", "--run-id", ""], "/run_id SCHEMA_INVALID"),
    "no time": (["--evalport", "r.json", "--started-at", "now"], "/started_at SCHEMA_INVALID"),
    "an id of nothing": (["--run-id", "x"], "--run-id is of an EvalPort result set"),
    "a time of nothing": (
        ["--started-at", PINS[3], "--evalport-suite", "s.json"],
        "--started-at is of an EvalPort result set\nHint: --evalport FILE writes one.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written_is_refused_before_anything_is_read(run, case):
    os.mkfifo("pipe.jsonl")
    arguments, words = REFUSED[case]
    before = written()
    code, out, err = run("grade", "traces", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tracestream: error: ")
    assert words in err
    assert written() == before


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_in_the_middle_leaves_the_targets_and_no_rest(run, monkeypatch, suffix, exists):
    targets = [f"r{suffix}", "r.meta.json"] if suffix == ".jsonl" else ["r.json"]
    for target in targets if exists else ():
        Path(target).write_text("old")
    before = written()

    def failing(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tracestream.evalport.merging.Summary.to_dict", failing)
    code, out, err = run("grade", "traces", "--evalport", f"r{suffix}")
    assert (code, out) == (2, "")
    assert "No space left on device: r" in err
    assert written() == before
    assert not exists or {Path(target).read_text() for target in targets} == {"old"}


def test_documents_in_a_folder_of_traces_are_passed_over_and_replaced(run):
    run("grade", "traces", "--evalport", "traces/results.jsonl")
    os.unlink("traces/results.jsonl")  # the lines would be taken for a trace
    documents = ("--evalport", "traces/results.json", "--evalport-suite", "traces/suite.json")
    for _ in range(2):
        code, out, _ = run("grade", "traces", "--json", *documents)
        assert code == 0
        assert {each["source"] for each in json.loads(out)["runs"]} == {"traces/a.jsonl"}
    code, _, err = run("grade", "traces", "--evalport", "traces/a.jsonl")
    assert (code, "would be lost" in err) == (2, True)


def test_hostile_names_are_in_the_document_as_they_are(run):
    name = '\x1b[2J\u202e\\"</script>'
    Path("hostile.jsonl").write_bytes(jsonl(*HANDED_ON, response("a", "x", name)))
    run("grade", "hostile.jsonl", "--evalport", "results.json")
    assert name in read("results.json")["results"][1]["test_case_id"]
    assert b"\x1b" not in Path("results.json").read_bytes()
