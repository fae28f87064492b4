"""`tracestream grade`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracestream.cli import options, streams
from tracestream.cli.exits import UNUSABLE
from tracestream.cli.progress import ProgressLine
from tracestream.errors import ConfigError, EvalPortError
from tracestream.writing import write_stdout

if TYPE_CHECKING:
    from tracestream.report import Report

EXAMPLES = (
    "tracestream grade --dir traces/",
    "tracestream grade a.jsonl 'old/*.jsonl.gz' --agents researcher,writer",
    "tracestream grade traces/ --budget researcher=8000 --budget '*=20000'",
    "tracestream grade traces/ --min-score 8 --fail-on-content-loss -o report.json",
    "tracestream grade traces/ --json > report.json",
    "tracestream grade traces/ --evalport results.json --evalport-suite suite.json",
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
    evalport: options.EvalPort = None,
    evalport_suite: options.EvalPortSuite = None,
    run_id: options.RunId = None,
    started_at: options.StartedAt = None,
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
    documents = _Documents(evalport, evalport_suite, run_id, started_at)
    documents.check()
    if outputs or documents.paths:
        from tracestream.render.outputs import check_outputs

        check_outputs(
            [*outputs, "-"] if as_json else outputs,
            result_sets=() if evalport is None else (evalport,),
            suites=() if evalport_suite is None else (evalport_suite,),
            traces=given if ledger is None else [*given, ledger],
        )
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
    why_no_documents = documents.write(report)
    if as_json:
        write_stdout(report.json_parts())
    elif not any(map(streams.is_stdout, (*outputs, *documents.paths))):
        _write_table(report, top)
    streams.flush()
    headline = report.ledger.headline()
    for sentence in (*([headline] if headline else ()), *report.ledger.sentences(), *lacking):
        streams.say(sentence)
    for problem in (*_problems(report), *why_no_documents):
        streams.complain(problem)
    if strict:
        for reason in report.strict_reasons():
            streams.say(f"strict: {reason}")
    return UNUSABLE if why_no_documents else report.exit_code


class _Documents(NamedTuple):
    """The EvalPort documents that are asked for, and what is pinned in them."""

    result_set: str | None
    suite: str | None
    run_id: str | None
    started_at: str | None

    @property
    def paths(self) -> list[str]:
        """Where they go."""
        return [path for path in (self.result_set, self.suite) if path is not None]

    def check(self) -> None:
        """Raise if what is pinned cannot be, or is pinned in nothing.

        Raises:
            ConfigError: There is no result set to pin it in.
            EvalPortError: It is no id, or no time.
        """
        for option, value in (("--run-id", self.run_id), ("--started-at", self.started_at)):
            if value is not None and self.result_set is None:
                raise ConfigError(
                    f"{option} is of an EvalPort result set\nHint: --evalport FILE writes one."
                )
        if self.result_set is not None:
            from tracestream.evalport.pins import check_pins

            check_pins(self.run_id, self.started_at)

    def write(self, report: "Report") -> list[str]:
        """Write them; return why there are none, where the report has nothing that they could hold."""
        if not self.paths:
            return []
        from tracestream.render.outputs import write_result_set, write_suite

        try:
            export = report.export(run_id=self.run_id, started_at=self.started_at)
            if self.result_set is not None:
                write_result_set(export, self.result_set)
            if self.suite is not None:
                write_suite(export, self.suite)
        except EvalPortError as error:
            return [str(error)]
        return []


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
    runs = report.runs_spool
    if not len(runs):
        yield "nothing to grade\nHint: these are documents that tracestream wrote, not traces."
    elif report.summary["ungradable"] == len(runs):
        first = next(runs.batches()).slice(0, 1).to_pylist()[0]
        reason = first["reasons"][0]
        hint = next((hint for start, hint in _RUN_HINTS if reason.startswith(start)), _SEE_REPORT)
        where = f"{cut_middle(visible(first['run']), _NAME_CELLS)}: {reason}"
        if len(runs) > 1:
            where = f"none of {len(runs):,} runs can be graded; the first is {where}"
        yield f"nothing to grade: {where}\nHint: {hint}"
