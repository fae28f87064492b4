"""How long it takes to start: each command in a process of its own, median of ten runs.

    python benchmarks/startup.py

What the numbers do not show: a cold disk, as everything was imported a moment before. On a busy
machine trust the least of the ten, printed behind the median.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRACE = '{"event_type": "tool_start", "tool_name": "search"}\n'
VERDICT = b'{"passed": true, "score": 1.0, "tool_call_count": 1}\n'

COMMANDS = {
    "python -c pass": (["-c", "pass"], b""),
    "import tracestream; record_completed_run": (
        ["-c", "import tracestream; tracestream.record_completed_run"],
        b"",
    ),
    "tracestream --version": (["-m", "tracestream", "--version"], b"tracestream "),
    "tracestream last-trace --json": (["-m", "tracestream", "last-trace", "--json"], VERDICT),
}
"""Each contender: its arguments, and how its output begins."""


def seconds(arguments: list[str], output: bytes, env: dict[str, str]) -> float:
    """Return how long a process took, from its start to its end."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, check=True)
    taken = time.perf_counter() - start
    assert done.stdout.startswith(output), done.stdout
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace.jsonl")
        trace.write_text(TRACE)
        env = {**os.environ, "PRAISON_HOME": folder, "PYTHONPATH": str(ROOT)}
        record = [sys.executable, "-m", "tracestream", "record", str(trace)]
        subprocess.run(record, env=env, stdout=subprocess.DEVNULL, check=True)
        versions = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "typer"))
        print(f"Python {platform.python_version()}, {versions}; milliseconds")
        for name, (arguments, output) in COMMANDS.items():
            taken = sorted(1000 * seconds(arguments, output, env) for _ in range(repeats))
            print(f"{statistics.median(taken):6.0f} ({taken[0]:.0f} to {taken[-1]:.0f})  {name}")


if __name__ == "__main__":
    main()
