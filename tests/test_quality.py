import itertools
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestream.errors import FrameError, InputError, UnknownDialectError
from tracestream.quality import (
    DETAIL_CHARS,
    MAX_EXAMPLES,
    REASONS,
    Example,
    Quality,
    SourceLedger,
    excerpt,
)

SEVERITIES = ("loss", "doubt", "note")

examples = st.builds(
    Example,
    st.integers(0, 3),
    st.integers(0, 50),
    st.sampled_from("ab"),
    st.just(1),
    st.sampled_from(["", "x"]),
)
entries = st.lists(
    st.tuples(st.sampled_from(list(REASONS)[:3]), examples, st.integers(0, 9)), max_size=30
)


def ledger_of(additions):
    quality = Quality()
    for reason, example, dropped in additions:
        quality.add(reason, example, dropped=dropped)
    return quality


@given(entries, st.data())
def test_ledgers_of_splits_merge_to_the_ledger_of_the_whole_in_any_order(additions, draw):
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(additions)), max_size=3)))
    parts = [ledger_of(additions[a:b]) for a, b in itertools.pairwise([0, *cuts, len(additions)])]
    merged = Quality()
    for part in draw.draw(st.permutations(parts)):
        merged.merge(part)
    assert merged.to_dict() == ledger_of(additions).to_dict()


@given(entries, st.randoms(use_true_random=False))
def test_a_ledger_does_not_depend_on_the_order_of_its_entries(additions, rng):
    assert (
        ledger_of(additions).to_dict() == ledger_of(rng.sample(additions, len(additions))).to_dict()
    )


def test_the_first_examples_in_source_order_are_kept():
    additions = [
        ("torn_tail", Example(order, offset, "a", 1, ""), 1)
        for order in (0, 1)
        for offset in range(50)
    ]
    random.Random(1).shuffle(additions)
    entry = ledger_of(additions).entries["torn_tail"]
    assert entry.count == 100
    assert [(each.order, each.offset) for each in entry.examples] == [
        (0, n) for n in range(MAX_EXAMPLES)
    ]


@pytest.mark.parametrize("reason", REASONS)
def test_a_raising_ledger_raises_the_error_of_a_loss_or_doubt(reason):
    quality = Quality(raises=True)
    ledger = SourceLedger(quality, "a.jsonl", 3)
    if REASONS[reason].severity == "note":
        ledger.add(reason, 7, 99, "detail")
        assert quality.count("note") == 1
        return
    with pytest.raises(
        InputError, match=rf"^a\.jsonl, line 7, offset 99: .*\({reason}\): detail\nHint: ."
    ) as caught:
        ledger.add(reason, 7, 99, "detail")
    assert type(caught.value) is REASONS[reason].error
    assert (caught.value.source, caught.value.line, caught.value.offset) == ("a.jsonl", 7, 99)
    assert not quality.entries


def test_an_error_without_a_line_names_the_source():
    with pytest.raises(
        InputError, match=r"^a\.jsonl: the source could not be read \(unreadable_source\): gone\n"
    ):
        SourceLedger(Quality(raises=True), "a.jsonl", 0).add("unreadable_source", None, 0, "gone")


def test_reasons_have_a_class_an_error_and_words():
    for reason in REASONS.values():
        assert reason.severity in SEVERITIES
        assert issubclass(reason.error, InputError)
        assert reason.words
    assert REASONS["malformed_record"].error is FrameError
    assert REASONS["unknown_format"].error is UnknownDialectError


CLASSES = {
    "loss": "torn_tail malformed_record deep_nesting oversized_record truncated_array truncated_stream "
    "unreadable_source",
    "doubt": "trailing_data not_an_object wrong_shape wrong_type unknown_format",
    "note": "bom control_character invalid_utf8 lone_surrogate non_finite_number unknown_event",
}


@pytest.mark.parametrize("severity", SEVERITIES)
def test_classes_of_reasons(severity):
    assert all(REASONS[reason].severity == severity for reason in CLASSES[severity].split())


def test_counts_by_class():
    additions = [(reason, Example(0, 0, "a", 1, ""), 0) for reason in REASONS]
    n = {severity: sum(r.severity == severity for r in REASONS.values()) for severity in SEVERITIES}
    quality = ledger_of(additions)
    assert [quality.count(severity) for severity in SEVERITIES] == list(n.values())
    assert quality.count("loss", "doubt") == n["loss"] + n["doubt"]


@pytest.mark.parametrize(
    ("reason", "dropped", "skipped"),
    [
        ("malformed_record", 9, 1),
        ("oversized_record", 9, 1),
        ("not_an_object", 2, 1),
        ("truncated_array", 0, 0),
        ("truncated_array", 5, 1),
        ("bom", 3, 0),
        ("trailing_data", 7, 0),
        ("wrong_type", 0, 0),
    ],
)
def test_a_value_that_gave_no_record_is_skipped(reason, dropped, skipped):
    quality = ledger_of([(reason, Example(0, 0, "a", 1, ""), dropped)])
    assert (quality.skipped, quality.bytes_dropped) == (skipped, dropped)


