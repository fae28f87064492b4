"""What is in traces, for a person: a line a source, the damaged first, then totals in words.

On a terminal lines fit its width: columns that matter less go first, lists end with how many more there
are. Elsewhere nothing is cut.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tracestream.inspection import Inspection
from tracestream.quality import REASONS
from tracestream.render.text import Line, cell_width, cut_end, cut_middle, cut_run, pad, visible

Document = Mapping[str, Any]

_GAP = "  "
_MAX_ALIGNED = 100
"""A longer text is not cut outside a terminal, but other rows are not filled up to it."""
_NOTE_LINES = 3
"""Lines that the notes beside one figure may take on a terminal."""

_RANKS = {"loss": 1, "doubt": 2, "note": 3}


class Column(NamedTuple):
    """One column of a table.

    Attributes:
        title: Its heading.
        text: What it shows of a row.
        drop: A terminal too narrow for all loses the column with the lowest number first.
        min_width: Cells that it may be cut to; 0: as wide as it needs.
        cut: Cuts it.
        right: Aligned right.
    """

    title: str
    text: Callable[[Document], str]
    drop: int
    min_width: int = 0
    cut: Callable[[str, int, str], str] = cut_end
    right: bool = False


def _number(title: str, drop: int, text: Callable[[Document], str]) -> Column:
    return Column(title, text, drop, right=True)


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _bytes(value: int) -> str:
    """Return a size in three or four digits."""
    size, units = float(value), iter(("B", "kB", "MB", "GB"))
    unit = next(units)
    for larger in units:
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    return (
        f"{value} B"
        if unit == "B"
        else f"{size:.1f} {unit}"
        if size < 99.95
        else f"{size:,.0f} {unit}"
    )


def _span(seconds: float | None) -> str:
    """Return a duration in its largest fitting unit."""
    if seconds is None:
        return "-"
    for unit, size, enough in (
        ("ms", 0.001, 1),
        ("s", 1, 120),
        ("min", 60, 7200),
        ("h", 3600, 172_800),
    ):
        if seconds < enough:
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{seconds / 86_400:,.1f} d"


def _form(source: Document) -> str:
    return ", ".join(
        word
        for word in (
            source["dialect"] or "unknown",
            source["framing"] or "",
            "compressed" if source["compressed"] else "",
        )
        if word
    )


def _texts(contents: Document) -> str:
    exchanges = contents["requests"], contents["responses"]
    n_events, n_texts = (
        sum(exchange[name] for exchange in exchanges) for name in ("events", "with_text")
    )
    return f"{n_texts}/{n_events}" if n_events else "-"


def _notes(source: Document) -> str:
    notes = [source["problem"]] if source["problem"] else []
    said = _SAID_BY_PROBLEM if notes else ()
    notes += [f"{reason} x{n:,}" for reason, n in source["damage"].items() if reason not in said]
    return "; ".join(notes)


_SAID_BY_PROBLEM = ("unknown_format", "unreadable_source")

_SOURCES = (
    _number("RUNS", 10, lambda source: _count(len(source["runs"]))),
    _number("EVENTS", 9, lambda source: _count(source["events"])),
    _number("AGENTS", 7, lambda source: _count(len(source["agents"]))),
    _number("TEXT", 8, _texts),
    _number("TOOLS", 6, lambda source: _count(source["tool_calls"])),
    _number("TOK IN", 5, lambda source: _count(source["usage"]["input_tokens"])),
    _number("TOK OUT", 4, lambda source: _count(source["usage"]["output_tokens"])),
    _number("SPAN", 3, lambda source: _span(source["time"]["span_s"])),
    _number("BYTES", 2, lambda source: _bytes(source["bytes"])),
    Column("FORMAT", _form, 1),
    Column("SOURCE", lambda source: source["source"], 12, 26, cut_middle),
    Column("NOTES", _notes, 11, 12),
)
"""Names come after numbers: right-to-left letters would pull digits along."""

_RUNS = (
    _number("EVENTS", 3, lambda run: _count(run["events"])),
    Column("GRADABLE", lambda run: "yes" if run["gradable"] else "no", 4),
    _number(
        "HANDOFFS",
        2,
        lambda run: f"{run['handoffs_with_text']}/{run['handoffs']}" if run["handoffs"] else "-",
    ),
    Column("BUDGET", lambda run: "yes" if run["has_budget"] else "no", 1),
    Column("RUN", lambda run: run["run"], 6, 26, cut_run),
    Column("AGENTS", lambda run: " > ".join(run["agents"]), 5, 12),
)


def inspection_lines(
    inspection: Inspection,
    *,
    top: int | None = None,
    width: int | None = None,
    ascii_only: bool = False,
) -> Iterator[Line]:
    """Yield the lines: sources (of a single one, its runs), totals, and the damage in words.

    Sources that could not be read come first, then damaged ones, then the others, each in the order
    they were read.

    Args:
        inspection: What was found.
        top: List at most this many sources or runs; None for all. Totals are always of all.
        width: Cells of the terminal; None: there is none, and nothing is cut.
        ascii_only: Escape all beyond ASCII.
    """
    summary = inspection.summary
    n_sources = summary["sources"]
    draw = _Drawing(width, ascii_only)
    ranks = [_rank(inspection.source(at)) for at in range(n_sources)]
    order = sorted(range(n_sources), key=ranks.__getitem__)[:top]
    yield from draw.table(_SOURCES, lambda: map(inspection.source, order))
    yield from draw.rest(n_sources - len(order), "source", n_sources)
    if n_sources == 1 and summary["events"]:
        runs = inspection.source(0)["runs"]
        yield Line("")
        yield from draw.table(_RUNS, lambda: iter(runs[:top]))
        yield from draw.rest(len(runs[top:]) if top is not None else 0, "run", len(runs))
    yield Line("")
    totals = list(_totals(summary))
    label_width, figure_width = (max(len(total[at]) for total in totals) for at in (0, 1))
    for label, figure, notes in totals:
        yield from draw.total(f"{label:<{label_width}}{_GAP}{figure:>{figure_width}}", notes)
    yield Line("")
    sentences = list(inspection.ledger.sentences())
    for sentence in sentences or ["no damage: everything was read as it was written"]:
        yield from draw.sentence(sentence)


def _rank(source: Document) -> int:
    if source["problem"]:
        return 0
    return min((_RANKS[REASONS[reason].severity] for reason in source["damage"]), default=3)


class _Drawing:
    """Draws texts as lines that fit.

    Args:
        width: Cells of the terminal, or None.
        ascii_only: Escape all beyond ASCII.
    """

    def __init__(self, width: int | None, ascii_only: bool) -> None:
        self._width = width
        self._ascii_only = ascii_only
        self._mark = "..." if ascii_only else "…"

    def table(
        self, columns: Sequence[Column], rows: Callable[[], Iterator[Document]]
    ) -> Iterator[Line]:
        """Yield a heading and a line a row; `rows` is asked twice, as they may be many."""
        natural = [0] * len(columns)
        for texts in (self._texts(columns, row) for row in rows()):
            natural = [
                max(cells, cell_width(text)) for cells, text in zip(natural, texts, strict=True)
            ]
        if not any(natural):
            return
        natural = [max(w, len(c.title)) if w else 0 for w, c in zip(natural, columns, strict=True)]
        widths = (
            [min(w, _MAX_ALIGNED) for w in natural]
            if self._width is None
            else _fit(columns, natural, self._width)
        )
        title = self._row(columns, [column.title for column in columns], widths)
        yield Line(title, "bold", len(title))
        for row in rows():
            line = self._row(columns, self._texts(columns, row), widths)
            yield Line(line, "yellow" if row.get("problem") else "", len(line))

    def _texts(self, columns: Sequence[Column], row: Document) -> list[str]:
        return [self._visible(column.text(row)) for column in columns]

    def _visible(self, text: str) -> str:
        return visible(text, ascii_only=self._ascii_only)

    def _row(self, columns: Sequence[Column], texts: Sequence[str], widths: Sequence[int]) -> str:
        cells = []
        for column, text, width in zip(columns, texts, widths, strict=True):
            if width:
                cut = text if self._width is None else column.cut(text, width, self._mark)
                cells.append(pad(cut, width, right=column.right))
        return self._fitted(_GAP.join(cells).rstrip())

    def rest(self, n_more: int, what: str, n_all: int) -> Iterator[Line]:
        """Yield how many more rows there are, if there are any."""
        if n_more:
            yield Line(
                self._fitted(
                    f"... and {n_more:,} more {what}{'s' * (n_more > 1)}; --top {n_all} lists all"
                )
            )

    def total(self, line: str, notes: Sequence[str]) -> Iterator[Line]:
        """Yield a line of the totals; where notes do not fit, more lines, then how many more."""
        begin = line + _GAP
        room = None if self._width is None else self._width - len(begin)
        texts = [""]
        for at, note in enumerate(map(self._visible, notes)):
            n_more = len(notes) - at - 1
            joined = f"{texts[-1]} {note}".lstrip() + "," * (n_more > 0)
            is_last = len(texts) == _NOTE_LINES
            space = len(f" +{n_more} more") if n_more and is_last else 0
            if not texts[-1] or room is None or cell_width(joined) + space <= room:
                texts[-1] = joined
            elif is_last:
                texts[-1] += f" +{n_more + 1} more"
                break
            else:
                texts.append(note + "," * (n_more > 0))
        for text in texts:
            yield Line(self._fitted((begin + text).rstrip()))
            begin = " " * len(begin)

    def sentence(self, text: str) -> Iterator[Line]:
        """Yield a sentence, over as many lines as it needs."""
        shown = self._visible(text)
        for line in [shown] if self._width is None else textwrap.wrap(shown, max(1, self._width)):
            yield Line(self._fitted(line))

    def _fitted(self, text: str) -> str:
        return text if self._width is None else cut_end(text, self._width, self._mark)


def _fit(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """Return how wide each column is on a terminal; 0 drops it."""
    widths = list(natural)

    def least(at: int) -> int:
        return min(widths[at], columns[at].min_width or widths[at])

    def needed() -> int:
        kept = [least(at) for at, cells in enumerate(widths) if cells]
        return sum(kept) + len(_GAP) * (len(kept) - 1)

    order = sorted(range(len(columns)), key=lambda at: columns[at].drop)
    for at in order[:-1]:
        if needed() > width:
            widths[at] = 0
    for at in reversed(order):  # what a wide one dropped later made room for
        dropped, widths[at] = widths[at], natural[at]
        if needed() > width:
            widths[at] = dropped
    main, *others = [at for at in reversed(order) if widths[at] and columns[at].min_width] or [
        order[-1]
    ]
    space = max(1, width - needed() + sum(map(least, (main, *others))))
    wanted = sum(widths[at] for at in others)
    widths[main] = min(widths[main], max(least(main), space * 3 // 5, space - wanted), space)
    for at in others:
        widths[at] = min(widths[at], space - widths[main])
    return widths


def _totals(summary: Document) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the lines of the totals: a label, a figure, and notes."""
    time, usage = summary["time"], summary["usage"]
    framings = _named(summary["framings"], "framing", "sources")
    odd = [f"{summary[name]:,} {words}" for name, words in _ODD_SOURCES if summary[name]]
    yield "sources", _count(summary["sources"]), [*odd, *framings]
    formats = _named(summary["dialects"], "dialect", "sources")
    yield "formats", _count(len(formats)), formats
    yield "bytes", _count(summary["bytes"]), []
    n_gradable, n_with_budget = summary["gradable_runs"], summary["budget_runs"]
    notes = [f"{n_gradable:,} gradable", f"{n_with_budget:,} with a token budget"]
    yield "runs", _count(summary["runs"]), notes
    agents = _named(summary["agents"], "agent", "events")
    yield "agents", _count(len(agents)), agents
    yield "events", _count(summary["events"]), []
    for kind in summary["kinds"]:
        exchanges = _EXCHANGES.get(kind["kind"])
        notes = [f"{summary[exchanges]['with_text']:,} with text"] if exchanges else []
        notes += _named(kind["types"], "event_type", "events")
        yield f"  {kind['kind']}", _count(kind["events"]), notes
    n_pairs, n_compared = summary["handoffs"], summary["handoffs_with_text"]
    why = f"{n_compared:,} with text on both sides" if n_pairs else _NO_HANDOFF
    yield "handoffs", _count(n_pairs), [why]
    tools = [
        f"{tool['tool']} {tool['calls']:,}"
        + (f" ({tool['errors']:,} failed)" if tool["errors"] else "")
        for tool in summary["tools"]
    ]
    yield "tool calls", _count(summary["tool_calls"]), tools
    yield "tool errors", _count(summary["tool_errors"]), []
    yield "tokens in", _count(usage["input_tokens"]), []
    yield "tokens out", _count(usage["output_tokens"]), []
    cost = usage["cost_usd"]
    yield (
        "cost",
        "-" if cost is None else f"{cost:,.4f}",
        ["US dollars"] if cost is not None else [],
    )
    first, last = ((time[name] or "")[:19].replace("T", " ") for name in ("first", "last"))
    if first[:10] == last[:10]:
        last = last[11:]
    yield "time span", _span(time["span_s"]), [f"{first} to {last} UTC"] if first else []


_EXCHANGES = {"request": "requests", "response": "responses"}
_NO_HANDOFF = "no run has two agents that exchange text with models"
_ODD_SOURCES = (("problems", "not read as traces"), ("compressed", "compressed"))


def _named(entries: Sequence[Document], name: str, count: str) -> list[str]:
    return [f"{entry[name]} {entry[count]:,}" for entry in entries if entry[name]]
