"""Arguments and options that commands share, and what is made of them."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tracestream.cli import streams
from tracestream.errors import ConfigError, InputError

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATHS", help="Trace files, folders or globs, in this order; - reads stdin."
    ),
]
Dirs = Annotated[
    list[str] | None,
    typer.Option(
        "--dir", metavar="DIR", help="A folder of traces, searched recursively. Repeatable."
    ),
]
Agents = Annotated[
    str | None,
    typer.Option(
        "--agents",
        metavar="A,B,C",
        help="The chain of agents, in order, for every run; else each run's own order.",
    ),
]
DialectName = Annotated[
    str,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="Read every source as this format instead of recognising it; "
        "`tracestream formats` lists them.",
    ),
]
MaxRecordBytes = Annotated[
    int,
    typer.Option(
        "--max-record-bytes", metavar="N", min=1, help="Skip and count records over this size."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Write the report document as JSON instead of the table.")
]
TOP_ON_TERMINAL = 30
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        min=0,
        help=f"List at most N runs, the worst. Default: {TOP_ON_TERMINAL} on a terminal, else all. "
        "The summary is of all runs.",
    ),
]

Budgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="AGENT=TOKENS",
        help="Tokens an agent may use; *=TOKENS for every agent not named. Repeatable. "
        "Default: the budgets in the trace.",
    ),
]
Ledger = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Budgets from a JSON, JSONL, CSV or Parquet file with agent_name, budget_tokens and, "
        "optionally, used_tokens and run.",
    ),
]
Usage = Annotated[
    str | None,
    typer.Option(
        "--usage",
        metavar="peak|total",
        help="What counts as used: the most tokens in context at once, or the sum of input and "
        "output. Default: peak where the trace records it.",
    ),
]
RunScope = Annotated[
    str,
    typer.Option(
        "--run-scope",
        metavar="file|corpus",
        help="corpus merges runs of one id across files (rotated logs).",
    ),
]
_SCORE = {"metavar": "SCORE"}
MinScore = Annotated[
    float | None,
    typer.Option("--min-score", **_SCORE, help="Fail a run with a lower overall score, 0 to 10."),
]
MinHandoff = Annotated[
    float | None,
    typer.Option("--min-handoff", **_SCORE, help="Fail a run with a lower handoff score, 0 to 10."),
]
MinBudget = Annotated[
    float | None,
    typer.Option("--min-budget", **_SCORE, help="Fail a run with a lower budget score, 0 to 10."),
]
FailOnContentLoss = Annotated[
    bool, typer.Option("--fail-on-content-loss", help="Fail a run if a handoff lost content.")
]
MinToolCalls = Annotated[
    int, typer.Option("--min-tool-calls", metavar="N", help="Fail a run with fewer tool calls.")
]
RequiredArtifacts = Annotated[
    list[str] | None,
    typer.Option(
        "--require-artifact",
        metavar="NAME",
        help="Fail a run that does not record this artifact. Repeatable.",
    ),
]
SchemaHash = Annotated[
    str | None,
    typer.Option(
        "--expect-schema-hash", metavar="HASH", help="Fail a run whose tool schema has another."
    ),
]
JudgeThreshold = Annotated[
    float | None,
    typer.Option(
        "--judge-threshold", **_SCORE, help="Fail a run with a lower recorded judge score, 0 to 10."
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Exit with 1 at any loss or doubt of data, any ungradable run, and any gate that a "
        "run has nothing for.",
    ),
]
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the report; the suffix decides: .json, .jsonl (a run a line), .csv, .html, "
        ".parquet (a folder of tables). Repeatable.",
    ),
]
EvalPort = Annotated[
    str | None,
    typer.Option(
        "--evalport",
        metavar="FILE",
        help="Write the runs as an EvalPort result set: .json, or .jsonl (a result a line, the rest in "
        ".meta.json beside).",
    ),
]
EvalPortSuite = Annotated[
    str | None,
    typer.Option(
        "--evalport-suite",
        metavar="FILE",
        help="Write the EvalPort suite that the result set is of: .json.",
    ),
]
RunId = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        metavar="ID",
        help="The id of the result set. Default: a hash of sources and options.",
    ),
]
StartedAt = Annotated[
    str | None,
    typer.Option(
        "--started-at",
        metavar="TIME",
        help="When the result set started, as in RFC 3339. Default: the time of the earliest event.",
    ),
]
WantsProgress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        show_default=False,
        help="Progress as plain lines on stderr, or none. Default: a line, on a terminal only.",
    ),
]

MAX_RECORD_BYTES = 256 << 20
"""As `tracestream.frames` has it, which is not imported for a default; a test compares them."""


def sources(paths: Sequence[str] | None, dirs: Sequence[str] | None) -> list[str]:
    """Return what to read: paths, then folders.

    Raises:
        ConfigError: Nothing was given, or `--dir` is a file.
        InputError: None of the folders given has anything in it, and there is nothing else.
    """
    for folder in dirs or ():
        if os.path.isfile(folder):
            raise ConfigError(f"--dir {folder!r} is a file\nHint: name files without --dir.")
    given = [*(paths or ()), *(dirs or ())]
    if not given:
        raise ConfigError(
            "no traces given\n"
            "Hint: name files or folders, `--dir traces/` for a folder, or `-` to read stdin."
        )
    if "-" in given and sys.stdin is not None and sys.stdin.isatty():
        streams.say("reading traces from the terminal; Ctrl-D ends them")
    return given


def agent_names(agents: str | None) -> list[str] | None:
    """Return the names in `--agents`, or None."""
    return None if agents is None else [name.strip() for name in agents.split(",")]


def budgets(given: Sequence[str] | None) -> dict[str, str] | None:
    """Return the budgets in `--budget`, or None; that they are numbers is checked by `grade`.

    Raises:
        ConfigError: One is not AGENT=TOKENS, or an agent has two.
    """
    if not given:
        return None
    tokens: dict[str, str] = {}
    for item in given:
        agent, equals, number = item.rpartition("=")
        if not equals:
            raise ConfigError(f"--budget {item!r} has no tokens\nHint: --budget AGENT=TOKENS.")
        if agent in tokens:
            raise ConfigError(f"--budget names {agent!r} twice\nHint: give each agent one budget.")
        tokens[agent] = number
    return tokens


def check_folders(given: Sequence[str]) -> list[str]:
    """Return a sentence for each folder that holds no traces, where something else was given too.

    Raises:
        InputError: Nothing else was given: every source is a folder without traces.
    """
    sentences = []
    for folder in filter(os.path.isdir, given):
        sentence = _lack(folder, is_alone=len(given) == 1)
        if sentence:
            sentences.append(sentence)
    if len(sentences) == len(given):
        raise InputError(
            "; ".join(sentences) + "\nHint: is this the folder your agent writes its traces to?"
        )
    return sentences


def _lack(folder: str, *, is_alone: bool) -> str | None:
    from tracestream.sources import discover, source_name

    try:
        if not os.listdir(folder):
            return f"the folder {source_name(folder)!r} is empty"
        if not is_alone:
            discover(folder)
    except OSError:
        pass  # an ungradable run of the report
    except InputError as error:
        return str(error).splitlines()[0]
    return None
