"""The table of a report: a line a run, worst first, then totals over all runs.

On a terminal the lines fit its width: columns that matter less go first, names of runs are cut in
the middle and reasons at the end. Elsewhere nothing is cut. A report of many runs is drawn in
slices, so that the runs never stand in memory as Python objects.
"""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.render.text import Line, cell_width, cut_end, cut_run, pad, visible
from tracestream.report import Report
from tracestream.spool import Spool

_GAP = "  "
_SLICE_ROWS = 1024
_TURN_ROWS = 1 << 16
_NARROW, _NARROW_RUN = 60, 16
"""Below so many cells a name is squeezed further, rather than losing the score beside it."""

_MAX_ALIGNED = 100
"""A longer text is not cut outside a terminal, but other rows are not filled up to it."""

_STYLES = {"fail": "bold red", "pass": "green", "ungradable": "yellow"}
_WORDS = {"pass": "passed", "fail": "failed", "ungradable": "ungradable"}


class Column(NamedTuple):
    """One column of the table.

    Attributes:
        title: Its heading.
        name: The column of RUNS.
        text: Turns a value into text.
        drop: A terminal too narrow for all loses the column with the lowest number first.
        min_width: Cells that it may be squeezed to; 0: as wide as it needs.
        right: Aligned right.
        with_budgets: Shown only if some run has a budget.
    """

    title: str
    name: str
    text: Callable[[Any], str]
    drop: int
    min_width: int = 0
    right: bool = False
    with_budgets: bool = False


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _names(names: Sequence[str] | None) -> str:
    return ", ".join(names or ())


OVER_BUDGET = Column("OVER BUDGET", "over_budget", _names, 4, with_budgets=True)
LOST = Column("CONTENT LOST", "lost_pairs", _names, 5)
RUN = Column("RUN", "run", str, 9, min_width=24)
REASONS = Column("REASONS", "reasons", "; ".join, 3, min_width=20)
COLUMNS = (
    Column("VERDICT", "verdict", str, 10),
    Column("OVERALL", "overall_score", _score, 8, right=True, with_budgets=True),
    Column("HANDOFF", "handoff_score", _score, 7, right=True),
    Column("BUDGET", "budget_score", _score, 4, right=True, with_budgets=True),
    OVER_BUDGET,
    LOST,
    Column("TOOLS", "tool_calls", _count, 2, right=True),
    Column("EVENTS", "events", _count, 1, right=True),
    RUN,
    REASONS,
)
"""From left to right. Names come after numbers: right-to-left letters would pull digits along."""

_DROP_REASONS_OF_FAILED = 6
"""Why a run failed matters more than the parts of its score; why one has no handoff does not."""

_TOTALS: tuple[tuple[str, str, bool], ...] = (
    ("overall score", "overall_score", True),
    ("handoff score", "handoff_score", False),
    ("budget score", "budget_score", True),
)


def table_lines(
    report: Report, *, top: int | None = None, width: int | None = None, ascii_only: bool = False
) -> Iterator[Line]:
    """Yield the lines of the table: runs, worst first, then a summary of all of them.

    They are in the order of `Report.worst_first`.

    Args:
        report: What was graded.
        top: List at most this many runs; None for all. The summary is always of all.
        width: Cells of the terminal; None: there is none, and nothing is cut.
        ascii_only: Escape all beyond ASCII.

    Yields:
        Lines without line ends, in O(n log n) for n runs; 1,024 runs at a time are Python objects.
    """
    runs = report.runs_spool
    order = report.worst_first()
    shown = _Shown(runs, order[:top], ascii_only)
    if shown.n_rows:
        yield from _run_lines(shown, width, ascii_only)
        if shown.n_rows < len(runs):
            verdicts = pc.take(runs.column("verdict"), order[shown.n_rows :])
            yield _rest_line(verdicts, len(runs), width)
        yield Line("")
    yield from _summary_lines(report, width)


class _Shown:
    """The rows of the table as texts, slice by slice, as often as asked.

    Args:
        runs: GRADED.
        order: The places of the runs to show, in order.
        ascii_only: Escape all beyond ASCII.
    """

    def __init__(self, runs: Spool, order: pa.Array, ascii_only: bool) -> None:
        has_budgets = runs.column("budget_score").null_count < len(runs)
        self.columns = [column for column in COLUMNS if has_budgets or not column.with_budgets]
        self.n_rows = len(order)
        verdicts = runs.column("verdict")
        self.has_failed = len(order) > 0 and verdicts[order[0].as_py()].as_py() == "fail"
        self._order = order
        self._ascii_only = ascii_only
        self._runs = runs

    def __iter__(self) -> Iterator[list[str]]:
        for rows in self._slices():
            texts = [
                [
                    visible(column.text(value), ascii_only=self._ascii_only)
                    for value in values.to_pylist()
                ]
                for column, values in zip(self.columns, rows.columns, strict=True)
            ]
            yield from map(list, zip(*texts, strict=True))

    def _slices(self) -> Iterator[pa.Table]:
        """Yield the rows as columns: each turn goes over all runs, and is cut for the Python objects."""
        names = [column.name for column in self.columns]
        for begin in range(0, self.n_rows, _TURN_ROWS):
            rows = self._runs.take(self._order[begin : begin + _TURN_ROWS], names)
            for at in range(0, rows.num_rows, _SLICE_ROWS):
                yield rows.slice(at, _SLICE_ROWS)

    def widths(self) -> list[int]:
        """Return the cells that each column needs; 0 if it is empty."""
        widths = [0] * len(self.columns)
        for texts in self:
            for at, text in enumerate(texts):
                cells = cell_width(text)
                if cells > widths[at]:
                    widths[at] = cells
        titled = zip(widths, self.columns, strict=True)
        return [max(cells, len(column.title)) if cells else 0 for cells, column in titled]


