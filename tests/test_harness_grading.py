"""`grade` on harness traces gives what HarnessEvaluator gives: the same gates, on files."""

import gzip
import io
import json
import math
from pathlib import Path
from random import Random

import pytest

from tests.documents import check_document, graded, jsonl, response, tool_start
from tracestream import DialectError, HarnessEvaluator, grade
from tracestream.harnesstrace import ARTIFACTS, CALLS

DATA = Path(__file__).parent / "data" / "harness"
NAN, INF = float("nan"), float("inf")
SCHEMAS = [{"read": {}}, {"b": 1, "a": [1.0, None, "é\ud83d"]}, [1], "text", 3, True, {"x": NAN}]
FALSY = [None, 0, 0.0, False, "", [], {}]
CALL_VALUES = [
    *(1, 2, 5, -1, True, "abc", 10**20, [1], [{}, None], {"a": 1, "b": 2}),
    3.0,
    2.5,
    NAN,
]
ENTRIES = [
    *("out.txt", "a", "", None, 3, 2.5, True, ["a"], {}, {"path": "out.txt"}, {"name": "a"}),
    *({"path": "", "file": "out.txt"}, {"filename": 3}, {"artifact": ["a"]}, {"other": 1}, "é"),
]
JUDGES = [
    9.0,
    7,
    6.99,
    0,
    -1,
    True,
    "8.5",
    " 7 ",
    "good",
    "nan",
    "",
    [],
    [9],
    {},
    NAN,
    INF,
    10**400,
]
GATES = [
    {"judge_threshold": 7},
    {"min_tool_calls": 2, "require_artifacts": ["out.txt"], "judge_threshold": 0},
    {"require_artifacts": ["a"], "judge_threshold": 9},
    {"expected_schema_hash": "af9a9b9eedfb4704", "min_tool_calls": 1, "judge_threshold": 7},
    {"require_artifacts": ["3", "['a']", "None", "é"], "judge_threshold": -0.0},
]


def random_record(rng):
    record = {"name": "r"}
    for name in CALLS:
        if rng.random() < 0.5:
            record[name] = rng.choice(CALL_VALUES if rng.random() < 0.6 else FALSY)
    for name in ARTIFACTS:
        if rng.random() < 0.5:
            entries = rng.choices(ENTRIES, k=rng.randrange(4))
            keyed = {str(n): entry for n, entry in enumerate(entries)}
            record[name] = rng.choice([entries, entries, keyed, "a3", 5, True, *FALSY])
    if rng.random() < 0.7:
        record["tool_schema"] = rng.choice([*SCHEMAS, *FALSY])
    if rng.random() < 0.7:
        record["judge_score"] = rng.choice([*JUDGES, None])
    return record if len(record) > 1 else {"tool_calls": 1}


def without_refused(record):
    """The record without the values that HarnessEvaluator stops at, and how many there are."""
    kept = dict(record)
    for fields, wrong in ((CALLS, float), (ARTIFACTS, (int, float))):
        for field in fields:
            value = record.get(field)
            if value and isinstance(value, wrong) and (fields is ARTIFACTS or value is not True):
                del kept[field]
            elif value:
                break
    if record.get("judge_score") == 10**400:
        del kept["judge_score"]
    return kept, len(record) - len(kept)


def judged(record, gates):
    """What HarnessEvaluator gives, as the report writes it."""
    evaluator = HarnessEvaluator(
        record,
        gates.get("require_artifacts"),
        gates.get("min_tool_calls", 0),
        gates.get("expected_schema_hash"),
        gates["judge_threshold"],
    )
    result = evaluator.run().to_dict()
    # A column of 64 bits holds no larger count.
    result["tool_call_count"] = min(result["tool_call_count"], 2**63 - 1)
    return {n: v for n, v in result.items() if n not in ("eval_id", "name", "timestamp")}


def is_refused(judge):
    try:
        float(0 if judge is None else judge)
        return False
    except (TypeError, ValueError):
        return True


