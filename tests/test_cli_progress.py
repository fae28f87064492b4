"""Progress on stderr: when it shows, what it says, and that it leaves nothing behind."""

import io
import sys

import pytest

from tests.documents import jsonl, response
from tracestream.batches import Progress
from tracestream.cli import main
from tracestream.cli.progress import DRAW_SECONDS, LINE_SECONDS, ProgressLine, progress_text


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


class Stderr(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal


@pytest.fixture
def watched(monkeypatch):
    """Put a stderr in place; called in the test, as pytest puts its own there before."""

    def watch(is_terminal):
        stream = Stderr(is_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("COLUMNS", "40")
        return stream

    return watch


@pytest.mark.parametrize(
    ("progress", "seconds", "words"),
    [
        (Progress(0, 100, "a.jsonl"), 0.0, "0 B of 100 B, 0 B/s, a.jsonl"),
        (Progress(500, 1000, "a"), 1.0, "500 B of 1.00 kB, 500 B/s, 1 s left, a"),
        (Progress(10**9, None, "-"), 10.0, "1.00 GB, 100 MB/s, -"),
        (Progress(10**6, 10**9, "a"), 1.0, "1.00 MB of 1.00 GB, 1.00 MB/s, 17 min left, a"),
        (Progress(10**6, 10**10, "a"), 1.0, "1.00 MB of 10 GB, 1.00 MB/s, 2 h 47 min left, a"),
        (Progress(2000, 1000, "grown"), 1.0, "2.00 kB of 1.00 kB, 2.00 kB/s, 0 s left, grown"),
    ],
)
def test_progress_is_bytes_rate_time_left_and_source(progress, seconds, words):
    assert progress_text(progress, seconds) == words


def test_a_terminal_has_one_line_that_is_drawn_again_and_wiped_out(watched):
    stderr, clock = watched(True), Clock()
    with ProgressLine(None, clock) as line:
        line(Progress(1, 10, "early"))
        clock.now += DRAW_SECONDS
        line(Progress(5, 10, "traces/\x1b[31m" + "long/" * 20 + "a.jsonl"))
        line(Progress(6, 10, "too soon"))
        clock.now += DRAW_SECONDS
        line(Progress(9, 10, "b"))
    drawn = stderr.getvalue().split("\r")
    assert "early" not in stderr.getvalue()
    assert "too soon" not in stderr.getvalue()
    assert "\x1b" not in stderr.getvalue()
    assert "\n" not in stderr.getvalue()
    assert [len(text) for text in drawn[1:3]] == [39, 39]
    assert drawn[2].startswith("9 B of 10 B")
    assert drawn[3:] == [" " * len(drawn[2].rstrip()), ""]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_plain_lines_are_forced(watched, is_terminal):
    stderr, clock = watched(is_terminal), Clock()
    with ProgressLine(True, clock) as line:
        for n_bytes in (1, 2, 3):
            line(Progress(n_bytes, 10, "a"))
            clock.now += LINE_SECONDS
    assert stderr.getvalue() == (
        "tracestream: 2 B of 10 B, 1 B/s, 8 s left, a\n"
        "tracestream: 3 B of 10 B, 1 B/s, 9 s left, a\n"
    )


@pytest.mark.parametrize(("is_terminal", "wanted"), [(True, False), (False, None)])
def test_nothing_shows_where_it_is_not_wanted(watched, is_terminal, wanted):
    stderr, clock = watched(is_terminal), Clock()
    with ProgressLine(wanted, clock) as line:
        clock.now += 60
        line(Progress(1, 10, "a"))
    assert stderr.getvalue() == ""


@pytest.mark.parametrize("option", ["--progress", "--no-progress"])
def test_progress_changes_nothing_else(tmp_path, capsys, option):
    (tmp_path / "a.jsonl").write_bytes(jsonl(response("a", "x")))
    assert main(["grade", str(tmp_path), "--json"]) == 0
    expected = capsys.readouterr().out
    assert main(["grade", str(tmp_path), "--json", option]) == 0
    assert capsys.readouterr().out == expected
