"""Peak memory of the `evalport` commands over large result sets, each in a process of its own.

    python benchmarks/evalport_memory.py --results 550000

What the numbers do not show: results of another size, and ids that are long. State goes with the
number of results, and in `diff` with what changed; the rest does not go with the file at all.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

GRADERS = ("context_handoff", "token_budget", "harness")


def result(at: int, generator: random.Random) -> dict[str, object]:
    passed = generator.random() < 0.9
    return {
        "test_case_id": f"traces/run-{at:07d}.jsonl",
        "passed": passed,
        "grader_results": [
            {
                "grader_id": grader,
                "type": "custom",
                "score": round(generator.random(), 4),
                "passed": passed,
                "metadata": {"openeval.raw_score": 7.5},
            }
            for grader in GRADERS
        ],
        "duration_ms": generator.randrange(10_000),
        "metadata": {"openeval.cost": {"input_tokens": 123, "output_tokens": 45}},
    }


def write(path: Path, places: range, seed: int) -> Path:
    generator = random.Random(seed)
    head = {
        "version": "1.0.0-rc.5",
        "suite_id": "s",
        "run_id": "r",
        "started_at": "2026-01-15T10:30:00Z",
    }
    with path.open("w") as file:
        file.write(json.dumps(head)[:-1] + ', "results": [')
        for at in places:
            file.write((",\n" if at != places.start else "") + json.dumps(result(at, generator)))
        file.write("]}\n")
    return path


def measure(name: str, expected: int, *arguments: object) -> None:
    command = [sys.executable, "-m", "tracestream", "evalport", *map(str, arguments)]
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    code = child.returncode = os.waitstatus_to_exitcode(status)
    assert code == expected, (command, code)
    cpu = usage.ru_utime + usage.ru_stime
    print(f"{name:<28} {seconds:>8.1f} {cpu:>8.1f} {usage.ru_maxrss // 1024:>9} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=int, default=550_000)
    n_results = parser.parse_args().results
    half = n_results // 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = write(folder / "whole.json", range(n_results), 1)
        first = write(folder / "1.json", range(half), 1)
        second = write(folder / "2.json", range(half, n_results), 2)
        merged = folder / "merged.json"
        print(
            f"{n_results:,} results, {whole.stat().st_size / 1e6:.0f} MB; Python "
            f"{platform.python_version()}, jsonschema-rs {version('jsonschema-rs')}"
        )
        print(f"{'command':<28} {'seconds':>8} {'CPU':>8} {'peak resident':>13}")
        measure("validate", 0, "validate", whole)
        measure("merge two halves", 0, "merge", first, second, "-o", merged)
        copy = write(folder / "copy.json", range(n_results), 1)
        measure("diff, nothing changed", 0, "diff", whole, copy)
        measure("diff, a half changed", 1, "diff", whole, merged)


if __name__ == "__main__":
    main()
