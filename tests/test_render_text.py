import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestream.render.text import cell_width, cut_end, cut_middle, cut_run, pad, visible

ANY_TEXT = st.text(st.characters(codec=None))  # lone surrogates too
HOSTILE = st.text(st.sampled_from("a \x1b\x07\n\t\x9b\u202e\u2066\u200b\ufe0f日é\u0301😀ש"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="ansi"),
        pytest.param("\x1b]0;title\x07", r"\x1b]0;title\x07", id="osc"),
        pytest.param("\x9b2J", r"\x9b2J", id="c1"),
        pytest.param("a\nb\r\tc\x00\x7f", r"a\nb\r\tc\x00\x7f", id="controls"),
        pytest.param("a\u202egpj.exe\u202c", r"a\u202egpj.exe\u202c", id="override"),
        pytest.param("\u2066a\u2069\u200f\u061c", r"\u2066a\u2069\u200f\u061c", id="isolates"),
        pytest.param("a\u200bb\u200d\ufeff\u2060", r"a\u200bb\u200d\ufeff\u2060", id="zero-width"),
        pytest.param("a\u2028b\u2029c\x85", r"a\u2028b\u2029c\x85", id="line-separators"),
        pytest.param("a\u3164\u2800\u00a0\ufe0f", r"a\u3164\u2800\xa0\ufe0f", id="blanks"),
        pytest.param("\U000e0041tag", r"\U000e0041tag", id="tags"),
        pytest.param("cut \ud83d", r"cut \ud83d", id="surrogate"),
    ],
)
def test_what_does_not_show_or_moves_the_cursor_is_escaped(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "traces/run-1.jsonl#r1",
        r"back\slash \n stays",
        "Ünïcödé",
        "e\u0301 decomposed",
        "日本語",
        "שלום",
        "مَرْحَبًا",
        "हिन्दी",
        "ที่นี่",
        "😀",
    ],
)
def test_plain_text_of_any_script_stays(text):
    assert visible(text) == text


def test_marks_without_a_base_or_piled_up_are_escaped():
    assert visible("\u0301a") == r"\u0301a"
    assert visible("Z" + "\u0301" * 6) == "Z" + "\u0301" * 4 + r"\u0301\u0301"


def test_ascii_only_escapes_all_else():
    assert visible("é 日 \x1b", ascii_only=True) == r"\xe9 \u65e5 \x1b"


@given(ANY_TEXT | HOSTILE)
def test_the_output_prints_and_never_reorders(text):
    shown = visible(text)
    assert shown.isprintable()
    assert not {unicodedata.bidirectional(char) for char in shown} & {
        *("LRE", "RLE", "LRO", "RLO", "PDF"),
        *("LRI", "RLI", "FSI", "PDI", "BN", "B"),
    }
    shown.encode()  # no lone surrogate


@given(ANY_TEXT | HOSTILE)
def test_what_is_visible_stays_as_it_is(text):
    shown = visible(text)
    assert visible(shown) == shown


@given(ANY_TEXT)
def test_ascii_only_gives_ascii(text):
    shown = visible(text, ascii_only=True)
    assert shown.isascii()
    assert shown.isprintable()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_printable_ascii_is_the_identity(text):
    assert visible(text) == text


@given(ANY_TEXT | HOSTILE, st.integers(0, 30))
def test_a_cut_fits_and_keeps_what_fits(text, width):
    shown = visible(text)
    for cut in (cut_end, cut_middle, cut_run):
        result = cut(shown, width)
        assert cell_width(result) <= width
        assert (result == shown) == (cell_width(shown) <= width)


@given(HOSTILE, st.integers(0, 30), st.booleans())
def test_padding_reaches_the_width(text, width, right):
    shown = visible(text)
    padded = pad(shown, width, right=right)
    assert cell_width(padded) == max(width, cell_width(shown))
    assert padded.strip(" ") == shown.strip(" ")


@pytest.mark.parametrize(
    ("width", "cut"),
    [
        (0, ""),
        (1, "…"),
        (2, "t…"),
        (3, "…l#"),
        (10, "tra…jsonl#"),
        (18, "traces/a-1.jsonl#"),
    ],
)
def test_a_cut_in_the_middle_keeps_both_ends(width, cut):
    assert cut_middle("traces/a-1.jsonl#", width) == cut


@pytest.mark.parametrize(
    ("width", "cut"),
    [
        (14, "trac…a618d42b5"),
        (15, "tra….jsonl#9…b5"),
        (24, "trace…0014.jsonl#93…42b5"),
        (40, "traces/run-0014.jsonl#933c8…f3aa618d42b5"),
    ],
)
def test_a_cut_name_keeps_of_source_and_id(width, cut):
    assert cut_run("traces/run-0014.jsonl#933c8a8dc8acbb5faf3aa618d42b5", width) == cut


def test_a_short_id_stays_whole():
    assert cut_run("traces/" + "deep/" * 9 + "run.jsonl#s17", 24) == "traces…eep/run.jsonl#s17"
    assert cut_run("traces/" + "deep/" * 9 + "run.jsonl", 24) == "traces/…p/deep/run.jsonl"


def test_a_cut_never_halves_a_wide_character():
    assert cut_end("日本語の", 6) == "日本…"
    assert cut_middle("日本語の名前", 8) == "日…名前"


def test_a_cut_does_not_leave_marks_of_what_is_cut_off():
    assert cut_middle("abcdefghe\u0301", 4) == "a…he\u0301"
    assert cut_middle("abcdefge\u0301hi", 3) == "…hi"


def test_another_mark_takes_its_own_width():
    assert cut_end("abcdefgh", 6, "...") == "abc..."
    assert cut_middle("abcdefgh", 6, "...") == "a...gh"
    assert cut_end("abcdefgh", 2, "...") == ".."
