"""What each form of a report holds, byte for byte, and what it takes to write."""

import csv
import gc
import io
import tracemalloc
from dataclasses import replace

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.documents import check_document, jsonl, read_json, read_report, response
from tests.pages import Page
from tests.reports import SUFFIXES, one_run, sample_report, written
from tracestream import grade
from tracestream.render.html import FRAGMENT_ROWS, MAX_ROWS
from tracestream.render.outputs import write_report
from tracestream.render.table import table_lines
from tracestream.schema import BUDGETS, HANDOFFS, RUNS, check
from tracestream.spool import Spool


@pytest.fixture
def report():
    return sample_report()


@pytest.fixture(scope="module")
def big():
    """A report of 20,000 runs."""
    report = sample_report()

    def many(table):
        tables = []
        for number in range(2000):
            names = pc.binary_join_element_wise(table["run"], pa.scalar(f"/{number}"), "")
            tables.append(table.set_column(0, table.schema.field("run"), names))
        return pa.concat_tables(tables)

    ten = report.runs_spool.table().slice(0, 10)
    return replace(
        report,
        runs_spool=Spool.of(many(ten)),
        handoffs_spool=Spool.of(many(report.handoffs_table)),
        budgets_spool=Spool.of(many(report.budgets_table)),
    )


# ---- forms ----


def test_json_is_the_report_document(report, tmp_path):
    data = written(report, tmp_path / "report.json")
    assert read_report(data)["runs"][0]["run_id"] == "good"
    assert data == report.to_json()


def test_streamed_json_is_the_document_in_memory(report):
    assert report.to_json() == orjson.dumps(report.to_dict()) + b"\n"
    assert len(list(report.json_parts())) == report.runs_table.num_rows + 2
    assert read_json(report.to_json()) == report.to_dict()


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson"])
def test_jsonl_is_a_run_document_a_line(report, tmp_path, suffix):
    lines = written(report, tmp_path / f"runs{suffix}").split(b"\n")
    assert lines.pop() == b""
    runs = [{"schema": "tracestream.run/1", **run} for run in report.to_dict()["runs"]]
    assert [list(read_json(line).items()) for line in lines] == [list(run.items()) for run in runs]


def test_jsonl_in_a_folder_of_traces_is_passed_over(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl(response("a", "x", run_id="long " * 99)))
    before = grade(tmp_path).to_json()
    grade(tmp_path).write(tmp_path / "runs.jsonl")
    assert grade(tmp_path).to_json() == before


def test_csv_is_a_row_a_run_of_the_columns_of_runs(report, tmp_path):
    data = written(report, tmp_path / "runs.csv")
    assert data.endswith(b"\r\n")
    header, *rows = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
    assert header == RUNS.names
    assert len(rows) == report.runs_table.num_rows
    for row, run in zip(rows, report.runs_table.to_pylist(), strict=True):
        for cell, value in zip(row, run.values(), strict=True):
            if value is None:
                assert cell == ""
            elif isinstance(value, bool):
                assert cell == str(value).lower()
            elif isinstance(value, int | float):
                assert type(value)(cell) == value
            elif isinstance(value, list):
                assert cell == "; ".join(value)
            else:
                assert cell == (f"'{value}" if value.startswith("=") else value)


@pytest.mark.parametrize(
    "start",
    # Spreadsheets trim what does not show, and take the forms of East Asian text for the same.
    [
        *"=+-@\t\r\n",
        *"＝＋－＠﹢﹣﹦﹫",
        " =",
        "\x00=",
        "\ufeff=",
        "\u200b@",
        "\u3000＝",
        " \t\u00a0-",
    ],
    ids=ascii,
)
def test_csv_neutralises_texts_that_spreadsheets_run(start, tmp_path):
    stream = io.BytesIO(jsonl(*one_run(start + "1+1", "x", ["x"])))
    stream.name = start + "SUM(A1)"
    report = grade(stream)
    data = written(report, tmp_path / "runs.csv").decode()
    (row,) = csv.DictReader(io.StringIO(data, newline=""))
    assert row["run"] == f"'{start}SUM(A1)#{start}1+1"
    assert (row["source"], row["run_id"]) == (f"'{start}SUM(A1)", f"'{start}1+1")


@pytest.mark.parametrize("text", ["a=b", "'=1", '"=1', "_-1", "日本", " a", "#=", "1-2"])
def test_csv_leaves_other_texts_as_they_are(text, tmp_path):
    data = written(grade(jsonl(response("a", "x", run_id=text))), tmp_path / "runs.csv").decode()
    (row,) = csv.DictReader(io.StringIO(data, newline=""))
    assert row["run_id"] == text


def test_csv_keeps_negative_numbers(tmp_path):
    report = grade(jsonl(response("a", "x", cost_usd=-0.25)))
    (row,) = csv.DictReader(io.StringIO(written(report, tmp_path / "runs.csv").decode()))
    assert row["cost_usd"] == "-0.25"


def test_csv_quotes_what_rfc_4180_quotes(tmp_path):
    name = 'comma, "quote"\r\nnew line'
    data = written(grade(jsonl(response("a", "x", run_id=name))), tmp_path / "runs.csv")
    assert b',"comma, ""quote""\r\nnew line",praisonai' in data


