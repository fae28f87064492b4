"""`overlap`: any two columns of text, scored by the rule that scores handoffs."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import nasty
from tracestream import ConfigError
from tracestream.kernels.overlap import score_handoff
from tracestream.overlaps import overlap

SCHEMA = {
    "exact": pl.Boolean,
    "output_tokens": pl.Int64,
    "shared_tokens": pl.Int64,
    "score": pl.Float64,
}
OUTPUTS = [
    "final report 2024",
    "the final report",
    "Sales doubled",
    "no",
    None,
    "",
    "some text here",
]
INPUTS = ["the Report of 2024", "here is the final report", "nothing at all", "yes", "x", "x", None]
ROWS = [
    (False, 3, 2, 10.0),
    (True, None, None, 10.0),
    (False, 2, 0, 2.0),
    (False, 0, 0, 2.0),
    (False, None, None, 5.0),
    (False, None, None, 5.0),
    (False, None, None, 5.0),
]

KINDS: dict[str, Callable[[list[str | None]], Any]] = {
    "list": list,
    "tuple": tuple,
    "series": lambda texts: pl.Series(texts, dtype=pl.String),
    "series of chunks": lambda texts: pl.concat(
        [pl.Series(texts[:2], dtype=pl.String), pl.Series(texts[2:], dtype=pl.String)]
    ),
    "categorical": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "string": lambda texts: pa.array(texts, pa.string()),
    "large string": lambda texts: pa.array(texts, pa.large_string()),
    "string view": lambda texts: pa.array(texts, pa.string_view()),
    "dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "chunked": lambda texts: pa.chunked_array([texts[:3], texts[3:]], pa.string()),
    "sliced": lambda texts: pa.array(["x", *texts, "y"]).slice(1, len(texts)),
}


@pytest.mark.parametrize("left", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("right", [KINDS["list"], KINDS["series"], KINDS["chunked"]])
def test_columns_of_every_kind_are_scored_alike(
    left: Callable[[list[str | None]], Any], right: Callable[[list[str | None]], Any]
) -> None:
    frame = overlap(left(OUTPUTS), right(INPUTS))
    assert frame.rows() == ROWS
    assert frame.schema == SCHEMA


@given(st.lists(st.tuples(st.none() | nasty.texts(), st.none() | nasty.texts()), max_size=40))
def test_rows_are_the_kernels_scores(pairs: list[tuple[str | None, str | None]]) -> None:
    frame = overlap([output for output, _ in pairs], [text for _, text in pairs])
    for row, (output, text) in zip(frame.rows(), pairs, strict=True):
        score = score_handoff(output, text)
        assert row == (score.exact, score.output_tokens, score.shared_tokens, score.passed)


@pytest.mark.parametrize(
    "empty", [[], pl.Series([]), pa.array([]), pa.chunked_array([], pa.string())]
)
def test_no_rows_give_an_empty_frame(empty: Any) -> None:
    frame = overlap(empty, [])
    assert frame.schema == SCHEMA
    assert frame.height == 0


def test_columns_of_nulls_score_neutral() -> None:
    frame = overlap(pl.Series([None, None]), pa.nulls(2))
    assert frame["score"].to_list() == [5.0, 5.0]
    assert frame["exact"].to_list() == [False, False]


def test_lists_may_hold_lone_surrogates() -> None:
    assert overlap(["cut \ud83d"], ["it was cut \ud83d here"])["exact"].item()


def test_unequal_lengths_are_an_error() -> None:
    with pytest.raises(ConfigError, match=r"outputs has 2 rows, inputs 1\nHint:"):
        overlap(["a", "b"], pl.Series(["a"]))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("text", "outputs is of type str, not text"),
        (7, "outputs is of type int"),
        (["a", 7], "outputs is a list with int"),
        ([b"a"], "outputs is a list with bytes"),
        (pl.Series([1, 2]), "outputs is a Series of Int64"),
        (pl.Series([b"a"]), "outputs is a Series of Binary"),
        (pl.Series([["a"]]), r"outputs is a Series of List\(String\)"),
        (pa.array([1.5]), "outputs is an array of double"),
        (pa.array([b"a"]), "outputs is an array of binary"),
        (pa.array([1, 2]).dictionary_encode(), "outputs is an array of dictionary"),
        (pl.DataFrame({"a": ["a"]}), "outputs is of type DataFrame"),
        (pl.col("a"), "outputs is of type Expr"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
def test_columns_of_other_types_are_an_error(wrong: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        overlap(wrong, ["a"])
    assert "\nHint: give a polars Series or pyarrow array of strings" in str(raised.value)
    with pytest.raises(ConfigError, match=words.replace("outputs", "inputs")):
        overlap(["a"], wrong)
