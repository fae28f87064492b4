"""Signals in the middle of a grade: one sentence, the exit code, and outputs that are old or new."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from inspect import CO_GENERATOR
from itertools import product
from pathlib import Path

import pytest

from tests.documents import jsonl
from tests.reports import content, one_run
from tracestream import grade
from tracestream.cli import main
from tracestream.cli.exits import exit_code
from tracestream.render import csv

ROOT = Path(__file__).parent.parent
TRACE = jsonl(*(event for n in range(20) for event in one_run(f"r{n}", "alpha beta", ["beta"])))
TARGETS = ["report.json", "report.csv", "report.html", "report.parquet"]
ENDS = {
    signal.SIGINT: (130, "tracestream: interrupted\n"),
    signal.SIGTERM: (143, "tracestream: terminated\n"),
    signal.SIGHUP: (129, "tracestream: hung up\n"),
}


@pytest.fixture(autouse=True)
def handlers():
    """Have the signals do what they do in a fresh process; a runner may have them ignored."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread is sent signals")
    before = {signum: signal.signal(signum, signal.SIG_DFL) for signum in ENDS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


class Watch:
    """Counts moments of a command, and sends this process a signal at one of them.

    Calls of functions, in C too, and what C returns are moments; they are the same in every run.
    Calls of generators are none, as a generator that nobody wants any more is called to close it:
    Python looks for signals where it is watched, but not there.
    """

    def __init__(self, signum=None, at=None):
        self.signum, self.at = signum, at
        self.n_moments = self.first_of_writing = 0

    def __call__(self, frame, event, function):
        code = frame.f_code
        if event == "return" or (event == "call" and code.co_flags & CO_GENERATOR):
            return
        self.n_moments += 1
        if event == "call" and code.co_name == "write_report":
            self.first_of_writing = self.first_of_writing or self.n_moments
        if self.n_moments == self.at:
            os.kill(os.getpid(), self.signum)

    def run(self, arguments):
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            return main(arguments)
        finally:
            sys.setprofile(before)


class Place:
    """A trace, and a folder for outputs, with those of another trace in it."""

    def __init__(self, folder):
        self.trace, self.out, self._old = folder / "t.jsonl", folder / "out", folder / "old"
        self.trace.write_bytes(TRACE)
        self._old.mkdir()
        for target in TARGETS:
            grade(b"").write(self._old / target)
        self.old = {name: content(self._old / name) for name in TARGETS}
        self.put_old()

    def put_old(self):
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(self._old, self.out)

    def command(self, trace=None):
        outputs = (("-o", str(self.out / name)) for name in TARGETS)
        return ["grade", str(trace or self.trace), *(word for pair in outputs for word in pair)]

    def learn(self, run):
        """Run the command undisturbed and remember what it writes."""
        self.put_old()
        result = run(self.command())
        self.new = {name: content(self.out / name) for name in TARGETS}
        assert all(self.new[name] != self.old[name] for name in TARGETS)
        return result

    def n_new(self):
        """Return how many outputs are new ones; raise unless the others are the old ones."""
        found = {name: content(self.out / name) for name in TARGETS}
        assert all(found[name] in (self.old[name], self.new[name]) for name in TARGETS)
        return sum(found[name] == self.new[name] for name in TARGETS)

    def rest(self):
        """Return what else is in the folder."""
        return sorted(set(os.listdir(self.out)) - set(TARGETS))


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def moments(watch, n_each, seed=5):
    """Return so many moments of reading, and so many of writing."""
    # Not those before handlers are set, and after.
    begin, writing, end = 200, watch.first_of_writing, watch.n_moments - 200
    assert begin + 1000 < writing < end - 1000
    rng = random.Random(seed)
    return [rng.randrange(begin, writing) for _ in range(n_each)] + [
        rng.randrange(writing, end) for _ in range(n_each)
    ]


between_open_and_with = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <_io:pytest.PytestUnraisableExceptionWarning"
)
"""A file that a signal takes from `with` closes itself; Python tells that to nobody but tests."""


def check_stops(place, capfd, n_each):
    place.learn(main)  # Again below, as what is imported on the way takes moments, too.
    watch = Watch()
    place.learn(watch.run)
    capfd.readouterr()
    n_new = set()
    for signum, at in product(ENDS, moments(watch, n_each)):
        place.put_old()
        code = Watch(signum, at).run(place.command())
        assert (code, capfd.readouterr().err) == ENDS[signum]
        assert place.rest() == []
        n_new.add(place.n_new())
    assert len(n_new) > 1


@between_open_and_with
def test_a_signal_in_reading_or_writing_leaves_whole_outputs_and_no_rest(place, capfd):
    check_stops(place, capfd, n_each=5)


@pytest.mark.long
@between_open_and_with
def test_signals_at_many_moments_leave_whole_outputs_and_no_rest(place, capfd):
    check_stops(place, capfd, n_each=100)


def test_a_second_signal_does_not_cut_short_what_the_first_one_tidies(place, capfd, monkeypatch):
    monkeypatch.setattr(csv, "_cell", lambda value: signal.raise_signal(signal.SIGINT))
    unlink, calls = Path.unlink, []

    def interrupted(path, **options):
        calls.append(path)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", interrupted)
    assert main(place.command()) == 130
    assert len(calls) == 1
    assert capfd.readouterr().err == "tracestream: interrupted\n"
    assert place.rest() == []


