"""The mapping by hand: what fits, what has a fallback, what is lossless, what is refused."""

import copy
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openeval.validate import validate_suite

from tracestream import EvalCase, EvalPackage, EvalPortError, from_evalport, to_evalport

# The suite that the format's adapter page prints.
PRINTED = {
    "version": "1.0.0-rc.5",
    "id": "math_eval",
    "name": "math_eval",
    "graders": [
        {
            "id": "praisonai_verdict",
            "type": "custom",
            "params": {"handler": "praisonaiagents.eval"},
            "description": "PraisonAI per-case verdict (EvalResult.passed/score)",
        }
    ],
    "test_cases": [
        {
            "id": "addition",
            "input": "What is 2 + 2?",
            "graders": ["praisonai_verdict"],
            "expected_output": "4",
            "timeout_ms": 30000,
        }
    ],
    "metadata": {"praisonai": {"version": "1.0.0", "thresholds": {"accuracy": 0.9}, "seed": None}},
    "description": "Basic math evaluation",
}


def exported(**fields):
    """The test case that a case becomes."""
    (item,) = to_evalport(EvalPackage("p", cases=[EvalCase("c", "ping", **fields)]))["test_cases"]
    return item


def imported(**fields):
    """The case that a test case becomes."""
    (case,) = from_evalport({"test_cases": [{"id": "c", "input": "ping", **fields}]}).cases
    return case


def test_the_printed_suite_is_what_its_package_gives_and_comes_back():
    package = EvalPackage(
        name="math_eval",
        description="Basic math evaluation",
        cases=[EvalCase(name="addition", input="What is 2 + 2?", expected="4")],
        thresholds={"accuracy": 0.9},
    )
    assert json.dumps(to_evalport(package)) == json.dumps(PRINTED)
    assert from_evalport(PRINTED).to_dict() == package.to_dict()
    assert to_evalport(from_evalport(PRINTED)) == PRINTED


def test_a_suite_has_a_grader_for_the_verdict_and_each_criterion_once():
    cases = [
        EvalCase("a", "ping", criteria=["short", "right"]),
        EvalCase("b", "ping", criteria=["right", "praisonai_verdict", "kind", "right"]),
    ]
    suite = to_evalport(EvalPackage("p", cases=cases))
    assert [grader["id"] for grader in suite["graders"]] == [
        "praisonai_verdict",
        "short",
        "right",
        "kind",
    ]
    assert suite["graders"][1] == {
        "id": "short",
        "type": "custom",
        "params": {"handler": "praisonaiagents.eval"},
        "description": "PraisonAI criterion: short",
    }
    assert suite["test_cases"][1]["graders"] == ["praisonai_verdict", "right", "kind"]
    assert from_evalport(suite).cases[1].criteria == ["right", "kind"]
    assert validate_suite(suite).valid


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [(30.0, 30000), (0.0001, 1), (0.0015, 2), (0.0025, 2), (1.0006, 1001), (7, 7000), (True, 1000)],
)
def test_a_timeout_over_zero_is_whole_milliseconds_of_at_least_one(seconds, ms):
    item = exported(timeout_seconds=seconds)
    assert item["timeout_ms"] == ms
    assert type(item["timeout_ms"]) is int
    assert "metadata" not in item


@pytest.mark.parametrize("seconds", [0, -1, -0.5, False])
def test_another_timeout_stands_in_the_namespace_and_is_taken_out_again(seconds):
    item = exported(timeout_seconds=seconds)
    assert "timeout_ms" not in item
    assert item["metadata"] == {"praisonai": {"timeout_seconds": seconds}}
    assert imported(**item).to_dict() == EvalCase("c", "ping", timeout_seconds=seconds).to_dict()


def test_what_else_is_in_the_namespace_stays():
    metadata = {"praisonai": {"owner": "us"}, "level": 1}
    item = exported(timeout_seconds=0, metadata=metadata)
    assert item["metadata"]["praisonai"] == {"owner": "us", "timeout_seconds": 0}
    assert imported(**item).metadata == metadata == {"praisonai": {"owner": "us"}, "level": 1}
    # Beside timeout_ms it is not ours, and says nothing.
    item = exported(metadata={"praisonai": {"timeout_seconds": 5}})
    assert imported(**item).metadata == {"praisonai": {"timeout_seconds": 5}}
    assert imported(**item).timeout_seconds == 30.0


def test_no_timeout_is_not_written():
    assert exported(timeout_seconds=None) == {
        "id": "c",
        "input": "ping",
        "graders": ["praisonai_verdict"],
    }


