"""HarnessEvaluator, its result and the four gates, held against the reference."""

import inspect
import json
from collections import Counter
from dataclasses import fields
from pathlib import Path
from random import Random

import pytest
from openeval.validate import validate_result_set, validate_suite
from praisonaiagents.eval import harness_row_to_eval_case as their_row_to_case
from praisonaiagents.eval.harness_eval import HarnessEvaluator as TheirEvaluator
from praisonaiagents.eval.results import HarnessResult as TheirResult

from tests.test_docs import ROOT, blocks
from tracestream import (
    ConfigError,
    HarnessEvaluator,
    HarnessResult,
    harness_row_to_eval_case,
)
from tracestream.harnesstrace import ARTIFACTS, CALLS
from tracestream.kernels.harness import score_harness

NAN, INF = float("nan"), float("inf")
SCHEMAS = [
    {"read": {"path": "é", "b": 1, "a": [1.5, None]}},
    {1: "a", 2: {}},
    {"s": {1}, "o": Ellipsis, "nan": NAN},
    *([{"a": 1}], "text", 7, 3.5, True, [3]),
    *({"b": 1, 1: 2}, {("a",): 1}, [{("a",): 1}], {"\ud800": "\udfff"}),
]
LOOP: dict = {}
LOOP["me"] = LOOP
HASHES = [TheirEvaluator({"tool_schema": schema}).run().schema_hash for schema in SCHEMAS[:9]]
FALSY = [None, 0, 0.0, False, "", [], {}, ()]
CALL_VALUES = [
    *(1, 3, -1, True, 40_000, "abc", "é🙂", [{"name": "read"}] * 3, [None], (1, 2), {1, 2}),
    *({"read": 1, "write": 2}, range(7), 3.0, NAN, 2.5, object),
]
ENTRIES = [
    *("out.txt", "a", "", None, 3, 2.5, True, NAN, ["a"], [], {}, {"path": "out.txt"}),
    *({"path": "", "name": "out.txt"}, {"path": None, "file": 3}, {"filename": ["x"]}),
    *(
        {"artifact": {"a": 1}},
        {"other": "out.txt"},
        {"name": "a", "path": "b"},
        "\ud800",
        b"out.txt",
    ),
]
JUDGES = [
    *(9.0, 7, 6.9, 0, 0.0, -1, True, False, "8.5", " 7 ", "1_0", "nan", "-inf", "high", "", []),
    *([8], {}, NAN, INF, -INF, 1j, b"8", "٨"),
]
REQUIRED = [None, [], ["out.txt"], ["out.txt", "a"], ("a",), "ab", ["x", "x"], [3], [["a"]], {"a"}]
LEAST = [*[0, 1, 2, 3] * 3, -1, 2.5, True, NAN, "1", None]
EXPECTED = [*[None] * 6, *HASHES, "other", "", 7]
THRESHOLDS = [*[7.0] * 4, 0, 7, 8.5, 10.0, -1, NAN, True, None, "7"]


def artifacts(rng):
    entries = rng.choices(ENTRIES, k=rng.randrange(4))
    return rng.choice(
        [entries, dict(enumerate(entries)), tuple(entries), "ab", 5, 2.5, True, {"a"}]
    )


def random_trace(rng):
    trace = {}
    for name in CALLS:
        if rng.random() < 0.5:
            trace[name] = rng.choice(CALL_VALUES if rng.random() < 0.6 else FALSY)
    for name in ARTIFACTS:
        if rng.random() < 0.5:
            trace[name] = artifacts(rng) if rng.random() < 0.7 else rng.choice(FALSY)
    if rng.random() < 0.6:
        trace["tool_schema"] = rng.choice([*SCHEMAS, *SCHEMAS[:3], *FALSY, LOOP, [LOOP]])
    if rng.random() < 0.6:
        trace["judge_score"] = rng.choice([*JUDGES, *JUDGES[:3], None])
    nested = {"extra": dict(trace)} if rng.random() < 0.1 else {}
    return rng.choice([trace] * 30 + [None, [], [1]]) if not nested else {**trace, **nested}


def outcome(evaluator_class, arguments):
    """What a run gives, told apart by type and with NaN equal to itself; or its exception."""
    try:
        evaluator = evaluator_class(*arguments, name="name")
        result = evaluator.run()
        case = evaluator.to_eval_result()
    except Exception as error:
        return type(error)
    result.eval_id = result.timestamp = ""
    values = {field.name: getattr(result, field.name) for field in fields(result)}
    return repr((values, result.to_dict(), result.overall_score, case.to_dict()))


