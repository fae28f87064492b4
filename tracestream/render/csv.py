"""The RUNS table as CSV (RFC 4180), safe to open in a spreadsheet."""

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tracestream.report import Report
from tracestream.schema import RUNS

_FORMULA = ("=", "+", "-", "@")
"""A text that begins like this is run as a formula by spreadsheets; some trim it before."""
_TRIMMED = ("\t", "\r", "\n")
_SLICE_ROWS = 1024


def csv_parts(report: Report) -> Iterator[bytes]:
    """Yield one row a run, the columns of RUNS, as UTF-8 with CRLF line ends, in pieces.

    Nothing is an empty cell; reasons are joined with `; `. A text that a spreadsheet would run as a
    formula gets an apostrophe in front; numbers are numbers, negative ones too.
    """
    yield _lines([RUNS.names])
    for batch in report.runs_spool.batches(RUNS.names):
        for begin in range(0, batch.num_rows, _SLICE_ROWS):
            rows = batch.slice(begin, _SLICE_ROWS)
            columns = [[_cell(value) for value in column.to_pylist()] for column in rows.columns]
            yield _lines(zip(*columns, strict=True))


def _lines(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = value if isinstance(value, str) else "; ".join(value)
    return f"'{text}" if text.startswith(_TRIMMED) or _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Say whether what is first to be seen begins a formula; its full-width form does, too."""
    first = next((char for char in text if char.isprintable() and char != " "), "")
    return unicodedata.normalize("NFKC", first).startswith(_FORMULA)
