"""`tracestream inspect`."""

from typing import TYPE_CHECKING, Annotated

import typer

from tracestream.cli import options, streams
from tracestream.cli.exits import PASSED, UNUSABLE
from tracestream.cli.progress import ProgressLine
from tracestream.writing import write_stdout

if TYPE_CHECKING:
    from tracestream.inspection import Inspection

EXAMPLES = (
    "tracestream inspect traces/",
    "tracestream inspect a.jsonl 'old/*.jsonl.gz' --top 10",
    "tracestream inspect --dir traces/ --json > contents.json",
)

_NAME_CELLS = 120
"""A path may be of any length; a sentence may not."""

_UNKNOWN_HINT = "`tracestream formats` lists what is recognised; --dialect NAME forces one."
_EMPTY_HINT = "are these the traces you meant, written to the end, and may you read them?"

AsJson = Annotated[
    bool, typer.Option("--json", help="Write one JSON document instead of the table.")
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        min=0,
        help="List at most N sources, the damaged first. "
        f"Default: {options.TOP_ON_TERMINAL} on a terminal, else all. Totals are of all sources.",
    ),
]


def command(
    paths: options.Paths = None,
    dirs: options.Dirs = None,
    dialect: options.DialectName = "auto",
    max_record_bytes: options.MaxRecordBytes = options.MAX_RECORD_BYTES,
    as_json: AsJson = False,
    top: Top = None,
    progress: options.WantsProgress = None,
) -> int:
    """Say what is in traces: formats, runs, agents, events, tools, tokens, times and damage.

    Nothing is graded. Of a single source, its runs are listed too. Handoffs are the pairs that
    `grade` would score; one without text on both sides scores the neutral 5.0. Exit code: 0, or 2 for
    wrong usage or where no source gives an event.
    """
    given = options.sources(paths, dirs)
    lacking = options.check_folders(given)

    from tracestream.inspection import inspect_traces

    with ProgressLine(progress) as line:
        inspection = inspect_traces(
            given, dialect=dialect, max_record_bytes=max_record_bytes, progress=line
        )
    if as_json:
        write_stdout(inspection.to_json())
    else:
        _write_table(inspection, top)
    streams.flush()
    for sentence in (*(inspection.ledger.sentences() if as_json else ()), *lacking):
        streams.say(sentence)
    if inspection.summary["events"]:
        return PASSED
    streams.complain(_nothing_read(inspection))
    return UNUSABLE


def _write_table(inspection: "Inspection", top: int | None) -> None:
    from tracestream.render.inspection import inspection_lines

    width = streams.terminal_width()
    if top is None and width is not None:
        top = options.TOP_ON_TERMINAL
    ascii_only = streams.is_ascii_only()
    streams.write_lines(inspection_lines(inspection, top=top, width=width, ascii_only=ascii_only))


def _nothing_read(inspection: "Inspection") -> str:
    """Return why there is nothing to say of the traces."""
    from tracestream.render.text import cut_middle, visible

    n_sources = inspection.summary["sources"]
    if not n_sources:
        return "nothing to read\nHint: these are documents that tracestream wrote, not traces."
    first = inspection.source(0)
    where = f"{cut_middle(visible(first['source']), _NAME_CELLS)}: {first['problem']}"
    if n_sources > 1:
        where = f"none of {n_sources:,} sources gives an event; the first is {where}"
    is_unknown = str(first["problem"]).startswith("unknown format")
    return f"nothing to read: {where}\nHint: {_UNKNOWN_HINT if is_unknown else _EMPTY_HINT}"