# ---- documents of other tools ----


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({}, 30.0),
        ({"timeout_ms": 1500}, 1.5),
        ({"timeout_ms": 1, "timeout_seconds": 9}, 0.001),
        ({"timeout_seconds": 9, "metadata": {"timeout_seconds": 8}}, 9),
        ({"metadata": {"timeout_seconds": 8, "praisonai": {"timeout_seconds": 7}}}, 7),
        ({"metadata": {"timeout_seconds": 8}}, 8),
        ({"metadata": {"praisonai": 7}}, 30.0),
        ({"metadata": {"praisonai": "timeout_seconds"}}, 30.0),
        ({"metadata": {"praisonai": ["timeout_seconds"]}}, 30.0),
    ],
    ids=str,
)
def test_timeouts_are_found_where_they_may_stand(fields, seconds):
    assert imported(**fields).timeout_seconds == seconds


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ({"name": "n", "id": "i"}, "n"),
        ({"name": "", "id": "i"}, "i"),
        ({"id": None}, "suite"),
        ({}, "suite"),
    ],
    ids=str,
)
def test_a_suite_without_a_name_has_its_id_or_suite(suite, name):
    assert from_evalport(suite).name == name


@pytest.mark.parametrize(
    ("item", "name"),
    [({"id": "i", "name": "n"}, "i"), ({"id": "", "name": "n"}, "n"), ({}, "case")],
    ids=str,
)
def test_a_case_without_an_id_has_its_name_or_case(item, name):
    assert from_evalport({"cases": [{"input": "ping", **item}]}).cases[0].name == name


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"expected_output": "a", "expected": "b"}, "a"),
        ({"expected_output": None, "expected": "b"}, None),
        ({"expected": "b"}, "b"),
        ({}, None),
    ],
    ids=str,
)
def test_an_expected_output_may_be_called_expected(fields, expected):
    assert imported(**fields).expected == expected


@pytest.mark.parametrize(
    ("fields", "criteria"),
    [
        ({"graders": ["a", "praisonai_verdict", "b", "a"]}, ["a", "b", "a"]),
        ({"graders": [{"id": "a", "type": "human"}, {"type": "human"}, "", None]}, ["a"]),
        ({"graders": [], "criteria": ["a"]}, ["a"]),
        ({"graders": ("a",), "criteria": ["b"]}, ["a"]),
        ({"graders": None, "criteria": None}, []),
    ],
    ids=str,
)
def test_graders_that_are_not_the_verdict_are_criteria(fields, criteria):
    assert imported(**fields).criteria == criteria


def test_an_input_of_several_turns_comes_through():
    package = from_evalport({"test_cases": [{"id": "c", "input": ["hello", "again"]}]})
    assert package.cases[0].input == ["hello", "again"]
    assert from_evalport(to_evalport(package)).to_dict() == package.to_dict()


def test_test_cases_go_before_cases():
    suite = {"test_cases": [], "cases": [{"input": "ping"}]}
    assert len(from_evalport(suite)) == 0


@pytest.mark.parametrize(
    ("suite", "version", "thresholds", "seed"),
    [
        ({"version": "1.0.0-rc.5"}, "1.0.0", {}, None),
        ({"version": "3.0.0", "evalport_version": "1"}, "3.0.0", {}, None),
        ({"thresholds": {"a": 1}, "seed": 7}, "1.0.0", {"a": 1}, 7),
        (
            {
                "thresholds": {"a": 1},
                "seed": 7,
                "metadata": {"praisonai": {"version": "2", "thresholds": {"b": 2}, "seed": None}},
            },
            "2",
            {"b": 2},
            None,
        ),
    ],
    ids=str,
)
def test_what_a_package_has_stands_in_the_namespace_or_at_the_top(suite, version, thresholds, seed):
    package = from_evalport(suite)
    assert (package.version, package.thresholds, package.seed) == (version, thresholds, seed)


# ---- laws ----

TEXTS = st.text(min_size=1)
NAMES = TEXTS.filter(lambda text: text != "praisonai_verdict")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
MILLISECONDS = st.integers(1, 10**9).map(lambda ms: ms / 1000)


def metadata_of(seconds):
    """Metadata that a case with such a timeout keeps; its own namespace may be there."""
    own = st.dictionaries(st.text().filter(lambda key: key != "timeout_seconds"), JSON, min_size=1)
    native = JSON if seconds > 0 else own
    plain = st.dictionaries(st.text().filter(lambda key: key != "praisonai"), JSON, max_size=3)
    return plain | st.tuples(plain, native).map(lambda parts: {**parts[0], "praisonai": parts[1]})


@st.composite
def cases(draw):
    seconds = draw(MILLISECONDS | st.floats(max_value=0, allow_nan=False) | st.integers(-5, 5))
    return EvalCase(
        name=draw(TEXTS),
        input=draw(TEXTS),
        expected=draw(st.none() | st.text()),
        criteria=draw(st.lists(NAMES, unique=True, max_size=4)),
        metadata=draw(metadata_of(seconds)),
        timeout_seconds=seconds,
    )


