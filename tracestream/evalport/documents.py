"""Read EvalPort documents entry by entry: JSON of any size, JSON Lines, YAML, values in memory.

A file named `.jsonl` or `.ndjson` holds a document a line, one named `.yaml` or `.yml` is YAML; any
other begins with `{` or `[` if it is JSON, and is JSON Lines if its first line is a whole object. Each
may be compressed. Nothing is held but one entry; damage is an entry of its own and nothing is raised.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tracestream.blocks import open_blocks
from tracestream.errors import FrameError
from tracestream.evalport.conformance import ARRAYS, kind_of
from tracestream.evalport.faults import (
    DUPLICATE_KEY,
    EMPTY,
    NOT_JSON,
    NOT_UTF8,
    SCHEMA_INVALID,
    TOO_LARGE,
    UNREADABLE,
    Fault,
    fault,
    pointer_to,
    quoted,
)
from tracestream.evalport.strictjson import UTF16, Read, check_values, read_json, write_json
from tracestream.evalport.yamltext import MAX_YAML_BYTES, read_yaml
from tracestream.jsontext import has_surrogate
from tracestream.members import MAX_PART_BYTES, Part, split_object
from tracestream.quality import REASONS, Quality, SourceLedger
from tracestream.sources import Source
from tracestream.structure import BLANK, BOM

_SNIFFED_BYTES = 1 << 20  # a first line over this size is taken for a document of one line
_LINES_NAME = re.compile(r"\.(?:jsonl|ndjson)(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)
_YAML_NAME = re.compile(r"\.ya?ml(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)
_JSON_NAME = re.compile(r"\.json(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)
_LONG_ARRAYS = frozenset(ARRAYS.values())


class Entry(NamedTuple):
    """A field of a document, an element of its long array, or what is wrong with the text.

    Attributes:
        key: The field; None: only faults are told.
        at: The element's index; None: a field. A long array is first given as the field `[]`.
        value: What was read; None where nothing could be.
        faults: What is wrong with the text. Without any, the value is strict JSON.
        raw: The JSON it was read from, if it was.
        line: The line it begins on, if there are lines.
    """

    key: str | None
    at: int | None = None
    value: Any = None
    faults: tuple[Fault, ...] = ()
    raw: bytes | None = None
    line: int | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the value can be looked at: it is there, and is JSON but for keys that come twice."""
        return all(each.code == DUPLICATE_KEY for each in self.faults)

    def to_json(self) -> bytes:
        """Return the value as JSON, in the bytes it was read from, where it was."""
        return write_json(self.value) if self.raw is None else self.raw


Document = Iterator[Entry]
"""The entries of one document; to be read before the next document is."""


def read_documents(source: Source) -> Iterator[Document]:
    """Yield the documents of a source: one, or one a line; something is always yielded.

    Args:
        source: A file or a stream, perhaps compressed.
    """
    quality = Quality()
    ledger = SourceLedger(quality, source.name, source.order)
    try:
        with open_blocks(source, ledger) as blocks:
            yield from _documents(source.name, iter(blocks))
    except (OSError, EOFError) as error:
        words = getattr(error, "strerror", None) or "it cannot be read"
        yield _damage(fault(UNREADABLE, "", words))
    for reason in quality.entries:
        yield _damage(fault(NOT_JSON, "", REASONS[reason].words))


def document_of(value: Any) -> Document:
    """Return the one document that a value in memory is.

    Example:
        >>> [(entry.key, entry.at) for entry in document_of({"id": "s", "test_cases": [{}]})]
        [('id', None), ('test_cases', None), ('test_cases', 0)]
    """
    return _entries(Read(value, list(check_values(value))))


def read_values(source: Source) -> Iterator[Read]:
    """Yield each document of a source as a value, and every fault of its text.

    Args:
        source: A file or a stream, perhaps compressed. One document at a time is held.
    """
    for document in read_documents(source):
        value: dict[str, Any] = {}
        faults: list[Fault] = []
        elements: list[Any] = []
        for entry in document:
            faults += entry.faults
            if entry.key is None:
                continue
            if entry.at is not None:
                elements.append(entry.value)
                continue
            elements = entry.value if isinstance(entry.value, list) else []
            if entry.key in value:
                what = f"the field {quoted(entry.key)} stands twice in the document"
                faults.append(fault(DUPLICATE_KEY, pointer_to(entry.key), what, line=entry.line))
            else:
                value[entry.key] = entry.value
        yield Read(value, faults)


