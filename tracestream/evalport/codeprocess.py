"""What runs in the process of a `code` grader: a script of its own, which imports nothing of ours.

It reads one request from stdin, as JSON: `source`, `arguments`, `cpu_seconds`, `memory_bytes`. It writes one
answer to stdout, as JSON: `{"score": number}` or `{"error": text}`. See `codegrader.py`.
"""

import contextlib
import json
import math
import os
import resource
import sys
from typing import Any

MAX_ERROR_CHARS = 200


def limit(cpu_seconds: int, memory_bytes: int) -> None:
    """Set limits that this process cannot raise again, unless it is root's.

    Args:
        cpu_seconds: Of processor time.
        memory_bytes: Of address space; not every system holds to it.
    """
    limits = {
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        _lower(kind, most)
    with contextlib.suppress(ValueError, OSError):  # macOS takes no limit of this kind
        _lower(resource.RLIMIT_AS, memory_bytes)


def _lower(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def score(source: str, arguments: list[Any]) -> dict[str, Any]:
    """Return the answer: what `grade` of the source returns as a number, or why there is none."""
    names: dict[str, Any] = {"__name__": "grader"}
    try:
        exec(compile(source, "<grader>", "exec"), names)
        if "grade" not in names:
            return {"error": "it defines no function 'grade'"}
        value = names["grade"](*arguments)
        if isinstance(value, int | float) and math.isfinite(value):
            return {"score": float(value)}
    except BaseException as error:  # SystemExit too: the source is not ours
        return {"error": f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]}
    return {"error": f"'grade' returned no number, but {type(value).__name__}"}


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    # What the source prints goes nowhere: stdout is for the answer.
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    limit(request["cpu_seconds"], request["memory_bytes"])
    answer = score(request["source"], request["arguments"])
    os.write(answers, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
