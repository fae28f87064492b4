"""Budgets that the user gives: every form of a ledger, every refusal, and which budget counts."""

import io
import json
import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.documents import jsonl
from tracestream import ConfigError, grade
from tracestream.ledgers import LedgerRow, check_budgets, read_ledger

ROWS = [
    {"agent_name": "writer", "used_tokens": 125, "budget_tokens": 100, "run": "r1"},
    {"agent_name": 'the "boss", 日本', "used_tokens": None, "budget_tokens": 0, "run": None},
]
READ = [LedgerRow("writer", 125, 100, "r1"), LedgerRow('the "boss", 日本', None, 0, None)]
CSV = (
    'agent_name,used_tokens,budget_tokens,run\r\nwriter,125,100,r1\r\n"the ""boss"", 日本",,0,\r\n'
)
BOM = b"\xef\xbb\xbf"


def parquet(rows):
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


# ---- forms of a file ----

FORMS = {
    "JSON array": json.dumps(ROWS).encode(),
    "JSON array, indented": json.dumps(ROWS, indent=2).encode(),
    "JSON array with a BOM": BOM + json.dumps(ROWS).encode(),
    "JSONL": jsonl(*ROWS),
    "JSONL with a BOM": BOM + jsonl(*ROWS),
    "JSONL, CRLF, blank lines, no line end": b"\r\n\r\n".join(jsonl(*ROWS).splitlines()),
    "objects, indented": "\n".join(json.dumps(row, indent=1) for row in ROWS).encode(),
    "CSV": CSV.encode(),
    "CSV with a BOM": BOM + CSV.encode(),
    "CSV, LF, no line end": CSV.replace("\r\n", "\n").rstrip().encode(),
    "CSV with blank lines": CSV.replace("\r\n", "\r\n\r\n").encode(),
    "Parquet": parquet(ROWS),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_every_form_of_a_ledger_gives_the_same_rows(data, tmp_path):
    """The content decides, whatever the name."""
    path = tmp_path / "ledger.txt"
    path.write_bytes(data)
    assert read_ledger(path) == READ
    assert read_ledger(str(path)) == READ


def test_a_ledger_may_be_rows():
    assert read_ledger(ROWS) == read_ledger(tuple(ROWS)) == read_ledger(iter(ROWS)) == READ


def test_a_file_of_one_object_is_one_row(tmp_path):
    (tmp_path / "ledger.json").write_text(json.dumps(ROWS[0], indent=2))
    assert read_ledger(tmp_path / "ledger.json") == READ[:1]


def test_columns_are_found_by_name_and_others_passed_over(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text("note,budget_tokens,agent_name\nx,100,writer\n")
    assert read_ledger(path) == [LedgerRow("writer", None, 100, None)]


def test_a_cell_may_hold_commas_quotes_and_line_ends(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_bytes(b'agent_name,budget_tokens\n"a, ""b""\nc",5\n')
    assert read_ledger(path) == [LedgerRow('a, "b"\nc', None, 5, None)]


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (0, 0),
        (8200, 8200),
        (8200.0, 8200),
        (-0.0, 0),
        ("8200", 8200),
        (" 8200 ", 8200),
        ("8200.0", 8200),
        ("8200.", 8200),
        ("007", 7),
        (1 << 48, 1 << 48),
        (Decimal("8200.00"), 8200),
        (Fraction(8200), 8200),
    ],
    ids=repr,
)
def test_a_number_of_tokens_is_whole_whatever_its_type(value, tokens):
    (row,) = read_ledger([{"agent_name": "a", "used_tokens": value, "budget_tokens": value}])
    assert (row.used_tokens, row.budget_tokens) == (tokens, tokens)
    assert type(row.budget_tokens) is int
    assert check_budgets({"a": value}) == {"a": tokens}


@pytest.mark.parametrize("blank", [None, ""], ids=repr)
def test_used_tokens_may_be_left_blank(blank):
    (row,) = read_ledger([{"agent_name": "a", "used_tokens": blank, "budget_tokens": 1}])
    assert row.used_tokens is None


# ---- refusals ----


def refusal(call, *args, **options):
    with pytest.raises(ConfigError) as caught:
        call(*args, **options)
    sentence, hint = str(caught.value).split("\nHint: ")
    assert hint
    return sentence


@pytest.mark.parametrize(
    "value",
    [
        *(-1, 0.5, math.nan, math.inf, -math.inf, True, [], {}, 1 << 49, 10**400),
        *("", "x", "-1", "+1", "1e3", "1,000", "1_000", "0x10", "1.5", "١٢", "9" * 301),
        *(Decimal("NaN"), Decimal("Infinity"), Decimal("0.1")),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_what_is_no_number_of_tokens_is_refused(value):
    row = {"agent_name": "a", "used_tokens": 1, "budget_tokens": value}
    assert refusal(read_ledger, [ROWS[0], row]).startswith("ledger, row 2: budget_tokens is ")
    assert refusal(check_budgets, {"a": value}).startswith("the budget of 'a' is ")
    if value != "":
        swapped = {**row, "used_tokens": value, "budget_tokens": 1}
        assert refusal(read_ledger, [swapped]).startswith("ledger, row 1: used_tokens is ")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "ledger holds no budget"),
        (["writer"], "ledger, row 1: str, not an object"),
        ([None], "ledger, row 1: NoneType, not an object"),
        ([{}], "ledger, row 1 has no 'agent_name'"),
        ([{"agent_name": "a"}], "ledger, row 1 has no 'budget_tokens'"),
        ([{"agent_name": "", "budget_tokens": 1}], "ledger, row 1 names no agent"),
        ([{"agent_name": None, "budget_tokens": 1}], "ledger, row 1 names no agent"),
        ([{"agent_name": 5, "budget_tokens": 1}], "ledger, row 1 names no agent"),
        ([{"agent_name": "*", "budget_tokens": 1}], "ledger, row 1 is for '*'"),
        ([{"agent_name": "a", "budget_tokens": None}], "row 1: budget_tokens is None"),
        ([{"agent_name": "a", "budget_tokens": 1, "run": 17}], "row 1: run is int, not text"),
        (5, "a ledger is int"),
        (True, "a ledger is bool"),
    ],
)
def test_rows_that_make_no_sense_are_refused(rows, words):
    assert words in refusal(read_ledger, rows)
    assert words in refusal(grade, b"", ledger=rows)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no budget"),
        (b"[]", "holds no budget"),
        (b"agent_name,budget_tokens\n", "holds no budget"),
        (b"agent_name;budget_tokens\na;5\n", "row 1 has no 'agent_name'"),
        (b"agent_name\na\n", "row 1 has no 'budget_tokens'"),
        (b"agent_name,budget_tokens\na\n", "row 1: budget_tokens is None"),
        (b"agent_name,budget_tokens\na,10,000\n", "row 1 has more cells than the header"),
        (b"agent_name,budget_tokens,budget_tokens\na,1,2\n", "the column 'budget_tokens' twice"),
        (b'agent_name,budget_tokens\n"a,5\n', "is no CSV"),
        (b'agent_name,budget_tokens\n"a"b,5\n', "is no CSV"),
        (b'[{"agent_name": "a"', "is not JSON"),
        (b'{"agent_name": "a", "budget_tokens": 5} x', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'[{"agent_name": "a", "budget_tokens": ' + b"9" * 5000 + b"}]", "is not JSON"),
        (b'[{"agent_name": "a", "budget_tokens": NaN}]', "budget_tokens is nan"),
        ("agent_name,budget_tokens\nä,5\n".encode("latin-1"), "is not UTF-8 text"),
        ("agent_name,budget_tokens\na,5\n".encode("utf-16"), "is not UTF-8 text"),
        (b"PAR1 and no table", "cannot be read as Parquet"),
        (parquet([{"agent_name": "a", "budget_tokens": 1.5}]), "budget_tokens is 1.5"),
    ],
)
def test_files_that_make_no_sense_are_refused(data, words, tmp_path):
    path = tmp_path / "ledger"
    path.write_bytes(data)
    assert words in refusal(read_ledger, path)


