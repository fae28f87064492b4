"""A short run of the fuzzer every day, a long one behind its mark; and that it finds what is wrong."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.damage import accounting, fuzz
from tests.damage.readings import Place, read

ROOT = Path(__file__).parents[2]
SOURCE = b'{"event_type": "output"}\n{oops}\n{"zz": {"a": "}"}}\n{"event_type": "output"}\n{"ev'


@pytest.mark.parametrize("seed", range(4))
def test_mutations_of_the_table_break_no_law(seed, tmp_path, capsys):
    assert fuzz.run_seeded(150, seed, tmp_path) == 0, capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("seed", [100, 101])
def test_many_mutations_of_the_table_break_no_law(seed, tmp_path, capsys):
    assert fuzz.run_seeded(100_000, seed, tmp_path) == 0, capsys.readouterr().out


def test_the_sources_of_the_table_break_no_law():
    sources = fuzz.seeds()
    assert len(sources) > 150
    for source in sources:
        for how in (b"\x05", b"\x40"):
            fuzz.check(how + source)


def test_mutations_of_a_seed_are_the_same_again_and_all_differ():
    sources = fuzz.seeds()
    runs = [[fuzz.mutated(rng, sources) for _ in range(200)] for rng in (Random(7), Random(7))]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 190


LIES = {
    "an event is missing": lambda r: r._replace(events=r.events[1:]),
    "an event is there twice": lambda r: r._replace(events=[r.events[0], *r.events]),
    "an event is elsewhere": lambda r: r._replace(
        events=[Place(None, 1, e.offset + 1, e.length) for e in r.events]
    ),
    "a loss is not said": lambda r: r._replace(
        entries=[e for e in r.entries if e.reason != "malformed_record"]
    ),
    "a loss is too short": lambda r: r._replace(
        entries=[e._replace(dropped=e.dropped and e.dropped - 1) for e in r.entries]
    ),
    "a loss is too long": lambda r: r._replace(
        entries=[e._replace(dropped=e.dropped and e.dropped + 9) for e in r.entries]
    ),
    "the sum is wrong": lambda r: r._replace(n_dropped=r.n_dropped + 1),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_reader_that_lies_is_found_out(lie, monkeypatch):
    accounting.check_any_bytes(SOURCE, 30)
    monkeypatch.setattr(accounting, "read", lambda *_, **options: LIES[lie](read(*_, **options)))
    with pytest.raises(AssertionError):
        accounting.check_any_bytes(SOURCE, 30)


def test_a_reader_that_looks_at_blocks_is_found_out(monkeypatch):
    def blockwise(source, **options):
        reading = read(source, **options)
        return reading._replace(framing=str(len(source))) if isinstance(source, list) else reading

    monkeypatch.setattr(accounting, "read", blockwise)
    with pytest.raises(AssertionError):
        accounting.check_any_bytes(SOURCE, 30)


def test_what_breaks_a_law_is_made_small_and_kept(monkeypatch, tmp_path, capsys):
    def no_seven(data):
        assert b"7" not in data[1:], "a seven"

    monkeypatch.setattr(fuzz, "check", no_seven)
    assert fuzz.run_seeded(3000, 1, tmp_path) == 10
    assert {path.read_bytes()[1:] for path in tmp_path.iterdir()} == {b"7"}
    assert "a seven" in capsys.readouterr().out


def test_the_command_runs_without_the_guided_fuzzer(tmp_path):
    command = [sys.executable, "-m", "tests.damage.fuzz", "--seeded", "--runs", "20"]
    ran = subprocess.run(
        [*command, "--into", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "20 inputs" in ran.stdout


@pytest.mark.long
@pytest.mark.skipif(not importlib.util.find_spec("atheris"), reason="needs the extra `fuzz`")
def test_the_guided_fuzzer_runs(tmp_path):
    command = [sys.executable, "-m", "tests.damage.fuzz", "--runs", "2000", "--into", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert not list(tmp_path.glob("crash-*"))