def test_several_values_may_be_counted_at_once():
    quality = Quality()
    quality.add("malformed_record", Example(0, 0, "a", 1, "x"), count=4, dropped=40)
    assert (quality.entries["malformed_record"].count, quality.skipped, quality.bytes_dropped) == (
        4,
        4,
        40,
    )


def test_the_document_of_a_ledger():
    quality = Quality(records=12)
    ledger = SourceLedger(quality, "t/a.jsonl", 0)
    ledger.at(3, 40)
    ledger.note("wrong_type", "tokens_used: str, not integer")
    ledger.add("torn_tail", 9, 200, b'{"event', dropped=7)
    SourceLedger(quality, "b.gz", 1).add("truncated_stream", None, 5, "ends early")
    assert quality.to_dict() == {
        "records": 12,
        "skipped": 1,
        "bytes_dropped": 7,
        "reasons": {
            "torn_tail": {
                "class": "loss",
                "count": 1,
                "examples": [
                    {"source": "t/a.jsonl", "line": 9, "offset": 200, "detail": '{"event'}
                ],
            },
            "truncated_stream": {
                "class": "loss",
                "count": 1,
                "examples": [{"source": "b.gz", "line": None, "offset": 5, "detail": "ends early"}],
            },
            "wrong_type": {
                "class": "doubt",
                "count": 1,
                "examples": [
                    {
                        "source": "t/a.jsonl",
                        "line": 3,
                        "offset": 40,
                        "detail": "tokens_used: str, not integer",
                    }
                ],
            },
        },
    }
    reasons = list(quality.to_dict()["reasons"])
    assert reasons == sorted(reasons, key=list(REASONS).index)
    assert list(quality.sentences()) == [
        "loss: torn_tail x1: the last record is cut off; the file may still be written (first: t/a.jsonl, line 9)",
        "loss: truncated_stream x1: the compressed stream is cut off, corrupt, "
        "or needs more memory than 128 MiB (first: b.gz)",
        "doubt: wrong_type x1: a known field has another type; it counts as missing (first: t/a.jsonl, line 3)",
    ]


EXCERPTS = {
    "text": ("plain text, é and 日本 🙂", "plain text, é and 日本 🙂"),
    "bytes": ("é".encode(), "é"),
    "invalid UTF-8": (b"a\xffb", "a\\xffb"),
    "escape sequence": ("\x1b[31mred", "\\x1b[31mred"),
    "newline and NUL": (b"a\r\n\x00", "a\\r\\n\\x00"),
    "bidirectional override": ("\u202eabc", "\\u202eabc"),
    "line separator": ("a\u2028b\x85", "a\\u2028b\\x85"),
    "lone surrogate": ("a\ud83d", "a\\ud83d"),
    "private use": ("\U000e0041", "\\U000e0041"),
    "long": ("x" * 1000, "x" * DETAIL_CHARS),
    "long bytes": ("日".encode() * 1000, "日" * DETAIL_CHARS),
    "long and odd": (b"\x00" * 1000, ("\\x00" * 1000)[:DETAIL_CHARS]),
    "nothing": (b"", ""),
}


@pytest.mark.parametrize("case", EXCERPTS)
def test_an_excerpt_is_short_and_prints(case):
    data, expected = EXCERPTS[case]
    assert excerpt(data) == expected


@given(st.text(st.characters()) | st.binary())
def test_every_excerpt_is_short_and_prints(data):
    shown = excerpt(data)
    assert len(shown) <= DETAIL_CHARS
    assert shown.isprintable()
    shown.encode()


def test_the_page_on_damage_has_every_reason_with_its_class():
    page = (Path(__file__).parents[1] / "docs" / "damage.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE)
    assert rows == [(reason, known.severity) for reason, known in REASONS.items()]


def test_what_was_skipped_is_a_sentence():
    quality = Quality(n_sources=1234)
    assert quality.headline() is None
    for order, count in ((3, 1), (3, 2), (7, 998)):
        place = Example(order, 0, "a", 1, "")
        quality.add("malformed_record", place, count=count, dropped=5)
    quality.add("bom", Example(8, 0, "b", 1, ""), dropped=3)
    other = Quality(n_sources=1)
    other.add("torn_tail", Example(7, 9, "a", 2, ""), dropped=1)
    quality.merge(other)
    assert quality.headline() == (
        "1,002 records skipped in 2 of 1,235 files: torn_tail x1, malformed_record x1001"
    )
