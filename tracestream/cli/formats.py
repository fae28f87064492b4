"""`tracestream formats`."""

from tracestream.cli import streams
from tracestream.cli.exits import PASSED

EXAMPLES = ("tracestream formats",)


def command() -> int:
    """List the trace formats that can be read, and how each is recognised."""
    from tracestream.dialects import DIALECTS
    from tracestream.render.text import Line

    lines = []
    for dialect in DIALECTS:
        lines.append(Line(dialect.name, "bold", len(dialect.name)))
        lines.append(Line(f"  {dialect.title}"))
        lines.append(Line(f"  recognised by: {dialect.recognised_by}"))
    streams.write_lines(lines)
    return PASSED