def test_parquet_is_a_folder_of_the_tables(report, tmp_path):
    target = tmp_path / "report.parquet"
    assert list(written(report, target)) == ["budgets.parquet", "handoffs.parquet", "runs.parquet"]
    for name, table, schema in (
        ("runs", report.runs_table, RUNS),
        ("handoffs", report.handoffs_table, HANDOFFS),
        ("budgets", report.budgets_table, BUDGETS),
    ):
        read = pq.read_table(target / f"{name}.parquet")
        check(read, schema)
        assert read.equals(table)
        assert table.num_rows > 0
        for row in read.to_pylist():
            check_document(row, name)


def test_parquet_of_no_rows_has_the_columns(tmp_path):
    target = tmp_path / "empty.parquet"
    write_report(grade(b""), target)
    check(pq.read_table(target / "budgets.parquet"), BUDGETS)


def test_html_holds_summary_runs_losses_budgets_and_quality(report, tmp_path):
    page = Page(written(report, tmp_path / "report.html").decode())
    assert page.open == []
    for words in (
        "Runs, worst first",
        "Pairs that lost content",
        "Budgets blown",
        "Data quality",
        "overall_score 1.5 < 3.0",
        "malformed_record",
        "min_score 3.0",
    ):
        assert words in page.text
    assert page.texts.index("fail") < page.texts.index("pass") < page.texts.index("ungradable", 60)


def test_html_needs_no_network_and_no_script(report, tmp_path):
    data = written(report, tmp_path / "report.html").decode()
    page = Page(data)
    assert not {"script", "link", "img", "iframe", "object", "a", "form"} & set(page.tags)
    assert {name for name, _ in page.attributes} <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "scope", "style", "title")
    }
    assert "default-src 'none'" in data
    assert "url(" not in data
    assert "://" not in data


@pytest.mark.parametrize("form", ["page", "notebook"])
def test_html_shows_hostile_names_as_text(report, tmp_path, form):
    data = (
        written(report, tmp_path / "report.html").decode()
        if form == "page"
        else report._repr_html_()
    )
    page = Page(data)
    for name in ("<script>alert(1)</script>", "&lt;b&gt;", r"\u202egnirts", r"\x1b[31m\x00\x07"):
        assert name in page.text
    # Of what does not print, only the page's own line ends are there.
    assert {char for char in data if not char.isprintable()} == {"\n"}


def test_html_lists_at_most_so_many_runs_and_says_so(big, tmp_path):
    page = Page(written(big, tmp_path / "report.html").decode())
    assert f"The worst {MAX_ROWS:,} of 20,000 runs" in page.text
    assert page.tags.count("tr") <= 3 * MAX_ROWS + 4 + len(big.ledger.entries)
    assert "20,000" in page.texts
    notebook = Page(big._repr_html_())
    assert f"The worst {FRAGMENT_ROWS} of 20,000 runs" in notebook.text


def test_html_lists_the_worst_losses_and_overruns_first(tmp_path):
    events = []
    for name, kept, used in (
        ("some", "alpha", 150),
        ("none", "nothing", 120),
        ("bit", "gamma", 900),
    ):
        output = "alpha beta gamma delta epsilon" if name != "some" else "alpha beta gamma"
        events += one_run(name, output, [kept], used)
    page = Page(written(grade(jsonl(*events)), tmp_path / "report.html").decode())
    losses = page.text.partition("Pairs that lost content")[2].partition("Budgets blown")[0]
    budgets = page.text.partition("Budgets blown")[2]
    assert losses.index("a none") < losses.index("a bit")
    assert "a some" not in losses
    assert budgets.index("b bit") < budgets.index("b some") < budgets.index("b none")
    assert "800%" in budgets


def test_html_of_a_notebook_styles_nothing_but_itself(report):
    style = report._repr_html_().partition("<style>")[2].partition("</style>")[0]
    for rule in style.replace("\n", "").split("}")[:-1]:
        assert all(part.startswith(".tracestream") for part in rule.split("{")[0].split(",")), rule


def test_worst_first_is_the_order_of_the_table(report):
    verdicts = report.runs_table["verdict"].take(report.worst_first()).to_pylist()
    assert verdicts == ["fail"] * 9 + ["pass"] + ["ungradable"] * 2
    listed = [line.text for line in table_lines(report)][1:11]
    assert ["fail" in line.split() for line in listed] == [True] * 9 + [False]


# ---- the same report gives the same bytes ----


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_two_writes_give_the_same_bytes(report, tmp_path, suffix):
    first = written(report, tmp_path / f"a{suffix}")
    assert written(report, tmp_path / f"b{suffix}") == first
    assert first


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_do_not_depend_on_how_and_where_the_rows_are_held(big, tmp_path, suffix):
    def on_disk(spool):
        return Spool.of(spool.table().combine_chunks(), memory_bytes=0)

    kept = replace(
        big,
        runs_spool=on_disk(big.runs_spool),
        handoffs_spool=on_disk(big.handoffs_spool),
        budgets_spool=on_disk(big.budgets_spool),
    )
    assert kept.runs_spool.is_kept > big.runs_spool.is_kept
    assert written(kept, tmp_path / f"a{suffix}") == written(big, tmp_path / f"b{suffix}")
    assert list(table_lines(kept)) == list(table_lines(big))


# ---- memory ----


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".html", ".parquet"])
def test_runs_never_stand_in_memory_as_python_objects(big, tmp_path, suffix):
    """As Python objects they are over 100 MB, and as one text over 20."""
    gc.collect()
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    write_report(big, tmp_path / f"report{suffix}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert pa.total_allocated_bytes() - before < 8 << 20
