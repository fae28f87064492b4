import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from praisonaiagents.eval import package as theirs

from tracestream import package as ours
from tracestream.errors import ConfigError

CASE = {
    "name": "addition",
    "input": "What is 2 + 2?",
    "expected": "4",
    "criteria": ["correct"],
    "metadata": {"level": 1},
    "timeout_seconds": 2.5,
}
PACKAGE = {
    "name": "math",
    "description": "Sums",
    "version": "2.0.0",
    "cases": [CASE, {**CASE, "name": "again"}],
    "thresholds": {"accuracy": 0.9},
    "seed": 7,
}
RESULT = {
    "case_name": "addition",
    "passed": True,
    "score": 0.5,
    "actual_output": "4",
    "error": "late",
    "latency_ms": 12.5,
    "criteria_scores": {"correct": 1.0},
    "record": {"messages": []},
}
REPORT = {
    "package_name": "math",
    "total_cases": 4,
    "passed_cases": 3,
    "failed_cases": 1,
    "average_score": 0.5,
    "pass_rate": 0.75,
    "thresholds_met": {"accuracy": False},
    "results": [RESULT],
}
DOCUMENTS = {
    "EvalCase": CASE,
    "EvalPackage": PACKAGE,
    "EvalResult": RESULT,
    "EvalReport": REPORT,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_fields_order_and_defaults_are_the_references(name):
    def shape(module):
        return [
            (f.name, f.default, f.default_factory is not MISSING and f.default_factory())
            for f in fields(getattr(module, name))
        ]

    assert shape(ours) == shape(theirs)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_dict_becomes_an_object_and_the_same_dict_again(name):
    made = getattr(ours, name).from_dict(DOCUMENTS[name]).to_dict()
    assert made == DOCUMENTS[name]
    assert list(made) == list(DOCUMENTS[name])


@pytest.mark.parametrize("name", ["EvalCase", "EvalPackage", "EvalResult"])
def test_the_references_dict_is_ours(name):
    document = DOCUMENTS[name]
    short = {
        key: document[key]
        for key in ("name", "input", "case_name", "passed", "score")
        if key in document
    }
    for data in (document, short):
        made = getattr(theirs, name).from_dict(data).to_dict()
        assert getattr(ours, name).from_dict(data).to_dict() == made
        assert list(getattr(ours, name).from_dict(data).to_dict()) == list(made)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("EvalCase", "name"),
        ("EvalCase", "input"),
        ("EvalPackage", "name"),
        ("EvalResult", "case_name"),
        ("EvalResult", "passed"),
        ("EvalResult", "score"),
        *(("EvalReport", key) for key in list(REPORT)[:5]),
    ],
)
def test_what_has_no_default_must_be_there(name, key):
    data = {each: value for each, value in DOCUMENTS[name].items() if each != key}
    with pytest.raises(ConfigError, match=rf"^{name} needs '{key}'\nHint: "):
        getattr(ours, name).from_dict(data)


@pytest.mark.parametrize("data", [None, [], "name", 7], ids=repr)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_no_mapping_is_refused(name, data):
    with pytest.raises(ConfigError, match=f"^{name} is made of a mapping, not of a "):
        getattr(ours, name).from_dict(data)


def test_a_case_in_a_package_is_refused_like_one_by_itself():
    with pytest.raises(ConfigError, match="EvalCase needs 'input'"):
        ours.EvalPackage.from_dict({"name": "math", "cases": [{"name": "addition"}]})


@pytest.mark.parametrize("empty", ["", None])
def test_names_and_inputs_are_not_empty(empty):
    for make in (
        lambda: ours.EvalCase(empty, "input"),
        lambda: ours.EvalCase("name", empty),
        lambda: ours.EvalPackage(empty),
    ):
        with pytest.raises(ValueError, match=r"must have an? (name|input)\nHint: "):
            make()


def test_cases_are_added_in_their_order():
    cases = [ours.EvalCase(name, "input") for name in "abc"]
    package = ours.EvalPackage("p")
    package.add_case(cases[0])
    package.add_cases(iter(cases[1:]))
    assert (package.cases, len(package)) == (cases, 3)
    assert ours.EvalPackage("another").cases == []


def test_a_function_that_verifies_stays_out_of_documents():
    case = ours.EvalCase("name", "input", verify=max)
    assert case.verify is max
    assert "verify" not in case.to_dict()


@pytest.mark.parametrize(
    ("total", "passed", "failed", "pass_rate", "all_passed"),
    [(0, 0, 0, 0.0, True), (3, 3, 0, 1.0, True), (4, 3, 1, 0.75, False), (2, 2, 1, 1.0, False)],
)
def test_counts_of_a_report(total, passed, failed, pass_rate, all_passed):
    report = ours.EvalReport("p", total, passed, failed, 0.0)
    assert (report.pass_rate, report.all_passed) == (pass_rate, all_passed)
    assert report.to_dict() == theirs.EvalReport("p", total, passed, failed, 0.0).to_dict()


def test_reading_and_writing_packages_takes_the_standard_library_alone():
    code = (
        "import sys; from tracestream import EvalPackage, EvalReport, to_evalport, report_to_evalport;"
        "print(*{name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=Path(ours.__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) <= {"__main__", "tracestream"}
