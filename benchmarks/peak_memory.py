"""Grades a generated corpus in a process of its own and reports its speed and peak memory.

    python benchmarks/peak_memory.py --shape growing --size 1GB --json build/bench/growing.json
    python benchmarks/peak_memory.py --shape array --size 1GB -- --jobs 1

What follows `--` goes to `tracestream grade`. Exit code: 0 within the limit, 1 above it, 2 if the
command failed or an argument is wrong. With --keep the corpus stays and is used the next time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import corpus

PACKAGES = ("tracestream", "pyarrow", "polars", "msgspec", "orjson", "zlib-ng")
POLL_S = 0.01
MIB = 1 << 20


class Measured(NamedTuple):
    """One command's run; memory in bytes, `peak` of its largest process."""

    exit_code: int
    wall_s: float
    cpu_s: float
    peak: int
    anonymous: int | None  # the largest sum over the command's processes; None where not readable


def measure(command: Sequence[str]) -> Measured:
    """Runs `command`, without its output, to its end.

    The kernel counts what this process holds when it starts another as the other's peak too, so
    this one must stay small: it imports nothing of what it measures.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    anonymous = None
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if (now := anonymous_bytes(process.pid)) is not None:
            anonymous = max(anonymous or 0, now)
        time.sleep(POLL_S)
    wall_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)  # wait4 has taken it from Popen
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Measured(process.returncode, wall_s, usage.ru_utime + usage.ru_stime, peak, anonymous)


def anonymous_bytes(pid: int) -> int | None:
    """Resident memory without file pages of `pid` and all it has started; None if unreadable."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return None
    if "RssAnon:" not in status:  # it has ended and is not yet waited for
        return None
    own = int(status.partition("RssAnon:")[2].split()[0]) * 1024
    return own + sum(anonymous_bytes(int(child)) or 0 for child in children.split())


def prepare(options: argparse.Namespace, folder: Path) -> int:
    """Generates the corpus into `folder` unless it is there already; gives its bytes of JSON."""
    note = folder.with_suffix(".json")
    generator = hashlib.sha256(Path(corpus.__file__).read_bytes()).hexdigest()
    if note.exists():  # written last, so the corpus is whole
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["generator"] == generator and folder.is_dir():
            return int(known["json_bytes"])
        note.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    json_bytes = corpus.generate(
        options.shape, folder, size=options.size, runs=options.runs, seed=options.seed
    )
    made = {"json_bytes": json_bytes, "generator": generator}
    note.write_text(json.dumps(made), encoding="utf-8")
    return json_bytes


def report(options: argparse.Namespace, base: Path) -> dict[str, Any]:
    """Generates, measures and puts the numbers together."""
    name = f"{options.shape}-{options.size}-{options.runs or 'auto'}-{options.seed}"
    folder = base / f"{name}.corpus"
    json_bytes = prepare(options, folder)
    n_files = sum(path.is_file() for path in folder.rglob("*"))
    grade = [sys.executable, "-m", "tracestream", "grade", "--dir", str(folder), "--json"]
    run = measure([*grade, *options.grade])
    if not options.keep:
        folder.with_suffix(".json").unlink()
        shutil.rmtree(folder)
    return {
        "shape": options.shape,
        "seed": options.seed,
        "options": options.grade,
        "files": n_files,
        "json_bytes": json_bytes,
        "exit_code": run.exit_code,
        "wall_s": round(run.wall_s, 3),
        "cpu_s": round(run.cpu_s, 3),
        "json_mb_per_s": round(json_bytes / 1e6 / run.wall_s, 1),
        "peak_mib": round(run.peak / MIB, 1),
        "peak_anonymous_mib": None if run.anonymous is None else round(run.anonymous / MIB, 1),
        "limit_mib": options.limit_mib,
        "cores": os.cpu_count(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=corpus.SHAPES, default="growing")
    parser.add_argument("--size", type=corpus.parse_size, default=256_000_000, help="as 256MB, 1GB")
    parser.add_argument("--runs", type=int, help="how many runs share that size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dir", type=Path, help="where corpora go (default: a temporary folder)")
    parser.add_argument("--keep", action="store_true", help="keep the corpus, else it is removed")
    parser.add_argument("--limit-mib", type=float, default=400, help="exit 1 above this peak")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")
    parser.add_argument("grade", nargs="*", metavar="-- OPTION", help="options of the command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        base = options.dir or Path(temporary)
        base.mkdir(parents=True, exist_ok=True)
        try:
            numbers = report(options, base)
        except ValueError as exc:
            parser.error(str(exc))
    for name, value in numbers.items():
        print(f"{name:18}  {value}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    if numbers["exit_code"] not in (0, 1):  # 1: graded, and a run failed a gate
        print(f"the command failed with exit code {numbers['exit_code']}", file=sys.stderr)
        return 2
    if numbers["peak_mib"] > options.limit_mib:
        print(f"peak memory is above {options.limit_mib:g} MiB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
