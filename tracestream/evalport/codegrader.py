"""The grader that runs code of its suite: only if it is allowed to, in a process of its own.

The process gets the arguments and nothing else: no environment, no files of ours, the standard library only,
limits on time, processor time and memory, no child processes and no file content written. That bounds what a
mistake can do. It is no wall: the process is its user's, and reads what that user may read. As root, or with limits
that the system does not hold to, the bounds are weaker still.
"""

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracestream.evalport.faults import quoted
from tracestream.evalport.graders import Grade, Sample, Score, Unfit, of_output, unsupported
from tracestream.evalport.terms import RAW_SCORE

TIMEOUT_MS = 5000
"""If the grader gives none. Source: the spec, Code Grader Execution."""

MEMORY_BYTES = 512 << 20

_SCRIPT = Path(__file__).with_name("codeprocess.py")
_MAX_ANSWER_BYTES = 4096
# Python's own switches: no user's packages, no site-packages, nothing written, no folder to import from.
_COMMAND = ("-s", "-S", "-B", "-P", "-X", "utf8", str(_SCRIPT))
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # the order of a set is the same each time


class CodeFailed(Exception):
    """The code gave no score; the message says why."""


def code(params: Mapping[str, Any], *, is_allowed: bool) -> Grade:
    """Return a grader: the function `grade(input, output, expected, context)` of a source returns a score.

    Args:
        params: `language`, `source`, `timeout_ms` (5000), `threshold` (1.0): the score to pass at.
        is_allowed: Whether code may be run; else every run is skipped.

    Raises:
        Unfit: The threshold is no number from 0 to 1.

    Example:
        >>> code({"language": "python", "source": "..."}, is_allowed=False)(Sample(output="x")).value is None
        True
    """
    threshold = params.get("threshold", 1.0)
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not is_number or not 0 <= threshold <= 1:
        raise Unfit("/params/threshold", "it must be a number from 0 to 1", "leave it out for 1.")
    if not is_allowed:
        return unsupported("code", "code runs only with --allow-code")
    if params["language"] != "python":
        return unsupported("code", f"no {params['language']} is run")

    def grade(sample: Sample) -> Score:
        def run(output: str) -> Score:
            arguments = [sample.input, output, sample.expected, sample.context]
            timeout_ms = params.get("timeout_ms", TIMEOUT_MS)
            try:
                raw = run_code(params["source"], arguments, timeout_ms=timeout_ms)
            except CodeFailed as error:
                return Score(None, False, f"the code failed: {error}", {"error": str(error)})
            value = min(1.0, max(0.0, raw))
            metadata = None if value == raw else {RAW_SCORE: raw}
            reason = f"the code gives {raw:g}, and {threshold:g} passes"
            return Score(value, raw >= threshold, reason, metadata)

        return of_output(run)(sample)

    return grade


def run_code(
    source: str, arguments: list[Any], *, timeout_ms: int, memory_bytes: int = MEMORY_BYTES
) -> float:
    """Return the number that the function `grade` of a source returns.

    Args:
        source: Python.
        arguments: Of the function: values that JSON has.
        timeout_ms: How long it may take.
        memory_bytes: How much memory its process may take.

    Raises:
        CodeFailed: It gave none.

    Example:
        >>> run_code("def grade(text): return len(text) / 10", ["seven"], timeout_ms=5000)
        0.5
    """
    request = {
        "source": source,
        "arguments": arguments,
        "cpu_seconds": math.ceil(timeout_ms / 1000) + 1,
        "memory_bytes": memory_bytes,
    }
    with tempfile.TemporaryFile() as stdin:
        stdin.write(json.dumps(request).encode())
        stdin.seek(0)
        answer = _ask(stdin.fileno(), timeout_ms / 1000)
    try:
        found = json.loads(answer)
    except ValueError:
        raise CodeFailed("its process ended without an answer: out of memory?") from None
    if "score" not in found:
        raise CodeFailed(quoted(str(found.get("error")))[1:-1])
    return float(found["score"])


def _ask(stdin: int, seconds: float) -> bytes:
    """Return what the process answers.

    Raises:
        CodeFailed: It took too long.
    """
    with subprocess.Popen(
        [sys.executable, *_COMMAND],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=_ENVIRONMENT,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            return _read(process.stdout.fileno(), time.monotonic() + seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it may have started


def _read(pipe: int, deadline: float) -> bytes:
    answer = b""
    while len(answer) <= _MAX_ANSWER_BYTES:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            raise CodeFailed("it took longer than its timeout_ms")
        block = os.read(pipe, _MAX_ANSWER_BYTES)
        if not block:
            return answer
        answer += block
    raise CodeFailed("its process wrote more than an answer")
