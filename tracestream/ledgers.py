"""Token budgets that the user gives: a ledger, read from a file or a list, or one number an agent.

Stricter than `ContextEvaluator`: what is no count of tokens is refused with a sentence, before any
trace is read.
"""

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from tracestream.errors import ConfigError
from tracestream.jsontext import writable
from tracestream.quality import excerpt

MAX_TOKENS = 1 << 48
MAX_LEDGER_BYTES = 256 << 20
ANY_AGENT = "*"
_REQUIRED = ("agent_name", "budget_tokens")
_COLUMNS = (*_REQUIRED, "used_tokens", "run")

_WHOLE = re.compile(r"\s*[0-9]{1,300}(?:\.0*)?\s*", re.ASCII)
"""A whole number as text; a column with gaps is often written as `8200.0`."""

LedgerArg = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
"""A file (JSON array, JSONL, CSV or Parquet), or rows."""


class LedgerRow(NamedTuple):
    """One budget.

    Attributes:
        agent_name: Whose.
        used_tokens: Tokens used; None takes what the trace says.
        budget_tokens: Tokens allowed; 0 is no budget and scores 5.
        run: The `run` or `run_id` it is for; None for every run.
    """

    agent_name: str
    used_tokens: int | None
    budget_tokens: int
    run: str | None


def read_ledger(ledger: LedgerArg) -> list[LedgerRow]:
    """Return the rows of a ledger, in order.

    Args:
        ledger: A file with `agent_name`, `budget_tokens` and, optionally, `used_tokens` and `run`; or
            dicts with those keys.

    Raises:
        ConfigError: The file cannot be read, a column is missing, or a number is no count of tokens.

    Example:
        >>> read_ledger([{"agent_name": "writer", "used_tokens": 125, "budget_tokens": 100}])
        [LedgerRow(agent_name='writer', used_tokens=125, budget_tokens=100, run=None)]
    """
    if isinstance(ledger, str | os.PathLike):
        where = os.fspath(ledger)
        rows = _read_file(Path(ledger))
    elif isinstance(ledger, Iterable):
        where, rows = "ledger", list(ledger)
    else:
        raise ConfigError(
            f"a ledger is {type(ledger).__name__}\nHint: give a file, or a list of dicts."
        )
    if not rows:
        raise ConfigError(
            f"{where} holds no budget\nHint: give rows with agent_name and budget_tokens."
        )
    return [_row(row, f"{where}, row {number}") for number, row in enumerate(rows, 1)]


def check_budgets(budgets: Any) -> dict[str, int]:
    """Return budgets given one by one: agent (or `*`) to tokens.

    Raises:
        ConfigError: A name is empty, or a number is no count of tokens.
    """
    if not isinstance(budgets, Mapping) or not budgets:
        raise ConfigError(
            f"budget is {excerpt(repr(budgets))}\n"
            "Hint: map agents to tokens, as {'writer': 8000}; None takes the trace's own budgets."
        )
    checked = {}
    for agent, tokens in budgets.items():
        if not isinstance(agent, str) or not agent:
            raise ConfigError(
                "a budget names no agent\nHint: AGENT=TOKENS, or *=TOKENS for every agent."
            )
        checked[writable(agent)] = _tokens(tokens, f"the budget of {agent!r}")
    return checked


def _read_file(path: Path) -> list[Any]:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_LEDGER_BYTES + 1)
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"cannot read the ledger {str(path)!r}: {words}\nHint: give a JSON, JSONL, CSV or Parquet file."
        ) from error
    if len(data) > MAX_LEDGER_BYTES:
        raise ConfigError(
            f"the ledger {str(path)!r} is over {MAX_LEDGER_BYTES >> 20} MiB\nHint: is it a ledger?"
        )
    if data.startswith(b"PAR1"):
        return _read_parquet(data, path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"the ledger {str(path)!r} is not UTF-8 text\nHint: save it as UTF-8."
        ) from error
    if text.lstrip()[:1] not in ("[", "{"):
        return _read_csv(text, path)
    try:
        if text.lstrip().startswith("["):
            rows = json.loads(text)
        else:
            rows = _read_objects(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"the ledger {str(path)!r} is not JSON: {error}\nHint: one array of objects, or an object a line."
        ) from error
    return rows if isinstance(rows, list) else [rows]


