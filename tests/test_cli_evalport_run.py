"""`tracestream evalport run`: exit codes, the table, the document, what is said."""

import json
import os
from pathlib import Path

import pytest
from openeval import validate

from tests import evalport
from tests.documents import jsonl, read_json, response, tool_start
from tests.evalport import case, suite
from tracestream.evalport.validation import validate_value


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evalport.write_examples(tmp_path)
    Path("t").mkdir()
    return tmp_path


def trace(name, *events):
    Path("t", f"{name}.jsonl").write_bytes(jsonl(*events))


def write(*cases, **fields):
    evalport.write("s.json", suite(*cases, **fields))


def document(data):
    """Return the result set that bytes hold, which both validators take."""
    value = read_json(data)
    assert validate.validate_result_set(value).valid
    assert validate_value(value, kind="resultset").is_valid
    return value


def test_all_passed(run):
    code, out, err = run("evalport", "run", "suite.json", "--dir", "nightly")
    assert (code, err) == (0, "")
    assert out == "3 passed, 0 failed, 0 unscored, 0 no run\n"


def test_what_did_not_pass_is_listed_with_its_reasons(run):
    trace("a", response("x", "pong"), tool_start("search"))
    trace("b", response("x", "ping"))
    trace("d", response("x", "ping", "r1"), response("x", "pong", "r2"), response("x", "", "r3"))
    trace("e", response("x", "ping"))
    trace("other", response("x", "ping"))
    expected = {"expected_output": "pong"}
    write(
        case("a", expected_tools=["search", "read"], **expected),
        case("b", graders=["exact", "judge"], **expected),
        case("c"),
        case("d", **expected),
        case("e", graders=["person"]),
    )
    code, out, err = run("evalport", "run", "s.json", "--dir", "t")
    assert code == 1
    assert out == (
        "failed            a\n"
        "          0.5000  expected_tools: not called: 'read'\n"
        "failed            b\n"
        "          0.0000  exact: it is 'ping', not as expected\n"
        "               -  judge: a grader of the type 'llm_judge' is not run here: it needs a model\n"
        "no run            c\n"
        "failed            d, attempt 1\n"
        "          0.0000  exact: it is 'ping', not as expected\n"
        "failed            d, attempt 3\n"
        "          0.0000  exact: the run has no final output\n"
        "unscored          e\n"
        "               -  person: a grader of the type 'human' is not run here: it needs a person\n"
        "\n"
        "1 passed, 4 failed, 1 unscored, 1 no run\n"
    )
    assert err == (
        "tracestream: 1 test case without a run; the traces hold 7 runs\n"
        "tracestream: 1 run without a test case\n"
        "tracestream: 2 grader results without a score: unsupported_grader_type 2\n"
    )
    code, out, _ = run("evalport", "run", "s.json", "t", "--top", 1)
    assert code == 1
    assert out.splitlines()[2:] == [
        "... and 5 more; --top 6 lists all",
        "",
        "1 passed, 4 failed, 1 unscored, 1 no run",
    ]


def test_the_document_goes_to_a_file_or_to_stdout(run):
    code, out, err = run("evalport", "run", "suite.yaml", "nightly", "-o", "graded.json")
    assert (code, err) == (0, "")
    assert out == "3 passed, 0 failed, 0 unscored, 0 no run\n"
    data = Path("graded.json").read_bytes()
    found = document(data)
    assert found["summary"]["pass_rate"] == 1.0
    assert found["runner"]["name"] == "tracestream"
    for option in (("--json",), ("-o", "-")):
        assert run("evalport", "run", "suite.yaml", "nightly", *option) == (0, data.decode(), "")
    code, out, _ = run("evalport", "validate", "graded.json", "--suite", "suite.yaml")
    assert code == 0
    code, out, err = run("evalport", "run", "suite.yaml", "nightly", "--json", "-o", "graded.json")
    assert (code, out) == (2, "")
    assert "--json and -o are both given\nHint: " in err


def test_the_same_pins_give_the_same_bytes(run):
    pins = ("--run-id", "ci-1", "--started-at", "2026-01-15T10:30:00Z")
    command = ("evalport", "run", "suite.json", "nightly", "--json")
    first = run(*command, *pins)
    assert first == run(*command, *pins)
    found = document(first[1].encode())
    assert (found["run_id"], found["started_at"]) == ("ci-1", "2026-01-15T10:30:00Z")
    unpinned = document(run(*command)[1].encode())
    assert (len(unpinned["run_id"]), unpinned["started_at"]) == (32, "1970-01-01T00:00:00+00:00")
    assert {**found, **unpinned} == unpinned
    for pin, pointer in ((("--run-id", ""), "/run_id"), (("--started-at", "now"), "/started_at")):
        code, out, err = run(*command, *pin)
        assert (code, out) == (2, "")
        assert f"error: not a valid EvalPort resultset: {pointer} " in err


