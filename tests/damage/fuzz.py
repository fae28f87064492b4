"""Fuzz the byte path: python -m tests.damage.fuzz --runs 1000000.

Inputs are mutations of the damaged sources of the table. Each is read whole and in blocks, and held
against the laws of `accounting`; one in sixteen is graded too. With atheris (the extra `fuzz`; Linux
on x86-64, up to Python 3.13) coverage guides the mutations; without it they are drawn from a seed. A
failing input is written to a file, made as small as it goes. The first byte says how the rest is cut.
"""

import argparse
import contextlib
import importlib
import sys
import time
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

WORDS = [
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\n",
        b"\r\n",
        b"\x00",
        b"\x00" * 40,
        b" ",
        b"\t",
    ),
    *(
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b"BZh9",
        b"\xfd7zXZ\x00",
    ),
    *(
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"null",
        b"true",
        b"\\ud83d",
        b"\xed\xa0\xbd",
        b"\xff",
        b"\xe2\x80\xa8",
    ),
    *(
        b'{"event_type": "output"}',
        b'{"event_type": ',
        b'"event_type"',
        b'"data"',
        b'{"a": "',
        b'"}',
        b"}{",
    ),
    *(
        b"[" * 130,
        b"]" * 130,
        b"7" * 4301,
        b'{"event_type": "output"}\n' * 3,
        b"}\n{",
        b'"\n"',
        b"]\n[",
    ),
]
"""What a mutation may put in; the dictionary of the guided fuzzer."""
MAX_BYTES = 6_000


def check(data: bytes) -> None:
    """Hold the laws against an input; its first byte says where the rest is cut."""
    accounting = importlib.import_module("tests.damage.accounting")
    size, rest = data[0] if data else 0, data[1:]
    # Every so many bytes, or at one place: so many tenths of the way.
    cuts = (size * len(rest) // 10,) if 0 < size < 10 else range(0, len(rest), size or 1)
    accounting.check_any_bytes(rest, *cuts)
    if size % 16 == 0:
        grading = importlib.import_module("tracestream.grading")
        grading.grade(rest).to_json()


def seeds() -> list[bytes]:
    """Return the sources of the table, as stored, that are no longer than an input."""
    named = [
        ("line_instances", "LINES"),
        ("value_instances", "VALUES"),
        ("frame_instances", "FRAMES"),
    ]
    tables = [getattr(importlib.import_module(f"tests.damage.{m}"), name) for m, name in named]
    data = [instance.data for table in tables for instance in table]
    return [each for each in data if len(each) <= MAX_BYTES // 2]


def mutated(rng: Random, sources: list[bytes]) -> bytes:
    """Return an input: one source, or two spliced, with a few changes, behind the byte that says how it is cut."""
    data = rng.choice(sources)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 5, 8])):
        at = rng.randrange(len(data) + 1)
        end = at + rng.choice([0, 0, 0, 1, 1, 2, 9, 60])
        other = rng.choice(sources)
        begin = rng.randrange(len(other) + 1)
        instead = rng.choice(
            [
                b"",
                rng.choice(WORDS),
                rng.choice(WORDS),
                rng.randbytes(rng.randrange(3)),
                bytes([data[at] ^ (1 << rng.randrange(8))]) if at < len(data) else b"",
                other[begin : begin + rng.choice([5, 50, 500])],
                data[at : at + rng.choice([10, 100])],
            ]
        )
        data = data[:at] + instead + data[end:]
    if rng.random() < 0.1:
        data = data[: rng.randrange(len(data) + 1)]
    return bytes([rng.randrange(256)]) + data[: MAX_BYTES - 1]


def fails(data: bytes) -> BaseException | None:
    """Return what an input breaks, or None."""
    try:
        check(data)
    except Exception as error:
        return error
    return None


