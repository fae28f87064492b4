"""What runs record for the harness gates, where one record is a whole run."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.folds.base import RUN_COLUMNS, RunKey
from tracestream.kernels.harness import Recorded


class Harness:
    """Folds batches into Recorded, part *harness* of PARTIALS: a run has one row, nothing to add up.

    Args:
        artifacts: The names asked for; of a run's artifacts no others are kept.
    """

    part = "harness"

    def __init__(self, artifacts: Sequence[str] = ()) -> None:
        self.runs: dict[RunKey, Recorded] = {}
        self._artifacts = artifacts

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of SPANS; `artifacts` may be missing in it if none are asked for."""
        is_recorded = batch.column("harness").is_valid()
        if not is_recorded.true_count:
            return
        batch = batch.filter(is_recorded)
        found = self._found(batch)
        columns = (batch.column(name).to_pylist() for name in (*RUN_COLUMNS, "harness"))
        for row, (source, session_id, run_id, fields) in enumerate(zip(*columns, strict=True)):
            key = RunKey(source, session_id or None, run_id or None)
            self.merge(key, {"harness": fields, "artifacts": found[row]})

    def _found(self, batch: pa.RecordBatch) -> list[list[str]]:
        """Return for each row those of the names asked for that it has, in their order."""
        found: list[set[str]] = [set() for _ in range(batch.num_rows)]
        if self._artifacts:
            names = batch.column("artifacts")
            is_asked_for = pc.is_in(names.flatten(), value_set=pa.array(self._artifacts))
            hits = zip(
                pc.list_parent_indices(names).filter(is_asked_for).to_pylist(),
                names.flatten().filter(is_asked_for).to_pylist(),
                strict=True,
            )
            for row, name in hits:
                found[row].add(name)
        return [[name for name in self._artifacts if name in names] for names in found]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of PARTIALS."""
        for key, recorded in self.runs.items():
            fields = recorded._asdict()
            yield {
                **key._asdict(),
                "part": self.part,
                "artifacts": fields.pop("artifacts"),
                "harness": fields,
            }

    def merge(self, key: RunKey, row: dict[str, Any]) -> None:
        """Take in one row of PARTIALS."""
        fields = {**row["harness"], "refused": tuple(row["harness"]["refused"])}
        self.runs[key] = Recorded(**fields, artifacts=tuple(row["artifacts"]))