def _read_csv(text: str, path: Path) -> list[Any]:
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        times = Counter(reader.fieldnames or ())
        twice = [name for name in _COLUMNS if times[name] > 1]
        if twice:
            raise ConfigError(
                f"the ledger {str(path)!r} has the column {twice[0]!r} twice\nHint: remove one."
            )
        return list(reader)
    except csv.Error as error:
        raise ConfigError(
            f"the ledger {str(path)!r} is no CSV: {error}\nHint: write it again."
        ) from error


def _read_objects(text: str) -> list[Any]:
    """Return JSON values that stand one after another: JSONL, or one pretty object."""
    decoder = json.JSONDecoder()
    rows, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        row, at = decoder.raw_decode(text, at)
        rows.append(row)
    return rows


def _read_parquet(data: bytes, path: Path) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        names = file.schema_arrow.names
        if twice := [name for name in _COLUMNS if names.count(name) > 1]:
            raise ValueError(f"it has the column {twice[0]!r} twice")
        # Other columns may hold what Python has no value for.
        rows: list[Any] = file.read([name for name in _COLUMNS if name in names]).to_pylist()
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"the ledger {str(path)!r} cannot be read as Parquet: {str(error).partition(chr(10))[0]}\n"
            f"Hint: write {', '.join(_COLUMNS)} as plain text and integers, each once."
        ) from error
    return rows


def _row(row: Any, where: str) -> LedgerRow:
    if not isinstance(row, Mapping):
        raise ConfigError(
            f"{where}: {type(row).__name__}, not an object\nHint: rows have {', '.join(_REQUIRED)}."
        )
    missing = [name for name in _REQUIRED if name not in row]
    if missing:
        raise ConfigError(
            f"{where} has no {missing[0]!r}\n"
            "Hint: the columns are agent_name, budget_tokens and, optionally, used_tokens and run."
        )
    if None in row:  # where csv puts them
        raise ConfigError(
            f"{where} has more cells than the header\n"
            "Hint: quote a cell with a comma in it; write numbers without."
        )
    agent, run = row["agent_name"], row.get("run")
    if agent == ANY_AGENT:
        raise ConfigError(
            f"{where} is for {ANY_AGENT!r}\n"
            "Hint: a ledger names each agent; a budget given as *=TOKENS is for any."
        )
    if not isinstance(agent, str) or not agent:
        raise ConfigError(
            f"{where} names no agent\nHint: agent_name is the name as the trace has it."
        )
    if run is not None and not isinstance(run, str):
        raise ConfigError(
            f"{where}: run is {type(run).__name__}, not text\nHint: give the run's name or id."
        )
    used = row.get("used_tokens")
    return LedgerRow(
        writable(agent),
        None if used is None or used == "" else _tokens(used, f"{where}: used_tokens"),
        _tokens(row["budget_tokens"], f"{where}: budget_tokens"),
        writable(run) if run else None,
    )


def _tokens(value: Any, where: str) -> int:
    whole = _whole(value)
    if whole is None or not 0 <= whole <= MAX_TOKENS:
        raise ConfigError(
            f"{where} is {excerpt(repr(value))}\nHint: a whole number of tokens, 0 or more."
        )
    return whole


def _whole(value: Any) -> int | None:
    """Return a whole number, whatever type it has; None if it is none."""
    if isinstance(value, str):
        return int(value.partition(".")[0]) if _WHOLE.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    try:
        whole = int(value)  # type: ignore[arg-type]  # every Real there is has __int__ or __trunc__
    except (ValueError, OverflowError):  # NaN, Infinity
        return None
    return whole if whole == value else None
