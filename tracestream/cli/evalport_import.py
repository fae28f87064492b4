"""`tracestream evalport import`."""

from typing import Annotated

import typer

from tracestream.cli import evalport_files, streams
from tracestream.cli.exits import PASSED

EXAMPLES = (
    "tracestream evalport import suite.json -o package.json",
    "tracestream evalport import suite.yaml > package.json",
)

Suite = Annotated[
    str,
    typer.Argument(
        metavar="SUITE", help="An EvalPort suite: JSON or YAML; - reads stdin.", show_default=False
    ),
]


def command(suite: Suite, output: evalport_files.Output = "-") -> int:
    """Make a native evaluation package of an EvalPort suite.

    Suites of other tools are read even if they are not valid by the spec, as far as they can be; stderr
    says so. Exit code: 0, or 2 where the suite cannot be read, has no place in a package, or the
    output cannot be written.
    """
    from tracestream.evalport.packages import read_suite
    from tracestream.evalport.strictjson import write_json

    source = evalport_files.source(suite)
    evalport_files.check_output(output, [source])
    package, found = read_suite(source)
    evalport_files.write(output, [write_json(package, indent=True) + b"\n"])
    streams.flush()
    if not found.is_valid:
        count = sum(found.counts.values())
        streams.say(
            f"read, though it is no valid suite: {count:,} {'fault' if count == 1 else 'faults'}, the "
            f"first at {found.faults[0].sentence(source.name)}"
        )
    return PASSED
