import json
import math
import re
import struct
import sys
from fractions import Fraction
from random import Random

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import nasty
from tests import reference as oracle
from tracestream.jsontext import is_truthy
from tracestream.kernels.budget import budget_result, score_budget
from tracestream.kernels.overlap import (
    HandoffScore,
    count_shared,
    handoff_reasoning,
    handoff_result,
    loss_summary,
    score_handoff,
)
from tracestream.kernels.pyrepr import repr_text
from tracestream.kernels.tokens import distinct_tokens, iter_tokens

# ---- tokens ----

TOKEN_TABLE = [
    ("", []),
    ("abc", []),
    ("abcd", ["abcd"]),
    ("ABCD 1234 a1B2", ["abcd", "1234", "a1b2"]),
    ("snake_case _lead trail_", []),
    ("twice twice", ["twice", "twice"]),
    ("don't re-read", ["read"]),
    ("漢字word word漢字", []),
    ("area²", []),
    ("naïve", []),
    ("reports\u0301", ["reports"]),
    ("boo\u212a", ["book"]),
    ("ABCD\u0130", ["abcdi"]),
    ("AB\u0130CD", []),
    ("a\u2028word\u0085next", ["word", "next"]),
    ("re\ud800port", ["port"]),
    ("\\nword", ["nword"]),
]


@pytest.mark.parametrize(("text", "tokens"), TOKEN_TABLE, ids=[ascii(t) for t, _ in TOKEN_TABLE])
def test_tokens_of(text, tokens):
    assert list(iter_tokens(text)) == tokens


@given(nasty.texts())
def test_tokens_are_the_references_and_the_oracles(text):
    assert list(iter_tokens(text)) == re.findall(r"\b[a-zA-Z0-9]{4,}\b", text.lower())
    assert distinct_tokens(text) == oracle.tokens(text)


def test_every_character_keeps_or_breaks_a_token_as_the_reference_has_it():
    text = " ".join(f"abcd{c} {c}abcd ab{c}cd" for c in map(chr, range(sys.maxunicode + 1)))
    assert distinct_tokens(text) == set(re.findall(r"\b[a-zA-Z0-9]{4,}\b", text.lower()))


# ---- pyrepr ----

DECLINED = [b"NaN", b"[Infinity]", b"-Infinity", b"1e400", b'"\\ud83d"', b'"a\tb"', b'"\xff"']
DECLINED += [b'{"\xed\xa0\x80": "\xf0\x9f"}', b'["\\ude00\\ud83d"]', b'"\x00\x1f\r\n"']


def by_definition(data):
    return json.loads(data.decode("utf-8", "replace"), strict=False)


