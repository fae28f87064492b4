"""Graders: what each makes of an output, and which parameters none can be graded by."""

import json
import math
import os
import re
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracestream.evalport.aggregation import vote, weighted_mean
from tracestream.evalport.codegrader import CodeFailed, code, run_code
from tracestream.evalport.graders import (
    Sample,
    Unfit,
    contains,
    exact_match,
    expected_tools,
    matches,
    regex,
    unsupported,
)
from tracestream.evalport.jsongraders import json_path, json_schema
from tracestream.quality import DETAIL_CHARS

PREPARE = {
    "exact_match": exact_match,
    "contains": contains,
    "regex": regex,
    "json_schema": json_schema,
    "json_path": json_path,
}
NESTED = {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}

# Grader, parameters, output, and whether it passes. Whatever was said, the runner that the spec's authors
# publish (`evalport run`) says the same of each.
AGREED = [
    ("exact_match", {}, "  want\n", True),
    ("exact_match", {}, "Want", False),
    ("exact_match", {"ignore_case": True}, "WANT", True),
    ("exact_match", {"trim_whitespace": False}, "want ", False),
    ("exact_match", {"trim_whitespace": False}, "want", True),
    ("contains", {"substring": "30 days"}, "within 30 days.", True),
    ("contains", {"substring": "Days"}, "within 30 days.", False),
    ("contains", {"substring": "Days", "ignore_case": True}, "within 30 days.", True),
    ("contains", {"substring": "É", "ignore_case": True}, "café", True),
    ("regex", {"pattern": r"^\d+$"}, "12345", True),
    ("regex", {"pattern": r"^\d+$"}, "12a45", False),
    ("regex", {"pattern": r"\d"}, "12a45", True),
    ("regex", {"pattern": "hello", "flags": "i"}, "HELLO world", True),
    ("regex", {"pattern": "x|hello", "flags": "gi"}, "HELLO world", True),
    ("regex", {"pattern": "^b$"}, "a\nb", False),
    ("regex", {"pattern": "^b$", "flags": "m"}, "a\nb", True),
    ("regex", {"pattern": "a.b", "flags": "s"}, "a\nb", True),
    ("regex", {"pattern": "a$"}, "a\n", False),
    ("json_schema", {"schema": NESTED}, '{"ok": true}', True),
    ("json_schema", {"schema": NESTED}, "{}", False),
    ("json_schema", {"schema": NESTED}, '{"ok": 1}', False),
    ("json_schema", {"schema": {}}, "{not json", False),
    ("json_schema", {"schema": {}}, "NaN", False),
    ("json_schema", {"schema": {"type": "integer"}}, "1.0", True),
    ("json_path", {"path": "$.n", "expected": "5"}, '{"n": 5}', True),
    ("json_path", {"path": "$.n", "expected": "5"}, '{"n": "5"}', True),
    ("json_path", {"path": "$.n", "expected": "5"}, '{"n": 5.0}', True),
    ("json_path", {"path": "$.n", "expected": "05"}, '{"n": 5}', False),
    ("json_path", {"path": "$.ok", "expected": "true"}, '{"ok": true}', True),
    ("json_path", {"path": "$.ok", "expected": "1"}, '{"ok": true}', False),
    ("json_path", {"path": "$", "expected": "null"}, "null", True),
    ("json_path", {"path": "$.missing", "expected": "1"}, "{}", False),
    ("json_path", {"path": "$.missing", "expected": "1", "operator": "ne"}, "{}", False),
    ("json_path", {"path": "$.n", "expected": "6", "operator": "ne"}, '{"n": 5}', True),
    ("json_path", {"path": "$.n", "expected": "3", "operator": "gt"}, '{"n": 5}', True),
    ("json_path", {"path": "$.n", "expected": "5", "operator": "gt"}, '{"n": 5}', False),
    ("json_path", {"path": "$.n", "expected": "10", "operator": "lt"}, '{"n": "9"}', True),
    ("json_path", {"path": "$.n", "expected": "5", "operator": "gte"}, '{"n": 5}', True),
    ("json_path", {"path": "$.n", "expected": "5", "operator": "lte"}, '{"n": 5.5}', False),
    ("json_path", {"path": "$.n", "expected": "5", "operator": "lte"}, '{"n": "many"}', False),
    (
        "json_path",
        {"path": "$.s", "expected": "wor", "operator": "contains"},
        '{"s": "a word"}',
        True,
    ),
    ("json_path", {"path": "$.n", "expected": "23", "operator": "contains"}, '{"n": 1234}', True),
    ("json_path", {"path": "$[-1]", "expected": "b"}, '["a", "b"]', True),
    ("json_path", {"path": "$[*].n", "expected": "1"}, '[{"x": 0}, {"n": 1}, {"n": 2}]', True),
    ("json_path", {"path": "$[*].n", "expected": "2"}, '[{"n": 1}, {"n": 2}]', False),
    ("json_path", {"path": "$['a b']", "expected": "x"}, '{"a b": "x"}', True),
    ("json_path", {"path": "$.x", "expected": "1"}, "not json", False),
]