def test_equal_to_the_reference_on_random_traces_and_thresholds():
    rng = Random(7)
    seen = Counter()
    for _ in range(3_000):
        arguments = (
            *(random_trace(rng), rng.choice(REQUIRED), rng.choice(LEAST)),
            *(rng.choice(EXPECTED), rng.choice(THRESHOLDS)),
        )
        theirs = outcome(TheirEvaluator, arguments)
        assert outcome(HarnessEvaluator, arguments) == theirs, arguments
        seen[theirs if isinstance(theirs, type) else theirs[:60]] += 1
    # All kinds of outcome come up: exceptions, and each score.
    assert {TypeError, AttributeError} <= set(seen)
    scores = {
        key.partition("'score': ")[2].partition(",")[0] for key in seen if isinstance(key, str)
    }
    assert scores == {"0.0", "0.25", "0.5", "0.75", "1.0"}


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        (True, 1),
        (-1, 0),
        ("abc", 3),
        ({"a": 1, "b": 2}, 2),
        ((), 0),
        (10**30, 10**30),
        (iter("ab"), 2),
    ],
)
def test_calls_are_a_count_or_what_is_counted(calls, count):
    assert HarnessEvaluator({"tool_calls": calls}).run().tool_call_count == count


@pytest.mark.parametrize(
    ("trace", "error"),
    [
        ({"tool_calls": 3.0}, TypeError),
        ({"artifacts": 3}, TypeError),
        ({"judge_score": 10**400}, OverflowError),
        ({"tool_schema": [{("a",): 1}]}, AttributeError),
    ],
)
def test_what_the_reference_stops_at_stops_this_too(trace, error):
    assert outcome(HarnessEvaluator, (trace,)) == outcome(TheirEvaluator, (trace,)) == error


def test_the_first_field_that_is_true_counts():
    assert (
        HarnessEvaluator({"tool_calls": [], "tool_trace": 0, "tools": 2}).run().tool_call_count == 2
    )
    trace = {"artifacts": [], "files": {}, "outputs": {"any": {"path": "a"}}}
    assert HarnessEvaluator(trace, ["a"]).run().artifacts_complete


# Taken once from praisonaiagents 1.7.17, so that a change there shows as well.
@pytest.mark.parametrize(
    ("schema", "digits"),
    [
        ({"read": {}}, "af9a9b9eedfb4704"),
        ({"b": [1, 2.0, None], "a": "é"}, "ba67911cc9e8a632"),
        ({}, None),
        (None, None),
    ],
)
def test_a_tool_schema_has_its_hash(schema, digits):
    assert HarnessEvaluator({"tool_schema": schema}).run().schema_hash == digits


@pytest.mark.parametrize("judge", [NAN, INF, -INF, "nan"])
def test_json_has_no_nan(judge, tmp_path):
    path = tmp_path / "saved.json"
    result = HarnessEvaluator({"judge_score": judge}, name="n", save_results_path=path).run()
    for text in (result.to_json(), path.read_text()):
        assert json.loads(text, parse_constant=pytest.fail)["judge_score"] is None
    assert repr(result.to_dict()["judge_score"]) == repr(float(judge))


def test_json_and_the_saved_file_are_the_references(tmp_path):
    texts = []
    for evaluator_class in (HarnessEvaluator, TheirEvaluator):
        path = tmp_path / f"{evaluator_class.__module__}.json"
        evaluator = evaluator_class({"tool_calls": 2}, ["é"], 1, "x", 7.0, "n", str(path))
        evaluator.eval_id = "1234abcd"
        result = evaluator.run()
        saved = path.read_text().replace(result.timestamp, "T")
        texts.append((result.to_json().replace(result.timestamp, "T"), saved))
    assert texts[0] == texts[1]


def test_json_takes_no_value_that_it_does_not_know():
    with pytest.raises(TypeError):
        HarnessEvaluator({}, [object()]).run().to_json()


SUMMARY = """
============================================================
HarnessEvaluator Results: smoke
============================================================
Score: 0.25 (failed)
  ✅ Tool calls: 2
  ❌ Artifacts missing: a.txt, b.txt
  ❌ Tool schema: none
  ❌ Judge score: 6.5/10
============================================================

"""


def test_a_summary_says_what_came_of_each_gate(capsys):
    trace = {"tool_calls": 2, "judge_score": 6.5}
    evaluator = HarnessEvaluator(trace, ["a.txt", "b.txt"], 1, "x", name="smoke")
    evaluator.run()
    assert capsys.readouterr().out == ""
    evaluator.run(print_summary=True, anything=1)
    assert capsys.readouterr().out == SUMMARY
    HarnessEvaluator({"tool_schema": {"read": {}}}).run(print_summary=True)
    out = capsys.readouterr().out
    assert "Score: 1.00 (passed)" in out
    assert "✅ Artifacts missing: none" in out
    assert "✅ Tool schema: af9a9b9eedfb4704" in out
    assert "✅ Judge score: none" in out


