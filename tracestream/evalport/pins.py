"""What would tell two equal result sets apart: the id of the run, and when it started."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from tracestream.evalport.strictjson import write_json
from tracestream.evalport.terms import SPEC_VERSION
from tracestream.evalport.validation import check_value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_pins(run_id: str | None, started_at: str | None) -> None:
    """Raise if a result set cannot have this id or this time; None is none given.

    Raises:
        EvalPortError: It cannot; `.pointer` says which.

    Example:
        >>> check_pins("ci-7", "2026-09-30T00:00:00Z")
    """
    result = {"test_case_id": "a", "grader_results": [], "passed": False}
    head = {
        "version": SPEC_VERSION,
        "suite_id": "a",
        "run_id": "a" if run_id is None else run_id,
        "started_at": moment(None) if started_at is None else started_at,
    }
    check_value({**head, "results": [result]}, "resultset")


def moment(nanoseconds: int | None) -> str:
    """Return a time since 1970 as in RFC 3339, to the microsecond; the start of 1970 for None.

    Example:
        >>> moment(1_750_000_000_250_000_000)
        '2025-06-15T15:06:40.250000+00:00'
    """
    return (_EPOCH + timedelta(microseconds=(nanoseconds or 0) // 1000)).isoformat()


def derived_id(*what: Any) -> str:
    """Return an id that the same things always have, of 32 hexadecimal digits.

    Args:
        what: What JSON can hold.
    """
    return hashlib.sha256(write_json(what)).hexdigest()[:32]
