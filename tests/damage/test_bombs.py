"""Bombs: a gigabyte out of a megabyte, ten gigabytes out of nothing; memory does not follow, the ledger says it."""

import json
import os
import subprocess
import sys
import zlib

import pytest

pytestmark = pytest.mark.long

GIB = 1 << 30
MAX_MIB = 300
CAP = 16 << 20
GRADE = """
import json, resource, sys, time
import tracestream
start = time.process_time()
report = tracestream.grade(sys.argv[1], max_record_bytes=int(sys.argv[2]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
print(json.dumps([time.process_time() - start, peak, report.ledger.to_dict(), report.summary]))
"""
EVENT = b'{"event_type": "tool_start", "tool_name": "t"}\n'


def gzip_of(path, *pieces):
    """Write a gzip of pieces, each as often as is said, without ever holding it."""
    compressor = zlib.compressobj(1, wbits=31)
    with open(path, "wb") as file:
        for piece, n in pieces:
            for _ in range(n):
                file.write(compressor.compress(piece))
        file.write(compressor.flush())


def zeros(path):
    gzip_of(path, (bytes(1 << 20), 1024))


def brackets(path):
    gzip_of(path, (b"[" * (1 << 20), 1024))


def open_objects(path):
    gzip_of(path, (EVENT, 1), (b'{"a":' * (1 << 18), 1024))


def an_open_string(path):
    gzip_of(path, (EVENT, 1), (b'{"event_type": "', 1), (b"x" * (1 << 20), 1024))


def short_lines(path):
    gzip_of(path, (EVENT, 1), (b"{\n" * (1 << 18), 2))


def sparse(path):
    with open(path, "wb") as file:
        file.write(EVENT)
        file.truncate(10 * GIB)


# What makes it, what the ledger says, and the bytes that are in no record at least.
BOMBS = {
    "1 GiB of zeros": (zeros, {"nul_bytes"}, GIB),
    "1 GiB of [": (brackets, {"oversized_record", "truncated_array"}, GIB - 2),
    "1 GiB of open objects": (open_objects, {"oversized_record", "torn_tail"}, GIB),
    "1 GiB in a string": (an_open_string, {"oversized_record", "torn_tail"}, GIB),
    "1 MiB of short bad lines": (short_lines, {"malformed_record"}, 1 << 19),
    "10 GiB of NULs, sparse": (sparse, {"nul_bytes"}, 10 * GIB - len(EVENT)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_named_at_bounded_memory(name, tmp_path, capsys):
    make, reasons, n_dropped = BOMBS[name]
    path = tmp_path / ("a.jsonl" if make is sparse else "a.jsonl.gz")
    make(path)
    n_stored = path.stat().st_blocks * 512
    command = [sys.executable, "-c", GRADE, str(path), str(CAP)]
    # Its own process, so that the peak is that of reading this file.
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert ran.returncode == 0, ran.stderr[-2000:]
    n_seconds, peak_mib, ledger, summary = json.loads(ran.stdout)
    with capsys.disabled():
        print(
            f"\n{name}: {n_stored >> 10} KiB stored, {n_seconds:.1f} s, {peak_mib:.0f} MiB at most"
        )
    assert peak_mib < MAX_MIB
    assert ledger["reasons"]
    assert set(ledger["reasons"]) <= reasons
    assert ledger["bytes_dropped"] >= n_dropped
    assert summary["events"] == (0 if make in (zeros, brackets) else 1)


def test_a_bracket_bomb_under_the_default_cap_holds_one_record_at_most(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    brackets(path)
    command = [sys.executable, "-c", GRADE, str(path), str(256 << 20)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    peak_mib = json.loads(ran.stdout)[1]
    assert peak_mib < MAX_MIB + 2 * 256
