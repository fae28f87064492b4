"""YAML that says the same as some JSON, read into plain values at bounded memory.

Scalars follow the core schema of YAML 1.2: `yes` and `2026-01-15` are text, `0o17` is a number. What
JSON cannot say (tags, keys that are no text, NaN, merge keys, a second document) is a fault. Aliases
cost what they stand for, so that a few lines cannot stand for gigabytes.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from tracestream.evalport.faults import (
    DUPLICATE_KEY,
    EMPTY,
    NOT_FINITE,
    NOT_UTF8,
    NOT_YAML,
    TOO_DEEP,
    TOO_LARGE,
    Fault,
    fault,
    pointer_to,
    quoted,
)
from tracestream.evalport.strictjson import Read
from tracestream.jsontext import MAX_DEPTH

MAX_YAML_BYTES = 32 << 20
"""Of a file, and of what its aliases stand for: a parsed YAML document takes some ten times its bytes."""

_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class _Open:
    """A collection that has not ended; its cost and its levels are with what aliases in it stand for."""

    value: dict[str, Any] | list[Any]
    pointer: str
    anchor: str | None
    cost: int = 1
    levels: int = 1
    key: str | None = None
    keys: set[str] = field(default_factory=set)

    @property
    def next_pointer(self) -> str:
        """Where the next value will stand."""
        if isinstance(self.value, list):
            return pointer_to(len(self.value), base=self.pointer)
        return self.pointer if self.key is None else pointer_to(self.key, base=self.pointer)


class _Node(NamedTuple):
    """A value, what it costs, and how many levels it has."""

    value: Any
    cost: int
    levels: int = 0


class _Refused(Exception):
    """The document cannot be read on; it has its fault."""

    def __init__(self, refused: Fault) -> None:
        super().__init__(refused.message)
        self.fault = refused


def read_yaml(data: bytes) -> Read:
    r"""Return the value of the one YAML document that bytes hold, and what was wrong with it.

    Args:
        data: At most MAX_YAML_BYTES.

    Example:
        >>> read_yaml(b"id: s1\ncreated: 2026-01-15\ntags: [yes, 0o17]").value
        {'id': 's1', 'created': '2026-01-15', 'tags': ['yes', 15]}
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Read(None, [fault(NOT_UTF8, "", f"byte {error.start} is no UTF-8")])
    if len(data) > MAX_YAML_BYTES:
        return Read(None, [_too_large()])
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "a character that YAML does not allow"
        line = None if mark is None else mark.line + 1
        builder.faults.append(fault(NOT_YAML, "", f"it is no YAML: {problem}", line=line))
    except _Refused as refused:
        builder.faults.append(refused.fault)
    else:
        if not builder.n_documents:
            builder.faults.append(fault(EMPTY, "", "there is nothing in it"))
        return Read(builder.value, builder.faults)
    return Read(None, builder.faults)


