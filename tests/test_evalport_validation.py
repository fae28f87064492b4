import bz2
import gzip
import io
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests import evalport
from tests.evalport import GRADERS, grader_result, result, result_set, suite
from tracestream.errors import EvalPortError
from tracestream.evalport import conformance, validation
from tracestream.evalport.faults import HINTS
from tracestream.evalport.validation import Validator, check_value, validate_value
from tracestream.sources import Source

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


def validate(data, name="a.json", **options):
    """What validating bytes gave that could have been a file of this name."""
    source = Source(0, name, stream=io.BytesIO(data))
    found, *_ = Validator(**options).source(source)  # what a suite names comes behind
    for each in found.faults:
        assert each.code in HINTS
        assert each.message
        assert each.hint
    return found


def faults(data, name="a.json", **options):
    return [(each.code, each.pointer) for each in validate(data, name, **options).faults]


def value_faults(value, kind=None):
    found = validate_value(value, kind=kind)
    text = json.dumps(value).encode()
    assert faults(text, kind=kind) == [(each.code, each.pointer) for each in found.faults]
    return [(each.code, each.pointer, each.keyword) for each in found.faults]


def changed(document, path, value=None):
    """A document with another value at a path; None: without it."""
    *steps, last = path
    into = document
    for step in steps:
        into = into[step]
    if value is None:
        del into[last]
    else:
        into[last] = value
    return document


@pytest.mark.parametrize(
    ("document", "kind", "n_elements"),
    [
        (suite(), "suite", 3),
        (result_set(), "resultset", 3),
        (evalport.case(input=["one", "two"]), "testcase", 0),
        (GRADERS[3], "grader", 0),
    ],
    ids=["suite", "resultset", "testcase", "grader"],
)
def test_a_document_tells_its_kind_by_its_fields(document, kind, n_elements):
    for value in (document, dict(reversed(document.items()))):
        for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value) + "\n"):
            found = validate(text.encode())
            assert (found.kind, found.n_documents, found.n_elements) == (kind, 1, n_elements)
            assert found.is_valid, found.faults


