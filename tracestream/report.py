"""What a grade found: tables of runs, handoffs and budgets, a summary, and the ledger.

The tables are Arrow columns, in a temporary file if they are large; a report of many runs never stands in
memory as Python objects.
"""

import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tracestream.kernels.budget import budget_result
from tracestream.kernels.harness import Recorded
from tracestream.kernels.overlap import HandoffScore, handoff_result
from tracestream.quality import REASONS, Quality
from tracestream.results import ContextEvalResult, HarnessResult, strict
from tracestream.schema import RUNS, clamped
from tracestream.spool import Spool
from tracestream.verdicts import UNGRADABLE, Gates
from tracestream.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from tracestream.evalport.export import Export

REPORT_SCHEMA = "tracestream.report/1"
_SLICE_ROWS = 1024
_WORST_FIRST = pa.array(["fail", "pass", "ungradable"])


@dataclass(frozen=True, repr=False)
class Report:
    """The result of grading a corpus.

    Attributes:
        runs_spool: GRADED, by source order and first event.
        handoffs_spool: HANDOFFS, in the order of runs and of each run's chain.
        budgets_spool: BUDGETS, likewise.
        recorded_spool: RECORDED, in the order of runs.
        ledger: The quality ledger.
        gates: What a run had to reach.
        options: What was asked that can change a score or a verdict.
        n_events: Events read.
        n_bytes: Bytes read, as stored.
        problems: What was asked for and no run can answer, in words.
        missing: Dimensions that a gate asks for and some run has not, in words.
        is_strict: Whether damage, ungradable runs and gates without their dimension count.
        earliest: Time of the first event that has one, nanoseconds since 1970; None if none has.
        inputs: A digest of the names and sizes of all sources.
    """

    runs_spool: Spool
    handoffs_spool: Spool
    budgets_spool: Spool
    recorded_spool: Spool
    ledger: Quality
    gates: Gates
    options: Mapping[str, Any]
    n_events: int
    n_bytes: int
    problems: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    is_strict: bool = False
    earliest: int | None = None
    inputs: str = ""

    @property
    def runs_table(self) -> pa.Table:
        """RUNS, all of it in memory."""
        return self.runs_spool.table(RUNS.names)

    @property
    def handoffs_table(self) -> pa.Table:
        """HANDOFFS, all of it in memory."""
        return self.handoffs_spool.table()

    @property
    def budgets_table(self) -> pa.Table:
        """BUDGETS, all of it in memory."""
        return self.budgets_spool.table()

    @property
    def runs(self) -> "pl.DataFrame":
        """The RUNS table as a polars frame."""
        return _frame(self.runs_table)

    @property
    def handoffs(self) -> "pl.DataFrame":
        """The HANDOFFS table as a polars frame."""
        return _frame(self.handoffs_table)

    @property
    def budgets(self) -> "pl.DataFrame":
        """The BUDGETS table as a polars frame."""
        return _frame(self.budgets_table)

    @property
    def quality(self) -> "pl.DataFrame":
        """The ledger as a polars frame: one row an example, with its reason, class and count."""
        import polars as pl

        rows = [
            (reason, REASONS[reason].severity, entry.count, e.source, e.line, e.offset, e.detail)
            for reason in REASONS
            if (entry := self.ledger.entries.get(reason)) is not None
            for e in entry.examples
        ]
        types = {
            **{"reason": pl.String, "class": pl.String, "count": pl.Int64},
            **{"source": pl.String, "line": pl.Int64, "offset": pl.Int64, "detail": pl.String},
        }
        return pl.DataFrame(rows, schema=types, orient="row")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Counts and means over all runs; means of those that have the dimension, or None."""
        column = self.runs_spool.column
        verdicts = {
            entry["values"]: entry["counts"]
            for entry in pc.value_counts(column("verdict")).to_pylist()
        }
        return {
            "runs": len(self.runs_spool),
            "passed": verdicts.get("pass", 0),
            "failed": verdicts.get("fail", 0),
            "ungradable": verdicts.get("ungradable", 0),
            "handoff_score": _mean(column("handoff_score")),
            "budget_score": _mean(column("budget_score")),
            "overall_score": _mean(column("overall_score")),
            "content_loss_runs": pc.sum(column("content_loss")).as_py() or 0,
            "tool_calls": _total(column("tool_calls")) or 0,
            "input_tokens": _total(column("input_tokens")),
            "output_tokens": _total(column("output_tokens")),
            "events": self.n_events,
            "bytes": self.n_bytes,
        }

    def head(self) -> dict[str, Any]:
        """Return the report document without its runs."""
        return {
            "schema": REPORT_SCHEMA,
            "version": __version__,
            "scoring": "praisonai/1",
            "options": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.options.items()
            },
            "summary": self.summary,
            "problems": list(self.problems),
            "quality": self.ledger.to_dict(),
        }

    @property
    def exit_code(self) -> int:
        """What the command exits with: 0 pass, 1 a run failed, 2 nothing to grade or to answer."""
        summary = self.summary
        if self.problems or summary["ungradable"] == summary["runs"]:
            return 2
        if summary["failed"] or (self.is_strict and self.strict_reasons()):
            return 1
        return 0

    def strict_reasons(self) -> list[str]:
        """Return what a strict grade does not let pass, in words."""
        n_damage = self.ledger.count("loss", "doubt")
        n_ungradable = self.summary["ungradable"]
        reasons = []
        if n_damage:
            reasons.append(f"losses or doubts in the quality ledger: {n_damage}")
        if n_ungradable:
            reasons.append(f"ungradable runs: {n_ungradable}")
        reasons += [f"a run has {words}" for words in self.missing]
        return reasons

    def run_documents(self) -> Iterator[dict[str, Any]]:
        """Yield the runs of the report document, one after another."""
        handoffs, budgets = _Groups(self.handoffs_spool), _Groups(self.budgets_spool)
        recorded = _Groups(self.recorded_spool)
        for run in _rows(self.runs_spool):
            name = run["run"]
            rows = handoffs.of(name), budgets.of(name), recorded.of(name)
            yield run_document(run, *rows, self.gates)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report document (`schemas/report.schema.json`)."""
        return {**self.head(), "runs": list(self.run_documents())}

    def json_parts(self) -> Iterator[bytes]:
        """Yield the report document as strict JSON, one line: its head, then run after run."""
        yield orjson.dumps(self.head())[:-1] + b',"runs":['
        separator = b""
        for document in self.run_documents():
            yield separator + orjson.dumps(document)
            separator = b","
        yield b"]}\n"

    def to_json(self) -> bytes:
        """Return the report document as strict JSON, one line."""
        return b"".join(self.json_parts())

    def worst_first(self) -> pa.Array:
        """Return the places of the runs in the order in which people want to see them.

        Failed runs come first, then passed, then ungradable ones; among them the lowest overall
        score, those without a score last, equal ones in the order of the report. O(n log n).
        """
        rank = pc.index_in(self.runs_spool.column("verdict"), _WORST_FIRST)
        keys = pa.table({"rank": rank, "score": self.runs_spool.column("overall_score")})
        return pc.sort_indices(keys, [("rank", "ascending"), ("score", "ascending")])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the report in the form that the suffix of a path names, in place of what is there.

        Args:
            path: `.json`, `.jsonl`, `.ndjson`, `.csv` or `.html` for a file, `.parquet` for a
                folder of tables. Its folder must exist.

        Raises:
            ConfigError: The suffix is unknown, or it cannot be written there.
            OSError: The disk is full, or a reader has gone; what was there is there still.

        See Also:
            `tracestream.render.outputs.write_report`, which this calls.
        """
        from tracestream.render.outputs import write_report

        write_report(self, path)

    def to_evalport(
        self, *, run_id: str | None = None, started_at: str | None = None
    ) -> dict[str, Any]:
        """Return the report as an EvalPort result set: one result a run, in the order of the report.

        Args:
            run_id: Which run of the suite; None takes a hash of sources and options.
            started_at: When it started, as in RFC 3339; None takes the time of the earliest event, or 1970
                if no event has one. So the same report always gives the same document.

        Raises:
            EvalPortError: There is no valid one: no run could be graded, or what was given is no id or
                no time; `.pointer` says where it would stand.

        Example:
            >>> from tracestream import grade
            >>> report = grade(b'{"event_type": "tool_start", "tool_name": "search"}')
            >>> [(each["test_case_id"], each["passed"]) for each in report.to_evalport()["results"]]
            [('<bytes>', True)]
        """
        return self.export(run_id=run_id, started_at=started_at).to_dict()

    def export(self, *, run_id: str | None = None, started_at: str | None = None) -> "Export":
        """Return the report as EvalPort documents that can be written in pieces; see `to_evalport`."""
        from tracestream.evalport.export import Export
        from tracestream.evalport.pins import derived_id, moment

        head = self.head()
        return Export(
            head,
            self.run_documents,
            run_id=derived_id(self.inputs, head["options"]) if run_id is None else run_id,
            started_at=moment(self.earliest) if started_at is None else started_at,
        )

    def _repr_html_(self) -> str:
        from tracestream.render.html import fragment

        return fragment(self)

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{self.summary[name]} {name}" for name in ("runs", "passed", "failed", "ungradable")
        )
        return f"<Report: {counts}>"


def run_document(
    run: Mapping[str, Any],
    handoffs: Sequence[Mapping[str, Any]],
    budgets: Sequence[Mapping[str, Any]],
    recorded: Sequence[Mapping[str, Any]],
    gates: Gates,
) -> dict[str, Any]:
    """Return one entry of `runs` in the report document, from its rows of the four tables."""
    document = {
        name: run[name] for name in ("run", "source", "run_id", "dialect", "verdict", "reasons")
    }
    if run["verdict"] == UNGRADABLE:
        return {**document, "context": None, "harness": None, "usage": None}
    context = context_result(run["run"], handoffs, budgets)
    known = recorded[0] if recorded else {}
    facts = {name: value for name, value in known.items() if name != "run"}
    harness = gates.score_harness(run["tool_calls"], Recorded(**facts) if recorded else None)
    result = HarnessResult(
        passed=harness.passed,
        score=harness.score,
        tool_call_count=run["tool_calls"],
        tool_calls_sufficient=harness.tool_calls_sufficient,
        schema_hash=known.get("schema_hash"),
        schema_consistent=harness.schema_consistent,
        artifacts_complete=not harness.missing_artifacts,
        missing_artifacts=list(harness.missing_artifacts),
        judge_score=known.get("judge_score"),
        judge_passed=harness.judge_passed,
        eval_id=context.eval_id,
        name=context.name,
        timestamp="",
        metadata={"required_artifacts": list(gates.require_artifacts)},
    ).to_dict()
    del result["timestamp"]
    result = strict(result)
    usage = {name: run[name] for name in ("input_tokens", "output_tokens", "cost_usd")}
    return {**document, "context": context.to_dict(), "harness": result, "usage": usage}


def context_result(
    run: str, handoffs: Sequence[Mapping[str, Any]], budgets: Sequence[Mapping[str, Any]]
) -> ContextEvalResult:
    """Return what `ContextEvaluator` gives for a run; its id is made of the run's name."""
    return ContextEvalResult(
        handoffs=[
            handoff_result(
                row["from_agent"],
                row["to_agent"],
                HandoffScore(
                    row["exact"],
                    row["output_tokens"],
                    row["shared_tokens"],
                    row["context_passed_score"],
                    row["context_relevance_score"],
                    row["content_loss_detected"],
                ),
            )
            for row in handoffs
        ],
        budgets=[
            budget_result(r["agent_name"], r["used_tokens"], r["budget_tokens"]) for r in budgets
        ],
        eval_id=hashlib.sha256(run.encode()).hexdigest()[:8],
        name=run,
    )


