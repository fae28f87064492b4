"""Partial result sets of one run as one result set; some 100 bytes a result are held, not the results.

The parts are read twice: once to see that they are valid and belong together, once to copy their
results, byte for byte, behind a head and before a summary that are made anew.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from tracestream.errors import InputError
from tracestream.evalport.conformance import fields
from tracestream.evalport.documents import Entry, read_documents
from tracestream.evalport.faults import quoted
from tracestream.evalport.rules import digest
from tracestream.evalport.strictjson import document_parts
from tracestream.evalport.validation import MAX_FAULTS, Validation, Validator
from tracestream.folds.exact import Expansion, expand, rounded
from tracestream.sources import Source

_HEAD = (
    "$schema",
    "version",
    "suite_id",
    "suite_version",
    "run_id",
    "started_at",
    "completed_at",
    "provider",
    "runner",
    "isolation",
)
"""Fields of a result set before its results, in the order they are written."""

_EARLIEST, _LATEST = "started_at", "completed_at"
_BATCH_SCORES = 1024


class _Mean:
    """A mean that does not depend on the order of what it is of."""

    def __init__(self) -> None:
        self.n = 0
        self._sum: Expansion = ()
        self._new: list[float] = []

    def add(self, value: float) -> None:
        self.n += 1
        self._new.append(value)
        if len(self._new) == _BATCH_SCORES:
            self._fold()

    def value(self) -> float:
        self._fold()
        return min(1.0, rounded(self._sum) / self.n)

    def _fold(self) -> None:
        self._sum, self._new = expand((*self._sum, *self._new)), []


class Summary:
    """Counts results, as the summary of a result set has them.

    A result whose scores are all null is skipped: it is in no rate and no mean, as the spec has it.
    `avg_score` is the mean of all scores of graders, a `duration_ms` the sum of those that results give.

    Example:
        >>> summary = Summary()
        >>> grader = {"grader_id": "g", "type": "custom", "score": 0.5, "passed": True}
        >>> summary.add({"test_case_id": "a", "passed": True, "grader_results": [grader]})
        >>> summary.to_dict()["by_grader"]
        {'g': {'passed': 1, 'failed': 0, 'avg_score': 0.5}}
    """

    def __init__(self) -> None:
        self._total = self._passed = self._skipped = 0
        self._duration_ms: int | None = None
        self._mean = _Mean()
        self._graders: dict[str, tuple[_Mean, list[int]]] = {}

    def add(self, result: dict[str, Any]) -> None:
        """Count a valid result."""
        graders = result["grader_results"]
        self._total += 1
        self._passed += result["passed"]
        self._skipped += bool(graders) and all(each["score"] is None for each in graders)
        if "duration_ms" in result:
            self._duration_ms = (self._duration_ms or 0) + int(result["duration_ms"])
        for each in graders:
            if each["score"] is not None:
                mean, passed = self._graders.setdefault(each["grader_id"], (_Mean(), [0]))
                passed[0] += each["passed"]
                mean.add(each["score"])
                self._mean.add(each["score"])

    def to_dict(self) -> dict[str, Any]:
        """Return the summary; a rate or a mean of nothing is left out."""
        n_judged = self._total - self._skipped
        summary: dict[str, Any] = {
            "total": self._total,
            "passed": self._passed,
            "failed": n_judged - self._passed,
            "skipped": self._skipped,
        }
        if n_judged:
            summary["pass_rate"] = self._passed / n_judged
        if self._mean.n:
            summary["avg_score"] = self._mean.value()
        if self._duration_ms is not None:
            summary["duration_ms"] = self._duration_ms
        summary["by_grader"] = {
            name: {"passed": passed, "failed": mean.n - passed, "avg_score": mean.value()}
            for name, (mean, [passed]) in self._graders.items()
        }
        return summary


class Merger:
    """Merges partial result sets; `survey` first, then `parts`.

    Args:
        sources: Files, in the order their results are to stand in.

    Attributes:
        left_out: Keys of metadata on which the parts do not agree, and fields of a newer version of the
            spec; known after `survey`.

    Raises:
        InputError: A source can be read only once.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        for source in sources:
            if source.path is None or not os.path.isfile(source.path):
                raise InputError(
                    f"{source.name} can be read only once, and merging reads its parts twice\n"
                    "Hint: write it to a file first.",
                    source=source.name,
                )
        self._sources = sources
        self._seen: dict[int, int] = {}
        self._summary = Summary()
        self._heads: list[dict[str, Any]] = []
        self._stamps = [_stamp(source) for source in sources]
        self._metadata: dict[str, Any] | None = None
        self.left_out: list[str] = []

    def survey(self, *, max_faults: int = MAX_FAULTS) -> Iterator[Validation]:
        """Yield what validating each part gave; stop here if one is not valid.

        Raises:
            InputError: Two parts are not of one run, or both have a result for the same attempt at the
                same test case.
        """
        for at, source in enumerate(self._sources):
            validator = Validator(
                kind="resultset", max_faults=max_faults, on_element=self._follow(at)
            )
            (found,) = validator.source(source)
            yield found
            if found.is_valid:
                self._heads.append(validator.head)
                self._check_head(at)
        self._metadata = self._agreed()

    def parts(self) -> Iterator[bytes]:
        """Yield the merged document in pieces, after a survey without faults.

        Raises:
            InputError: A part is not what it was when it was surveyed.
        """
        return document_parts(self._head(), "results", self._copied(), self._tail)

    def _copied(self) -> Iterator[bytes]:
        for at, source in enumerate(self._sources):
            for document in read_documents(source):
                for entry in document:
                    if entry.key == "results" and entry.at is not None:
                        yield entry.to_json()
            if _stamp(source) != self._stamps[at]:
                raise InputError(
                    f"{source.name} changed while it was read\nHint: merge when the run has ended.",
                    source=source.name,
                )

    def _tail(self) -> dict[str, Any]:
        tail: dict[str, Any] = {"summary": self._summary.to_dict()}
        if self._metadata is not None:
            tail["metadata"] = self._metadata
        return tail

    def _follow(self, at: int) -> Callable[[Entry], None]:
        def result(entry: Entry) -> None:
            name, attempt = entry.value["test_case_id"], entry.value.get("attempt", 1)
            before = self._seen.setdefault(digest(name, attempt), at)
            if before != at:
                raise InputError(
                    f"{self._sources[before].name} and {self._sources[at].name} both have a result for "
                    f"attempt {attempt} at the test case {quoted(name)}\n"
                    "Hint: which of the two counts? Take the other out.",
                    source=self._sources[at].name,
                )
            self._summary.add(entry.value)

        return result

    def _check_head(self, at: int) -> None:
        """Raise if a head says another thing than one before.

        Times may differ, and metadata; all else says which run this is.
        """
        first: dict[str, Any] = {}
        for head in self._heads:
            for key in _HEAD:
                if key in head and key not in (_EARLIEST, _LATEST, "$schema"):
                    first.setdefault(key, head[key])
        for key, value in self._heads[at].items():
            if key in first and first[key] != value:
                raise InputError(
                    f"{self._sources[at].name} is no part of the same run: its {key} is another than "
                    "in the parts before\nHint: `tracestream evalport diff` compares two runs.",
                    source=self._sources[at].name,
                )

    def _head(self) -> dict[str, Any]:
        head: dict[str, Any] = {}
        for key in _HEAD:
            values = [each[key] for each in self._heads if key in each]
            if values:
                choose = {_EARLIEST: min, _LATEST: max}.get(key)
                head[key] = values[0] if choose is None else choose(values, key=_moment)
        return head

    def _agreed(self) -> dict[str, Any] | None:
        """Return what the parts' metadata agree on; None if no part has any."""
        found = [head["metadata"] for head in self._heads if "metadata" in head]
        keys = dict.fromkeys(key for metadata in found for key in metadata)
        agreed = {}
        for key in keys:
            values = [metadata[key] for metadata in found if key in metadata]
            if all(value == values[0] for value in values):
                agreed[key] = values[0]
        self.left_out = [key for key in keys if key not in agreed]
        for head in self._heads:
            self.left_out += [key for key in head if key not in fields("resultset")]
        return agreed if found else None


def _moment(text: str) -> datetime:
    """Return the moment that an RFC 3339 time names, a leap second as the one before."""
    try:
        return datetime.fromisoformat(text.upper().replace(":60", ":59"))
    except ValueError:  # the year 0, which RFC 3339 has and Python has not
        return datetime.min.replace(tzinfo=UTC)


def _stamp(source: Source) -> tuple[int, int]:
    assert source.path is not None
    status = os.stat(source.path)
    return status.st_size, status.st_mtime_ns
