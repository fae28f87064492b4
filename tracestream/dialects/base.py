"""What a trace format has to give, and reading a record leniently into typed fields."""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Protocol, TypeVar, get_args

import msgspec

from tracestream import jsontext

Note = Callable[[str, str], None]
"""Counts a departure in the quality ledger: a reason, and a detail."""

Row = tuple[Any, ...]
Reader = Callable[[bytes, Note], Sequence[Row]]
"""Turns the bytes of one record into rows, one an event: values in the order of the columns asked for."""

S = TypeVar("S", bound=msgspec.Struct)

INT64_MAX = (1 << 63) - 1
INT64_MIN = -(1 << 63)
MAX_TOKENS = 1 << 48
"""No call has more tokens; another number is `wrong_type`, so that sums stay within 64 bits."""
MAX_COST_USD = 1e15
"""No call costs more; a larger number is `wrong_type`, so that sums stay finite."""

# The types of a record's fields; another type in a record is `wrong_type`.
Text = str | None
Id = (
    Annotated[str, msgspec.Meta(description="an id; an integer in a record becomes its digits")]
    | None
)
Integer = Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)] | None
Tokens = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)] | None
Number = float | None
Cost = Annotated[float, msgspec.Meta(ge=-MAX_COST_USD, le=MAX_COST_USD)] | None


class Refused(Exception):
    """A record gives no event.

    Args:
        reason: The quality ledger's: malformed_record, deep_nesting or not_an_object.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Dialect(Protocol):
    """One trace format.

    Attributes:
        name: Its name: the module's and the test folder's, with underscores.
        title: The format in a few words, for `tracestream formats`.
        recognised_by: How a record of it is recognised, in words.
        cut_mark: What a writer of it leaves where it shortened a text, on a line of its own: a regular
            expression that begins and ends with three dots; None if it leaves nothing.
    """

    name: str
    title: str
    recognised_by: str
    cut_mark: str | None

    def sniff(self, record: Mapping[str, Any]) -> bool:
        """Say whether a record is of this format, by its keys."""

    def reader(self, columns: Collection[str]) -> Reader:
        """Return what reads records into these columns of EVENTS or SPANS, in this order.

        A run that has no id but its record's number has RECORD_NUMBER (`tracestream.schema`) as its
        `run_id`. What is not asked for is not turned into text or values; its types are checked all the same,
        so that the ledger does not depend on the columns. The reader raises Refused.
        """


def decode_clean(decode: Callable[[bytes], S], record: bytes) -> S | None:
    """Return a record that is clean JSON of the decoder's types, or None: then `parse_record` reads it.

    Args:
        decode: A msgspec decoder's method. It skips what its types do not name, and looks into it
            no further than syntax; encoding, depth and long integers are checked here.
        record: The bytes of the record.
    """
    try:
        if not record.isascii():
            record.decode("utf-8")
        decoded = decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return (
        None if jsontext.is_too_deep(record) or jsontext.may_hold_long_integer(record) else decoded
    )


def parse_record(data: bytes, note: Note) -> dict[str, Any]:
    """Return a record that a strict parser refused, as Python reads it; oddities are noted.

    Raises:
        Refused: It is not JSON, too deep, or not an object.
    """
    if jsontext.is_too_deep(data):
        raise Refused("deep_nesting")
    try:
        value, oddities = jsontext.parse(data)
    except ValueError:
        raise Refused("malformed_record") from None
    if not isinstance(value, dict):
        raise Refused("not_an_object")
    for reason in oddities:
        note(reason, "")
    return value


def fill(kind: type[S], values: Mapping[str, Any], note: Note) -> S:
    """Return a struct filled from parsed JSON, field by field.

    A field of the wrong type is missing and noted (`wrong_type`). null means absent, an integral
    float is an integer, an integer is text where an id belongs, a number that is not finite is
    missing. Raw fields hold the value written anew: equal, if not byte for byte as recorded.
    """
    filled = {}
    for field in msgspec.structs.fields(kind):
        value = values.get(field.encode_name)
        if value is None:
            continue
        take, wanted = _FIELDS.get(field.type, (None, "object"))
        if take is not None:
            taken = take(value)
        elif isinstance(value, dict):
            taken = fill(get_args(field.type)[0], value, note)
        else:
            taken = _WRONG
        if taken is _WRONG:
            note("wrong_type", f"{field.encode_name}: {type(value).__name__}, not {wanted}")
        elif taken is not None:
            filled[field.name] = taken
    return kind(**filled)


_WRONG = object()


def _text(value: object) -> object:
    return value if isinstance(value, str) else _WRONG


def _id(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value)


def _integer(value: object) -> object:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = int(value) if value.is_integer() else _WRONG
    if isinstance(value, bool) or not isinstance(value, int):
        return _WRONG
    return value if INT64_MIN <= value <= INT64_MAX else _WRONG


def _tokens(value: object) -> object:
    taken = _integer(value)
    return _WRONG if isinstance(taken, int) and not 0 <= taken <= MAX_TOKENS else taken


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _WRONG
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return _WRONG


def _cost(value: object) -> object:
    taken = _number(value)
    return _WRONG if isinstance(taken, float) and abs(taken) > MAX_COST_USD else taken


def _raw(value: object) -> object:
    return msgspec.Raw(json.dumps(value).encode())


_FIELDS: dict[Any, tuple[Callable[[object], object], str]] = {
    str: (_text, "string"),
    Text: (_text, "string"),
    Id: (_id, "string"),
    Integer: (_integer, "integer"),
    Tokens: (_tokens, "number of tokens"),
    Number: (_number, "number"),
    Cost: (_cost, "cost in US dollars"),
    msgspec.Raw: (_raw, "JSON"),
}


def text_of(raw: msgspec.Raw) -> str | None:
    """Return the text that recorded JSON holds; None for anything but a string."""
    if not is_text(raw):
        return None
    try:
        return msgspec.json.decode(raw, type=str)
    except msgspec.DecodeError:
        return str(jsontext.parse(bytes(raw)).value)


def is_text(raw: msgspec.Raw) -> bool:
    """Say whether recorded JSON is a string."""
    view = memoryview(raw)
    return len(view) > 0 and view[0] == ord('"')


def is_absent(raw: msgspec.Raw) -> bool:
    """Say whether recorded JSON is missing or null."""
    view = memoryview(raw)
    return len(view) == 0 or view[0] == ord("n")