@pytest.mark.parametrize("name", ["missing.csv", ".", "nul\0.csv"])
def test_a_file_that_cannot_be_read_is_refused(name, tmp_path):
    assert "cannot read the ledger" in refusal(read_ledger, f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    "budget", [{}, [], [("a", 5)], 5, {"": 5}, {None: 5}, {5: 5}, "a=5"], ids=repr
)
def test_budgets_that_make_no_sense_are_refused(budget):
    assert "budget" in refusal(grade, b"", budget=budget)


def test_a_refusal_shows_at_most_80_characters_of_a_value():
    sentence = refusal(read_ledger, [{"agent_name": "a", "budget_tokens": "s" * 1000}])
    assert len(sentence) < 150


def test_a_parquet_ledger_may_have_columns_that_python_has_no_value_for(tmp_path):
    table = pa.table(
        {
            "agent_name": ["a"],
            "budget_tokens": [5],
            "when": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns")),
            "where": pa.array([None], pa.null()),
        }
    )
    pq.write_table(table, tmp_path / "ledger.parquet")
    assert read_ledger(tmp_path / "ledger.parquet") == [LedgerRow("a", None, 5, None)]
    bad = pa.table({"agent_name": pa.array([b"\xff"]).view(pa.string()), "budget_tokens": [5]})
    pq.write_table(bad, tmp_path / "bad.parquet")
    with pytest.raises(ConfigError, match="cannot be read as Parquet"):
        read_ledger(tmp_path / "bad.parquet")


def test_a_ledger_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("tracestream.ledgers.MAX_LEDGER_BYTES", 1 << 20)
    with pytest.raises(ConfigError, match="is over 1 MiB"):
        read_ledger("/dev/zero")
