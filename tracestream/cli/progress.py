"""How far the reading is, on stderr: one line that is drawn again, or a plain line now and then."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from tracestream.cli import streams

if TYPE_CHECKING:
    from tracestream.batches import Progress

DRAW_SECONDS = 0.1
"""On a terminal the line is drawn again after this time."""
LINE_SECONDS = 2.0
"""Plain lines come this far apart."""
_UNITS = ("B", "kB", "MB", "GB", "TB")


class ProgressLine:
    """Shows progress while it is open; call it with each `Progress`.

    Args:
        wanted: True forces plain lines, False shows nothing; None shows a line on a terminal only.
        clock: Gives seconds.
    """

    def __init__(self, wanted: bool | None, clock: Callable[[], float] = time.monotonic) -> None:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._is_drawn = wanted is None and is_terminal
        self._is_shown = wanted is True or self._is_drawn
        self._clock = clock
        self._start = clock()
        self._due = self._start + (DRAW_SECONDS if self._is_drawn else LINE_SECONDS)
        self._n_drawn = 0

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._n_drawn:
            streams.write_stderr("\r" + " " * self._n_drawn + "\r")

    def __call__(self, progress: "Progress") -> None:
        """Show progress if it is due."""
        if not self._is_shown or (now := self._clock()) < self._due:
            return
        text = progress_text(progress, now - self._start)
        if self._is_drawn:
            self._due = now + DRAW_SECONDS
            self._draw(text)
        else:
            self._due = now + LINE_SECONDS
            streams.say(text)

    def _draw(self, text: str) -> None:
        from tracestream.render.text import cell_width, cut_middle, visible

        ascii_only = streams.is_ascii_only(sys.stderr)
        room = streams.width_of(sys.stderr) - 1
        mark = "..." if ascii_only else "…"
        line = cut_middle(visible(text, ascii_only=ascii_only), room, mark)
        n_cells = cell_width(line)
        streams.write_stderr("\r" + line + " " * (self._n_drawn - n_cells))
        self._n_drawn = n_cells


def progress_text(progress: "Progress", seconds: float) -> str:
    """Return bytes, rate, time left and the current source, in words.

    Example:
        >>> from tracestream.batches import Progress
        >>> progress_text(Progress(250_000_000, 1_000_000_000, "traces/a.jsonl"), 2.0)
        '250 MB of 1.00 GB, 125 MB/s, 6 s left, traces/a.jsonl'
    """
    rate = progress.n_bytes / seconds if seconds > 0 else 0.0
    parts = [_size(progress.n_bytes)]
    if progress.total_bytes is not None:
        parts[0] += f" of {_size(progress.total_bytes)}"
    parts.append(f"{_size(rate)}/s")
    if progress.total_bytes is not None and rate > 0:
        parts.append(f"{_duration(max(0, progress.total_bytes - progress.n_bytes) / rate)} left")
    return ", ".join([*parts, progress.source])


def _size(n_bytes: float) -> str:
    size, unit = float(n_bytes), 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.{2 if size < 9.995 and unit else 0}f} {_UNITS[unit]}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