def smallest(data: bytes) -> bytes:
    """Return a smaller input that breaks the same thing at the same place, by leaving out runs of bytes."""

    def kind(error: BaseException | None) -> Any:
        trace = error.__traceback__ if error else None
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        return type(error), trace and (trace.tb_frame.f_code.co_filename, trace.tb_lineno)

    wanted = kind(fails(data))
    if kind(fails(b"\x00" + data[1:])) == wanted:
        data = b"\x00" + data[1:]  # cut everywhere, so that it does not matter what is left out
    size = len(data) // 2
    while size:
        at = 1
        while at < len(data):
            less = data[:at] + data[at + size :]
            if less != data and kind(fails(less)) == wanted:
                data = less
            else:
                at += size
        size //= 2
    return data


def report(data: bytes, folder: Path, number: int) -> None:
    """Write a failing input, made small, and say what it breaks."""
    data = smallest(data)
    path = folder / f"crash-{number}.bin"
    path.write_bytes(data)
    error = fails(data)
    print(f"{path}: {data!r}\n  {type(error).__name__}: {str(error)[:300]}", flush=True)


def run_seeded(n_runs: int, seed: int, folder: Path) -> int:
    """Check mutations drawn from a seed; return how many break something, of the first ten."""
    rng, sources, n_broken = Random(seed), seeds(), 0
    start = time.monotonic()
    for n in range(1, n_runs + 1):
        data = mutated(rng, sources)
        if fails(data) is not None:
            n_broken += 1
            report(data, folder, n)
            if n_broken == 10:
                break
        if n % 10_000 == 0 or n == n_runs:
            rate = n / (time.monotonic() - start)
            print(f"{n} inputs, {rate:.0f} a second, {n_broken} break something", flush=True)
    return n_broken


def run_guided(atheris: ModuleType, n_runs: int, seed: int, folder: Path) -> None:
    """Let coverage guide the mutations; the process ends in it, with an error if an input breaks something."""
    with atheris.instrument_imports(include=["tracestream"]):
        importlib.import_module("tests.damage.accounting")
        importlib.import_module("tracestream.grading")
    sources = seeds()

    def mutate(data: bytes, most: int, number: int) -> bytes:
        """Mutate as the table knows how to one time in two, else as the fuzzer does."""
        rng = Random(number)
        if rng.random() < 0.5:
            return mutated(rng, [data[1:], data[1:], *rng.sample(sources, 2)])[:most]
        changed: bytes = atheris.Mutate(data, most)
        return changed

    def one(data: bytes) -> None:
        if (error := fails(data)) is not None:
            report(data, folder, abs(hash(data)))
            raise error

    corpus = folder / "corpus"  # it grows from run to run
    corpus.mkdir(exist_ok=True)
    for n, data in enumerate(sources):
        (corpus / f"source-{n}").write_bytes(b"\x20" + data)
    words = folder / "words.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS if len(word) < 60))
    arguments = [
        *("fuzz", f"-atheris_runs={n_runs}", f"-seed={seed}", f"-max_len={MAX_BYTES}"),
        *("-timeout=60", f"-dict={words}", f"-artifact_prefix={folder}/", str(corpus)),
    ]
    atheris.Setup(arguments, one, custom_mutator=mutate, internal_libfuzzer=True)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def main(arguments: list[str] | None = None) -> int:
    """Run the fuzzer; return 1 if an input breaks something."""
    parser = argparse.ArgumentParser(prog="python -m tests.damage.fuzz", description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000, help="how many inputs")
    parser.add_argument("--seed", type=int, default=1, help="where the mutations start")
    parser.add_argument(
        "--into", type=Path, default=Path("build/fuzz"), help="folder for what breaks"
    )
    parser.add_argument("--seeded", action="store_true", help="not guided, even where atheris is")
    chosen = parser.parse_args(arguments)
    chosen.into.mkdir(parents=True, exist_ok=True)
    atheris = None
    if not chosen.seeded:
        with contextlib.suppress(ImportError):
            atheris = importlib.import_module("atheris")
    if atheris is None:
        print("mutations from a seed (no atheris)", flush=True)
        return int(run_seeded(chosen.runs, chosen.seed, chosen.into) > 0)
    run_guided(atheris, chosen.runs, chosen.seed, chosen.into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