@pytest.mark.parametrize("number", range(len(GATES)))
def test_grade_judges_as_the_evaluator_does(number):
    rng, gates = Random(number), GATES[number]
    records = [random_record(rng) for _ in range(120)]
    n_wrong = n_raised = 0
    report = grade(jsonl(*records), dialect="harness", **gates)
    for run, record in zip(graded(report)["runs"], records, strict=True):
        kept, n_refused = without_refused(record)
        if n_refused:
            n_raised += 1
            with pytest.raises((TypeError, OverflowError)):
                judged(record, gates)
        expected = judged(kept, gates)
        ours = {n: v for n, v in run["harness"].items() if n not in ("eval_id", "name")}
        score = expected["judge_score"]
        if score is not None and not math.isfinite(score):
            expected["judge_score"] = None
        assert ours == expected, record
        assert run["verdict"] == ("pass" if expected["passed"] else "fail"), record
        told = [reason for reason in run["reasons"] if reason.startswith("not judged: ")]
        n_here = n_refused + is_refused(kept.get("judge_score"))
        assert len(told) == n_here, (record, run["reasons"])
        n_wrong += n_here
    ledger = report.ledger.entries
    assert ledger["wrong_type"].count == n_wrong
    assert 10 < n_raised < 110
    verdicts = {run["verdict"] for run in graded(report)["runs"]}
    assert verdicts == ({"fail"} if number == 4 else {"pass", "fail"})