# Where it goes by JavaScript's conversions, and this one by what the values are.
OURS = [
    ({"path": "$", "expected": "5", "operator": "lt"}, "false", False),
    ({"path": "$", "expected": "5", "operator": "lte"}, "null", False),
    ({"path": "$", "expected": "5"}, "[5]", False),
    ({"path": "$", "expected": ""}, "[]", False),
    ({"path": "$", "expected": "[1"}, '"[1"', True),
    ({"path": "$[0]", "expected": "1"}, '"[1]"', False),
    ({"path": "$", "expected": "[1, 2.0]"}, "[1.0, 2]", True),
    ({"path": "$", "expected": '{"a": 1}'}, '{"a": true}', False),
    ({"path": "$", "expected": "app", "operator": "contains"}, '["apple", "pear"]', False),
    ({"path": "$", "expected": "pear", "operator": "contains"}, '["apple", "pear"]', True),
    ({"path": "$", "expected": "2", "operator": "contains"}, "[1, 2]", True),
    ({"path": "$", "expected": "a", "operator": "contains"}, '{"a": 1}', True),
    ({"path": "$", "expected": "object", "operator": "contains"}, '{"a": 1}', False),
]


@pytest.mark.parametrize(
    ("kind", "params", "output", "passes"),
    AGREED,
    ids=[f"{n}-{c[0]}" for n, c in enumerate(AGREED)],
)
def test_a_grader_says_what_the_reference_runner_says(kind, params, output, passes):
    score = PREPARE[kind](params)(Sample(output=output, expected="want"))
    assert (score.value, score.passed) == (float(passes), passes)
    assert score.reason
    assert score.metadata is None


@pytest.mark.parametrize(("params", "output", "passes"), OURS, ids=range(len(OURS)))
def test_json_values_are_compared_as_what_they_are(params, output, passes):
    assert json_path(params)(Sample(output=output)).passed is passes


@pytest.mark.parametrize("kind", PREPARE)
def test_a_run_without_output_fails_if_its_format_records_outputs(kind):
    params = {"substring": "x", "pattern": "x", "schema": {}, "path": "$", "expected": "x"}
    grade = PREPARE[kind]({**params, "operator": "ne"})
    failed = grade(Sample(output=None, expected="x"))
    assert failed[:3] == (0.0, False, "the run has no final output")
    unknown = grade(Sample(output=None, expected="x", is_recorded=False))
    assert unknown[:2] == (None, False)
    assert unknown.metadata == {"skip_reason": "output_not_recorded"}


def test_exact_match_needs_something_to_match():
    score = exact_match({})(Sample(output="", expected=None))
    assert score[:2] == (None, False)
    assert score.metadata == {"skip_reason": "missing_expected_output"}