@st.composite
def packages(draw):
    return EvalPackage(
        name=draw(TEXTS),
        description=draw(st.text()),
        version=draw(TEXTS),
        cases=draw(st.lists(cases(), min_size=1, max_size=4, unique_by=lambda case: case.name)),
        thresholds=draw(st.dictionaries(st.text(), st.floats(allow_nan=False), max_size=3)),
        seed=draw(st.none() | st.integers()),
    )


@given(packages())
def test_there_and_back_is_the_same_package(package):
    before = copy.deepcopy(package)
    suite = to_evalport(package)
    kept = copy.deepcopy(suite)
    assert validate_suite(suite).valid
    assert from_evalport(suite).to_dict() == package.to_dict()
    assert from_evalport(json.loads(json.dumps(suite))).to_dict() == package.to_dict()
    assert (package, suite) == (before, kept)


def test_a_timeout_that_is_no_number_is_kept_where_it_can_be():
    item = exported(timeout_seconds=math.nan)
    assert math.isnan(item["metadata"]["praisonai"]["timeout_seconds"])
    assert math.isnan(imported(**item).timeout_seconds)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"timeout_seconds": math.inf}, "/test_cases/1/timeout_ms"),
        ({"timeout_seconds": 1e306}, "/test_cases/1/timeout_ms"),
        ({"timeout_seconds": "30"}, "/test_cases/1/timeout_ms"),
        ({"criteria": 7}, "/test_cases/1/graders"),
        ({"criteria": [["a"]]}, "/test_cases/1/graders"),
        ({"metadata": "text"}, "/test_cases/1/metadata"),
        ({"metadata": [["a", 1]]}, "/test_cases/1/metadata"),
        (
            {"metadata": {"praisonai": "x"}, "timeout_seconds": 0},
            "/test_cases/1/metadata/praisonai",
        ),
    ],
    ids=str,
)
def test_what_has_no_place_in_a_suite_is_refused_with_the_place(fields, pointer):
    package = EvalPackage("p", cases=[EvalCase("a", "ping"), EvalCase("b", "ping", **fields)])
    with pytest.raises(EvalPortError, match="\nHint: ") as caught:
        to_evalport(package)
    assert caught.value.pointer == pointer
    assert pointer in str(caught.value)


def test_thresholds_are_a_mapping():
    with pytest.raises(EvalPortError) as caught:
        to_evalport(EvalPackage("p", thresholds=7))
    assert caught.value.pointer == "/metadata/praisonai/thresholds"


@pytest.mark.parametrize(
    ("suite", "pointer"),
    [
        (None, ""),
        ([], ""),
        ("text", ""),
        ({"test_cases": None}, "/test_cases"),
        ({"cases": 7}, "/cases"),
        ({"test_cases": {"a": 1}}, "/test_cases/0"),
        ({"test_cases": [{"input": "ping"}, None]}, "/test_cases/1"),
        ({"metadata": "text"}, "/metadata"),
        ({"metadata": {"praisonai": 7}}, "/metadata/praisonai"),
        ({"metadata": {"praisonai": {"thresholds": 7}}}, "/metadata/praisonai/thresholds"),
        ({"test_cases": [{"id": "c"}]}, "/test_cases/0/input"),
        ({"cases": [{"id": "c", "input": []}]}, "/cases/0/input"),
        ({"test_cases": [{"input": "ping", "metadata": 7}]}, "/test_cases/0/metadata"),
        ({"test_cases": [{"input": "ping", "graders": 7}]}, "/test_cases/0/graders"),
        ({"test_cases": [{"input": "ping", "timeout_ms": None}]}, "/test_cases/0/timeout_ms"),
        ({"test_cases": [{"input": "ping", "timeout_ms": "1"}]}, "/test_cases/0/timeout_ms"),
        ({"test_cases": [{"input": "ping", "timeout_ms": 10**400}]}, "/test_cases/0/timeout_ms"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_no_suite_is_refused_with_the_place(suite, pointer):
    with pytest.raises(EvalPortError, match="\nHint: ") as caught:
        from_evalport(suite)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "package",
    [EvalPackage("p"), EvalPackage("p", cases=[EvalCase("c", "ping"), EvalCase("c", "pong")])],
    ids=["no cases", "two of one name"],
)
def test_a_suite_that_cannot_be_valid_is_given_as_it_is(package):
    assert not validate_suite(to_evalport(package)).valid
    assert from_evalport(to_evalport(package)).to_dict() == package.to_dict()
