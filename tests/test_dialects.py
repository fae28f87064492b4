"""What holds for the records of any dialect, shown with the first: refusal, oddities, both parsers."""

import json
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import nasty
from tests.test_dialect_praisonai import read
from tracestream.dialects import DIALECTS, detect, dialect_named, dialect_names, praisonai
from tracestream.dialects.base import Refused
from tracestream.dialects.praisonai import Data, Event
from tracestream.errors import UnknownDialectError

COLUMNS = list(praisonai.COLUMNS)


def cell(record, column):
    (row, notes) = read(record, [column])
    assert not notes
    return row.get(column)


def event(event_type, **fields):
    return {"event_type": event_type, **fields}


def test_dialects_have_names_that_are_names_and_words():
    for dialect in DIALECTS:
        assert dialect.name.isidentifier()
        assert dialect.__name__.rpartition(".")[2] == dialect.name
        assert dialect.title
        assert dialect.recognised_by
        assert dialect_named(dialect.name) is dialect
    assert dialect_names() == [dialect.name for dialect in DIALECTS]
    assert len(set(dialect_names())) == len(DIALECTS)


def test_hyphens_stand_for_underscores(monkeypatch):
    monkeypatch.setattr(praisonai, "name", "claude_code")
    assert dialect_named("claude-code") is dialect_named("claude_code") is praisonai


@pytest.mark.parametrize("name", ["", "PraisonAI", "nope", "auto"])
def test_an_unknown_dialect_is_an_error_that_lists_the_names(name):
    with pytest.raises(
        UnknownDialectError, match=r"Hint: the dialects are praisonai.*, or auto"
    ) as caught:
        dialect_named(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"event_type": "x"}, "praisonai"),
        ({"event_type": ""}, "praisonai"),
        ({"event_type": 7}, None),
        ({}, None),
        ({"type": "user"}, None),
    ],
)
def test_a_record_is_recognised_by_its_keys(record, name):
    found = detect(record)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("written", "number"),
    [(b"412.0", 412), (b"4.12e2", 412), (b"-0.0", 0), (b"1e3", 1000), (b"412", 412)],
)
def test_an_integral_float_is_an_integer(written, number):
    record = (
        b'{"event_type": "llm_request", "tokens_used": %s, "tokens_budget": %s, "sequence_num": %s}'
        % ((written,) * 3)
    )
    row, notes = read(record, ["context_tokens", "budget_tokens", "seq"])
    assert list(row.values()) == [number] * 3
    assert all(type(value) is int for value in row.values())
    assert not notes


@pytest.mark.parametrize("value", [0, 7, -3, 2**63, 2**64 + 1, 10**39 + 7], ids=str)
def test_an_integer_is_an_id_to_the_last_digit(value):
    assert cell(event("output", session_id=value), "session_id") == str(value)
    assert cell(event("output", run_id=value), "run_id") == str(value)


@pytest.mark.parametrize(
    ("seconds", "nanoseconds"),
    [
        ("1796049839.5981696", 1796049839_598169600),
        ("1796049839.123456789", 1796049839_123456700),  # what a float of seconds holds
        ("1796049839", 1796049839_000000000),
        ("0", 0),
        ("-1.5", -1_500_000_000),
        ("1e-9", 1),
        ("1e-10", 0),
        ("9223372036.0", 9223372036_000000000),
        ("9223372037.0", None),
        ("-1e300", None),
    ],
)
def test_times_are_exact_to_the_nanosecond(seconds, nanoseconds):
    record = b'{"event_type": "output", "timestamp": %s}' % seconds.encode()
    assert cell(record, "ts") == nanoseconds


@given(st.floats(-9e9, 9e9))
def test_a_time_is_the_decimal_text_of_the_seconds(seconds):
    expected = int((Decimal(repr(seconds)) * 10**9).to_integral_value())
    assert cell({"event_type": "output", "timestamp": seconds}, "ts") == expected