UNFIT = [
    (regex, {"pattern": "(unclosed"}, "/params/pattern", "missing )"),
    (regex, {"pattern": "(?=ahead)"}, "/params/pattern", "invalid perl operator"),
    (regex, {"pattern": r"(a)\1"}, "/params/pattern", "invalid escape sequence"),
    (regex, {"pattern": "a", "flags": "x"}, "/params/flags", "no flag 'x'"),
    (json_schema, {"schema": {"type": "thing"}}, "/params/schema", "cannot be used"),
    (
        json_schema,
        {"schema": {"$ref": "http://127.0.0.1:9/s"}},
        "/params/schema",
        "not present in a registry",
    ),
    (
        json_schema,
        {"schema": {"$ref": "file:///etc/passwd"}},
        "/params/schema",
        "not present in a registry",
    ),
    (json_schema, {"schema": {"$schema": "urn:mine"}}, "/params/schema", "Unknown meta-schema"),
    (json_path, {"path": "no.dollar", "expected": "1"}, "/params/path", "no JSONPath"),
    (json_path, {"path": "$.", "expected": "1"}, "/params/path", "no JSONPath"),
    (json_path, {"path": "$[?@.a == 1e999]", "expected": "1"}, "/params/path", "no JSONPath"),
    (json_path, {"path": "$" + "[?@" * 200, "expected": "1"}, "/params/path", "no JSONPath"),
    (json_path, {"path": "$" + ".a" * 50_000, "expected": "1"}, "/params/path", "1,000 characters"),
    (json_path, {"path": "$..a..b..c", "expected": "1"}, "/params/path", "more than 2"),
    (json_path, {"path": "$", "expected": "b", "operator": "gt"}, "/params/expected", "is none"),
    (json_path, {"path": "$", "expected": "NaN", "operator": "lt"}, "/params/expected", "is none"),
    (json_path, {"path": "$", "expected": "true", "operator": "lt"}, "/params/expected", "is none"),
]


@pytest.mark.parametrize(("prepare", "params", "pointer", "words"), UNFIT, ids=range(len(UNFIT)))
def test_parameters_that_no_run_can_be_graded_by_are_refused(prepare, params, pointer, words):
    with pytest.raises(Unfit, match=re.escape(words)) as caught:
        prepare(params)
    assert caught.value.pointer == pointer
    assert caught.value.hint.endswith(".")


def test_no_schema_is_fetched(tmp_path):
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(Unfit, match="cannot be used"):
        json_schema({"schema": {"$ref": (tmp_path / "other.json").as_uri()}})


def test_regular_expressions_take_linear_time():
    # Backtracking takes longer than the universe has for each of these.
    assert not matches("^(a+)+$", "a" * 5000 + "!")
    assert json_path({"path": "$[?search(@, '^(a+)+$')]", "expected": "x"})(
        Sample(output=json.dumps(["a" * 5000 + "!"]))
    ).reason.endswith("there is nothing")


def test_paths_know_filters_and_functions():
    output = json.dumps({"a": [{"n": "x1", "v": "no"}, {"n": "y", "v": "deep"}], "text": "abc"})

    def first(path):
        return json_path({"path": path, "expected": "none", "operator": "ne"})(
            Sample(output=output)
        )

    assert first("$.a[?match(@.n, '.')].v").reason == "'\"deep\"' is ne 'none'"
    assert first("$.a[?search(@.n, '[0-9]')].n").reason == "'\"x1\"' is ne 'none'"
    assert first("$..v").passed
    assert not first("$.a[?search(@.n, '(')]").passed  # no regular expression matches nothing
    assert not first("$.text[0:1]").passed  # a text has no elements


def test_the_deepest_output_that_is_read_can_be_searched():
    def deep(levels):
        return '{"a": ' * levels + '"end"' + "}" * levels

    grade = json_path({"path": "$..missing", "expected": "x"})
    assert grade(Sample(output=deep(127))).reason.endswith("there is nothing")
    assert "levels" in grade(Sample(output=deep(5000))).reason
    assert "levels" in json_schema({"schema": {}})(Sample(output="[" * 5000)).reason


