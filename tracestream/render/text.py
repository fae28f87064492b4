"""Text from traces, made safe and measurable for a terminal.

Names of runs, agents and files come from whoever wrote the trace. Nothing of them may move the
cursor, colour the screen, reorder the line or hide: what is not plainly visible is shown escaped.
"""

import re
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size

_MAX_MARKS = 4
"""Combining marks shown on one character; Thai, Hebrew and Arabic stay under it."""

_MIN_CUT_APART = 15
"""Cells under which two cuts in a name leave too little."""

_BLANK = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),  # combining grapheme joiner
        (0x115F, 0x1160),  # Hangul fillers
        (0x17B4, 0x17B5),  # Khmer inherent vowels
        (0x180B, 0x180F),  # Mongolian variation selectors
        (0x2800, 0x2800),  # Braille blank
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),  # variation selectors
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)
"""Characters that Python calls printable and that show nothing."""

_NOT_PLAIN = re.compile("[^ -~]+")


class Line(NamedTuple):
    """One line of output.

    Attributes:
        text: What it says.
        style: How its beginning looks where there is colour.
        n_styled: Characters of that beginning.
    """

    text: str
    style: str = ""
    n_styled: int = 0


def visible(text: str, *, ascii_only: bool = False) -> str:
    r"""Return a text with everything that is not plainly visible escaped, as Python writes it.

    Control characters, escape sequences, line ends, tabs, odd spaces, directional overrides and
    isolates, zero-width characters, variation selectors, lone surrogates and unassigned characters
    become ``\x1b``, ``\n``, ``\u202e``. Combining marks without a base, or piled up, do too.
    Letters of every script stay, right-to-left ones included.

    Args:
        text: Any text.
        ascii_only: Escape all beyond ASCII, for an output that cannot hold it.

    Example:
        >>> print(visible("run\x1b[2J\u202egpj.exe"))
        run\x1b[2J\u202egpj.exe
    """
    if text.isascii() and text.isprintable():
        return text
    shown = _NOT_PLAIN.sub(_shown, text)
    return shown.encode("ascii", "backslashreplace").decode() if ascii_only else shown


def _shown(piece: re.Match[str]) -> str:
    shown = []
    n_marks = 0 if piece.start() else _MAX_MARKS  # at the beginning there is nothing to mark
    for char in piece[0]:
        plain = char.isprintable() and char not in _BLANK
        if plain and get_character_cell_size(char) == 0:
            n_marks += 1
            plain = n_marks <= _MAX_MARKS
        elif plain:
            n_marks = 0
        shown.append(char if plain else char.encode("unicode_escape").decode("ascii"))
    return "".join(shown)


def cell_width(text: str) -> int:
    """Return how many cells of a terminal a visible text takes: wide characters two, marks none."""
    return cell_len(text)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return a text filled with spaces to a width in terminal cells; a longer one stays as it is.

    Args:
        text: Visible text.
        width: Cells.
        right: Put the text at the right end.

    Example:
        >>> pad("日本", 6) + "|", pad("7", 3, right=True)
        ('日本  |', '  7')
    """
    space = " " * (width - cell_width(text))
    return space + text if right else text + space


def cut_end(text: str, width: int, mark: str = "…") -> str:
    """Return a text cut at its end to at most a width in terminal cells.

    Args:
        text: Visible text.
        width: Cells.
        mark: Stands for what is cut off.

    Example:
        >>> cut_end("overall_score 6.1 < 8.0", 16)
        'overall_score 6…'
    """
    if cell_width(text) <= width:
        return text
    return _head(text, width - len(mark)) + mark if width > len(mark) else mark[:width]


def cut_middle(text: str, width: int, mark: str = "…") -> str:
    """Return a text cut in its middle to at most a width in terminal cells.

    Two thirds of what stays is its end, which is where names of runs differ.

    Args:
        text: Visible text.
        width: Cells.
        mark: Stands for what is cut out.

    Example:
        >>> cut_middle("traces/2026/team-a/run-0017.jsonl#r1", 22)
        'traces/…-0017.jsonl#r1'
    """
    if cell_width(text) <= width:
        return text
    room = width - len(mark)
    if room < 2:
        return cut_end(text, width, mark)
    head = _head(text, room // 3)
    return head + mark + _tail(text, room - cell_width(head))


def cut_run(name: str, width: int, mark: str = "…") -> str:
    """Return the name of a run cut to at most a width in terminal cells.

    Source and id are cut apart, each in its middle, as a long id would leave nothing of the source.

    Args:
        name: Visible name: source, or source#id.
        width: Cells.
        mark: Stands for what is cut out.

    Example:
        >>> cut_run("traces/run-0014.jsonl#933c8a8dc8acbb5faf3aa618d42b5694", 30)
        'traces…un-0014.jsonl#93…2b5694'
    """
    source, separator, run_id = name.rpartition("#")
    if not separator or cell_width(name) <= width or width < _MIN_CUT_APART:
        return cut_middle(name, width, mark)
    space = width - 1
    id_width = min(cell_width(run_id), max(space // 3, space - cell_width(source)))
    return f"{cut_middle(source, space - id_width, mark)}#{cut_middle(run_id, id_width, mark)}"


def _head(text: str, width: int) -> str:
    taken = 0
    for at, char in enumerate(text):
        taken += get_character_cell_size(char)
        if taken > width:
            return text[:at]
    return text


def _tail(text: str, width: int) -> str:
    taken = 0
    begin = len(text)
    for at in range(len(text) - 1, -1, -1):
        size = get_character_cell_size(text[at])
        taken += size
        if taken > width:
            break
        if size:  # never begin with the marks of a character that is cut off
            begin = at
    return text[begin:]
