"""Pieces of HTML: tables, numbers and names, everything from a trace made harmless."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from tracestream.render.text import visible

NONE = '<span class="none">-</span>'
"""Stands where there is no value."""


def text(words: str) -> str:
    r"""Return a text as HTML that shows it: nothing in it is markup, and nothing in it hides.

    Example:
        >>> print(text("<b>\u202e"))
        &lt;b&gt;\u202e
    """
    return escape(visible(words))


def name(words: str) -> str:
    """Return a name, kept apart from what is around it whichever way its letters run."""
    return f'<bdi class="name">{text(words)}</bdi>'


def score(value: float | None) -> str:
    """Return a score, 0..10, as a number and a bar."""
    if value is None:
        return NONE
    return f'{value:.2f}<span class="meter"><i style="width:{value * 10:.0f}%"></i></span>'


def count(value: int | None) -> str:
    """Return a count, thousands apart."""
    return NONE if value is None else f"{value:,}"


def badge(word: str) -> str:
    """Return a verdict or a class of the ledger, coloured."""
    return f'<span class="badge {word}">{word}</span>'


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table, piece by piece.

    Args:
        titles: One a column; `#` before it says numbers, `*` says texts that may wrap.
        rows: HTML of the cells.
    """
    kinds = [{"#": ' class="number"', "*": ' class="wide"'}.get(title[0], "") for title in titles]
    heads = zip(kinds, titles, strict=True)
    yield '<div class="scroll"><table>\n<thead><tr>'
    yield from (f'<th scope="col"{kind}>{title.lstrip("#*")}</th>' for kind, title in heads)
    yield "</tr></thead>\n<tbody>\n"
    for row in rows:
        cells = zip(kinds, row, strict=True)
        yield f"<tr>{''.join(f'<td{kind}>{cell}</td>' for kind, cell in cells)}</tr>\n"
    yield "</tbody>\n</table></div>\n"
