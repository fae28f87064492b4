"""What a framing gives and takes: records, and which of them were refused."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol


class Record(NamedTuple):
    """One JSON value, not yet parsed.

    Attributes:
        data: Its bytes, perhaps with white space around.
        line: 1-based physical line; element number in an array; ordinal in a document stream.
        offset: Offset of `data` in the decompressed source.
        whole: False if the source ended where the record might go on.
        length: Bytes of it in the source, where those are not `data`: if the source is UTF-16.
    """

    data: bytes
    line: int
    offset: int
    whole: bool = True
    length: int | None = None


class Refusals:
    """Whether the record yielded last turned out not to be JSON.

    Attributes:
        pending: It did, and nobody has dealt with it yet.
    """

    def __init__(self) -> None:
        self.pending = False

    def take(self) -> bool:
        """Say whether it was refused; from now on it is dealt with."""
        refused, self.pending = self.pending, False
        return refused


class Framing(Protocol):
    """One way to cut a stream into records."""

    name: str

    def decode(self, block: bytes) -> Iterator[Record]:
        """Yield the records that a block completes."""

    def flush(self) -> Iterator[Record]:
        """Yield what is left at the end."""