def test_a_schema_may_refer_to_itself():
    tree = {"$defs": {"t": {"items": {"$ref": "#/$defs/t"}, "type": "array"}}, "$ref": "#/$defs/t"}
    assert json_schema({"schema": tree})(Sample(output="[[], [[]]]")).passed
    score = json_schema({"schema": tree})(Sample(output="[[], [1]]"))
    assert score.reason == "the schema refuses it: '/1/0': type"


TOOLS = [
    ({"search": 1}, ["search"], 1.0, "all expected tools were called"),
    ({"search": 3, "read": 1}, ["search"], 1.0, "all expected tools were called"),
    ({"search": 1}, ["search", "read"], 0.5, "not called: 'read'"),
    ({}, ["search", "search"], 0.0, "not called: 'search' (2 times)"),
    ({"search": 1}, ["search", "search"], 0.5, "not called: 'search'"),
    ({"Search": 1}, ["search"], 0.0, "not called: 'search'"),
]


@pytest.mark.parametrize(("called", "wanted", "value", "reason"), TOOLS, ids=range(len(TOOLS)))
def test_each_expected_call_needs_a_call(called, wanted, value, reason):
    score = expected_tools({})(Sample(tools=called, expected_tools=wanted))
    assert score == (value, value == 1.0, reason, None)


def test_expected_tools_that_cannot_be_seen_are_not_verified():
    grade = expected_tools({})
    assert grade(Sample(tools=None, expected_tools=["a"])).metadata == {
        "skip_reason": "tools_not_recorded"
    }
    for none in (None, []):
        assert grade(Sample(tools={}, expected_tools=none)).metadata == {
            "skip_reason": "missing_expected_tools"
        }
    many = grade(Sample(tools={}, expected_tools=[f"t{n}" for n in range(50)]))
    assert many.reason.endswith("'t9', ...")


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)),
    st.lists(st.sampled_from("abc"), min_size=1),
)
def test_the_share_of_expected_calls_is_the_score(called, wanted):
    left = dict(called)
    found = 0
    for tool in wanted:
        if left.get(tool, 0):
            left[tool] -= 1
            found += 1
    score = expected_tools({})(Sample(tools=called, expected_tools=wanted))
    assert math.isclose(score.value, found / len(wanted))
    assert score.passed is (found == len(wanted))


@given(st.text(), st.text())
@example("\ud7ff\x1b[31m", "\x1b")
def test_reasons_hold_little_of_a_trace_and_steer_nothing(output, substring):
    grades = (
        contains({"substring": substring or "x"}),
        exact_match({}),
        json_schema({"schema": {"type": "object"}}),
        json_path({"path": "$", "expected": "x"}),
    )
    for long in (output, json.dumps(output), json.dumps(output * 50)):
        for grade in grades:
            reason = grade(Sample(output=long, expected="x" * 200)).reason
            assert len(reason) < DETAIL_CHARS * 2
            assert reason.isprintable()


@given(
    st.text(alphabet="ab\n .", max_size=6),
    st.sampled_from(["a+", "^a", "b$", "a.b", "(a|b)*", "^$"]),
)
def test_regex_finds_what_python_finds(output, pattern):
    # `\Z` is what RE2 means by `$`.
    assert matches(pattern, output) == bool(re.search(pattern.replace("$", r"\Z"), output))


def test_types_that_need_more_are_skipped_as_the_spec_says():
    score = unsupported("human", "it needs a person")(Sample(output="x"))
    assert score == (
        None,
        False,
        "a grader of the type 'human' is not run here: it needs a person",
        {"skip_reason": "unsupported_grader_type"},
    )


GRADE = "def grade(input, output, expected, context):\n    "


def test_code_runs_only_if_it_is_allowed(tmp_path):
    params = {"language": "python", "source": f"open({str(tmp_path / 'ran')!r}, 'w')"}
    score = code(params, is_allowed=False)(Sample(output="x"))
    assert score.metadata == {"skip_reason": "unsupported_grader_type"}
    assert "--allow-code" in score.reason
    script = {"language": "javascript", "source": "1"}
    assert "javascript" in code(script, is_allowed=True)(Sample(output="x")).reason
    assert not (tmp_path / "ran").exists()


