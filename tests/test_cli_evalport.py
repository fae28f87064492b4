import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import evalport
from tests.documents import check_document, read_json
from tests.evalport import result, result_set, suite
from tracestream.cli import evalport_files
from tracestream.evalport.validation import MAX_FAULTS

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evalport.write_examples(tmp_path)
    return tmp_path


def bad_results():
    return evalport.write("bad.json", result_set(result("a", score=7), result("b", extra=1)))


def test_validate_tells_what_is_valid(run):
    Path("r.json.gz").write_bytes(gzip.compress(Path("results.json").read_bytes()))
    code, out, err = run("evalport", "validate", "suite.yaml", "cases.jsonl", "r.json.gz", "part-*")
    assert (code, err) == (0, "")
    assert out == (
        "suite.yaml: valid, suite of 3 test cases\n"
        "cases.jsonl: valid, 1 test case\n"
        "r.json.gz: valid, result set of 3 results\n"
        "part-1.json: valid, result set of 1 result\n"
        "part-2.json: valid, result set of 1 result\n"
    )


def test_validate_tells_every_fault(run):
    bad_results()
    code, out, err = run("evalport", "validate", "bad.json", "suite.json")
    assert (code, err) == (1, "")
    assert out == (
        "bad.json:1: /results/0/grader_results/0/score SCHEMA_INVALID: it must be 1 or less. Hint: "
        "bring it to 0..1 and keep the native one in metadata, as 'openeval.raw_score'.\n"
        "bad.json:1: /results/1/extra SCHEMA_INVALID: EvalPort knows no field 'extra' here. Hint: "
        "what it has no field for goes into 'metadata'.\n"
        "bad.json: not valid, 2 faults (SCHEMA_INVALID 2)\n"
        "suite.json: valid, suite of 3 test cases\n"
    )
    code, out, _ = run("evalport", "validate", "bad.json", "--max-faults", 1)
    assert code == 1
    assert out.endswith("\nbad.json: not valid, 2 faults (SCHEMA_INVALID 2), the first 1 told\n")


def test_validate_as_json_is_strict_and_has_a_schema(run):
    bad_results()
    Path("odd.json").write_bytes(b'{"results": [{"\\ud800": NaN, "a": "\xff"}]}')
    code, out, err = run("evalport", "validate", "--json", "bad.json", "suite.json", "odd.json")
    assert (code, err) == (1, "")
    document = check_document(read_json(out.encode()), "evalport-validation")
    assert [each["valid"] for each in document["files"]] == [False, True, False]
    assert document["valid"] is False
    first = document["files"][0]
    assert first["counts"] == {"SCHEMA_INVALID": 2}
    assert first["faults"][0]["pointer"] == "/results/0/grader_results/0/score"
    assert run("evalport", "validate", "--json", "suite.json")[1].endswith('],"valid":true}\n')


def test_validate_holds_results_against_a_suite(run):
    code, out, _ = run("evalport", "validate", "results.json", "--suite", "suite.yaml")
    assert code == 0
    assert out.startswith("suite.yaml: valid")
    evalport.write("results.json", result_set(result("x"), suite_id="t"))
    code, out, _ = run("evalport", "validate", "results.json", "--suite", "suite.yaml")
    assert code == 1
    assert "/results/0/test_case_id SUITE_MISMATCH" in out
    assert "/suite_id SUITE_MISMATCH" in out
    evalport.write("suite.json", suite(id=""))
    assert run("evalport", "validate", "results.json", "--suite", "suite.json")[0] == 1


def test_a_kind_can_be_given(run):
    Path("a.json").write_text('{"id": "a"}')
    code, out, _ = run("evalport", "validate", "a.json")
    assert (code, "KIND_UNKNOWN" in out) == (1, True)
    code, out, _ = run("evalport", "validate", "a.json", "--kind", "grader")
    assert (code, "'type' is missing" in out) == (1, True)
    code, out, err = run("evalport", "validate", "a.json", "--kind", "thing")
    assert (code, out) == (2, "")
    assert err == (
        "tracestream: error: --kind 'thing' is none\nHint: suite, resultset, testcase, grader.\n"
    )


def test_what_cannot_be_read_exits_with_2(run):
    code, out, err = run("evalport", "validate", "suite.json", "missing.json")
    assert (code, out) == (2, "")
    assert err.startswith("tracestream: error: no such file")
    code, out, err = run("evalport", "validate", "parts")
    assert (code, out) == (2, "")
    assert "is a folder\nHint: name files, such as 'parts/*.json'." in err
    os.symlink("nowhere", "dangling.json")
    bad_results()
    code, out, err = run("evalport", "validate", "dangling.json", "bad.json", "suite.json")
    assert (code, err) == (2, "")
    assert out.startswith("dangling.json: UNREADABLE: No such file or directory. Hint: ")
    assert run("evalport", "validate")[0] == 2