def _documents(name: str, blocks: Iterator[bytes]) -> Iterator[Document]:
    head = _head(blocks)
    begin = head.removeprefix(BOM).lstrip(BLANK)[:1]
    is_yaml = _YAML_NAME.search(name) or not (begin in (b"{", b"[", b"") or _JSON_NAME.search(name))
    blocks = itertools.chain((head,), blocks)
    if head.startswith(UTF16):
        yield _damage(fault(NOT_UTF8, "", "it is UTF-16"))
    elif not begin and len(head) <= _SNIFFED_BYTES:
        yield _damage(fault(EMPTY, "", "there is nothing in it"))
    elif _LINES_NAME.search(name):
        yield from _lines(blocks)
    elif is_yaml:
        data = b"".join(_up_to(blocks, MAX_YAML_BYTES))
        yield _entries(read_yaml(data))
    elif _is_object_line(head):
        yield from _lines(blocks)
    else:
        yield _parts(blocks)


def _head(blocks: Iterator[bytes]) -> bytes:
    """Return the beginning: the first line that is not blank, if that is short."""
    head = b""
    for block in blocks:
        head += block
        if b"\n" in head.lstrip(BLANK) or len(head) > _SNIFFED_BYTES:
            break
    return head


def _is_object_line(head: bytes) -> bool:
    first, newline, _ = head.removeprefix(BOM).lstrip(BLANK).partition(b"\n")
    return (
        bool(newline) and first.rstrip(BLANK).endswith(b"}") and read_json(first).value is not None
    )


def _up_to(blocks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """Yield blocks until they are more than the limit, so that who reads them knows."""
    size = 0
    for block in blocks:
        yield block
        size += len(block)
        if size > limit:
            return


def _damage(found: Fault) -> Document:
    return iter((Entry(None, faults=(found,), line=found.line),))


def _parts(blocks: Iterator[bytes]) -> Document:
    """Yield the entries of one JSON object, however large."""
    try:
        for part in split_object(blocks, _LONG_ARRAYS):
            yield _entry(part)
    except FrameError as error:
        what = str(error).partition("\n")[0]
        yield from _damage(fault(NOT_JSON, "", what, line=error.line))


def _entry(part: Part) -> Entry:
    if part.key is None or has_surrogate(part.key):
        what = "here a field should begin, with its name in quotation marks"
        return Entry(None, faults=(fault(NOT_JSON, "", what, line=part.line),), line=part.line)
    pointer = pointer_to(*((part.key,) if part.at is None else (part.key, part.at)))
    if part.size_bytes > MAX_PART_BYTES:
        what = (
            f"it has {part.size_bytes} bytes, and more than {MAX_PART_BYTES >> 20} MiB are not read"
        )
        found = fault(TOO_LARGE, pointer, what, line=part.line)
        return Entry(part.key, part.at, None, (found,), None, part.line)
    value, faults = read_json(part.data, pointer, part.line)
    return Entry(part.key, part.at, value, tuple(faults), part.data, part.line)


def _lines(blocks: Iterator[bytes]) -> Iterator[Document]:
    """Yield the document of each line; blank lines are none."""
    n_found = 0
    for number, data in enumerate(_cut(blocks), 1):
        if data is None:
            what = f"the line has more than {MAX_PART_BYTES >> 20} MiB"
            yield _damage(fault(TOO_LARGE, "", what, line=number))
        elif not data:
            continue
        else:
            yield _entries(read_json(data, "", number), number)
        n_found += 1
    if not n_found:
        yield _damage(fault(EMPTY, "", "there is nothing in it"))


def _cut(blocks: Iterator[bytes]) -> Iterator[bytes | None]:
    """Yield each line without the white space around it; None for one over the cap."""
    held: list[bytes] = []
    size = 0
    is_first = True
    for block in itertools.chain(blocks, (b"\n",)):
        *ended, rest = block.split(b"\n")
        for piece in ended:
            line = None if size + len(piece) > MAX_PART_BYTES else b"".join((*held, piece))
            held, size = [], 0
            if line is not None and is_first:
                line = line.removeprefix(BOM)
            is_first = False
            yield line if line is None else line.strip(BLANK)
        size += len(rest)
        held = [*held, rest] if size <= MAX_PART_BYTES else []


def _entries(read: Read, line: int | None = None) -> Document:
    """Yield the entries of a document that was read whole."""
    value, faults = read
    if faults:
        told = Entry(None, faults=tuple(faults), line=line)
        yield told
        if not told.is_sound:
            return
    if not isinstance(value, dict):
        if not faults:
            what = f"it is {kind_of(value)}, and a document is one object"
            yield from _damage(fault(SCHEMA_INVALID, "", what, line=line, keyword="type"))
        return
    for key, item in value.items():
        if key in _LONG_ARRAYS and isinstance(item, list):
            yield Entry(key, None, [], line=line)  # a new list: who reads the document may fill it
            for index, element in enumerate(item):
                yield Entry(key, index, element, line=line)
        else:
            yield Entry(key, None, item, line=line)