def test_signatures_are_the_references():
    for ours, theirs in [
        *((getattr(HarnessEvaluator, n), getattr(TheirEvaluator, n)) for n in ("__init__", "run")),
        (HarnessEvaluator.to_eval_result, TheirEvaluator.to_eval_result),
        (harness_row_to_eval_case, their_row_to_case),
    ]:
        assert [
            (p.name, p.kind, p.default) for p in inspect.signature(ours).parameters.values()
        ] == [(p.name, p.kind, p.default) for p in inspect.signature(theirs).parameters.values()]


def test_the_result_has_the_fields_keys_and_scale_of_the_reference():
    def shape(dataclass):
        return [(f.name, f.default) for f in fields(dataclass)]

    assert shape(HarnessResult) == shape(TheirResult)
    assert HarnessResult(True, 0.75).overall_score == TheirResult(True, 0.75).overall_score == 7.5
    assert HarnessResult(True, 1.0).score_scale == "fraction"


def test_a_case_result_is_of_the_latest_run_and_runs_if_there_is_none():
    evaluator = HarnessEvaluator({"tool_calls": 1}, min_tool_calls=2, name="smoke")
    case = evaluator.to_eval_result()
    assert (case.case_name, case.passed, case.score) == ("smoke", False, 0.75)
    evaluator.trace = {"tool_calls": 2}
    assert evaluator.to_eval_result("again").score == 0.75
    evaluator.run()
    assert evaluator.to_eval_result("again").passed


ROW_VALUES = [None, "", "smoke", "é", 7, 0, True, ["x"], {"a": 1}]
COLUMNS = "id name scenario prompt input fixture rubric expected workspace".split()


def test_rows_become_the_cases_of_the_reference():
    rng = Random(3)
    seen = set()
    for _ in range(1_000):
        row = {name: rng.choice(ROW_VALUES) for name in COLUMNS if rng.random() < 0.6}
        cases = []
        for convert in (harness_row_to_eval_case, their_row_to_case):
            try:
                cases.append(repr(convert(row).to_dict()))
            except ValueError:  # ours is a ConfigError, which is one
                cases.append(None)
        assert cases[0] == cases[1], row
        seen.add(cases[0] is None)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": "a", "expected": "b", "prompt": ""}, "only: id, expected"),
        ({"Prompt": "x", None: ["more"]}, "only: Prompt, None"),
        ({}, "only: nothing"),
        ({"x" * 200: 1}, "only: " + "x" * 80),
    ],
)
def test_a_row_that_asks_nothing_says_what_it_has(row, words):
    with pytest.raises(ConfigError) as caught:
        harness_row_to_eval_case(row)
    said, hint = str(caught.value).splitlines()
    assert said == f"a row has neither prompt nor input, {words}"
    assert hint.startswith("Hint: name a column `prompt`")


def test_the_page_runs_and_gives_valid_documents(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "harness.md"
    (table,), (code,) = blocks(page, "csv"), blocks(page, "python")
    Path("scenarios.csv").write_text(table)
    exec(compile(code, page.name, "exec"), {})
    suite, results = (json.loads(Path(f"{n}.json").read_bytes()) for n in ("suite", "results"))
    assert validate_suite(suite).valid
    assert validate_result_set(results).valid
    assert suite["id"] == results["suite_id"] == "scenarios"
    assert [case["id"] for case in suite["test_cases"]] == ["plan", "notes"]
    assert [each["test_case_id"] for each in results["results"]] == ["plan", "notes"]


def test_a_row_keeps_the_callers_lists_apart():
    row = {"id": "a", "prompt": "b", "rubric": "c"}
    case = harness_row_to_eval_case(row)
    case.metadata["x"] = 1
    case.criteria.append("y")
    assert row == {"id": "a", "prompt": "b", "rubric": "c"}
    assert harness_row_to_eval_case(row).criteria == ["c"]


@pytest.mark.parametrize(
    ("asked", "score"),
    [
        ({}, 1.0),
        ({"min_tool_calls": 3}, 0.75),
        ({"min_tool_calls": 3, "judge_passed": False}, 0.5),
        ({"min_tool_calls": 3, "judge_passed": False, "required_artifacts": ["a"]}, 0.25),
        ({"min_tool_calls": 2, "expected_schema_hash": "x", "required_artifacts": ["b"]}, 0.75),
    ],
)
def test_the_score_is_the_share_of_gates_passed(asked, score):
    gates = score_harness(2, artifacts=["b"], schema_hash="y", **asked)
    assert (gates.score, gates.passed) == (score, score == 1.0)


def test_missing_artifacts_come_in_the_order_asked():
    gates = score_harness(0, artifacts={"b"}, required_artifacts=["c", "b", "a", "c"])
    assert gates.missing_artifacts == ("c", "a", "c")
