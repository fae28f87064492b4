"""What changed from one result set to another, result by result.

Results are paired by test case and attempt. Of the older set a few bytes for each result are held,
beside its id; the newer one is read as a stream.
"""

import math
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from tracestream.errors import InputError
from tracestream.evalport.documents import Entry
from tracestream.evalport.faults import quoted
from tracestream.evalport.validation import MAX_FAULTS, Validation, Validator
from tracestream.sources import Source

DIFF_SCHEMA = "tracestream.evalport-diff/1"

REGRESSED, IMPROVED, CHANGED, NEW, GONE = "regressed", "improved", "changed", "new", "gone"
STATUSES = {
    REGRESSED: "passed before, and does not now",
    IMPROVED: "passes now, and did not before",
    CHANGED: "same verdict, other scores or no longer the same without a score",
    NEW: "has a result only now",
    GONE: "had a result only before",
}
"""What became of a result, worst first."""


class Outcome(NamedTuple):
    """What one result says.

    Attributes:
        verdict: `pass`, `fail`, or `unscored` where no grader gave a score.
        graders: Ids of its graders.
        scores: A score for each, 0..1; None: not verified.
    """

    verdict: str
    graders: tuple[str, ...]
    scores: tuple[float | None, ...]


class Change(NamedTuple):
    """What became of one result; `old` or `new` is None where there is none."""

    status: str
    test_case_id: str
    attempt: int
    old: Outcome | None
    new: Outcome | None

    def scores(self) -> Iterator[tuple[str, float | None, float | None]]:
        """Yield each grader whose score is another, with the old and the new one."""
        old = {} if self.old is None else dict(zip(self.old.graders, self.old.scores, strict=True))
        new = {} if self.new is None else dict(zip(self.new.graders, self.new.scores, strict=True))
        for grader in {**old, **new}:
            if old.get(grader) != new.get(grader):
                yield grader, old.get(grader), new.get(grader)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can write it."""
        return {
            "status": self.status,
            "test_case_id": self.test_case_id,
            "attempt": self.attempt,
            "old": None if self.old is None else self.old.verdict,
            "new": None if self.new is None else self.new.verdict,
            "scores": [
                {"grader_id": grader, "old": before, "new": after}
                for grader, before, after in self.scores()
            ],
        }


class Comparison:
    """Compares two result sets of one suite; `read` first.

    Args:
        old: The result set before.
        new: The result set now.

    Attributes:
        changes: What changed, by status, each in the order of the newer set; what is gone, in that of
            the older.
        n_same: Results with the same verdict and scores.
        heads: The fields of both sets, without results.
    """

    def __init__(self, old: Source, new: Source) -> None:
        self._sources = (old, new)
        self._old: dict[str | tuple[str, int], bytes] = {}
        self._names: dict[tuple[str, ...], int] = {}
        self._tuples: list[tuple[str, ...]] = []
        self.changes: dict[str, list[Change]] = {status: [] for status in STATUSES}
        self.n_same = 0
        self.heads: list[dict[str, Any]] = []

    def read(self, *, max_faults: int = MAX_FAULTS) -> Iterator[Validation]:
        """Yield what validating each set gave; stop here if one is not valid.

        Raises:
            InputError: The sets are of different suites.
        """
        for source, follow in zip(self._sources, (self._remember, self._compare), strict=True):
            validator = Validator(kind="resultset", max_faults=max_faults, on_element=follow)
            (found,) = validator.source(source)
            yield found
            self.heads.append(validator.head)
        old, new = (head.get("suite_id") for head in self.heads)
        if old != new:
            raise InputError(
                f"{self._sources[0].name} is of the suite {quoted(str(old))}, "
                f"{self._sources[1].name} of {quoted(str(new))}\n"
                "Hint: two runs of one suite can be compared.",
                source=self._sources[1].name,
            )
        for key, packed in self._old.items():
            name, attempt = (key, 1) if isinstance(key, str) else key
            self.changes[GONE].append(Change(GONE, name, attempt, self._unpacked(packed), None))
        self._old.clear()

    @property
    def has_regressed(self) -> bool:
        """Whether anything passed before and does not now."""
        return bool(self.changes[REGRESSED])

    def counts(self) -> dict[str, int]:
        """Return how many results there are of each status, and how many are the same."""
        return {
            **{status: len(found) for status, found in self.changes.items()},
            "same": self.n_same,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the document of the comparison (`schemas/evalport-diff.schema.json`)."""
        old, new = (
            {
                "source": source.name,
                "run_id": head.get("run_id"),
                "started_at": head.get("started_at"),
            }
            for source, head in zip(self._sources, self.heads, strict=True)
        )
        return {
            "schema": DIFF_SCHEMA,
            "suite_id": self.heads[0].get("suite_id"),
            "old": old,
            "new": new,
            "summary": self.counts(),
            "changes": [each.to_dict() for found in self.changes.values() for each in found],
        }

    def _remember(self, entry: Entry) -> None:
        self._old[_key(entry.value)] = self._packed(_outcome(entry.value))

    def _compare(self, entry: Entry) -> None:
        key, new = _key(entry.value), _outcome(entry.value)
        packed = self._old.pop(key, None)
        old = None if packed is None else self._unpacked(packed)
        status = _status(old, new)
        if status is None:
            self.n_same += 1
        else:
            name, attempt = (key, 1) if isinstance(key, str) else key
            self.changes[status].append(Change(status, name, attempt, old, new))

    def _packed(self, outcome: Outcome) -> bytes:
        """Return an outcome in few bytes; most results have the same graders, whose ids are held once."""
        names = self._names.setdefault(outcome.graders, len(self._tuples))
        if names == len(self._tuples):
            self._tuples.append(outcome.graders)
        scores = [math.nan if score is None else score for score in outcome.scores]
        verdict = _VERDICTS.index(outcome.verdict)
        return struct.pack(f"<BI{len(scores)}d", verdict, names, *scores)

    def _unpacked(self, packed: bytes) -> Outcome:
        n_scores = (len(packed) - struct.calcsize("<BI")) // 8
        verdict, names, *scores = struct.unpack(f"<BI{n_scores}d", packed)
        graders = self._tuples[names]
        return Outcome(
            _VERDICTS[verdict],
            graders,
            tuple(None if math.isnan(score) else score for score in scores),
        )


_VERDICTS = ("pass", "fail", "unscored")


def _key(result: dict[str, Any]) -> str | tuple[str, int]:
    """Return what pairs results; a text for the most of them, as it takes less."""
    attempt = result.get("attempt", 1)
    name: str = result["test_case_id"]
    return name if attempt == 1 else (name, attempt)


def _outcome(result: dict[str, Any]) -> Outcome:
    graders = result["grader_results"]
    scores = tuple(each["score"] for each in graders)
    is_unscored = bool(scores) and all(score is None for score in scores)
    verdict = "unscored" if is_unscored else "pass" if result["passed"] else "fail"
    return Outcome(verdict, tuple(each["grader_id"] for each in graders), scores)


def _status(old: Outcome | None, new: Outcome) -> str | None:
    if old is None:
        return NEW
    if old.verdict != new.verdict:
        if old.verdict == "pass":
            return REGRESSED
        return IMPROVED if new.verdict == "pass" else CHANGED
    before = dict(zip(old.graders, old.scores, strict=True))
    after = dict(zip(new.graders, new.scores, strict=True))
    return None if before == after else CHANGED
