"""Every error tracestream raises on purpose.

```
TraceStreamError
├── InputError(ValueError)      the traces cannot be read; .source .line .offset say where
│   ├── FrameError              not JSON, truncated, or over the size cap
│   └── DialectError            JSON, but not of this trace format
│       └── UnknownDialectError no such dialect, or no dialect fits; the message lists the names
├── ConfigError(ValueError)     contradictory or unknown arguments
├── SchemaError                 a batch does not fit its Arrow schema (our bug, or a plug-in's)
└── EvalPortError(ValueError)   no EvalPort document can be made or read; .pointer says where in it
```

A verdict that failed is a result, not an exception. Messages end in ``Hint:`` with the next step, and
hold at most 80 characters of a trace, since traces hold secrets.
"""


class TraceStreamError(Exception):
    """Base of every error tracestream raises on purpose."""


class InputError(TraceStreamError, ValueError):
    """The traces, or a place in them, cannot be read.

    Args:
        message: What was wrong, ending in a hint.
        source: Name of the source, as given; None where there is none.
        line: 1-based line (element number in an array, ordinal in a document stream).
        offset: Byte offset in the decompressed source.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        line: int | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(message)
        self.source = source
        self.line = line
        self.offset = offset


class FrameError(InputError):
    """A record is not JSON, is cut off, or is over the size cap."""


class DialectError(InputError):
    """A record is JSON, but not of the trace format the source is in."""


class UnknownDialectError(DialectError):
    """No dialect has that name, or none fits the source."""


class ConfigError(TraceStreamError, ValueError):
    """Arguments contradict each other or are unknown."""


class SchemaError(TraceStreamError):
    """A batch does not fit its Arrow schema: a bug of ours or of a plug-in."""


class EvalPortError(TraceStreamError, ValueError):
    """An EvalPort document cannot be made, or cannot be read.

    Args:
        message: What was wrong, ending in a hint.
        pointer: Where in the document, as a JSON Pointer (RFC 6901); empty for the whole of it.
    """

    def __init__(self, message: str, *, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer
