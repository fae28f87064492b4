"""`tracestream evalport diff`."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from tracestream.cli import evalport_files, options, streams
from tracestream.cli.exits import FAILED, PASSED
from tracestream.writing import write_stdout

if TYPE_CHECKING:
    from tracestream.evalport.comparing import Change, Comparison
    from tracestream.render.text import Line

EXAMPLES = (
    "tracestream evalport diff results-before.json results-now.json",
    "tracestream evalport diff before.json now.json --json > changes.json",
)

_STYLES = {"regressed": "bold red", "improved": "green", "gone": "yellow"}

Before = Annotated[
    str, typer.Argument(metavar="OLD", help="The result set before.", show_default=False)
]
Now = Annotated[str, typer.Argument(metavar="NEW", help="The result set now.", show_default=False)]
AsJson = Annotated[
    bool, typer.Option("--json", help="Write one JSON document instead of the table.")
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        min=0,
        help=f"List at most N changes, the worst. Default: {options.TOP_ON_TERMINAL} on a terminal, "
        "else all. The counts are of all.",
    ),
]


def command(old: Before, new: Now, as_json: AsJson = False, top: Top = None) -> int:
    """Say what changed from one result set to another of the same suite.

    Results are paired by test case and attempt: regressed (passed, and does not now), improved,
    changed (other scores), new, gone. Exit code: 0; 1 if something regressed; 2 where a set is not valid
    or cannot be read, or they are of different suites.
    """
    from tracestream.evalport.comparing import Comparison
    from tracestream.evalport.strictjson import write_json

    comparison = Comparison(evalport_files.source(old), evalport_files.source(new))
    for found in comparison.read():
        evalport_files.refuse(found)
    if as_json:
        write_stdout([write_json(comparison.to_dict()) + b"\n"])
    else:
        streams.write_lines(_lines(comparison, top))
    streams.flush()
    return FAILED if comparison.has_regressed else PASSED


def _lines(comparison: "Comparison", top: int | None) -> "Iterator[Line]":
    from tracestream.render.text import Line

    width = streams.terminal_width()
    if top is None and width is not None:
        top = options.TOP_ON_TERMINAL
    changes = (each for found in comparison.changes.values() for each in found)
    for change in islice(changes, top):
        yield from _change_lines(change, width)
    n_changes = sum(map(len, comparison.changes.values()))
    if top is not None and n_changes > top:
        yield Line(f"... and {n_changes - top:,} more; --top {n_changes} lists all")
    if n_changes:
        yield Line("")
    words = ", ".join(f"{count:,} {name}" for name, count in comparison.counts().items())
    yield Line(words, "bold red" if comparison.has_regressed else "bold", len(words))


def _change_lines(change: "Change", width: int | None) -> "Iterator[Line]":
    from tracestream.render.text import Line, cut_end, visible

    ascii_only = streams.is_ascii_only()
    old = "-" if change.old is None else change.old.verdict
    new = "-" if change.new is None else change.new.verdict
    attempt = "" if change.attempt == 1 else f", attempt {change.attempt}"
    texts = [f"{change.status:<9}  {old:>8} -> {new:<8}  {change.test_case_id}{attempt}"]
    if change.old is not None and change.new is not None:
        # The numbers first: right-to-left letters would pull them along.
        texts += [
            f"{'':<9}  {_score(before):>8} -> {_score(after):<8}  {grader}"
            for grader, before, after in change.scores()
        ]
    for text in texts:
        shown = visible(text, ascii_only=ascii_only)
        line = shown if width is None else cut_end(shown, width, "...")
        yield Line(line, _STYLES.get(change.status, ""), len(change.status))


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.4f}"