def test_nothing_to_grade(run):
    write(case("nobody"))
    code, out, err = run("evalport", "run", "s.json", "nightly", "-o", "graded.json")
    assert code == 2
    assert out == "no run            nobody\n\n0 passed, 0 failed, 0 unscored, 1 no run\n"
    assert (
        "tracestream: error: nothing to grade: no test case has a run\nHint: a test case's id"
        in err
    )
    assert document(Path("graded.json").read_bytes())["summary"]["skipped"] == 1
    write(case("a", graders=["person"]))
    code, out, err = run("evalport", "run", "s.json", "nightly")
    assert code == 2
    assert "error: nothing to grade: no grader gave a score\nHint: " in err
    write(case("a", graders=["person"]), case("b", expected_output="pong"))
    assert run("evalport", "run", "s.json", "nightly")[0] == 0


def test_code_runs_only_where_it_is_allowed(run):
    trace("a", response("x", "pong"))
    source = "def grade(input, output, expected, context):\n    return output == 'pong'"
    params = {"language": "python", "source": source}
    write(case("a", graders=["k", "contains"]), graders=[
        {"id": "k", "type": "code", "params": params},
        {"id": "contains", "type": "contains", "params": {"substring": "o"}},
    ])  # fmt: skip
    code, out, err = run("evalport", "run", "s.json", "t", "--json")
    assert code == 0
    first = document(out.encode())["results"][0]["grader_results"][0]
    assert first["score"] is None
    assert first["metadata"] == {"skip_reason": "unsupported_grader_type"}
    assert err == "tracestream: 1 grader result without a score: unsupported_grader_type 1\n"
    code, out, err = run("evalport", "run", "s.json", "t", "--json", "--allow-code")
    assert (code, err) == (0, "")
    assert document(out.encode())["results"][0]["grader_results"][0]["score"] == 1.0


def test_a_suite_that_is_not_valid_or_cannot_be_run_is_refused(run):
    write(case("a", graders=["gone"]))
    code, out, err = run("evalport", "run", "s.json", "nightly")
    assert (code, out) == (2, "")
    assert "DANGLING_REFERENCE" in err
    assert "error: s.json is not valid: 1 fault" in err
    bad = {"id": "x", "type": "regex", "params": {"pattern": "(?<=a)b"}}
    write(case("a", graders=[bad]))
    code, out, err = run("evalport", "run", "s.json", "nightly")
    assert (code, out) == (2, "")
    assert err.startswith(
        "tracestream: s.json:1: /test_cases/0/graders/0/params/pattern SCHEMA_INVALID: it is no RE2: "
    )
    assert "Hint: RE2 has no backreferences and does not look ahead or behind.\n" in err
    os.mkfifo("pipe")
    code, out, err = run("evalport", "run", "pipe", "nightly")
    assert (code, out) == (2, "")
    assert "can be read only once" in err


def test_wrong_usage(run):
    for arguments, words in (
        (("suite.json",), "no traces given"),
        (("gone.json", "nightly"), "no such file"),
        (("suite.json", "gone"), "no such file or folder"),
        (("suite.json", "nightly", "--dialect", "none"), "none"),
        (("suite.json", "nightly", "-o", "suite.json"), "would be replaced"),
        (("suite.json", "nightly", "-o", "nightly/a.jsonl"), "would be replaced"),
        (("suite.json", "nightly", "-o", "no/where.json"), "No such file or directory"),
    ):
        code, out, err = run("evalport", "run", *arguments)
        assert (code, out) == (2, ""), arguments
        assert words in err, arguments
        assert "Hint: " in err or "No such file" in err


def test_damage_is_told(run):
    Path("t/a.jsonl").write_bytes(jsonl(response("x", "pong")) + b'{"event_type": "llm_resp')
    write(case("a", expected_output="pong"))
    code, out, err = run("evalport", "run", "s.json", "t")
    assert code == 0
    assert out.startswith("1 passed")
    assert "torn_tail" in err


def test_hostile_names_do_not_reach_the_terminal(run):
    name = "a\x1b[2J\u202e"
    trace("x", response("x", "\x1b]0;owned\x07", name))
    write(case(name, expected_output="pong"))
    code, out, _ = run("evalport", "run", "s.json", "t")
    assert code == 1
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "a\\x1b[2J\\u202e\n" in out
    assert json.loads(run("evalport", "run", "s.json", "t", "--json")[1])["results"][0][
        "actual_output"
    ] == ("\x1b]0;owned\x07")
