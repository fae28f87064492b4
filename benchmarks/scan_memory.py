"""Time and peak memory of `scan`: a narrow aggregation, against every column, one process each.

    python benchmarks/scan_memory.py --size 1GB

What the numbers do not show: the corpus is read from the page cache, so a slow disk is not in them;
every byte is framed and validated whatever the columns, so the gain is only in what is decoded and
copied; and peak memory has a floor, polars and pyarrow themselves, printed as `import`. Processor
time is of all threads; on a busy machine trust it before the clock, and ratios before either.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parent
LIMIT_MIB = 400

Counts = dict[str, int]


def narrow(folder: str) -> Counts:
    """Count the events of each agent, streamed."""
    import polars as pl

    from tracestream import scan

    counted = scan(folder).group_by("agent").agg(pl.len())
    return {str(agent): n for agent, n in counted.collect(engine="streaming").rows()}


def every_column(folder: str) -> Counts:
    """The same from all columns, collected in batches, each dropped once it is counted."""
    from tracestream import scan

    counts: Counts = {}
    for batch in scan(folder).collect_batches():
        for agent, n in batch["agent"].value_counts().rows():
            counts[str(agent)] = counts.get(str(agent), 0) + n
    return counts


def imports(folder: str) -> Counts:
    """Read nothing: the floor."""
    from tracestream import scan

    scan(folder)
    return {}


CONTENDERS: dict[str, Callable[[str], Counts]] = {
    "import": imports,
    "narrow, streamed": narrow,
    "every column, in batches": every_column,
}


def peak_mib() -> float:
    """Return the most memory this process has held; on Linux without what it was forked from."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError):
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def measure_here(name: str, folder: str) -> dict[str, Any]:
    began = time.perf_counter()
    counts = CONTENDERS[name](folder)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = used.ru_utime + used.ru_stime
    return {"counts": counts, "s": seconds, "cpu_s": cpu_seconds, "peak_mib": peak_mib()}


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Return a measurement made in a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--measure", name, "--corpus", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def make_corpus(folder: Path, shape: str, size: str) -> None:
    command = [sys.executable, str(BENCHMARKS / "corpus.py"), shape, str(folder)]
    subprocess.run([*command, "--size", size, "--seed", "1"], check=True, stdout=sys.stderr)


def compare(folder: Path, repeats: int) -> int:
    import polars as pl
    import pyarrow as pa

    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{size / 1e6:,.0f} MB in {folder.name}; Python {platform.python_version()},", end=" ")
    print(f"polars {pl.__version__}, pyarrow {pa.__version__}; best of {repeats}, interleaved")
    rounds = [{name: measure(name, folder) for name in CONTENDERS} for _ in range(repeats)]
    counts = [one[name]["counts"] for one in rounds for name in CONTENDERS if name != "import"]
    assert all(found == counts[0] for found in counts), "the contenders disagree"
    best = {
        name: {key: min(one[name][key] for one in rounds) for key in ("s", "cpu_s")}
        | {"peak_mib": max(one[name]["peak_mib"] for one in rounds)}
        for name in CONTENDERS
    }
    print(f"{'':26} {'seconds':>8} {'CPU s':>8} {'MB/s':>7} {'peak MiB':>9}")
    for name, one in best.items():
        rate = "" if name == "import" else f"{size / 1e6 / one['s']:.0f}"
        cells = f"{one['s']:8.2f} {one['cpu_s']:8.2f} {rate:>7} {one['peak_mib']:9.0f}"
        print(f"{name:26} {cells}")
    wide, slim, floor = (
        best[name] for name in ("every column, in batches", "narrow, streamed", "import")
    )
    print(f"every column / narrow: {wide['s'] / slim['s']:.2f} x the time,", end=" ")
    ratio = (wide["cpu_s"] - floor["cpu_s"]) / (slim["cpu_s"] - floor["cpu_s"])
    print(f"{ratio:.2f} x the processor time without imports")
    kept = slim["peak_mib"] < LIMIT_MIB
    print(f"narrow stays under {LIMIT_MIB} MiB: {'yes' if kept else 'NO'}")
    return 0 if kept else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", default="256MB", help="bytes of JSON to generate")
    parser.add_argument("--shape", default="growing", help="a shape of corpus.py")
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="measure this instead")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure_here(options.measure, str(options.corpus))))
        return 0
    if options.corpus:
        return compare(options.corpus, options.repeats)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, options.shape)
        make_corpus(corpus, options.shape, options.size)
        return compare(corpus, options.repeats)


if __name__ == "__main__":
    sys.exit(main())
