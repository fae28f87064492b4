"""EvalPort documents as tests write them: small, valid, made anew at each call."""

import copy
import gzip
import json
from pathlib import Path

from tests.documents import jsonl, response

GRADERS = [
    {"id": "exact", "type": "exact_match", "params": {"ignore_case": True}},
    {"id": "contains", "type": "contains", "params": {"substring": "x"}},
    {"id": "regex", "type": "regex", "params": {"pattern": "^a"}},
    {"id": "near", "type": "semantic_similarity", "params": {"threshold": 0.5}},
    {"id": "judge", "type": "llm_judge", "params": {"model": "m", "prompt": "Is {output} good?"}},
    {"id": "graded", "type": "model graded", "params": {"model": "m", "prompt": "{input}"}},
    {"id": "schema", "type": "json_schema", "params": {"schema": {"type": "object"}}},
    {"id": "path", "type": "json_path", "params": {"path": "$.a", "expected": "1"}},
    {"id": "code", "type": "code", "params": {"language": "python", "source": "pass"}},
    {"id": "person", "type": "human"},
    {"id": "own", "type": "custom", "params": {"handler": "h"}, "weight": 3},
    {"id": "other", "type": "trulens_feedback", "params": {"handler": "h"}},
]
"""One of each type that the spec knows, and one that it does not."""


def grader_result(grader_id="exact", score=1.0, passed=True, kind="exact_match"):
    """Return what one grader said."""
    return {"grader_id": grader_id, "type": kind, "score": score, "passed": passed}


def result(test_case_id, *, passed=True, score=1.0, attempt=None, **fields):
    """Return the result of a test case with one grader."""
    graders = [grader_result(score=score, passed=passed)]
    found = {"test_case_id": test_case_id, "passed": passed, "grader_results": graders, **fields}
    return found if attempt is None else {**found, "attempt": attempt}


def result_set(*results, **fields):
    """Return a result set; without results it has three."""
    return {
        "version": "1.0.0-rc.5",
        "suite_id": "s",
        "run_id": "r",
        "started_at": "2026-01-15T10:30:00Z",
        "results": list(results) or [result("a"), result("b", passed=False), result("c")],
        **fields,
    }


def case(case_id="a", **fields):
    """Return a test case that names one grader."""
    return {"id": case_id, "input": "ping", "graders": ["exact"], **fields}


def suite(*cases, **fields):
    """Return a suite with all graders; without test cases it has three."""
    return {
        "version": "1.0.0-rc.5",
        "id": "s",
        "graders": copy.deepcopy(GRADERS),
        "test_cases": list(cases) or [case("a"), case("b"), case("c")],
        **fields,
    }


def package(**fields):
    """Return a native package, as EvalPackage.to_dict gives it."""
    cases = [{"name": "refund", "input": "refund policy?", "expected": "30 days"}]
    return {"name": "support", "cases": cases, "thresholds": {"accuracy": 0.9}, **fields}


def write(path, value):
    """Write a value as JSON; return the path."""
    path = Path(path)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


YAML_SUITE = """\
version: 1.0.0-rc.5
id: s
graders:
  - {id: exact, type: exact_match}
test_cases:
  - {id: a, input: ping, expected_output: pong, graders: [exact]}
  - {id: b, input: ping, expected_output: pong, graders: [exact]}
  - {id: c, input: ping, expected_output: pong, graders: [exact]}
metadata: {created: 2026-01-15}
"""
YAML_PACKAGE = """\
name: support
cases:
  - name: refund
    input: refund policy?
    criteria: [short]
"""


def write_examples(folder):
    """Write the files that the examples of the commands name."""
    folder = Path(folder)
    write(folder / "suite.json", suite(*(case(name, expected_output="pong") for name in "abc")))
    (folder / "suite.yaml").write_text(YAML_SUITE)
    write(folder / "package.json", package())
    (folder / "package.yaml").write_text(YAML_PACKAGE)
    write(folder / "results.json", result_set())
    write(folder / "results-before.json", result_set())
    write(folder / "results-now.json", result_set(result("a"), result("b"), result("c")))
    write(folder / "before.json", result_set())
    write(folder / "now.json", result_set())
    for name in "abc":
        path = folder / "nightly" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(jsonl(response("agent", "pong")))
    for name in (folder / "part-{}.json", folder / "parts" / "{}.json"):
        write(str(name).format(1), result_set(result("a")))
        write(str(name).format(2), result_set(result("b")))
    lines = (json.dumps(case()) + "\n").encode()
    (folder / "cases.jsonl").write_bytes(lines)
    (folder / "cases.jsonl.gz").write_bytes(gzip.compress(lines))
