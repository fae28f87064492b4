"""We reject all that the reference validator rejects; a crash of it counts as that."""

import copy
import json
import random
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from openeval.validate import (
    validate_grader,
    validate_result_set,
    validate_suite,
    validate_test_case,
)
from referencing import Registry, Resource

from tests import evalport
from tracestream.evalport import conformance
from tracestream.evalport.validation import Validator, validate_value
from tracestream.sources import Source

REFERENCE = {
    "suite": validate_suite,
    "resultset": validate_result_set,
    "testcase": validate_test_case,
    "grader": validate_grader,
}

ODD = [
    *(None, True, False, 0, 1, -1, 1.0, 0.5, 1.5, 2, -0.0, 10**30, 1e300),
    *("", "x", "\x00", "{output}", "exact", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    *("1.0.0\n", "01.0.0", "９.0.0", "1.0", "v1.0.0", "9.0.0", "1.0.0-01", "1.0.0+b"),
    *([], [1], ["exact"], [[]], {}, {"a": 1}),
]
NAMES = ["x", "attempt", "id", "type", "params", "$schema", "isolation", "test_cases_file"]


def rich_suite():
    graders = evalport.GRADERS
    cases = [
        evalport.case(
            f"t{n}",
            input="ping" if n % 2 else ["a", "b"],
            graders=["exact", copy.deepcopy(graders[n]), graders[-n]["id"]],
            timeout_ms=5,
        )
        for n in range(1, 6)
    ]
    return evalport.suite(*cases, config={"parallel": 2}, tags=["a"])


def rich_result_set():
    results = [evalport.result(f"t{n // 2}", attempt=n % 2 + 1, duration_ms=3) for n in range(6)]
    nothing = {**evalport.result("z", passed=False, score=None), "error": {"type": "timeout"}}
    return evalport.result_set(*results, nothing, isolation="fresh", summary={"total": 7})


def documents(generator):
    """A kind, and a valid document of it."""
    kind = generator.choice(["suite", "resultset", "testcase", "grader"])
    document = {
        "suite": rich_suite,
        "resultset": rich_result_set,
        "testcase": lambda: rich_suite()["test_cases"][generator.randrange(5)],
        "grader": lambda: copy.deepcopy(generator.choice(evalport.GRADERS)),
    }[kind]()
    return kind, document


def places(value, path=()):
    if path:
        yield path
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from places(value[key], (*path, key))


def mutate(document, generator):
    """A document with one to three faults, or none: a field dropped, retyped, doubled, out of range."""
    for _ in range(generator.choice([1, 1, 1, 2, 3])):
        found = list(places(document))
        if not found:
            return generator.choice(ODD)
        *steps, last = generator.choice(found)
        into = document
        for step in steps:
            into = into[step]
        way = generator.randrange(5)
        if way == 0:
            del into[last]
        elif way == 1:
            into[last] = copy.deepcopy(generator.choice(ODD))
        elif way == 2 and isinstance(into, list):
            into.append(copy.deepcopy(into[last]))
        elif way == 2:
            into[generator.choice(NAMES)] = copy.deepcopy(into[last])
        elif way == 3:
            other = document
            for step in generator.choice(found):
                other = other[step]
            into[last] = copy.deepcopy(other)
        elif isinstance(into[last], int | float) and not isinstance(into[last], bool):
            number = into[last]
            into[last] = generator.choice([-number, number + 1, float(number), number * 10**20])
    return document


def compare(seed, n_documents):
    """Hold so many mutated documents to both validators; return how each was judged."""
    generator = random.Random(seed)
    judged = {(ours, theirs): 0 for ours in (True, False) for theirs in (True, False)}
    for _ in range(n_documents):
        kind, document = documents(generator)
        assert validate_value(document, kind=kind).is_valid
        document = mutate(document, generator)
        found = validate_value(document, kind=kind)
        text = json.dumps(document).encode()
        streamed, *_ = Validator(kind=kind).source(Source(0, "a.json", stream=[text]))
        assert streamed.is_valid == found.is_valid, text
        try:
            theirs = REFERENCE[kind](document).valid
        except Exception:
            theirs = False
        assert theirs or not found.is_valid, text
        judged[found.is_valid, theirs] += 1
    return judged


def test_the_reference_never_rejects_what_we_accept():
    judged = compare(seed=7, n_documents=3000)
    assert judged[True, True] > 500
    assert judged[False, False] > 500
    assert judged[False, True] > 100  # the rules of docs/decisions, which our stricter side is


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_the_reference_never_rejects_what_we_accept_for_long(seed):
    compare(seed=1000 + seed, n_documents=10_000)


def published():
    schemas = {kind: conformance.schema(kind) for kind in conformance.KINDS}
    registry = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()
    )
    return {
        kind: Draft202012Validator(schema, registry=registry) for kind, schema in schemas.items()
    }


def test_the_schemas_say_the_same_to_another_validator():
    """Formats aside, which it does not check here."""
    generator, other = random.Random(8), published()
    verdicts = []
    for _ in range(1000):
        kind, document = documents(generator)
        document = mutate(document, generator)
        check = conformance.document_check(kind)
        faults = [
            each for each in conformance.schema_faults(check, document) if each.keyword != "format"
        ]
        verdicts.append(not faults)
        assert other[kind].is_valid(document) == verdicts[-1], document
    assert 200 < sum(verdicts) < 800


STRICTER = {
    "unknown-field": ("suite", {**evalport.suite(), "extra": 1}),
    "major-version": ("suite", evalport.suite(version="9.0.0")),
    "leading-zero": ("suite", evalport.suite(version="01.0.0")),
    "null-field": ("resultset", evalport.result_set(evalport.result("a", actual_output=None))),
    "negative-total": ("resultset", evalport.result_set(summary={"total": -1})),
    "no-date": ("resultset", evalport.result_set(started_at="nonsense")),
    "missing-score": (
        "resultset",
        evalport.result_set(
            {
                "test_case_id": "a",
                "passed": True,
                "grader_results": [{"grader_id": "g", "type": "human", "passed": True}],
            }
        ),
    ),
    "null-passed": (
        "resultset",
        evalport.result_set(
            {
                "test_case_id": "a",
                "passed": False,
                "grader_results": [evalport.grader_result(score=None, passed=True)],
            }
        ),
    ),
    "twice-without-attempt": (
        "resultset",
        evalport.result_set(evalport.result("a"), evalport.result("a")),
    ),
    "timeout": ("testcase", evalport.case(timeout_ms=0)),
    "empty-input": ("testcase", evalport.case(input="")),
    "model-graded": ("grader", {"id": "g", "type": "model graded"}),
    "json-path": (
        "grader",
        {"id": "g", "type": "json_path", "params": {"path": "$", "expected": 1}},
    ),
    "json-schema": (
        "grader",
        {"id": "g", "type": "json_schema", "params": {"schema": {"type": "q"}}},
    ),
}


@pytest.mark.parametrize(("kind", "document"), STRICTER.values(), ids=STRICTER)
def test_a_rule_by_which_we_are_stricter(kind, document):
    assert REFERENCE[kind](document).valid
    assert not validate_value(document, kind=kind).is_valid


def test_the_rules_by_which_we_are_stricter_are_written_down():
    page = (
        Path(__file__).parents[1] / "docs/decisions/0006-stricter-than-the-reference-validator.md"
    )
    text = page.read_text("utf-8")
    for rule in STRICTER:
        assert f"`{rule}`" in text, rule