def test_code_gets_the_test_case_and_its_score_is_brought_to_a_unit():
    source = (
        GRADE
        + "return {'in': 2, 'b': 0.75}[input] if output + expected + context[0] == 'oec' else 0"
    )
    sample = Sample(output="o", expected="e", context=["c"], input="in")
    whole = code({"language": "python", "source": source}, is_allowed=True)(sample)
    assert whole == (1.0, True, "the code gives 2, and 1 passes", {"openeval.raw_score": 2.0})
    part = {"language": "python", "source": source, "threshold": 0.7}
    assert code(part, is_allowed=True)(sample._replace(input="b"))[:2] == (0.75, True)
    assert code(part, is_allowed=True)(sample._replace(output="x"))[:2] == (0.0, False)
    for threshold in (-0.1, 2, True, "1"):
        with pytest.raises(Unfit, match="0 to 1"):
            code({**part, "threshold": threshold}, is_allowed=False)


FAILING = [
    ("return 1 / 0", "ZeroDivisionError: division by zero"),
    ("return 'good'", "'grade' returned no number, but str"),
    ("return float('nan')", "'grade' returned no number, but float"),
    ("return 10 ** 400", "OverflowError"),
    ("raise SystemExit(0)", "SystemExit"),
    ("import os; os.abort()", "its process ended without an answer"),
    ("import hypothesis", "ModuleNotFoundError"),
    ("return len([0] * 10 ** 8)", "MemoryError"),
    ("import os; os.write(3, b'x' * 9000); return 1", "wrote more than an answer"),
    ("f = open('PLACE', 'w'); f.write('x'); f.flush(); return 1", "OSError: [Errno 27]"),
]


@pytest.mark.parametrize(("body", "words"), FAILING, ids=range(len(FAILING)))
def test_code_that_fails_gives_no_score(body, words, tmp_path):
    if "MemoryError" in words and sys.platform != "linux":
        pytest.skip("this system does not hold to a limit on memory")
    body = body.replace("PLACE", str(tmp_path / "x"))
    params = {"language": "python", "source": GRADE + body}
    score = code(params, is_allowed=True)(Sample(output="x"))
    assert score[:2] == (None, False)
    assert words in score.reason
    assert words in score.metadata["error"]


def test_code_without_the_function_or_the_syntax_fails():
    for source, words in (("x = 1", "no function 'grade'"), ("x =", "SyntaxError")):
        with pytest.raises(CodeFailed, match=words):
            run_code(source, [], timeout_ms=5000)


def test_code_that_does_not_end_is_ended():
    with pytest.raises(CodeFailed, match="longer than its timeout_ms"):
        run_code(GRADE + "while True: pass", ["i", "o", "e", None], timeout_ms=100)


def test_code_inherits_no_environment_and_prints_nowhere(monkeypatch, capfd):
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    source = GRADE + "import os, sys; print('out'); print('err', file=sys.stderr); "
    arguments = ["", "", "", None]
    seen = "return sum(name != 'LC_CTYPE' and name != 'PYTHONHASHSEED' for name in os.environ)"
    assert run_code(source + seen, arguments, timeout_ms=5000) == 0
    assert run_code(source + "return os.getcwd() == '/'", arguments, timeout_ms=5000) == 1
    assert capfd.readouterr() == ("", "")
    assert os.environ["SECRET_TOKEN"] == "s3cret"


def test_strategies_count_as_the_spec_says():
    assert vote("all", None, [True, True])
    assert not vote("all", None, [True, False])
    assert vote("any", None, [False, True])
    assert not vote("any", None, [False, False])
    assert not vote("majority", None, [True, False])
    assert vote("majority", None, [True, False, True])
    assert vote("majority", 0.6, [True, True, True, False, False])
    assert not vote("majority", 0.61, [True, True, True, False, False])
    assert weighted_mean([0.7, 0.7, 0.7], [1, 1, 1]) == 0.7
    assert weighted_mean([1.0, 0.0], [0, 0]) is None
