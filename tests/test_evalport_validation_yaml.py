import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests import evalport
from tests.test_evalport_validation import faults, validate
from tracestream.evalport import yamltext
from tracestream.evalport.yamltext import read_yaml


def codes(text):
    data = text if isinstance(text, bytes) else text.encode()
    return [(each.code, each.pointer) for each in read_yaml(data).faults]


def test_a_suite_in_yaml_is_one():
    for name in ("suite.yaml", "suite.yml", "-", "suite.txt"):
        found = validate(evalport.YAML_SUITE.encode(), name)
        assert (found.kind, found.n_elements, found.faults) == ("suite", 3, [])
    assert faults(evalport.YAML_SUITE.encode(), "suite.json") == [("NOT_JSON", "")]
    broken = evalport.YAML_SUITE.replace("[exact]}", "[near]}", 1)
    assert faults(broken.encode(), "s.yaml") == [("DANGLING_REFERENCE", "/test_cases/0/graders/0")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-15", "2026-01-15"),
        ("2026-01-15T10:30:00Z", "2026-01-15T10:30:00Z"),
        ("yes", "yes"),
        ("No", "No"),
        ("off", "off"),
        ("1:20", "1:20"),
        ("1_000", "1_000"),
        ("0o17", 15),
        ("0x1F", 31),
        ("017", 17),
        ("-12", -12),
        ("+12", 12),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-1.", -1.0),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 1", "1"),
        ("! 1", "1"),
        ("!!float 1", 1),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("[a, {b: 1}]", ["a", {"b": 1}]),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    found = read_yaml(f"a: {text}\n".encode())
    assert found == ({"a": value}, [])
    assert type(found.value["a"]) is type(value)


def test_aliases_stand_for_what_they_name():
    text = "a: &x {b: [1]}\nc: *x\nd: [*x, &y text, *y]\n"
    shared = {"b": [1]}
    assert read_yaml(text.encode()).value == {
        "a": shared,
        "c": shared,
        "d": [shared, "text", "text"],
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("EMPTY", "")),
        ("# nothing\n", ("EMPTY", "")),
        ("a: [", ("NOT_YAML", "")),
        ("a: b: c", ("NOT_YAML", "")),
        ("a: \x01", ("NOT_YAML", "")),
        (b"a: \xff", ("NOT_UTF8", "")),
        ("a: .nan", ("NOT_FINITE", "/a")),
        ("a: [-.inf]", ("NOT_FINITE", "/a/0")),
        ("a: 1e999", ("NOT_FINITE", "/a")),
        ("a: " + "7" * 5000, ("NOT_YAML", "/a")),
        ("a: 1\na: 2\n", ("DUPLICATE_KEY", "/a")),
        ("a: {b: 1, b: 2}", ("DUPLICATE_KEY", "/a/b")),
        ("1: a", ("NOT_YAML", "")),
        ("true: a", ("NOT_YAML", "")),
        ("? [a]\n: b", ("NOT_YAML", "")),
        ("<<: {a: 1}", ("NOT_YAML", "")),
        ("a: !!python/object:os.system x", ("NOT_YAML", "/a")),
        ("a: !mine {}", ("NOT_YAML", "/a")),
        ("a: !!int x", ("NOT_YAML", "/a")),
        ("a: *x", ("NOT_YAML", "/a")),
        ("&x [*x]", ("NOT_YAML", "/0")),
        ("a: 1\n---\nb: 2\n", ("NOT_YAML", "")),
    ],
)
def test_what_json_cannot_say_is_a_fault(text, expected):
    assert codes(text) == [expected]


def test_depth_is_bounded_also_through_aliases():
    assert codes("[" * 128 + "]" * 128) == []
    assert [code for code, _ in codes("[" * 129 + "]" * 129)] == ["TOO_DEEP"]
    assert [code for code, _ in codes("[" * 900)] == ["TOO_DEEP"]
    assert codes("[" * 100_000)  # the parser has a limit of its own
    chain = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200))
    assert [code for code, _ in codes(chain)] == ["TOO_DEEP"]


def test_a_bomb_of_aliases_is_refused_before_it_is_built():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 20)
    )
    assert codes(bomb) == [("TOO_LARGE", "")]
    long = "a: &a " + "x" * 100_000 + "\nb: [" + ", ".join(["*a"] * 1000) + "]\n"
    assert codes(long) == [("TOO_LARGE", "")]


def test_a_file_over_the_cap_is_not_parsed(monkeypatch):
    monkeypatch.setattr(yamltext, "MAX_YAML_BYTES", 100)
    monkeypatch.setattr("tracestream.evalport.documents.MAX_YAML_BYTES", 100)
    assert faults(b"a: b\n" * 21, "a.yaml") == [("TOO_LARGE", "")]


# Beyond U+FFFF JSON escapes a character as two halves, which YAML does not allow; nor does it keys of over
# 1,024 characters, escapes counted.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF), max_size=100)


def json_values(texts):
    """JSON values with such texts in them."""
    return st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=12,
    )


@given(json_values(TEXTS))
def test_json_in_ascii_is_yaml_and_means_the_same(value):
    assert read_yaml(json.dumps({"a": value}).encode()) == ({"a": value}, [])


# PyYAML writes YAML 1.1: it leaves a text like 0E0 without quotes, which is a number in YAML 1.2.
@given(
    json_values(TEXTS.filter(lambda text: not re.fullmatch(r"[-+.]?[0-9][-+.0-9a-zA-Z]*", text)))
)
def test_what_pyyaml_writes_comes_back(value):
    assert read_yaml(yaml.safe_dump({"a": value}).encode()) == ({"a": value}, [])


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
def test_both_parsers_of_pyyaml_give_the_same(monkeypatch, loader):
    monkeypatch.setattr(yamltext, "_LOADER", loader)
    assert validate(evalport.YAML_SUITE.encode(), "a.yaml").is_valid
    assert codes("a: [") == [("NOT_YAML", "")]
    assert codes("a: &x [*x]") == [("NOT_YAML", "/a/0")]
