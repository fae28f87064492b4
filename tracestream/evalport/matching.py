"""Which runs of traces a test case is graded on, and what they answered; the traces are read once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import closing, contextmanager
from typing import NamedTuple

import pyarrow.compute as pc

from tracestream.batches import Progress, Scan
from tracestream.dialects import harness
from tracestream.evalport.answers import COLUMNS, Answer, Answers
from tracestream.evalport.pins import moment
from tracestream.evalport.rules import digest
from tracestream.folds.base import RunKey
from tracestream.frames import MAX_RECORD_BYTES
from tracestream.jsontext import writable
from tracestream.quality import Quality
from tracestream.schema import EVENTS
from tracestream.scoring import Texts
from tracestream.sources import Source, bare_name
from tracestream.spans import Records, Span, Spill
from tracestream.tables import run_name


class Answered(NamedTuple):
    """One run that a test case may ask for.

    Attributes:
        number: Which of all runs.
        name: Its name, as in a report.
        output: Where its final output lies, if it has one.
        tools: How often it called each tool; None: its format does not name them.
        is_recorded: Whether its format records outputs.
    """

    number: int
    name: str
    output: Span | None
    tools: Counter[str] | None
    is_recorded: bool


class RunIndex:
    """The runs that test cases may ask for, by what they are called.

    A key is looked for among the ids of runs; else among their names; else among the names of the files they are
    in, without folder and suffixes.

    Args:
        wanted: A digest of each key that will be asked for.

    Attributes:
        n_runs: All runs there are.
    """

    def __init__(self, wanted: Set[int]) -> None:
        self.n_runs = 0
        self._wanted = wanted
        self._runs: dict[tuple[int, int], list[Answered]] = defaultdict(list)
        self._used: set[int] = set()

    @property
    def n_unused(self) -> int:
        """How many runs nothing has asked for."""
        return self.n_runs - len(self._used)

    def is_wanted(self, source: Source, run_id: str | None) -> bool:
        """Return whether a run can be asked for; without an id it may be any of its source."""
        return run_id is None or not self._wanted.isdisjoint(self._digests(source, run_id))

    def add(self, source: Source, answer: Answer, *, is_harness: bool) -> None:
        """Take in the next run."""
        run_id = answer.name.run_id
        run = Answered(
            self.n_runs,
            run_name(writable(source.name), run_id),
            answer.output,
            None if is_harness else answer.tools,
            not is_harness,
        )
        self.n_runs += 1
        for rank, key in enumerate(self._digests(source, run_id)):
            if key in self._wanted:
                self._runs[rank, key].append(run)

    def of(self, keys: Sequence[str]) -> list[Answered]:
        """Return the runs that the first key names which names any, in the order of the traces."""
        for key in map(digest, keys):
            for rank in range(3):
                found = self._runs.get((rank, key))
                if found is not None:
                    self._used.update(run.number for run in found)
                    return found
        return []

    @staticmethod
    def _digests(source: Source, run_id: str | None) -> tuple[int, int, int]:
        name = writable(source.name)
        # A run without an id is called like its source.
        return digest(run_id or name), digest(run_name(name, run_id)), digest(bare_name(name))


class Traces(NamedTuple):
    """What was read of the traces.

    Attributes:
        runs: Their runs.
        texts: Reads outputs again.
        quality: The ledger.
        earliest: The time of the first event that has one, as in RFC 3339; 1970 if none has.
    """

    runs: RunIndex
    texts: Texts
    quality: Quality
    earliest: str


@contextmanager
def read_traces(
    sources: Sequence[Source],
    wanted: Set[int],
    *,
    dialect: str = "auto",
    max_record_bytes: int = MAX_RECORD_BYTES,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Traces]:
    """Read traces once, and have what was read while the context lasts.

    Args:
        sources: Where they are.
        wanted: A digest of each key that runs will be asked for by.
        dialect: Name of the trace format, or `auto`.
        max_record_bytes: A record over this size is skipped and counted.
        progress: Called now and then with how far the reading is.
    """
    quality, index = Quality(), RunIndex(wanted)

    def is_wanted(key: RunKey) -> bool:
        return index.is_wanted(sources[key.source], key.run_id)

    with closing(Spill()) as spill:
        answers = Answers(spill.keep, is_wanted)
        schema = COLUMNS.append(EVENTS.field("ts"))
        scan = Scan(
            sources,
            schema,
            quality,
            dialect=dialect,
            max_record_bytes=max_record_bytes,
            progress=progress,
        )

        def add(found: list[Answer]) -> None:
            for answer in found:
                summary = scan.summaries[answer.name.scope]
                is_harness = summary.dialect == harness.name
                index.add(summary.source, answer, is_harness=is_harness)

        earliest: int | None = None
        for batch in scan:
            time = pc.min(batch.column("ts")).value
            earliest = time if earliest is None or (time or earliest) < earliest else earliest
            add(answers.update(batch))
        add(answers.finish())
        stamps = {s.source.order: s.stamp for s in scan.summaries if s.stamp is not None}
        with closing(Records(sources, stamps, spill)) as records:
            texts = Texts(records, scan.summaries)
            yield Traces(index, texts, quality, moment(earliest))
