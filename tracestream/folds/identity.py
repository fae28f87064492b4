"""Which run an event belongs to, decided when all events of its source are known.

An event with a run id belongs to that run. One without belongs to its session, and one without a
session to its source. Events of such a coarser scope belong to the one finer scope inside it, if there
is exactly one; if there are several, they are a run of their own, but only if that run is gradable.
None of this depends on the order of events or on how the input was split.
"""

from collections import defaultdict
from collections.abc import Container, Iterable
from typing import NamedTuple

from tracestream.folds.base import RunKey


class RunName(NamedTuple):
    """A run: where it is looked for, and its id, None where the format gives none."""

    scope: int
    run_id: str | None


CORPUS = -1
"""The scope of runs that are merged across sources; else the scope is the source."""


class Identity(NamedTuple):
    """The run of an event; `is_leftover` if it counts only where that run is gradable."""

    name: RunName
    is_leftover: bool = False


def resolve(
    keys: Iterable[RunKey], *, across_sources: bool = False, apart: Container[RunKey] = ()
) -> dict[RunKey, Identity]:
    """Return the run of each key.

    Args:
        keys: All there are.
        across_sources: Runs and sessions of one id are one, whichever source they are in.
        apart: Keys whose id names a run of their source only, all the same.

    Example:
        >>> keys = [RunKey(0, "s", None), RunKey(0, "s", "r")]
        >>> {identity.name for identity in resolve(keys).values()}
        {RunName(scope=0, run_id='r')}
    """
    keys = list(keys)
    of_sessions: dict[tuple[int, str], set[str]] = defaultdict(set)
    of_sources: dict[int, set[tuple[str, str]]] = defaultdict(set)

    def scope(key: RunKey) -> int:
        return CORPUS if across_sources and key not in apart else key.source

    for key in keys:
        source, session_id, run_id = key
        if session_id is not None:
            of_sources[source].add(("session", session_id))
            if run_id is not None:
                of_sessions[scope(key), session_id].add(run_id)
        elif run_id is not None:
            of_sources[source].add(("run", run_id))

    def of_key(key: RunKey) -> Identity:
        source, session_id, run_id = key
        is_leftover = False
        if session_id is None and run_id is None:
            inside = of_sources[source]
            if len(inside) != 1:
                return Identity(RunName(source, None), is_leftover=bool(inside))
            level, only = next(iter(inside))
            session_id, run_id = (only, None) if level == "session" else (None, only)
        if run_id is None and session_id is not None:
            runs = of_sessions[scope(key), session_id]
            run_id = next(iter(runs)) if len(runs) == 1 else session_id
            is_leftover = len(runs) > 1
        return Identity(RunName(scope(key), run_id), is_leftover)

    return {key: of_key(key) for key in keys}
