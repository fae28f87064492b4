"""Peak memory of `tracestream grade --evalport` over many small runs, and of validating what it wrote.

    python benchmarks/export_memory.py --files 1000 --runs 1000

Each command runs in a process of its own. Exit code: 0 within the limit, 1 above it. What the numbers do
not show: files with more runs each, whose state is held until the file has been read.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from peak_memory import MIB, measure

WORDS = "charger battery grid ledger invoice harvest clinic violin glacier enzyme orbit".split()
FIRST_S = 1_750_000_000.0  # a corpus carries no clock


def event(kind: str, agent: str, run: str, seconds: float, **fields: Any) -> str:
    head = {"event_type": kind, "timestamp": FIRST_S + seconds, "agent_name": agent, "run_id": run}
    return json.dumps(head | fields)


def run_lines(run: str, at: int, generator: random.Random) -> list[str]:
    """A run of two agents: every other output is handed on, every other budget is blown."""
    said, other = (" ".join(generator.choices(WORDS, k=12)) for _ in range(2))
    handed = said if generator.random() < 0.5 else other
    used = generator.randrange(50, 150)
    asked = {"tokens_used": used, "tokens_budget": 100}
    answered = {"prompt_tokens": used, "completion_tokens": 12, "cost_usd": 0.0001}
    lines = []
    for order, (agent, heard, answer) in enumerate(
        [("planner", "go", said), ("writer", handed, other)]
    ):
        messages = {"messages": [{"role": "user", "content": heard}]}
        time = at + order / 2
        lines.append(event("llm_request", agent, run, time, **asked, data=messages))
        content = {"response_content": answer}
        lines.append(event("llm_response", agent, run, time + 0.25, **answered, data=content))
    return lines


def generate(folder: Path, n_files: int, n_runs: int) -> int:
    """Writes the corpus; gives its bytes."""
    folder.mkdir()
    n_bytes, generator = 0, random.Random(5)
    for file in range(n_files):
        lines: list[str] = []
        for at in range(n_runs):
            lines += run_lines(f"{file:04}-{at:04}", at, generator)
        n_bytes += (folder / f"part-{file:04}.jsonl").write_text("\n".join([*lines, ""]))
    return n_bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1000, help="of each file")
    parser.add_argument("--limit-mib", type=float, default=400, help="exit 1 above this peak")
    asked = parser.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_bytes = generate(folder / "traces", asked.files, asked.runs)
        print(
            f"{asked.files * asked.runs:,} runs in {asked.files:,} files, {n_bytes / 1e6:.0f} MB; Python "
            f"{platform.python_version()}, pyarrow {version('pyarrow')}"
        )
        traces, results, suite = (str(folder / each) for each in ("traces", "r.json", "s.json"))
        grade = ["grade", "--dir", traces]
        for title, arguments in {
            "grade --evalport r.json": [*grade, "--evalport", results, "--evalport-suite", suite],
            "evalport validate r.json": ["evalport", "validate", results],
            "evalport validate --suite": ["evalport", "validate", results, "--suite", suite],
        }.items():
            found = measure([sys.executable, "-m", "tracestream", *arguments])
            assert found.exit_code == 0, (arguments, found)
            peaks.append(found.peak / MIB)
            seconds = f"{found.wall_s:>8.1f} s {found.cpu_s:>8.1f} s CPU"
            print(f"{title:<34} {seconds} {peaks[-1]:>7.0f} MiB", flush=True)
    return int(max(peaks) > asked.limit_mib)


if __name__ == "__main__":
    sys.exit(main())