class _Groups:
    """Rows that are sorted like the runs, run by run."""

    def __init__(self, spool: Spool) -> None:
        self._rows = _rows(spool)
        self._next = next(self._rows, None)

    def of(self, run: str) -> list[dict[str, Any]]:
        """Return the rows of the next run, if they are this run's."""
        rows = []
        while self._next is not None and self._next["run"] == run:
            rows.append(self._next)
            self._next = next(self._rows, None)
        return rows


def _mean(column: pa.ChunkedArray) -> float | None:
    """Return the mean of what is there: the exact sum, rounded once."""
    values = column.drop_null()
    return math.fsum(_values(values)) / len(values) if len(values) else None


def _total(column: pa.ChunkedArray) -> int | None:
    """Return the sum of what is there, as far as 64 bits go; Arrow's own wraps round."""
    values = column.drop_null()
    return clamped(sum(_values(values))) if len(values) else None


def _values(column: pa.ChunkedArray) -> Iterator[Any]:
    for chunk in column.chunks:
        yield from chunk.to_pylist()


def _rows(spool: Spool) -> Iterator[dict[str, Any]]:
    for batch in spool.batches():
        for begin in range(0, batch.num_rows, _SLICE_ROWS):
            yield from batch.slice(begin, _SLICE_ROWS).to_pylist()


def _frame(table: pa.Table) -> "pl.DataFrame":
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
