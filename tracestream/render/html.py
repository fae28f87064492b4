"""The report as one HTML page that needs nothing else: no network, no script.

Every text from a trace is escaped twice over: what is not plainly visible is shown as Python writes
it, and what HTML would read is text. A policy in the page forbids the browser to load anything.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.quality import REASONS
from tracestream.render import markup
from tracestream.render.style import FRAGMENT_STYLE, PAGE_STYLE
from tracestream.report import Report

MAX_ROWS = 1000
"""Rows of a table in a page; browsers grow slow with more."""
FRAGMENT_ROWS = 20
"""Runs that a notebook shows."""

_HEAD = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    f"<title>tracestream report</title>\n<style>{PAGE_STYLE}{FRAGMENT_STYLE}</style>\n"
    '</head>\n<body>\n<main class="tracestream">\n<h1>tracestream report</h1>\n'
)
_FOOT = "</main>\n</body>\n</html>\n"
_VERDICTS = {"passed": "pass", "failed": "fail", "ungradable": "ungradable"}
_UNASKED: tuple[object, ...] = (None, False, 0, [], "auto", "file")


def html_parts(report: Report) -> Iterator[bytes]:
    """Yield the page: summary, runs worst first, lost content, blown budgets, data quality.

    A table lists at most MAX_ROWS rows, the worst, and says so.
    """
    for part in _page(report):
        yield part.encode()


def fragment(report: Report) -> str:
    """Return the summary and the worst runs as HTML for a notebook."""
    parts = [*_summary(report), *_runs(report, FRAGMENT_ROWS)]
    return f'<style>{FRAGMENT_STYLE}</style>\n<div class="tracestream">\n{"".join(parts)}</div>\n'


def _page(report: Report) -> Iterator[str]:
    yield _HEAD
    yield f"<p>{markup.text(_asked(report))}</p>\n"
    yield from _summary(report)
    yield from _runs(report, MAX_ROWS)
    yield from _losses(report.handoffs_table)
    yield from _overruns(report.budgets_table)
    yield from _quality(report)
    yield _FOOT


def _asked(report: Report) -> str:
    """Return which version graded, and the options that ask for something."""
    head = report.head()
    said = [f"version {head['version']}", f"scoring {head['scoring']}"]
    for option, value in head["options"].items():
        if option == "ledger" and value is not None:
            said.append(f"ledger of {len(value):,} rows")
        elif value not in _UNASKED and option != "max_record_bytes":
            said.append(f"{option} {_plain(value)}")
    return " · ".join(said)


def _plain(value: Any) -> str:
    if value is True:
        return "on"
    if isinstance(value, dict):
        return ", ".join(f"{agent}={tokens}" for agent, tokens in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def _summary(report: Report) -> Iterator[str]:
    summary = report.summary
    yield '<div class="split">'
    for key, verdict in _VERDICTS.items():
        n = summary[key]
        if n:
            yield f'<i class="{verdict}" style="flex:{n}" title="{n:,} {key}"></i>'
    yield "</div>\n<dl>\n"
    for key, value in summary.items():
        kind = f' class="{_VERDICTS[key]}"' if value and key in _VERDICTS else ""
        shown = f"{value:.2f}" if isinstance(value, float) else markup.count(value)
        yield f"<div><dt>{key.replace('_', ' ')}</dt><dd{kind}>{shown}</dd></div>\n"
    yield "</dl>\n"


def _runs(report: Report, most: int) -> Iterator[str]:
    runs = report.runs_table
    order = report.worst_first()[:most]
    yield "<h2>Runs, worst first</h2>\n"
    yield _cut_off(len(order), runs.num_rows, "runs")
    titles = (
        *("verdict", "*run", "#overall", "#handoff", "#budget", "loss"),
        *("#tool calls", "#tokens in / out", "*reasons"),
    )
    yield from markup.table(titles, map(_run, _rows(runs, order)))


def _run(row: dict[str, Any]) -> tuple[str, ...]:
    loss = row["content_loss"]
    return (
        markup.badge(row["verdict"]),
        markup.name(row["run"]),
        *(markup.score(row[key]) for key in ("overall_score", "handoff_score", "budget_score")),
        markup.NONE if loss is None else "yes" if loss else "no",
        markup.count(row["tool_calls"]),
        f"{markup.count(row['input_tokens'])} / {markup.count(row['output_tokens'])}",
        "".join(f"<p>{markup.text(reason)}</p>" for reason in row["reasons"]),
    )


def _losses(handoffs: pa.Table) -> Iterator[str]:
    lost = handoffs.filter(handoffs["content_loss_detected"])
    order = pc.sort_indices(lost, [("context_passed_score", "ascending")])[:MAX_ROWS]
    yield "<h2>Pairs that lost content</h2>\n"
    if not lost.num_rows:
        yield f"<p>None of {handoffs.num_rows:,} handoffs.</p>\n"
        return
    yield _cut_off(len(order), lost.num_rows, "pairs")
    rows = (
        (
            markup.score(row["context_passed_score"]),
            f"{markup.count(row['shared_tokens'])} of {markup.count(row['output_tokens'])}",
            f"{markup.name(row['from_agent'])} → {markup.name(row['to_agent'])}",
            markup.name(row["run"]),
        )
        for row in _rows(lost, order)
    )
    yield from markup.table(("#passed", "#words found", "*handoff", "*run"), rows)


def _overruns(budgets: pa.Table) -> Iterator[str]:
    over = budgets.filter(pc.invert(budgets["within_budget"]))
    used = pc.cast(over["used_tokens"], "float64", safe=False)
    budget = pc.cast(over["budget_tokens"], "float64", safe=False)
    over = over.append_column("times", pc.divide(used, budget))
    order = pc.sort_indices(over, [("times", "descending")])[:MAX_ROWS]
    yield "<h2>Budgets blown</h2>\n"
    if not over.num_rows:
        yield f"<p>None of {budgets.num_rows:,} budgets.</p>\n"
        return
    yield _cut_off(len(order), over.num_rows, "budgets")
    rows = (
        (
            markup.score(row["compliance_score"]),
            markup.count(row["used_tokens"]),
            markup.count(row["budget_tokens"]),
            f"{(row['times'] - 1) * 100:,.0f}%",
            markup.name(row["agent_name"]),
            markup.name(row["run"]),
        )
        for row in _rows(over, order)
    )
    yield from markup.table(("#score", "#used", "#budget", "#over by", "*agent", "*run"), rows)


def _quality(report: Report) -> Iterator[str]:
    ledger = report.ledger
    yield (
        f"<h2>Data quality</h2>\n<p>{ledger.records:,} records read, {ledger.skipped:,} skipped, "
        f"{ledger.bytes_dropped:,} bytes dropped.</p>\n"
    )
    rows = [
        (
            markup.badge(severity),
            markup.name(reason),
            markup.count(ledger.entries[reason].count),
            _examples(report, reason),
        )
        for severity in ("loss", "doubt", "note")
        for reason, known in REASONS.items()
        if known.severity == severity and reason in ledger.entries
    ]
    if rows:
        yield from markup.table(("class", "reason", "#count", "*what and where"), rows)


def _examples(report: Report, reason: str) -> str:
    places = []
    for example in report.ledger.entries[reason].examples:
        line = "" if example.line is None else f", line {example.line}, offset {example.offset}"
        detail = f" <code>{markup.text(example.detail)}</code>" if example.detail else ""
        places.append(f"<p>{markup.name(example.source)}{line}{detail}</p>")
    words = f"<summary>{markup.text(REASONS[reason].words)}</summary>"
    return f"<details>{words}{''.join(places)}</details>"


def _rows(table: pa.Table, order: pa.Array) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.take(order).to_pylist()
    return rows


def _cut_off(shown: int, there: int, what: str) -> str:
    if shown == there:
        return ""
    return f"<p>The worst {shown:,} of {there:,} {what}; the report's other forms hold all.</p>\n"
