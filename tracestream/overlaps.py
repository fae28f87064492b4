"""How much of one text column stands in another: handoff scores on data of any kind."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa

from tracestream.errors import ConfigError
from tracestream.kernels.overlap import score_handoff

Texts: TypeAlias = (
    "pl.Series | pa.Array | pa.ChunkedArray | list[str | None] | tuple[str | None, ...]"
)
"""A column of texts; nulls allowed."""

_SLICE_ROWS = 16
_COLUMNS = {
    "exact": pl.Boolean,
    "output_tokens": pl.Int64,
    "shared_tokens": pl.Int64,
    "score": pl.Float64,
}


def overlap(outputs: Texts, inputs: Texts) -> pl.DataFrame:
    """Return how much of each output stands in the input beside it, scored as handoffs are.

    Time is linear in the text. Memory: the result, and sixteen rows of text at a time.

    Args:
        outputs: String[n], nulls allowed: a polars Series, a pyarrow Array or ChunkedArray (String,
            Categorical, or any Arrow type of text), or a list of str and None.
        inputs: Likewise, of the same length. `grade` scores the text of Python's ``str()`` of a
            request's messages; ``str(json.loads(messages))`` gives it.

    Returns:
        One row for each pair, in order:

        - `exact`: Boolean. The output, or its first 200 characters, stand in the input as they are.
        - `output_tokens`: Int64. Distinct tokens of the output, words of four or more ASCII letters
          and digits in lower case; null where exact, and where a side is null or empty.
        - `shared_tokens`: Int64. Those of them that the input has too; null likewise.
        - `score`: Float64, 2..10: 10 where exact, else 2 + 12 * shared / output tokens, 10 at most;
          5 where a side is null or empty. Under 5 counts as lost content.

    Raises:
        ConfigError: The lengths differ, or a column does not hold text.

    Source: praisonaiagents 1.7, ``eval/context_eval.py``; the score is its context_passed_score.

    Example:
        >>> overlap(["final report 2024", None], ["a final Report", "a final report"]).rows()
        [(False, 3, 2, 10.0), (False, None, None, 5.0)]
    """
    left, right = _column(outputs, "outputs"), _column(inputs, "inputs")
    if len(outputs) != len(inputs):
        raise ConfigError(
            f"outputs has {len(outputs)} rows, inputs {len(inputs)}\n"
            "Hint: give two columns of one table, such as the two sides of a join."
        )
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for output, input_text in zip(left, right, strict=True):
        score = score_handoff(output, input_text)
        columns["exact"].append(score.exact)
        columns["output_tokens"].append(score.output_tokens)
        columns["shared_tokens"].append(score.shared_tokens)
        columns["score"].append(score.passed)
    return pl.DataFrame(columns, schema=_COLUMNS)


def _column(texts: object, name: str) -> Iterator[str | None]:
    """Return the texts of a column, a slice of it at a time."""
    if isinstance(texts, list | tuple):
        for text in texts:
            if text is not None and not isinstance(text, str):
                raise _not_text(name, f"a list with {type(text).__name__}")
        return iter(texts)
    if isinstance(texts, pl.Series):
        if texts.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            raise _not_text(name, f"a Series of {texts.dtype}")
    elif isinstance(texts, pa.Array | pa.ChunkedArray):
        if not _is_text(texts.type):
            raise _not_text(name, f"an array of {texts.type}")
    else:
        raise _not_text(name, f"of type {type(texts).__name__}")
    return _values(texts)


def _values(texts: Any) -> Iterator[str | None]:
    for start in range(0, len(texts), _SLICE_ROWS):
        part = texts[start : start + _SLICE_ROWS]
        yield from part.to_list() if isinstance(part, pl.Series) else part.to_pylist()


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind in (pa.string(), pa.large_string(), pa.string_view(), pa.null())


def _not_text(name: str, found: str) -> ConfigError:
    return ConfigError(
        f"{name} is {found}, not text\n"
        "Hint: give a polars Series or pyarrow array of strings, or a list of str and None; JSON"
        " in a binary column is text once cast to String, or as str(json.loads(value))."
    )
