"""`tracestream last-trace`, also `tracestream eval last-trace`."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tracestream.cli import streams
from tracestream.cli.exits import FAILED, PASSED
from tracestream.cli.progress import ProgressLine
from tracestream.cli.record import NO_FOLDER
from tracestream.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracestream.kernels.harness import HarnessScore
    from tracestream.quality import Quality
    from tracestream.render.text import Line
    from tracestream.sources import Source

EXAMPLES = ("tracestream last-trace", "tracestream last-trace --min-tool-calls 1 --json || exit 1")
EVAL_EXAMPLES = tuple(example.replace("last-trace", "eval last-trace") for example in EXAMPLES)

_NO_RUN = "No completed traced run found"
_MAX_TOOLS = 10
_WIDTH = 120
"""Cells of a line: meta may hold anything."""

MinToolCalls = Annotated[
    int,
    typer.Option(
        "--min-tool-calls",
        metavar="N",
        min=0,
        help="Fail a run with fewer tool calls; 0 asks for none.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Write one line of JSON instead of the summary.")
]


class _Trace(NamedTuple):
    """What grading needs of a trace."""

    calls: Counter[str]
    """Those of each tool."""
    n_recorded: int
    """Calls that harness traces count, whatever the tools."""
    n_nameless: int
    """Starts without the name of a tool, which are no calls."""
    quality: "Quality"
    problem: str | None
    """Why it is malformed, if it is."""

    @property
    def n_calls(self) -> int:
        return self.calls.total() + self.n_recorded


def command(min_tool_calls: MinToolCalls = 1, as_json: AsJson = False) -> int:
    """Grade the last completed run by its tool calls.

    Which run that is, `record` or the agent's own process has recorded. The file is one run, whatever
    run ids are in it; of harness traces it is the sum over its records. Exit code: 0 passed; 1 failed,
    or the trace is malformed; 2 no run was recorded, or its trace is gone.
    """
    from tracestream.kernels.harness import score_harness

    pointer = _pointer()
    source = _source(pointer["path"])
    trace = _read(source)
    if trace.problem is not None:
        _tell(trace.quality)
        streams.complain(
            f"malformed trace {source.name}: {trace.problem}\n"
            "Hint: `tracestream inspect` tells what is in a file; `grade` takes folders too."
        )
        return FAILED
    harness = score_harness(trace.n_calls, min_tool_calls=min_tool_calls)
    if as_json:
        verdict = {
            "passed": harness.passed,
            "score": harness.score,
            "tool_call_count": trace.n_calls,
        }
        streams.write_text(json.dumps(verdict) + "\n")
    else:
        streams.write_lines(_summary(pointer, trace, harness, min_tool_calls))
    streams.flush()
    _tell(trace.quality)
    return PASSED if harness.passed else FAILED


def _pointer() -> dict[str, Any]:
    from tracestream.lastrun import last_run_pointer_path, load_last_run_pointer

    pointer = load_last_run_pointer()
    if pointer is None:
        raise InputError(f"{_NO_RUN}: {_why_no_pointer(last_run_pointer_path())}")
    return pointer


def _why_no_pointer(path: Path) -> str:
    hint = "Hint: `tracestream record PATH`, or record_completed_run() in the agent's own process."
    try:
        path.read_bytes()
    except FileNotFoundError:
        return f"there is no {path}\n{hint}"
    except NotADirectoryError:
        return f"{path.parent} is no folder\n{NO_FOLDER}"
    except OSError as error:
        return f"{path}: {error.strerror}\nHint: check that it is a file, and that you may read it."
    return f"{path} is no pointer\n{hint}"


def _source(path: str) -> "Source":
    """Return the trace as a source: the path is a name, no glob and no `-`."""
    from tracestream.sources import Source, source_name

    name = source_name(path)
    try:
        size_bytes = os.stat(path).st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InputError(
            f"{_NO_RUN}: the pointer names {name}: {reason}\n"
            "Hint: record the run anew, or put its trace back."
        ) from error
    return Source(0, name, path, size_bytes=size_bytes)


def _read(source: "Source") -> _Trace:
    """Return the tool calls of a trace, read once, in bounded memory."""
    import pyarrow as pa

    from tracestream.batches import Scan
    from tracestream.folds.base import RUN_COLUMNS
    from tracestream.folds.tools import ToolCounts, ToolKey, Tools, calls_by_tool
    from tracestream.quality import Quality
    from tracestream.schema import SPANS

    columns = (*RUN_COLUMNS, "kind", "family", "tool", "harness")
    schema = pa.schema([SPANS.field(name) for name in columns])
    quality = Quality()
    counts: dict[ToolKey, ToolCounts] = {}
    n_recorded = n_nameless = 0
    with ProgressLine(None) as progress:
        scan = Scan([source], schema, quality, progress=progress)
        for batch in scan:
            tools = Tools()  # of one batch: run ids are dropped with it, as the file is one run
            tools.update(batch)
            for (_, tool), more in tools.tools.items():
                counts[tool] = counts.get(tool, ToolCounts()).plus(more)
            n_recorded += _recorded_calls(batch)
            n_nameless += _nameless_starts(batch)
    problem = scan.summaries[0].problem
    if problem is None and quality.count("loss"):
        problem = "a part of it cannot be read"
    return _Trace(calls_by_tool(counts), n_recorded, n_nameless, quality, problem)


def _recorded_calls(batch: "pa.RecordBatch") -> int:
    import pyarrow.compute as pc

    # Added up as Python's integers: each of them may be the largest of 64 bits.
    calls = pc.struct_field(batch.column("harness"), "tool_calls")
    return sum(calls.drop_null().to_pylist())


def _nameless_starts(batch: "pa.RecordBatch") -> int:
    import pyarrow.compute as pc

    from tracestream.folds.base import code_of, codes
    from tracestream.schema import Kind

    is_start = pc.equal(codes(batch, "kind"), code_of(batch, "kind", Kind.TOOL_CALL))
    tools = codes(batch, "tool")
    is_nameless = pc.or_kleene(pc.is_null(tools), pc.equal(tools, code_of(batch, "tool", "")))
    n_starts: int = pc.and_(is_start, is_nameless).true_count
    return n_starts


def _tell(quality: "Quality") -> None:
    for sentence in quality.sentences():
        streams.say(sentence)


def _summary(
    pointer: dict[str, Any], trace: _Trace, harness: "HarnessScore", min_tool_calls: int
) -> "Iterator[Line]":
    from tracestream.render.text import Line, cut_end, visible

    ascii_only = streams.is_ascii_only()
    mark = "..." if ascii_only else "…"
    for label, text in (
        ("trace", pointer["path"]),
        ("recorded", _time(pointer.get("recorded_at"))),
        ("meta", _pairs(pointer.get("meta"))),
        ("tool calls", _counted(trace)),
    ):
        if text:
            shown = visible(text, ascii_only=ascii_only)
            # A path is worth nothing if a part of it is missing.
            yield Line(f"{label:<12}{shown if label == 'trace' else cut_end(shown, _WIDTH, mark)}")
    yield Line("")
    word, style = ("pass", "green") if harness.passed else ("fail", "bold red")
    asked = f"{min_tool_calls:,} or more" if min_tool_calls else "any number"
    yield Line(f"{word:<12}score {harness.score}; tool calls asked for: {asked}", style, len(word))


def _time(seconds: object) -> str:
    if not isinstance(seconds, int | float):
        return ""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return ""


def _pairs(meta: object) -> str:
    if not isinstance(meta, dict):
        return ""
    return ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in meta.items()
    )


def _counted(trace: _Trace) -> str:
    by_count = sorted(trace.calls.items(), key=lambda item: (-item[1], item[0]))
    names = [f"{tool} {n:,}" for tool, n in by_count[:_MAX_TOOLS]]
    if len(by_count) > _MAX_TOOLS:
        names.append(f"{len(by_count) - _MAX_TOOLS:,} more tools")
    tools = f": {', '.join(names)}" if names else ""
    nameless = f"; starts without a tool's name: {trace.n_nameless:,}" if trace.n_nameless else ""
    return f"{trace.n_calls:,}{tools}{nameless}"
