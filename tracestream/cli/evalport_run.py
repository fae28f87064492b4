"""`tracestream evalport run`."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracestream.cli import evalport_files, options, streams
from tracestream.cli.exits import FAILED, PASSED, UNUSABLE
from tracestream.cli.progress import ProgressLine
from tracestream.errors import ConfigError

if TYPE_CHECKING:
    from tracestream.evalport.matching import Traces
    from tracestream.evalport.running import SuiteRun
    from tracestream.render.text import Line

EXAMPLES = (
    "tracestream evalport run suite.json --dir nightly/",
    "tracestream evalport run suite.yaml 'nightly/*.jsonl' -o graded.json --run-id ci-1234",
    "tracestream evalport run suite.json --dir nightly/ --json > graded.json",
)

_WORDS = {"passed": "passed", "failed": "failed", "unscored": "unscored", "no_run": "no run"}
_STYLES = {"failed": "bold red", "no_run": "bold red", "unscored": "yellow"}

SuiteFile = Annotated[
    str,
    typer.Argument(
        metavar="SUITE", help="An EvalPort suite: a JSON or YAML file.", show_default=False
    ),
]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the result set; - is stdout."),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Write the result set to stdout instead of the table.")
]
RunId = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        metavar="ID",
        help="The result set's run_id. Default: a hash of the suite's id, the sources and the options.",
    ),
]
StartedAt = Annotated[
    str | None,
    typer.Option(
        "--started-at",
        metavar="TIME",
        help="The result set's started_at, as in RFC 3339. Default: the time of the earliest event.",
    ),
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Run graders of the type code, each in a limited process. Only for suites you trust.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        min=0,
        help=f"List at most N results that did not pass. Default: {options.TOP_ON_TERMINAL} on a "
        "terminal, else all. The counts are of all.",
    ),
]


def command(
    suite: SuiteFile,
    paths: options.Paths = None,
    dirs: options.Dirs = None,
    output: Output = None,
    as_json: AsJson = False,
    run_id: RunId = None,
    started_at: StartedAt = None,
    allow_code: AllowCode = False,
    dialect: options.DialectName = "auto",
    max_record_bytes: options.MaxRecordBytes = options.MAX_RECORD_BYTES,
    top: Top = None,
    progress: options.WantsProgress = None,
) -> int:
    """Grade an EvalPort suite against traces, without a model.

    A test case is graded on the runs that its id names: by run id, by name, or by the name of their file
    without folder and suffixes; else those that its metadata.run_id names so. Several are attempts. Graders
    look at the run's last response and at its tool calls; those that need a model, a person or a handler are
    skipped. The table lists what did not pass. Exit code: 0 all that was graded passed; 1 a test
    case failed, or has no run; 2 wrong usage, or nothing to grade.
    """
    from tracestream.evalport.matching import read_traces
    from tracestream.evalport.pins import check_pins
    from tracestream.evalport.running import SuiteRun, run_id_of
    from tracestream.evalport.suites import Suite
    from tracestream.sources import discover

    given = options.sources(paths, dirs)
    if as_json and output is not None:
        raise ConfigError("--json and -o are both given\nHint: each writes the same document.")
    check_pins(run_id, started_at)
    suite_source = evalport_files.source(suite)
    lacking = options.check_folders(given)
    sources = discover(given)
    if output is not None:
        evalport_files.check_output(output, [suite_source, *sources])
    checked = Suite(suite_source, allow_code=allow_code)
    for found in checked.check():
        evalport_files.refuse(found)

    with ExitStack() as stack:
        with ProgressLine(progress) as line:
            reading = read_traces(
                sources,
                checked.wanted,
                dialect=dialect,
                max_record_bytes=max_record_bytes,
                progress=line,
            )
            traces = stack.enter_context(reading)
        chosen = {
            "allow_code": allow_code,
            "dialect": dialect,
            "max_record_bytes": max_record_bytes,
        }
        run = SuiteRun(
            checked,
            traces,
            run_id=run_id or run_id_of(checked, sources, chosen),
            started_at=started_at or traces.earliest,
        )
        _write(run, "-" if as_json else output, top)
    for sentence in (*traces.quality.sentences(), *lacking, *_told(run, traces)):
        streams.say(sentence)
    problem = _problem(run)
    if problem is not None:
        streams.complain(problem)
    return _exit_code(run)


def _write(run: "SuiteRun", output: str | None, top: int | None) -> None:
    """Write the result set, if it is wanted, and the table, if stdout is free."""
    table = None if output is not None and streams.is_stdout(output) else _Table(top)
    parts = run.parts(None if table is None else table.add)
    if output is None:
        for _ in parts:
            pass
    else:
        evalport_files.write(output, parts)
    if table is not None:
        streams.write_lines(table.lines(run))
    streams.flush()


class _Table:
    """Collects the results that did not pass, as lines.

    Args:
        top: How many of them to list; None: all, or as many as suit a terminal.
    """

    def __init__(self, top: int | None) -> None:
        self._width = streams.terminal_width()
        self._ascii_only = streams.is_ascii_only()
        is_terminal = self._width is not None
        self._top = options.TOP_ON_TERMINAL if top is None and is_terminal else top
        self._lines: list[Line] = []
        self._n_listed = 0
        self._n_bad = 0

    def add(self, result: dict[str, Any]) -> None:
        """Take in a result."""
        if result["passed"]:
            return
        self._n_bad += 1
        if self._top is None or self._n_listed < self._top:
            self._n_listed += 1
            self._lines.extend(self._of(result))

    def lines(self, run: "SuiteRun") -> "Iterator[Line]":
        """Yield the table, its counts at the end."""
        from tracestream.render.text import Line

        yield from self._lines
        n_more = self._n_bad - self._n_listed
        if n_more:
            yield Line(f"... and {n_more:,} more; --top {self._n_bad} lists all")
        if self._n_bad:
            yield Line("")
        words = ", ".join(f"{run.n_results[name]:,} {word}" for name, word in _WORDS.items())
        yield Line(words, "bold red" if _exit_code(run) else "bold", len(words))

    def _of(self, result: dict[str, Any]) -> "Iterator[Line]":
        from tracestream.evalport.running import NO_RUN, status_of
        from tracestream.render.text import Line, cut_end, visible

        status = status_of(result)
        attempt = f", attempt {result['attempt']}" if "attempt" in result else ""
        texts = [f"{_WORDS[status]:<8}  {'':6}  {result['test_case_id']}{attempt}"]
        if status != NO_RUN:
            texts += [
                f"{'':<8}  {_score(each['score']):>6}  {each['grader_id']}: {each['reason']}"
                for each in result["grader_results"]
                if not each["passed"]
            ]
        for text in texts:
            shown = visible(text, ascii_only=self._ascii_only)
            line = shown if self._width is None else cut_end(shown, self._width, "...")
            yield Line(line, _STYLES[status], len(_WORDS[status]))


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.4f}"


def _told(run: "SuiteRun", traces: "Traces") -> Iterator[str]:
    """Yield what the numbers do not say."""
    from tracestream.evalport.running import NO_RUN

    n_without, index = run.n_results[NO_RUN], traces.runs
    if n_without:
        held = _counted(index.n_runs, "run")
        yield f"{_counted(n_without, 'test case')} without a run; the traces hold {held}"
    if index.n_unused:
        yield f"{_counted(index.n_unused, 'run')} without a test case"
    if run.skips:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in run.skips.most_common())
        yield f"{_counted(run.skips.total(), 'grader result')} without a score: {reasons}"
    if run.n_cut:
        yield f"{_counted(run.n_cut, 'output')} cut by the writer of the trace, and graded as they are"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _exit_code(run: "SuiteRun") -> int:
    from tracestream.evalport import running

    counts = run.n_results
    if not counts[running.PASSED] + counts[running.FAILED]:
        return UNUSABLE
    return FAILED if counts[running.FAILED] + counts[running.NO_RUN] else PASSED


def _problem(run: "SuiteRun") -> str | None:
    """Return why nothing was graded, if nothing was."""
    from tracestream.evalport.terms import UNSCORED

    if _exit_code(run) != UNUSABLE:
        return None
    if run.n_results[UNSCORED]:
        return (
            "nothing to grade: no grader gave a score\n"
            "Hint: here run exact_match, contains, regex, json_schema, json_path, expected_tools; code if allowed."
        )
    return (
        "nothing to grade: no test case has a run\n"
        "Hint: a test case's id, or its metadata.run_id, is the id of its run or the name of its file."
    )
