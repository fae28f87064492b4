"""The report as one HTML page that needs nothing else: no network, no script.

Every text from a trace is escaped twice over: what is not plainly visible is shown as Python writes
it, and what HTML would read is text. A policy in the page forbids the browser to load anything.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.quality import REASONS
from tracestream.render import markup
from tracestream.render.style import FRAGMENT_STYLE, PAGE_STYLE
from tracestream.report import Report
from tracestream.spool import Spool

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
    yield from _losses(report.handoffs_spool)
    yield from _overruns(report.budgets_spool)
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
    order = report.worst_first()[:most]
    yield "<h2>Runs, worst first</h2>\n"
    yield _cut_off(len(order), len(report.runs_spool), "runs")
    titles = (
        *("verdict", "*run", "#overall", "#handoff", "#budget", "loss"),
        *("#tool calls", "#tokens in / out", "*reasons"),
    )
    yield from markup.table(titles, map(_run, report.runs_spool.take(order).to_pylist()))


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


def _losses(handoffs: Spool) -> Iterator[str]:
    worst, n_lost = _worst(handoffs, _lost, "context_passed_score", "ascending")
    yield "<h2>Pairs that lost content</h2>\n"
    if not n_lost:
        yield f"<p>None of {len(handoffs):,} handoffs.</p>\n"
        return
    yield _cut_off(len(worst), n_lost, "pairs")
    rows = (
        (
            markup.score(row["context_passed_score"]),
            f"{markup.count(row['shared_tokens'])} of {markup.count(row['output_tokens'])}",
            f"{markup.name(row['from_agent'])} → {markup.name(row['to_agent'])}",
            markup.name(row["run"]),
        )
        for row in worst
    )
    yield from markup.table(("#passed", "#words found", "*handoff", "*run"), rows)


def _lost(handoffs: pa.Table) -> pa.Table:
    return handoffs.filter(handoffs["content_loss_detected"])


def _overruns(budgets: Spool) -> Iterator[str]:
    worst, n_over = _worst(budgets, _over, "times", "descending")
    yield "<h2>Budgets blown</h2>\n"
    if not n_over:
        yield f"<p>None of {len(budgets):,} budgets.</p>\n"
        return
    yield _cut_off(len(worst), n_over, "budgets")
    rows = (
        (
            markup.score(row["compliance_score"]),
            markup.count(row["used_tokens"]),
            markup.count(row["budget_tokens"]),
            f"{(row['times'] - 1) * 100:,.0f}%",
            markup.name(row["agent_name"]),
            markup.name(row["run"]),
        )
        for row in worst
    )
    yield from markup.table(("#score", "#used", "#budget", "#over by", "*agent", "*run"), rows)


def _over(budgets: pa.Table) -> pa.Table:
    over = budgets.filter(pc.invert(budgets["within_budget"]))
    used = pc.cast(over["used_tokens"], "float64", safe=False)
    budget = pc.cast(over["budget_tokens"], "float64", safe=False)
    return over.append_column("times", pc.divide(used, budget))


class _Worst(NamedTuple):
    """The first MAX_ROWS of some rows in an order, and how many there are of them."""

    rows: list[dict[str, Any]]
    n_rows: int


def _worst(spool: Spool, choose: Callable[[pa.Table], pa.Table], key: str, order: str) -> _Worst:
    """Return the worst of the rows chosen, by a key; equal ones stay as they come."""
    worst, n_chosen = None, 0
    for batch in spool.batches():
        chosen = choose(pa.Table.from_batches([batch]))
        n_chosen += chosen.num_rows
        both = chosen if worst is None else pa.concat_tables([worst, chosen])
        worst = both.take(pc.sort_indices(both, [(key, order)])[:MAX_ROWS])
    return _Worst([] if worst is None else worst.to_pylist(), n_chosen)


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


def _cut_off(shown: int, there: int, what: str) -> str:
    if shown == there:
        return ""
    return f"<p>The worst {shown:,} of {there:,} {what}; the report's other forms hold all.</p>\n"