def _run_lines(shown: _Shown, width: int | None, ascii_only: bool) -> Iterator[Line]:
    columns, natural = shown.columns, shown.widths()
    if width is None:
        widths = [min(cells, _MAX_ALIGNED) for cells in natural]
    else:
        widths = _fit(columns, natural, width, has_failed=shown.has_failed)
    mark = "..." if ascii_only else "…"
    title = _fitted(_joined([column.title for column in columns], columns, widths), width)
    yield Line(title, "bold", len(title))
    for texts in shown:
        fitted = texts if width is None else list(map(_cut, columns, texts, widths, repeat(mark)))
        line = _fitted(_joined(fitted, columns, widths), width)
        yield Line(line, _STYLES.get(texts[0], ""), min(len(fitted[0]), len(line)))


def _cut(column: Column, text: str, width: int, mark: str) -> str:
    return cut_run(text, width, mark) if column is RUN else cut_end(text, width, mark)


def _rest_line(verdicts: pa.ChunkedArray, n_runs: int, width: int | None) -> Line:
    counts = _counts(verdicts)
    words = ", ".join(f"{counts[v]:,} {_WORDS[v]}" for v in _WORDS if counts[v])
    text = f"... and {len(verdicts):,} more ({words}); --top {n_runs} lists all"
    return Line(_fitted(text, width))


def _joined(texts: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    row = zip(texts, columns, widths, strict=True)
    kept = (pad(text, width, right=column.right) for text, column, width in row if width)
    return _GAP.join(kept).rstrip()


def _fit(
    columns: Sequence[Column], natural: Sequence[int], width: int, *, has_failed: bool
) -> list[int]:
    """Return how wide each column is on a terminal; 0 drops it."""
    # Lists of names get no more than a share; the whole lists are in the report.
    natural = [
        min(cells, max(len(column.title), width // 6)) if column.text is _names else cells
        for column, cells in zip(columns, natural, strict=True)
    ]
    widths = list(natural)

    def least(at: int) -> int:
        squeezed = columns[at].min_width
        if columns[at] is RUN and width < _NARROW:
            squeezed = _NARROW_RUN
        return min(widths[at], squeezed) if squeezed else widths[at]

    def needed() -> int:
        kept = [least(at) for at, cells in enumerate(widths) if cells]
        return sum(kept) + len(_GAP) * (len(kept) - 1)

    def drop(at: int) -> int:
        is_why = has_failed and columns[at] is REASONS
        return _DROP_REASONS_OF_FAILED if is_why else columns[at].drop

    order = sorted(range(len(columns)), key=drop)
    for at in order[: order.index(columns.index(RUN))]:
        if needed() > width:
            widths[at] = 0
    for at in reversed(order):  # what a wide one dropped later made room for
        dropped, widths[at] = widths[at], natural[at]
        if needed() > width:
            widths[at] = dropped
    run, reasons = columns.index(RUN), columns.index(REASONS)
    space = width - needed() + least(run) + least(reasons)
    if widths[run] + widths[reasons] > space:
        share = max(space - widths[reasons], space * 3 // 5)
        widths[run] = max(1, min(widths[run], max(least(run), min(share, space - least(reasons)))))
        widths[reasons] = min(widths[reasons], space - widths[run]) if widths[reasons] else 0
    return widths


def _summary_lines(report: Report, width: int | None) -> Iterator[Line]:
    summary, runs = report.summary, report.runs_spool
    has_budgets = summary["budget_score"] is not None
    entries = []
    for label, name, with_budgets in _TOTALS:
        if has_budgets or not with_budgets:
            n_scored = len(runs) - runs.column(name).null_count
            note = f"mean of {n_scored:,}" if n_scored else "no run has one"
            entries.append((label, _score(summary[name]), note))
    lossy = summary["content_loss_runs"]
    entries += [
        ("content loss", f"{lossy:,}", "run" if lossy == 1 else "runs"),
        ("tool calls", f"{summary['tool_calls']:,}", ""),
        ("events", f"{summary['events']:,}", ""),
        ("bytes read", f"{summary['bytes']:,}", ""),
    ]
    figures = max(len(figure) for _, figure, _ in entries)
    for label, figure, note in entries:
        line = f"{label:<13}{_GAP}{figure:>{figures}}"
        noted = f"{line}{_GAP}{note}".rstrip()
        yield Line(noted if width is None or len(noted) <= width else _fitted(line, width))
    yield Line("")
    counts = _counts(runs.column("verdict"))
    words = ", ".join(f"{counts[verdict]:,} {_WORDS[verdict]}" for verdict in _WORDS)
    verdict = f"{_runs(len(runs))}: {words}"
    style = "bold red" if counts["fail"] else "bold"
    for text in [verdict] if width is None else textwrap.wrap(verdict, max(width, 1)):
        yield Line(text, style, len(text))


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _counts(verdicts: pa.ChunkedArray) -> dict[str, int]:
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(verdicts).to_pylist()}
    return {verdict: counts.get(verdict, 0) for verdict in _WORDS}


def _fitted(text: str, width: int | None) -> str:
    return text if width is None else cut_end(text, width, "...")