class _Builder:
    """Makes a value of the parser's events, without recursion."""

    def __init__(self) -> None:
        self.value: Any = None
        self.faults: list[Fault] = []
        self.n_documents = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, _Node | None] = {}
        self._cost = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.n_documents += 1
            if self.n_documents > 1:
                what = "a second document begins"
                raise _Refused(fault(NOT_YAML, "", what, hint="one document a file.", line=line))
        elif isinstance(event, yaml.AliasEvent):
            self._alias(str(event.anchor), line)
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            self._begin(event, line)
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            ended = self._open.pop()
            self._put(_Node(ended.value, ended.cost, ended.levels), line, anchor=ended.anchor)

    def _begin(self, event: Any, line: int) -> None:
        is_list = isinstance(event, yaml.SequenceStartEvent)
        if event.tag not in (None, "!", _TAG + ("seq" if is_list else "map")):
            raise self._refuse(f"the tag {quoted(event.tag)} has no place in JSON", line)
        self._check_depth(1, line)
        if self._wants_key():
            raise self._refuse("a key is no text", line)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open([] if is_list else {}, self._pointer(), event.anchor))

    def _alias(self, name: str, line: int) -> None:
        if name not in self._anchors:
            raise self._refuse(f"nothing is called {quoted(name)}", line)
        known = self._anchors[name]
        if known is None:
            raise self._refuse(f"{quoted(name)} stands in itself", line)
        self._check_depth(known.levels, line)
        self._spend(known.cost)
        self._put(known, line)

    def _scalar(self, event: Any, line: int) -> None:
        if self._wants_key() and event.tag is None and not event.style and event.value == "<<":
            what = "merge keys (<<) are not part of YAML 1.2"
            raise self._refuse(what, line, "write the fields out.")
        node = _Node(self._scalar_value(event, line), 1 + len(event.value))
        self._spend(node.cost)
        self._put(node, line, anchor=event.anchor)

    def _scalar_value(self, event: Any, line: int) -> Any:
        text = event.value
        tag = event.tag or ("" if event.implicit[0] else _TAG + "str")
        if tag in ("!", _TAG + "str"):
            return text
        for name, pattern in (("null", _NULL), ("bool", _BOOL), ("int", _INT), ("float", _FLOAT)):
            if tag in ("", _TAG + name) and pattern.fullmatch(text):
                return self._number(text, line) if name in ("int", "float") else _WORDS[name](text)
        if tag in ("", _TAG + "float") and _INFINITE.fullmatch(text):
            raise _Refused(fault(NOT_FINITE, self._pointer(), f"{text} is no number", line=line))
        if tag:
            raise self._refuse(f"the tag {quoted(tag)} does not fit what stands there", line)
        return text

    def _number(self, text: str, line: int) -> int | float:
        try:
            if _INT.fullmatch(text):
                return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            value = float(text)
        except ValueError:
            raise self._refuse("a number has too many digits", line) from None
        if math.isinf(value):
            what = "a number is beyond every float"
            raise _Refused(fault(NOT_FINITE, self._pointer(), what, line=line))
        return value

    def _spend(self, cost: int) -> None:
        self._cost += cost
        if self._cost > MAX_YAML_BYTES:
            raise _Refused(_too_large())

    def _check_depth(self, levels: int, line: int) -> None:
        if len(self._open) + levels > MAX_DEPTH:
            what = f"it has more than {MAX_DEPTH} levels"
            raise _Refused(fault(TOO_DEEP, self._pointer(), what, line=line))

    def _put(self, node: _Node, line: int, *, anchor: str | None = None) -> None:
        """Put a value where it belongs: into the collection that is open, or at the top."""
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._open:
            self.value = node.value
            return
        into = self._open[-1]
        into.cost += node.cost
        into.levels = max(into.levels, node.levels + 1)
        if isinstance(into.value, list):
            into.value.append(node.value)
        elif into.key is None:
            self._put_key(into, node.value, line)
        else:
            into.value[into.key] = node.value
            into.key = None

    def _put_key(self, into: _Open, key: Any, line: int) -> None:
        if not isinstance(key, str):
            raise self._refuse("a key is no text", line, "put it into quotation marks.")
        into.key = key
        if key in into.keys:
            what = f"the key {quoted(key)} stands twice in one mapping"
            self.faults.append(fault(DUPLICATE_KEY, into.next_pointer, what, line=line))
        into.keys.add(key)

    def _wants_key(self) -> bool:
        return bool(
            self._open and isinstance(self._open[-1].value, dict) and self._open[-1].key is None
        )

    def _pointer(self) -> str:
        return self._open[-1].next_pointer if self._open else ""

    def _refuse(self, message: str, line: int, hint: str | None = None) -> _Refused:
        return _Refused(fault(NOT_YAML, self._pointer(), message, hint=hint, line=line))


_WORDS: dict[str, Any] = {"null": lambda text: None, "bool": lambda text: text.lower() == "true"}


def _too_large() -> Fault:
    what = f"it is, or its aliases stand for, more than {MAX_YAML_BYTES >> 20} MiB"
    return fault(TOO_LARGE, "", what, hint="large documents are written as JSON or JSONL.")
