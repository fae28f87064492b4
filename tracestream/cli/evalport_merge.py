"""`tracestream evalport merge`."""

from typing import Annotated

import typer

from tracestream.cli import evalport_files, streams
from tracestream.cli.exits import PASSED

EXAMPLES = (
    "tracestream evalport merge part-1.json part-2.json -o results.json",
    "tracestream evalport merge 'parts/*.json' > results.json",
)

_SHOWN_KEYS = 5

Parts = Annotated[
    list[str],
    typer.Argument(
        metavar="PARTS",
        help="Result sets of one run, in the order their results are to stand in; globs.",
        show_default=False,
    ),
]


def command(parts: Parts, output: evalport_files.Output = "-") -> int:
    """Merge partial result sets of one run into one.

    The parts must be valid, of the same suite and run, and have no result for the same attempt at the
    same test case. The summary is made anew; `started_at` is the earliest, `completed_at` the latest;
    metadata is kept where the parts agree. Each part is read twice, as a stream. Exit code: 0, or 2
    where the parts cannot be merged or the output cannot be written.
    """
    from tracestream.evalport.merging import Merger

    sources = evalport_files.sources(parts)
    evalport_files.check_output(output, sources)
    merger = Merger(sources)
    for found in merger.survey():
        evalport_files.refuse(found)
    evalport_files.write(output, merger.parts())
    streams.flush()
    if merger.left_out:
        keys = ", ".join(merger.left_out[:_SHOWN_KEYS])
        more = ", ..." if len(merger.left_out) > _SHOWN_KEYS else ""
        streams.say(f"left out, as the parts do not agree on it: {keys}{more}")
    return PASSED