def same(one, other):
    """Tell whether two JSON values are equal in type, order and every bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return one == other


def assert_fast_path_is_the_definition(data):
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return
    assert same(value, by_definition(data)), data


@given(nasty.messages(), st.randoms(use_true_random=False))
@example({"b": -0.0, "a": [10**40, 1e22, 0.1, 5e-324]}, Random(0))
@example("'\"", Random(0))
@example(["it's", '"', "\\", "\x7f", "\u2028", "\U0001f600", "\ud800"], Random(0))
def test_repr_text_is_str_of_the_parsed_json(value, rng):
    data = nasty.write_json(value, rng)
    assert repr_text(data) == str(by_definition(data))
    assert repr_text(memoryview(b"  " + data + b"\r\n")) == str(by_definition(data))
    assert_fast_path_is_the_definition(data)


@pytest.mark.parametrize("data", DECLINED, ids=repr)
def test_what_msgspec_declines_is_read_by_the_standard_library(data):
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(data)
    assert repr_text(data) == str(by_definition(data))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'"as it is"', "as it is"),
        (b'["it\'s"]', '["it\'s"]'),
        (b"-0", "0"),
        (b"-0.0", "-0.0"),
        (b"1e5", "100000.0"),
        (b'{"a": 1, "b": 2, "a": 3}', "{'a': 3, 'b': 2}"),
        (b'{"A": true, "a": null}', "{'A': True, 'a': None}"),
        (b"1234567890" * 4, "1234567890" * 4),
        (b"9" * 4300, "9" * 4300),
        (b"[" * 128 + b"]" * 128, "[" * 128 + "]" * 128),
    ],
    ids=lambda value: repr(value[:24]),
)
def test_repr_text_of(data, text):
    assert repr_text(data) == text


@pytest.mark.parametrize(
    "data", [b"", b"[1,]", b"tru", b"1 2", b"9" * 4301, b"\xef\xbb\xbf1"], ids=len
)
def test_repr_text_of_what_is_no_json_raises(data):
    with pytest.raises(ValueError):
        repr_text(data)


NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
)


@given(NUMBERS)
@example("-0")
@example("-0.0")
@example("9007199254740993.0")
@example("2.2250738585072011e-308")
@example("1" + "0" * 400 + ".0")
@example("0." + "0" * 400 + "1")
@example("1e-99999999999999999999")
@example(str(2**64) + "." + "0" * 900 + "1")
def test_every_number_is_read_as_the_standard_library_reads_it(number):
    assert_fast_path_is_the_definition(number.encode())
    assert repr_text(number.encode()) == str(json.loads(number))


@given(
    st.floats(min_value=0, allow_infinity=False), st.sampled_from([-1, 0, 1]), st.integers(17, 780)
)
def test_decimals_half_way_between_two_floats_are_rounded_alike(low, side, place):
    high = math.nextafter(low, math.inf)
    if math.isinf(high):
        return
    # Times 10**1100, both floats and their middle are integers.
    below, above = (int(Fraction(end) * 10**1100) for end in (low, high))
    middle = (below + above) // 2 + side * 10 ** max(0, len(str(below)) - place)
    assert_fast_path_is_the_definition(f"{middle}e-1100".encode())


FRAGMENTS = [
    b"\\u",
    b"\\ud83d",
    b"\\ude00",
    b"\xc3",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"\xed\xa0\x80",
]
FRAGMENTS += [
    b"NaN",
    b"1e5",
    b'"a":1,',
    b",",
    b" ",
    b"\r",
    b"\x0c",
    b"-",
    b"\xef\xbb\xbf",
    b"\x00",
    b"]",
]


@given(nasty.messages(), st.randoms(use_true_random=False))
def test_damaged_json_that_the_fast_path_takes_has_the_value_by_definition(value, rng):
    data = bytearray(nasty.write_json(value, rng))
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(data) + 1)
        data[at : at + rng.randrange(3)] = rng.choice(
            [*FRAGMENTS, bytes([rng.randrange(256)]), b""]
        )
    assert_fast_path_is_the_definition(bytes(data))


FALSE = [
    "[]",
    "[ ]",
    "[\n\t\r]",
    "{}",
    "{ }",
    '""',
    "0",
    "-0",
    "0.0",
    "-0.00",
    "0e5",
    "0E+99",
    "0.0e-7",
]
FALSE += ["null", "false", "1e-400", "-1e-400", "0" + "." + "0" * 500]
TRUE = [
    "[[]]",
    "[0]",
    '{"":0}',
    '" "',
    '"0"',
    '"\\u0000"',
    "1",
    "-1",
    "0.1",
    "1e-300",
    "true",
    "NaN",
]
TRUE += ["Infinity", "-Infinity", "1e400", "9" * 5000, "[ null ]", '"[]"', '["', '{ \n"a"']


@pytest.mark.parametrize("space", ["", " ", "\n\t\r "], ids=["tight", "blank", "mixed"])
@pytest.mark.parametrize(
    ("text", "truth"),
    [(t, False) for t in FALSE] + [(t, True) for t in TRUE],
    ids=lambda v: repr(v)[:24],
)
def test_truth_of(text, truth, space):
    data = (space + text + space).encode()
    assert is_truthy(data) is truth
    assert is_truthy(memoryview(data)) is truth
    assert is_truthy(bytearray(data)) is truth


@pytest.mark.parametrize("nothing", [b"", b"  ", b"\r\n"], ids=repr)
def test_nothing_is_false(nothing):
    assert is_truthy(nothing) is False


@given(nasty.messages(), st.randoms(use_true_random=False))
def test_truth_is_that_of_the_parsed_value(value, rng):
    data = nasty.write_json(value, rng)
    assert is_truthy(data) is bool(by_definition(data))


@given(NUMBERS)
def test_truth_of_a_number_is_that_of_its_value(number):
    assert is_truthy(number.encode()) is bool(json.loads(number))


# ---- overlap ----

LONG = "The quarterly report says that sales doubled. " * 6  # 276 characters


@pytest.mark.parametrize(
    ("output", "input_text", "score"),
    [
        (None, "abcd", (False, None, None, 5.0, 5.0, False)),
        ("", "abcd", (False, None, None, 5.0, 5.0, False)),
        ("abcd", None, (False, None, None, 5.0, 5.0, False)),
        ("abcd", "", (False, None, None, 5.0, 5.0, False)),
        ("abcd", "xabcdx", (True, None, None, 10.0, 9.0, False)),
        (" ", "a b", (True, None, None, 10.0, 9.0, False)),
        (LONG, LONG[:200], (True, None, None, 10.0, 9.0, False)),
        (LONG + "lost words", LONG[:200] + "others", (True, None, None, 10.0, 9.0, False)),
        (LONG, LONG[:199], (False, 6, 6, 10.0, 7.0, False)),
        ("a b c", "x y z", (False, 0, 0, 2.0, 7.0, True)),
        ("日本語の報告", "[]", (False, 0, 0, 2.0, 7.0, True)),
        ("alpha beta", "gamma", (False, 2, 0, 2.0, 7.0, True)),
        ("alpha beta gamma delta", "x BETA", (False, 4, 1, 5.0, 7.0, False)),
        ("alpha beta gamma delta omega", "x beta", (False, 5, 1, 0.2 * 12 + 2, 7.0, True)),
        ("alpha beta gamma", "gamma alpha", (False, 3, 2, 10.0, 7.0, False)),
        ("one line\nmore text", "['one line\\nmore text']", (False, 3, 2, 10.0, 7.0, False)),
    ],
)
def test_score_of_handoff(output, input_text, score):
    assert score_handoff(output, input_text) == HandoffScore(*score)


def handed_on(rng):
    output = nasty.passage(rng)
    return output, str(nasty.request_messages(rng, [nasty.handed_on(rng, output)]))


@given(st.randoms(use_true_random=False).map(handed_on) | st.tuples(nasty.texts(), nasty.texts()))
def test_score_equals_the_oracle_to_the_bit(pair):
    output, input_text = pair
    score = score_handoff(output, input_text)
    expected = oracle.grade_pair("a", "b", output, input_text)
    assert score == expected[2:8]
    result = handoff_result("a", "b", score)
    assert (result.lost_content_summary, result.reasoning) == (expected.summary, expected.reasoning)


@given(nasty.texts(), nasty.texts(), nasty.texts())
def test_an_output_within_its_input_is_exact(before, output, after):
    assert score_handoff(output, before + output + after).exact is bool(output)


@given(st.sets(st.sampled_from("alpha beta gamma delta".split())), nasty.texts())
def test_shared_tokens_are_those_of_both_sides(tokens, text):
    assert count_shared(tokens, text) == len(tokens & oracle.tokens(text))
    more = text + " Delta ALPHA"
    assert count_shared(tokens, more) == len(tokens & oracle.tokens(more))


def test_counting_leaves_the_tokens_as_they_were():
    tokens = {"alpha", "beta"}
    assert count_shared(tokens, "alpha beta") == 2
    assert tokens == {"alpha", "beta"}


@pytest.mark.parametrize(
    ("passed", "percent"),
    [(2.0, "20%"), (2.05, "20%"), (4.4, "44%"), (4.25, "42%"), (2.45, "25%"), (4.55, "45%")],
)
def test_loss_summary_rounds_to_whole_percent(passed, percent):
    assert loss_summary(passed) == f"Only {percent} of output content found in next agent's input"


def test_reasoning_names_both_agents():
    assert handoff_reasoning("a", "b") == "Context flow from a to b"


# ---- budget ----


@pytest.mark.parametrize(
    ("used", "budget", "score"),
    [
        (0, 0, (True, 5.0, "No budget defined; neutral score")),
        (5, -1, (True, 5.0, "No budget defined; neutral score")),
        (0, 1, (True, 10.0, "Within budget (0/1 tokens)")),
        (-5, 1, (True, 10.0, "Within budget (-5/1 tokens)")),
        (100, 100, (True, 10.0, "Within budget (100/100 tokens)")),
        (101, 100, (False, 10.0 - 0.01 * 10.0, "Exceeded budget by 1% (101/100 tokens)")),
        (190, 100, (False, 1.0, "Exceeded budget by 90% (190/100 tokens)")),
        (900, 100, (False, 1.0, "Exceeded budget by 800% (900/100 tokens)")),
    ],
)
def test_score_of_budget(used, budget, score):
    assert score_budget(used, budget) == score


@given(st.integers(-(10**40), 10**40), st.integers(-(10**40), 10**40))
def test_budget_equals_the_oracle_to_the_bit(used, budget):
    result = budget_result("a", used, budget)
    assert tuple(vars(result).values()) == oracle.grade_budget("a", used, budget)
    assert 1.0 <= result.compliance_score <= 10.0