def test_hostile_names_do_not_reach_the_terminal(run):
    name = "a\x1b[2J\u202e"
    evalport.write("bad.json", result_set({**result("a"), name: 1}, **{name: 2}))
    Path(f"{name}.json").write_bytes(Path("bad.json").read_bytes())
    code, out, _ = run("evalport", "validate", "bad.json", f"{name}.json")
    assert code == 1
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\\x1b[2J\\u202e" in out


def test_export_writes_a_valid_suite_and_import_brings_the_package_back(run):
    assert run("evalport", "export", "package.json", "-o", "out.json") == (0, "", "")
    assert run("evalport", "validate", "out.json")[0] == 0
    code, out, err = run("evalport", "import", "out.json")
    assert (code, err) == (0, "")
    package = read_json(out.encode())
    assert package["thresholds"] == {"accuracy": 0.9}
    assert package["cases"][0]["expected"] == "30 days"
    Path("back.json").write_text(out)
    code, out, _ = run("evalport", "export", "back.json")
    assert (code, out) == (0, Path("out.json").read_text())


def test_export_writes_nothing_if_no_suite_can_be_made(run):
    evalport.write("package.json", evalport.package(cases=[]))
    Path("out.json").write_text("old")
    code, out, err = run("evalport", "export", "package.json", "-o", "out.json")
    assert (code, out) == (2, "")
    assert err.startswith(
        "tracestream: error: not a valid EvalPort suite: /test_cases SCHEMA_INVALID"
    )
    assert Path("out.json").read_text() == "old"


def test_import_says_what_is_not_valid(run):
    evalport.write("old.json", {"id": "old", "cases": [{"name": "a", "input": "ping"}]})
    code, out, err = run("evalport", "import", "old.json")
    assert code == 0
    assert json.loads(out)["name"] == "old"
    assert err.startswith(
        "tracestream: read, though it is no valid suite: 3 faults, the first at old"
    )


def test_merge_makes_one_valid_result_set(run):
    assert run("evalport", "merge", "part-1.json", "part-2.json", "-o", "out.json") == (0, "", "")
    document = read_json(Path("out.json").read_bytes())
    assert [each["test_case_id"] for each in document["results"]] == ["a", "b"]
    assert document["summary"]["total"] == 2
    assert run("evalport", "validate", "out.json")[0] == 0
    code, out, err = run("evalport", "merge", "parts/*.json")
    assert (code, json.loads(out), err) == (0, document, "")


def test_merge_says_what_it_leaves_out(run):
    for number, name in enumerate("ab"):
        evalport.write(f"{name}.json", result_set(result(name), metadata={"n": number}))
    code, _, err = run("evalport", "merge", "a.json", "b.json", "-o", "out.json")
    assert code == 0
    assert err == "tracestream: left out, as the parts do not agree on it: n\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("part-1.json", "bad.json"), "bad.json is not valid: 2 faults"),
        (("part-1.json", "parts/1.json"), "both have a result for attempt 1"),
        (("part-1.json", "other.json"), "its run_id is another"),
        (("part-1.json", "-"), "can be read only once"),
        (("part-1.json", "part-2.json", "-o", "part-2.json"), "would be replaced"),
        (("part-1.json", "-o", "no/such/folder.json"), "No such file or directory"),
    ],
)
def test_merge_refuses_and_writes_nothing(run, arguments, words):
    bad_results()
    evalport.write("other.json", result_set(result("z"), run_id="q"))
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    code, out, err = run("evalport", "merge", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert before == {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def test_diff_tells_what_changed(run):
    evalport.write("before.json", result_set(result("a"), result("b", score=0.5), result("gone")))
    evalport.write(
        "now.json",
        result_set(result("b"), result("a", passed=False, score=0.25), result("new", attempt=2)),
    )
    code, out, err = run("evalport", "diff", "before.json", "now.json")
    assert (code, err) == (1, "")
    assert out == (
        "regressed      pass -> fail      a\n"
        "             1.0000 -> 0.2500    exact\n"
        "changed        pass -> pass      b\n"
        "             0.5000 -> 1.0000    exact\n"
        "new               - -> pass      new, attempt 2\n"
        "gone           pass -> -         gone\n"
        "\n"
        "1 regressed, 0 improved, 1 changed, 1 new, 1 gone, 0 same\n"
    )
    code, out, _ = run("evalport", "diff", "before.json", "now.json", "--top", 1)
    assert code == 1
    assert out.splitlines()[2] == "... and 3 more; --top 4 lists all"


def test_diff_as_json_has_a_schema(run):
    code, out, err = run("evalport", "diff", "results-now.json", "results-before.json", "--json")
    assert (code, err) == (1, "")
    document = check_document(read_json(out.encode()), "evalport-diff")
    assert document["summary"]["regressed"] == 1
    assert document["changes"][0]["test_case_id"] == "b"
    assert document["old"]["source"] == "results-now.json"


def test_diff_passes_if_nothing_regressed(run):
    code, out, _ = run("evalport", "diff", "results-before.json", "results-now.json")
    assert code == 0
    assert out.endswith("\n0 regressed, 1 improved, 0 changed, 0 new, 0 gone, 2 same\n")


def test_diff_refuses_what_is_not_valid_or_of_another_suite(run):
    bad_results()
    code, out, err = run("evalport", "diff", "results.json", "bad.json")
    assert (code, out) == (2, "")
    assert err.startswith(
        "tracestream: bad.json:1: /results/0/grader_results/0/score SCHEMA_INVALID"
    )
    assert "error: bad.json is not valid: 2 faults" in err
    evalport.write("other.json", result_set(suite_id="t"))
    code, out, err = run("evalport", "diff", "results.json", "other.json")
    assert (code, out) == (2, "")
    assert "other.json of 't'" in err


def test_defaults_are_those_of_the_library():
    assert evalport_files.MAX_FAULTS == MAX_FAULTS


def test_help_imports_neither_schemas_nor_yaml():
    code = (
        "import sys\nfrom tracestream.cli import main\n"
        "main(['evalport', 'validate', '--help'])\n"
        "sys.exit(', '.join({'jsonschema_rs', 'yaml', 'orjson'} & set(sys.modules)) or 0)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
