import json

import pytest

from tests import evalport
from tracestream.errors import EvalPortError
from tracestream.evalport import to_evalport
from tracestream.evalport.packages import read_package, read_suite
from tracestream.package import EvalPackage
from tracestream.sources import discover


def source(value, folder=None):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    if folder is None:
        return discover(data)[0]
    (folder / "given.json").write_bytes(data)
    return discover(str(folder / "given.json"))[0]


def test_a_package_becomes_the_suite_of_the_library():
    package = evalport.package()
    assert read_package(source(package)) == to_evalport(EvalPackage.from_dict(package))
    assert read_package(source(evalport.YAML_PACKAGE.encode()))["test_cases"][0]["graders"] == [
        "praisonai_verdict",
        "short",
    ]


def test_there_and_back_is_the_package(tmp_path):
    package = EvalPackage.from_dict(evalport.package(description="d", seed=3)).to_dict()
    (tmp_path / "suite.json").write_text(json.dumps(read_package(source(package))))
    back = read_suite(discover(str(tmp_path / "suite.json"))[0])
    assert back.package == package
    assert back.suite.is_valid


@pytest.mark.parametrize(
    ("package", "pointer", "words"),
    [
        ({"cases": []}, "", "'name' is missing"),
        ({"name": ""}, "/name", "must not be empty"),
        ({"name": "a"}, "/test_cases", "at least one element"),
        ({"name": "a", "cases": [{"name": "b"}]}, "/cases/0", "'input' is missing"),
        ({"name": "a", "cases": [1]}, "/cases/0", "must be an object"),
        (
            {"name": "a", "cases": [{"name": "b", "input": "x"}] * 2},
            "/test_cases/1/id",
            "DUPLICATE_ID",
        ),
        (evalport.package(thresholds={"a": "high"}), "/thresholds/a", "must be a number"),
        (b'{"name": NaN}', "/name", "NOT_FINITE"),
        (b'{"name": "a"', "", "cut off"),
        (b'{"name": "a", "name": "b"}', "/name", "stands twice"),
        (b"", "", "EMPTY"),
        (b'{"name": "a"}\n{"name": "b"}\n', "", "more than one document"),
    ],
)
def test_what_no_suite_can_be_made_of_is_refused(package, pointer, words):
    with pytest.raises(EvalPortError) as caught:
        read_package(source(package))
    assert caught.value.pointer == pointer
    assert words in str(caught.value)
    assert "\nHint: " in str(caught.value)


def test_a_suite_of_another_tool_is_read_and_judged():
    suite = {"id": "old", "cases": [{"name": "a", "input": "ping", "criteria": ["x"]}]}
    package, found = read_suite(source(suite))
    assert package["cases"][0]["criteria"] == ["x"]
    assert not found.is_valid


def test_a_suite_brings_its_file_of_test_cases(tmp_path):
    suite = evalport.suite(test_cases_file="cases.jsonl")
    del suite["test_cases"]
    lines = [evalport.case("a"), evalport.case("b")]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    package, found = read_suite(source(suite, tmp_path))
    assert [case["name"] for case in package["cases"]] == ["a", "b"]
    assert found.is_valid
    (tmp_path / "cases.jsonl").write_text("{bad\n")
    with pytest.raises(EvalPortError, match=r"cases\.jsonl:1: NOT_JSON"):
        read_suite(source(suite, tmp_path))


@pytest.mark.parametrize(
    ("suite", "pointer"),
    [
        ({"id": "s"}, "/test_cases"),
        ({"id": "s", "test_cases": [{"id": "a"}]}, "/test_cases/0/input"),
        ({"id": "s", "test_cases": 5}, "/test_cases"),
        (evalport.suite(name=5), "/name"),
    ],
)
def test_what_has_no_place_in_a_package_is_refused(suite, pointer):
    with pytest.raises(EvalPortError) as caught:
        read_suite(source(suite))
    assert caught.value.pointer == pointer