def test_the_documents_of_the_page_are_valid():
    page = SHARED / "seeds" / "evalport-adapter.txt"
    if not page.exists():
        pytest.skip("the seed page is not there")
    text = page.read_text("utf-8")
    begins = [at for at in range(len(text)) if text.startswith('{\n  "version": "1.0.0-rc.5"', at)]
    documents = [json.JSONDecoder().raw_decode(text, at)[0] for at in begins]
    kinds = [validate_value(document) for document in documents]
    assert [(found.kind, found.faults) for found in kinds] == [("suite", []), ("resultset", [])]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (changed(suite(), ["id"]), ("", "required")),
        (changed(suite(), ["id"], ""), ("/id", "minLength")),
        (changed(suite(), ["version"], "1.0"), ("/version", "pattern")),
        (changed(suite(), ["version"], "01.0.0"), ("/version", "pattern")),
        (changed(suite(), ["version"], "1.0.0\n"), ("/version", "pattern")),
        (changed(suite(), ["test_cases"], []), ("/test_cases", "minItems")),
        (changed(suite(), ["test_cases"], {}), ("/test_cases", "type")),
        (changed(suite(), ["test_cases"]), ("", "required")),
        (suite(test_cases_file="a.jsonl"), ("/test_cases", "falseSchema")),
        (suite(extra=1), ("/extra", "additionalProperties")),
        (suite(config={"parallel": 0}), ("/config/parallel", "minimum")),
        (suite({"id": "a", "graders": ["exact"]}), ("/test_cases/0", "required")),
        (suite(evalport.case(input=[])), ("/test_cases/0/input", "minItems")),
        (suite(evalport.case(input=["a", 1])), ("/test_cases/0/input/1", "type")),
        (suite(evalport.case(graders=[])), ("/test_cases/0/graders", "minItems")),
        (suite(evalport.case(graders=[1])), ("/test_cases/0/graders/0", "type")),
        (suite(evalport.case(timeout_ms=0)), ("/test_cases/0/timeout_ms", "minimum")),
        (suite(evalport.case(timeout_ms=1.5)), ("/test_cases/0/timeout_ms", "type")),
        (
            suite(evalport.case(graders=[{"id": "g", "type": "contains"}])),
            ("/test_cases/0/graders/0", "required"),
        ),
        (changed(suite(), ["graders", 1, "params"], {}), ("/graders/1/params", "required")),
        (
            changed(suite(), ["graders", 3, "params", "threshold"], 1.5),
            ("/graders/3/params/threshold", "maximum"),
        ),
        (
            changed(suite(), ["graders", 4, "params", "prompt"], "good?"),
            ("/graders/4/params/prompt", "pattern"),
        ),
        (changed(suite(), ["graders", 5, "params", "model"]), ("/graders/5/params", "required")),
        (
            changed(suite(), ["graders", 6, "params", "schema"], {"type": "thing"}),
            ("/graders/6/params/schema", None),
        ),
        (
            changed(suite(), ["graders", 8, "params", "language"], "perl"),
            ("/graders/8/params/language", "enum"),
        ),
        (changed(suite(), ["graders", 11, "params"]), ("/graders/11", "required")),
        (changed(result_set(), ["suite_id"]), ("", "required")),
        (changed(result_set(), ["results"], []), ("/results", "minItems")),
        (changed(result_set(), ["started_at"], "yesterday"), ("/started_at", "format")),
        (changed(result_set(), ["started_at"], "2026-13-01T00:00:00Z"), ("/started_at", "format")),
        (result_set(extra=1), ("/extra", "additionalProperties")),
        (result_set(summary={"total": -1}), ("/summary/total", "minimum")),
        (result_set(result("a", score=1.01)), ("/results/0/grader_results/0/score", "maximum")),
        (result_set(result("a", score=True)), ("/results/0/grader_results/0/score", "type")),
        (result_set(result("a", duration_ms=-1)), ("/results/0/duration_ms", "minimum")),
        (result_set(result("a", attempt=0)), ("/results/0/attempt", "minimum")),
        (result_set(result("a", attempt=1.0)), ("/results/0/attempt", "type")),
        (result_set(result("a", actual_output=1)), ("/results/0/actual_output", "type")),
        (result_set(result("a", error={"type": "crash"})), ("/results/0/error/type", "enum")),
        (result_set(result("a", extra=1)), ("/results/0/extra", "additionalProperties")),
        (
            result_set(metadata={}, results=[{**result("a"), "grader_results": [1]}]),
            ("/results/0/grader_results/0", "type"),
        ),
        (
            result_set(result("a", metadata={"openeval.aggregation": {"strategy": "weighted"}})),
            ("/results/0/metadata/openeval.aggregation", "required"),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_schema_names_the_field_that_it_refuses(document, expected):
    assert value_faults(document) == [("SCHEMA_INVALID", *expected)]


def test_all_faults_are_told():
    document = result_set(result("a", score=7), result("b", extra=1), result("c", attempt=0))
    document["started_at"] = 5
    del document["run_id"]
    assert [pointer for _, pointer, _ in value_faults(document)] == [
        "/results/0/grader_results/0/score",
        "/results/1/extra",
        "/results/2/attempt",
        "",
        "/started_at",
    ]


def test_only_so_many_faults_are_held_and_all_are_counted():
    document = result_set(*(result(f"r{n}", score=7) for n in range(50)))
    found = validate(json.dumps(document).encode(), max_faults=3)
    assert [each.pointer[:10] for each in found.faults] == [
        "/results/0",
        "/results/1",
        "/results/2",
    ]
    assert found.counts == {"SCHEMA_INVALID": 50}


@pytest.mark.parametrize("key_order", [1, -1])
def test_a_newer_minor_version_may_have_fields_that_are_not_known(key_order):
    document = result_set(result("a", extra=1), extra=1)
    ordered = dict(list(document.items())[::key_order])
    assert len(value_faults(ordered)) == 2
    ordered["version"] = "1.3.0"
    assert value_faults(ordered) == []
    ordered["started_at"] = "never"
    assert value_faults(ordered) == [("SCHEMA_INVALID", "/started_at", "format")]


@pytest.mark.parametrize("version", ["2.0.0", "2.0.0-rc.1", "99999999999999999999.0.0"])
def test_a_higher_major_version_is_refused_in_the_words_of_the_spec(version):
    found = validate_value(result_set(result("a", score=7), version=version, extra=1))
    (fault,) = found.faults
    assert (fault.code, fault.pointer) == ("VERSION_UNSUPPORTED", "/version")
    assert fault.message == f"Unsupported EvalPort major version: {version}. Supported: 1.x"


def test_a_document_without_a_telling_field_is_no_kind():
    (fault,) = validate(b'{"id": "a", "metadata": {}}').faults
    assert (fault.code, "--kind" in fault.hint) == ("KIND_UNKNOWN", True)
    (fault,) = validate(b'{"name": "a", "cases": []}').faults
    assert "evalport export" in fault.hint
    assert faults(b'{"id": "a"}', kind="grader") == [("SCHEMA_INVALID", "")]


def test_lines_are_test_cases_of_one_suite():
    lines = [evalport.case("a"), evalport.case("b"), evalport.case("a")]
    data = b"\n\r\n".join(json.dumps(line).encode() for line in lines) + b"\n{bad\n[1]"
    for name in ("a.jsonl", "-"):
        found = validate(data, name)
        assert (found.kind, found.n_documents) == ("testcase", 5)
        assert [(each.code, each.pointer, each.line) for each in found.faults] == [
            ("DUPLICATE_ID", "/id", 5),
            ("NOT_JSON", "", 6),
            ("SCHEMA_INVALID", "", 7),
        ]


DAMAGE = {
    "empty": (b"", [("EMPTY", "")]),
    "blank": (b" \n\n", [("EMPTY", "")]),
    "cut": (b'{"id": "a", "inp', [("NOT_JSON", "")]),
    "cut-in-results": (json.dumps(result_set()).encode()[:-100], [("NOT_JSON", "")]),
    "garbage": (b"{]", [("NOT_JSON", "")]),
    "list": (b"[]", [("NOT_JSON", "")]),
    "utf16": (b"\xff\xfe" + '{"id": 1}'.encode("utf-16-le"), [("NOT_UTF8", "")]),
    "no-utf8": (b'{"input": "\xff"}', [("NOT_UTF8", "/input")]),
    "nan": (b'{"input": "a", "weight": NaN}', [("NOT_FINITE", "/weight")]),
    "infinite": (b'{"input": "a", "weight": 1e999}', [("NOT_FINITE", "/weight")]),
    "nan-inside": (b'{"metadata": {"a": [1, -Infinity]}}', [("NOT_FINITE", "/metadata/a/1")]),
    "surrogate": (b'{"input": "\\ud800"}', [("NOT_JSON", "/input")]),
    "surrogate-key": (b'{"metadata": {"\\udc00": 1}}', [("NOT_JSON", "/metadata/\ufffd")]),
    "surrogate-field": (b'{"input": "a", "\\udc00": 1}', [("NOT_JSON", "")]),
    "deep": (b'{"metadata": %b1%b}' % (b"[" * 200, b"]" * 200), [("TOO_DEEP", "/metadata")]),
    "very-deep": (b'{"metadata": %b' % (b"[" * 200_000), [("NOT_JSON", "")]),
    "digits": (b'{"input": "a", "weight": %b}' % (b"7" * 5000), [("NOT_JSON", "/weight")]),
    "control": (b'{"input": "a\x01"}', [("NOT_JSON", "/input")]),
    "follows": (
        b'{"id": "g",\n"type": "human"} {}',
        [("NOT_JSON", "")],
    ),
}


@pytest.mark.parametrize(("data", "expected"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_a_clear_fault(data, expected):
    found = validate(data)
    assert [(each.code, each.pointer) for each in found.faults] == expected
    assert not found.is_unreadable


def test_a_key_that_comes_twice_is_told_with_its_place():
    data = b'{"metadata": {"a": {"b": 1, "c": 2, "b": 3}}, "id": "g", "type": "human", "id": "h"}'
    assert faults(data, kind="testcase")[:2] == [
        ("DUPLICATE_KEY", "/metadata/a/b"),
        ("DUPLICATE_KEY", "/id"),
    ]
    lines = b'{"id": "a", "input": "b", "graders": ["g"], "id": "a"}\n'
    assert faults(lines, "a.jsonl") == [("DUPLICATE_KEY", "/id")]
    twice = json.dumps(result_set())[:-1] + ', "results": []}'
    assert faults(twice.encode()) == [("DUPLICATE_KEY", "/results")]


def test_faults_in_an_element_leave_the_others():
    good, bad = json.dumps(result("a")), json.dumps(result("b")).replace("1.0", "NaN")
    head = json.dumps(result_set()).partition('"results"')[0]
    data = f'{head}"results": [{good}, {bad}, , {json.dumps(result("c", attempt=0))}]}}'
    assert faults(data.encode()) == [
        ("NOT_FINITE", "/results/1/grader_results/0/score"),
        ("NOT_JSON", "/results/2"),
        ("SCHEMA_INVALID", "/results/3/attempt"),
    ]


def test_an_object_of_very_many_fields_is_not_read_on():
    data = json.dumps({f"f{n}": 1 for n in range(12_000)}).encode()
    assert faults(data) == [("TOO_LARGE", "")]


def test_a_part_over_the_cap_is_a_fault(monkeypatch):
    monkeypatch.setattr("tracestream.evalport.documents.MAX_PART_BYTES", 400)
    data = json.dumps(result_set(result("a", actual_output="x" * 400), result("b")))
    assert faults(data.encode()) == [("TOO_LARGE", "/results/0")]
    lines = json.dumps(evalport.case(input="x" * 400)) + "\n" + json.dumps(evalport.case())
    assert faults(lines.encode(), "a.jsonl") == [("TOO_LARGE", "")]


def test_compressed_files_are_read_and_cut_ones_told(tmp_path):
    data = json.dumps(result_set()).encode()
    for name, packed in (("a.json.gz", gzip.compress(data)), ("a.json.bz2", bz2.compress(data))):
        path = tmp_path / name
        path.write_bytes(packed)
        (found,) = Validator().source(Source(0, name, str(path)))
        assert found.is_valid
        path.write_bytes(packed[:-12])
        (found,) = Validator().source(Source(0, name, str(path)))
        assert "NOT_JSON" in found.counts


def test_a_file_that_cannot_be_opened_is_unreadable(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        (found,) = Validator().source(Source(0, path.name, str(path)))
        assert found.is_unreadable
        assert [each.code for each in found.faults] == ["UNREADABLE"]


def test_memory_follows_neither_the_file_nor_its_faults(tmp_path):
    import tracemalloc

    def peak(n_results):
        path = tmp_path / "big.json"
        one = json.dumps(result("r", score=2, actual_output="x" * 5000))
        with path.open("w") as file:
            file.write(json.dumps(result_set())[:-1].partition('"results"')[0] + '"results": [')
            file.write(",".join(one for _ in range(n_results)) + "]}")
        tracemalloc.start()
        (found,) = Validator(max_faults=10).source(Source(0, "big.json", str(path)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.n_elements == n_results
        assert found.counts == {"SCHEMA_INVALID": n_results, "DUPLICATE_ID": n_results - 1}
        return peak

    few, many = peak(600), peak(3000)
    assert many < few + 500_000


def test_a_value_in_memory_is_held_to_json_too():
    document = result_set(result("a", metadata={"x": float("nan"), "y": (1, 2), "z": {1: 2}}))
    assert [(each.code, each.pointer) for each in validate_value(document).faults] == [
        ("NOT_FINITE", "/results/0/metadata/x"),
        ("NOT_JSON", "/results/0/metadata/y"),
        ("NOT_JSON", "/results/0/metadata/z/1"),
    ]


def test_depth_is_bounded_in_files_and_in_memory():
    def nested(levels):
        value = []
        for _ in range(levels - 1):
            value = [value]
        return value

    for levels in (100, 124):
        document = result_set(result("a", metadata={"x": nested(levels)}))
        assert value_faults(document) == []
    for levels in (129, 100_000):
        document = evalport.case(metadata={"x": nested(levels)})
        (fault,) = validate_value(document).faults
        assert fault.code == "TOO_DEEP"


def test_check_value_raises_with_the_first_fault():
    check_value(suite(), "suite")
    with pytest.raises(EvalPortError) as caught:
        check_value(suite(id="", extra=1), "suite")
    assert caught.value.pointer == "/id"
    assert str(caught.value) == (
        "not a valid EvalPort suite: /id SCHEMA_INVALID: it must not be empty (and 1 more)\n"
        "Hint: change the value, or leave the field out where it is optional."
    )


def test_no_message_holds_much_of_a_document():
    secret = "secret" * 50
    document = result_set(result(secret), result(secret, **{secret: 1}), version=f"2.0.0-{secret}")
    for version in (document["version"], "1.0.0"):
        for each in validate_value({**document, "version": version}).faults:
            assert each.message.count("secret") < 15
            assert each.pointer.count("secret") < 15


@pytest.mark.parametrize("kind", [*conformance.KINDS, conformance.PACKAGE])
def test_a_schema_is_one_and_is_published(kind):
    schema = conformance.schema(kind)
    Draft202012Validator.check_schema(schema)
    published = ROOT / "schemas" / "evalport" / f"{kind}.schema.json"
    assert json.loads(published.read_text("utf-8")) == schema
    assert len(list(published.parent.iterdir())) == len(conformance.KINDS) + 1


def test_an_unknown_grader_may_have_a_result():
    document = result_set({**result("a"), "grader_results": [grader_result("x", kind="anything")]})
    assert value_faults(document) == []


def test_the_limits_are_told_where_they_are():
    assert validation.MAX_FAULTS == 1000