class Dropped:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_python_drops_in_a_destructor_counts(capfd):
    def command():
        Dropped()  # gone at once
        return 0

    assert exit_code(command) == 143
    assert capfd.readouterr().err == "tracestream: terminated\n"


def test_signals_that_are_ignored_or_handled_stay_so():
    seen = []
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    signal.signal(signal.SIGTERM, lambda *_: seen.append("mine"))

    def command():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        return 0

    assert exit_code(command) == 0
    assert seen == ["mine"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_command_runs_in_a_thread_which_may_set_no_handlers(capfd):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(["formats"])))
    thread.start()
    thread.join()
    assert codes == [0]


# ---- processes of their own ----


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize("signum", ENDS, ids=lambda signum: signum.name)
def test_a_process_that_waits_for_its_input_is_stopped(place, tmp_path, signum):
    os.mkfifo(tmp_path / "pipe.jsonl")
    process = start("-m", "tracestream", *place.command(tmp_path / "pipe.jsonl"))
    with open(tmp_path / "pipe.jsonl", "wb"):  # open once the other end is
        process.send_signal(signum)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == ENDS[signum]
    assert out == ""
    assert place.rest() == []


def test_a_process_that_waits_for_the_reader_of_its_output_is_stopped(place, tmp_path):
    runs = (one_run(f"r{n}", "alpha beta", ["beta"]) for n in range(400))
    place.trace.write_bytes(jsonl(*(event for run in runs for event in run)))
    os.mkfifo(tmp_path / "pipe")
    process = start("-m", "tracestream", "grade", place.trace, "-o", tmp_path / "pipe")
    with open(tmp_path / "pipe", "rb", buffering=0) as pipe:
        assert pipe.read(1) == b"{"  # and there is more than a pipe holds
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == ENDS[signal.SIGTERM]


WATCHED = """
import sys
from tests.test_interruptions import Watch
watch = Watch(9, int(sys.argv[1]))
watch.run(sys.argv[2:])
print(watch.first_of_writing, watch.n_moments)
"""


def check_killed(place):
    """Check what a killed grade leaves, grade the folder, and return what is there besides outputs."""
    place.n_new()
    rest = place.rest()
    assert all(name.startswith(".tracestream-") for name in rest)
    shutil.copy(place.trace, place.out)
    assert grade(place.out).runs["source"].unique().to_list() == [f"{place.out}/t.jsonl"]
    return rest


def check_kills(place, n_each):
    """Kill grades at moments and return what they leave."""

    def run(at, command):
        process = start("-c", WATCHED, at, *command)
        out, _ = process.communicate(timeout=120)
        return process.returncode, out

    _, out = place.learn(lambda command: run(0, command))
    watch = Watch()
    watch.first_of_writing, watch.n_moments = map(int, out.splitlines()[-1].split())
    rest = []
    for number, at in enumerate(moments(watch, n_each)):
        place.put_old()
        code, _ = run(at, place.command())
        assert code == -signal.SIGKILL
        assert number >= n_each or place.n_new() == 0
        rest += check_killed(place)
    return rest


def test_a_kill_leaves_whole_outputs(place):
    check_kills(place, n_each=2)


@pytest.mark.long
def test_kills_at_twenty_moments_leave_whole_outputs(place):
    assert check_kills(place, n_each=10), "none was killed in the middle of an output"


@pytest.mark.parametrize("function", ["csv._cell", "html._worst", "parquet._sync"])
def test_a_kill_in_the_middle_of_an_output_leaves_the_old_one(place, function):
    place.learn(main)
    place.put_old()
    module, _, name = function.partition(".")
    program = (
        f"import os, sys; from tracestream.cli import main; from tracestream.render import {module}\n"
        f"{module}.{name} = lambda *_: os.kill(os.getpid(), 9)\n"
        "main(sys.argv[1:])"
    )
    process = start("-c", program, *place.command())
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert place.n_new() == ["json", "csv", "html", "parquet"].index(module)
    assert len(check_killed(place)) == 1


@pytest.mark.long
@pytest.mark.parametrize("signum", [*ENDS, signal.SIGKILL], ids=lambda signum: signum.name)
def test_signals_at_ten_times_in_a_larger_corpus_leave_whole_outputs(place, tmp_path, signum):
    """As the others, from outside and at any instruction; a large corpus makes C calls long."""
    corpus = tmp_path / "corpus"
    script = ROOT / "benchmarks" / "corpus.py"
    subprocess.run(
        [sys.executable, script, "many-small", corpus, "--size", "6MB", "--runs", "3000"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    place.trace = corpus
    assert place.learn(main) == 0
    rng, codes = random.Random(int(signum)), []
    for _ in range(10):
        place.put_old()
        process = start("-m", "tracestream", *place.command())
        try:
            process.communicate(timeout=0.3 + 2.5 * rng.random())
        except subprocess.TimeoutExpired:
            process.send_signal(signum)
        _, err = process.communicate(timeout=60)
        n_new, rest = place.n_new(), place.rest()
        codes.append(process.returncode)
        if signum == signal.SIGKILL:
            assert process.returncode in (0, -signum)
            assert all(name.startswith(".tracestream-") for name in rest)
            continue
        assert rest == []
        if process.returncode in (0, -signum):  # all was done, and Python about to end
            assert (n_new, err) == (len(TARGETS), "")
        else:
            assert (process.returncode, err) == ENDS[signum]
    assert codes.count(0) < len(codes)