WAYS = {
    "lines": lambda data: data,
    "array": lambda data: b"[" + data.strip().replace(b"\n", b",") + b"]",
    "gzip": gzip.compress,
    "stream": io.BytesIO,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("batch_rows", [1, 7, 8192])
def test_it_does_not_depend_on_framing_compression_and_batches(way, batch_rows):
    rng = Random(11)
    data = jsonl(*(random_record(rng) for _ in range(40)))
    for gates in GATES[1:3]:
        expected = graded(grade(data, dialect="harness", **gates))
        found = graded(grade(WAYS[way](data), dialect="harness", batch_rows=batch_rows, **gates))
        assert [(r["run_id"], r["verdict"], r["reasons"]) for r in found["runs"]] == [
            (r["run_id"], r["verdict"], r["reasons"]) for r in expected["runs"]
        ]
        for ours, theirs in zip(found["runs"], expected["runs"], strict=True):
            drop = {"eval_id", "name"}
            assert {n: v for n, v in ours["harness"].items() if n not in drop} == {
                n: v for n, v in theirs["harness"].items() if n not in drop
            }


def reasons(record, **gates):
    (run,) = graded(grade(jsonl(record), **gates))["runs"]
    return run["verdict"], run["reasons"]


RUN = {"tool_calls": 2, "artifacts": ["a"], "tool_schema": {"read": {}}, "judge_score": 6.96}
HASH = "af9a9b9eedfb4704"


@pytest.mark.parametrize(
    ("record", "gates", "verdict", "expected"),
    [
        (RUN, {}, "pass", []),
        (RUN, {"min_tool_calls": 3}, "fail", ["tool_calls 2 < 3"]),
        (RUN, {"require_artifacts": ["b", "a", "c", "b"]}, "fail", ["artifacts missing: b, c"]),
        (RUN, {"expected_schema_hash": HASH}, "pass", []),
        (RUN, {"expected_schema_hash": "x"}, "fail", [f"schema_hash {HASH} is not x"]),
        (RUN, {"judge_threshold": 7}, "fail", ["judge_score 6.96 < 7.0"]),
        (RUN, {"judge_threshold": 6}, "pass", []),
        (
            {"tool_calls": 1},
            {"require_artifacts": ["a"], "expected_schema_hash": "x"},
            "fail",
            ["artifacts missing: a", "this trace records no tool schema"],
        ),
        (
            {"judge_score": "good"},
            {"judge_threshold": 0},
            "fail",
            ["judge_score is no number", "not judged: judge_score: str, not a number"],
        ),
        (
            {"artifacts": 3, "tool_calls": 1},
            {},
            "pass",
            ["not judged: artifacts: int, not a list or an object"],
        ),
    ],
)
def test_a_verdict_says_why(record, gates, verdict, expected):
    assert reasons(record, **gates) == (verdict, expected)


def test_a_run_without_a_judge_score_has_not_that_dimension():
    """As the reference has it, such a run passes; where no run has a score, nothing was answered."""
    records = [{"tool_calls": 1}, {"tool_calls": 1, "judge_score": 9}]
    report = grade(jsonl(*records), judge_threshold=7, strict=True)
    assert report.missing == ("no judge score recorded",)
    assert (report.problems, report.exit_code) == ((), 1)
    report = grade(jsonl(records[0]), judge_threshold=7)
    assert report.problems == ("no judge score recorded in any run",)
    assert report.exit_code == 2
    assert graded(report)["runs"][0]["verdict"] == "pass"


def test_a_format_that_records_none_of_it_fails_as_before():
    events = jsonl(response("a", "x"), tool_start("search"))
    gates = {"require_artifacts": ["a"], "expected_schema_hash": "x", "judge_threshold": 0}
    (run,) = graded(grade(events, **gates))["runs"]
    assert run["reasons"][:3] == [
        "this trace records no artifacts",
        "this trace records no tool schema",
        "this trace records no judge score",
    ]


def test_runs_of_a_file_are_named_after_their_records():
    report = grade([DATA / "runs.jsonl", DATA / "runs.json"])
    names = [run["run"] for run in graded(report)["runs"]]
    assert names == [
        *(f"{DATA / 'runs.jsonl'}#{n}" for n in (1, 3, 4, 5)),
        *(f"{DATA / 'runs.json'}#{n}" for n in (1, 2)),
    ]
    assert report.runs["tool_calls"].to_list() == [2, 1, 3, 2, 1, 0]
    assert report.runs["harness_score"].to_list() == [1.0] * 6
    assert report.summary["tool_calls"] == 9


def test_numbers_are_no_ids_across_sources(tmp_path):
    """`run_scope="corpus"` merges runs of one id; the first record of two files is two runs."""
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes((DATA / "runs.jsonl").read_bytes())
    (tmp_path / "c.jsonl").write_bytes(jsonl(tool_start("search", "1")))
    files, corpus = (
        graded(grade(tmp_path, run_scope=scope))["runs"] for scope in ("file", "corpus")
    )
    assert len(files) == len(corpus) == 9
    assert [run["harness"] for run in corpus[:8]] == [run["harness"] for run in files[:8]]
    assert (corpus[8]["run"], corpus[8]["harness"]["tool_call_count"]) == ("1", 1)


def test_a_run_with_nothing_in_it_is_gradable_all_the_same():
    for data, dialect in ((b'{"tool_calls": [], "judge_score": null}', "auto"), (b"{}", "harness")):
        (run,) = graded(grade(data, dialect=dialect))["runs"]
        assert (run["verdict"], run["harness"]["tool_call_count"]) == ("pass", 0)


def test_nothing_is_said_of_handoffs_that_such_a_run_never_has():
    assert reasons(RUN) == ("pass", [])
    assert reasons(RUN, min_handoff=5) == ("pass", ["no handoff to score"])
    assert grade(jsonl(RUN), min_handoff=5).exit_code == 2


def test_damage_raises_if_it_is_to():
    with pytest.raises(DialectError, match="tool_calls: float, not a list or a whole number"):
        grade(b'{"tool_calls": 3.0}', on_error="raise")


def test_names_that_differ_in_halves_of_surrogate_pairs_are_one():
    record = {"tool_calls": 0, "artifacts": ["\ud800.txt"]}
    assert grade(jsonl(record), require_artifacts=["\udbff.txt"]).exit_code == 0


def test_the_command_gates_and_says_why(run, tmp_path):
    code, out, _ = run(
        *("grade", DATA / "runs.jsonl", "--require-artifact", "out.txt", "--min-tool-calls", 2),
        *("--judge-threshold", 7, "--json"),
    )
    assert code == 1
    document = check_document(json.loads(out))
    assert [run["verdict"] for run in document["runs"]] == ["pass", "fail", "fail", "fail"]
    code, out, _ = run("grade", DATA / "runs.jsonl", "--expect-schema-hash", "x")
    assert code == 1
    assert "schema_hash 6f6c404b9322e3e8 is not x" in out


def test_every_form_of_a_report_takes_it(tmp_path):
    report = grade(DATA / "runs.jsonl", require_artifacts=["out.txt"], judge_threshold=7)
    for suffix in ("json", "jsonl", "csv", "html", "parquet"):
        report.write(tmp_path / f"report.{suffix}")
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert [line["harness"] for line in lines] == [run["harness"] for run in graded(report)["runs"]]
