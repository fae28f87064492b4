"""`tracestream evalport export`."""

from typing import Annotated

import typer

from tracestream.cli import evalport_files
from tracestream.cli.exits import PASSED

EXAMPLES = (
    "tracestream evalport export package.json -o suite.json",
    "cat package.yaml | tracestream evalport export - > suite.json",
)

Package = Annotated[
    str,
    typer.Argument(
        metavar="PACKAGE",
        help="A native package, as EvalPackage.to_dict() gives it: JSON or YAML; - reads stdin.",
        show_default=False,
    ),
]


def command(package: Package, output: evalport_files.Output = "-") -> int:
    """Make an EvalPort suite of a native evaluation package.

    What is written is a valid suite, or nothing is. Exit code: 0, or 2 where the package cannot be
    read, no valid suite can be made of it, or the output cannot be written.
    """
    from tracestream.evalport.packages import read_package
    from tracestream.evalport.strictjson import write_json

    source = evalport_files.source(package)
    evalport_files.check_output(output, [source])
    suite = write_json(read_package(source), indent=True) + b"\n"
    evalport_files.write(output, [suite])
    return PASSED