REFUSED = {
    "torn": (b'{"event_type": "output"', "malformed_record"),
    "two records": (b'{"event_type": "output"}{"event_type": "output"}', "malformed_record"),
    "bad escape in a field not asked for": (
        b'{"event_type": "output", "other": "\\x"}',
        "malformed_record",
    ),
    "long integer in a field not asked for": (
        b'{"event_type": "output", "other": %s}' % (b"7" * 4301),
        "malformed_record",
    ),
    "long integer in messages": (
        b'{"event_type": "llm_request", "data": {"messages": [%s]}}' % (b"7" * 4301),
        "malformed_record",
    ),
    "long integer as an id": (
        b'{"event_type": "output", "run_id": %s}' % (b"7" * 4301),
        "malformed_record",
    ),
    "deep messages": (
        b'{"event_type": "llm_request", "data": {"messages": %s}}' % (b"[" * 127 + b"]" * 127),
        "deep_nesting",
    ),
    "deep field not asked for": (
        b'{"event_type": "output", "other": %s}' % (b"[" * 128 + b"]" * 128),
        "deep_nesting",
    ),
    "deeper than any stack": (
        b'{"event_type": "output", "other": %s}' % (b"[" * 99999 + b"]" * 99999),
        "deep_nesting",
    ),
    "list": (b"[1]", "not_an_object"),
    "text": (b'"event_type"', "not_an_object"),
    "null": (b"null", "not_an_object"),
    "number": (b" 7 ", "not_an_object"),
    "nan": (b"NaN", "not_an_object"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("columns", [COLUMNS, ["kind"], []], ids=["all", "kind", "none"])
def test_a_record_that_gives_no_event_is_refused_with_a_reason(case, columns):
    record, reason = REFUSED[case]
    with pytest.raises(Refused) as caught:
        read(record, columns)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "record",
    [{}, {"event": "x"}, {"event_type": None}, {"event_type": 7, "a\nb": 1}, {"event_type": ["x"]}],
)
def test_an_object_of_another_format_has_the_wrong_shape(record):
    row, notes = read(record)
    assert row is None
    assert notes == [("wrong_shape", "keys: " + ", ".join(record))]


ODD = {
    "nan": (
        b'{"event_type": "llm_response", "cost_usd": NaN, "prompt_tokens": 4}',
        ["non_finite_number"],
        {"input_tokens": 4},
    ),
    "infinite tokens": (
        b'{"event_type": "llm_response", "prompt_tokens": -Infinity}',
        ["non_finite_number"],
        {},
    ),
    "beyond a float": (
        b'{"event_type": "output", "duration_ms": 1e400}',
        ["non_finite_number"],
        {},
    ),
    "nan in messages": (
        b'{"event_type": "llm_request", "data": {"messages": [NaN]}}',
        ["non_finite_number"],
        {"messages": b"[NaN]", "has_payload": True},
    ),
    "lone surrogate": (
        b'{"event_type": "llm_response", "data": {"response_content": "a\\ud83d"}}',
        ["lone_surrogate"],
        {"text": "a\ud83d", "has_payload": True},
    ),
    "control character": (
        b'{"event_type": "llm_response", "data": {"response_content": "a\tb"}}',
        ["control_character"],
        {"text": "a\tb", "has_payload": True},
    ),
    "invalid UTF-8 in the text": (
        b'{"event_type": "llm_response", "data": {"response_content": "caf\xe9"}}',
        ["invalid_utf8"],
        {"text": "caf\ufffd", "has_payload": True},
    ),
    "invalid UTF-8 in a field not asked for": (
        b'{"event_type": "output", "other": "\xff"}',
        ["invalid_utf8"],
        {},
    ),
    "lone surrogate in a field not asked for": (
        b'{"event_type": "output", "other": "\\ud83d"}',
        ["lone_surrogate"],
        {},
    ),
    "control character in a key": (
        b'{"event_type": "output", "\x01": 1}',
        ["control_character"],
        {},
    ),
    "one key twice": (
        b'{"event_type": "llm_request", "event_type": "output", "event_type": "output"}',
        ["duplicate_key"],
        {},
    ),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize(
    "columns", [COLUMNS, ["kind", "event_type", "ordinal", "has_payload"]], ids=["all", "few"]
)
def test_odd_records_are_read_and_noted_whatever_the_columns(case, columns):
    record, reasons, values = ODD[case]
    row, notes = read(record, columns)
    assert [reason for reason, _ in notes] == reasons
    (kind, *_), event_type = praisonai._TYPES[row["event_type"]], row.pop("event_type")
    expected = {"kind": kind.value, "ordinal": 0, "has_payload": False, **values}
    assert row == {name: value for name, value in expected.items() if name in columns}
    assert event_type


JSON_COLUMNS = ("messages", "tool_args")


def comparable(row):
    """A row with its JSON as values, told apart by type; NaN is equal to itself."""
    return row and {
        name: repr(json.loads(value)) if name in JSON_COLUMNS else repr(value)
        for name, value in row.items()
    }


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values = texts | st.none() | st.integers(-9, 1 << 65) | st.floats() | nasty.json_values()
fields = st.sampled_from([*Event.__struct_fields__[1:-1], "agent_id", "x"])
events = st.builds(
    lambda event_type, fields, data: {"event_type": event_type, **fields, "data": data},
    st.sampled_from(list(praisonai._TYPES)) | st.text(max_size=3),
    st.dictionaries(fields, values, max_size=6),
    st.none()
    | st.dictionaries(st.sampled_from([*Data.__struct_fields__, "x"]), values, max_size=5)
    | nasty.json_values(),
)


@given(events)
def test_strict_and_lenient_reading_give_equal_rows(record):
    """A NaN in a field that nobody asks for makes the strict parser refuse the record."""
    data = json.dumps(record).encode()
    lenient_row, lenient_notes = read(data[:-1] + b', "zz": NaN}')
    row, notes = read(data)
    assert comparable(row) == comparable(lenient_row)
    assert sorted({*notes} | {("non_finite_number", "")}) == sorted(
        {*lenient_notes} | {("non_finite_number", "")}
    )


@given(events, st.lists(st.sampled_from(COLUMNS), unique=True))
def test_values_and_notes_do_not_depend_on_the_columns(record, columns):
    row, notes = read(record)
    some, some_notes = read(record, columns)
    assert some == {name: value for name, value in row.items() if name in columns}
    assert some_notes == notes


@given(st.integers(0, 2**32))
def test_nasty_traces_give_what_they_say(seed):
    for record in nasty.nasty_trace(seed):
        data = nasty.write_json(record, Random(seed))
        row, _ = read(data)
        of_data = record.get("data") or {}
        assert row["event_type"] == record["event_type"]
        assert row.get("agent") == record.get("agent_name")
        assert row.get("tool") == (record.get("tool_name") or of_data.get("tool_name"))
        if record["event_type"] == "llm_request":
            messages = of_data.get("messages")
            assert repr(json.loads(row.get("messages", b"null"))) == repr(messages)
            assert row["has_payload"] == bool(messages)
        if record["event_type"] == "llm_response":
            assert row.get("text") == of_data.get("response_content")


@given(
    st.floats(-(2.0**33), 2.0**33)
    | st.builds(lambda whole, digits: whole / 10**digits, st.integers(0, 10**16), st.integers(0, 9))
)
def test_a_time_is_that_of_the_decimal_text_of_its_seconds(seconds):
    record = json.dumps({"event_type": "output", "timestamp": seconds}).encode()
    ((moment,),) = praisonai.reader(("ts",))(record, lambda reason, detail: None)
    exact = int(Decimal(repr(seconds)).scaleb(9).to_integral_value())
    assert moment == (exact if abs(exact) < 1 << 63 else None)
