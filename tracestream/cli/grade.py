"""`tracestream grade`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracestream.cli import options, streams
from tracestream.cli.progress import ProgressLine
from tracestream.writing import write_stdout

if TYPE_CHECKING:
    from tracestream.report import Report

EXAMPLES = (
    "tracestream grade --dir traces/",
    "tracestream grade a.jsonl 'old/*.jsonl.gz' --agents researcher,writer",
    "tracestream grade traces/ --budget researcher=8000 --budget '*=20000'",
    "tracestream grade traces/ --min-score 8 --fail-on-content-loss -o report.json",
    "tracestream grade traces/ --json > report.json",
    "cat a.jsonl | tracestream grade - --top 5",
)

_RUN_HINTS = (
    ("unreadable", "check that you may read it, and that it is a file."),
    (
        "unknown format",
        "`tracestream formats` lists what is recognised; --dialect NAME forces one.",
    ),
    ("the source is empty", "nothing was written to it, or it was truncated."),
    ("no event", "it holds no whole record; what was skipped is told above."),
    ("no request", "is this the trace of an agent's run, and the dialect the right one?"),
)
"""How the reason of an ungradable run begins, and what to do about it."""

_NAME_CELLS = 120
"""A run's id may be of any length; a sentence may not."""

_SEE_REPORT = "the report has the reason of every run."

_PROBLEM_HINTS = (
    ("--agents", "check the spelling; without --agents each run's own order is taken."),
    ("--budget", "check the spelling; --budget AGENT=TOKENS is given once for each agent."),
    (
        "the ledger names the agent",
        "check the spelling; with used_tokens, a row stands for itself.",
    ),
    ("the ledger names the run", "a ledger's run is the name of a run, or its id."),
    ("no handoff to score", "a handoff needs two agents, and a request or response with text."),
    ("no budget to score", "give budgets with --budget or --ledger; this trace records none."),
    ("nothing to score", "no run has a handoff or a budget; leave --min-score out."),
)
"""How a problem of the report begins, and what to do about it."""


def command(
    paths: options.Paths = None,
    dirs: options.Dirs = None,
    agents: options.Agents = None,
    budget: options.Budgets = None,
    ledger: options.Ledger = None,
    usage: options.Usage = None,
    min_score: options.MinScore = None,
    min_handoff: options.MinHandoff = None,
    min_budget: options.MinBudget = None,
    fail_on_content_loss: options.FailOnContentLoss = False,
    min_tool_calls: options.MinToolCalls = 0,
    require_artifact: options.RequiredArtifacts = None,
    expect_schema_hash: options.SchemaHash = None,
    judge_threshold: options.JudgeThreshold = None,
    strict: options.Strict = False,
    run_scope: options.RunScope = "file",
    dialect: options.DialectName = "auto",
    max_record_bytes: options.MaxRecordBytes = options.MAX_RECORD_BYTES,
    output: options.Outputs = None,
    as_json: options.AsJson = False,
    top: options.Top = None,
    progress: options.WantsProgress = None,
) -> int:
    """Grade every run in traces, deterministically and without a model.

    The table on stdout lists runs, worst first, then totals over all of them; what could not be
    read is told on stderr. Exit code: 0 passed, 1 a run failed, 2 wrong usage or nothing to grade.
    """
    given = options.sources(paths, dirs)
    budgets = options.budgets(budget)
    outputs = output or []
    if outputs:
        from tracestream.render.outputs import check_outputs

        read = given if ledger is None else [*given, ledger]
        check_outputs([*outputs, "-"] if as_json else outputs, traces=read)
    lacking = options.check_folders(given)

    from tracestream.grading import grade

    with ProgressLine(progress) as line:
        report = grade(
            given,
            agents=options.agent_names(agents),
            budget=budgets,
            ledger=ledger,
            usage=usage,
            run_scope=run_scope,
            dialect=dialect,
            min_score=min_score,
            min_handoff=min_handoff,
            min_budget=min_budget,
            fail_on_content_loss=fail_on_content_loss,
            min_tool_calls=min_tool_calls,
            require_artifacts=require_artifact or (),
            expected_schema_hash=expect_schema_hash,
            judge_threshold=judge_threshold,
            strict=strict,
            max_record_bytes=max_record_bytes,
            progress=line,
        )
    for path in outputs:
        report.write(path)
    if as_json:
        write_stdout(report.json_parts())
    elif not any(map(streams.is_stdout, outputs)):
        _write_table(report, top)
    streams.flush()
    for sentence in (*report.ledger.sentences(), *lacking):
        streams.say(sentence)
    for problem in _problems(report):
        streams.complain(problem)
    if strict:
        for reason in report.strict_reasons():
            streams.say(f"strict: {reason}")
    return report.exit_code


def _write_table(report: "Report", top: int | None) -> None:
    from tracestream.render.table import table_lines

    width = streams.terminal_width()
    if top is None and width is not None:
        top = options.TOP_ON_TERMINAL
    streams.write_lines(
        table_lines(report, top=top, width=width, ascii_only=streams.is_ascii_only())
    )


def _problems(report: "Report") -> Iterator[str]:
    """Yield why a report is not what was asked for, although it was written."""
    from tracestream.render.text import cut_middle, visible

    for problem in report.problems:
        hint = next((hint for start, hint in _PROBLEM_HINTS if problem.startswith(start)), None)
        yield problem if hint is None else f"{problem}\nHint: {hint}"
    runs = report.runs_table
    if not runs.num_rows:
        yield "nothing to grade\nHint: these are documents that tracestream wrote, not traces."
    elif report.summary["ungradable"] == runs.num_rows:
        first = runs.slice(0, 1).to_pylist()[0]
        reason = first["reasons"][0]
        hint = next((hint for start, hint in _RUN_HINTS if reason.startswith(start)), _SEE_REPORT)
        where = f"{cut_middle(visible(first['run']), _NAME_CELLS)}: {reason}"
        if runs.num_rows > 1:
            where = f"none of {runs.num_rows:,} runs can be graded; the first is {where}"
        yield f"nothing to grade: {where}\nHint: {hint}"
