"""Names and texts that attack a terminal, a spreadsheet, a browser or a parser, everywhere they go."""

import csv
import io
import json
import os
import sys
import unicodedata
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.documents import check_document, jsonl, read_json, read_report, request, response
from tests.pages import Page
from tests.processes import on_terminal
from tracestream import grade
from tracestream.batches import Progress
from tracestream.cli.progress import ProgressLine
from tracestream.inspection import inspect_traces
from tracestream.jsontext import writable
from tracestream.render.text import cell_width, visible

HOSTILE = {
    "C0": "".join(map(chr, range(0x20))),
    "DEL and C1": "".join(map(chr, range(0x7F, 0xA0))),
    "CSI": "\x1b[2J\x1b[1;31mred\x1b[0m\x9b5A",
    "OSC": "\x1b]0;title\x07\x1b]52;c;cm0=\x1b\\\x9d8;;http://x\x9c",
    "DCS, APC, PM": "\x1bP1$r\x1b\\\x1b_G\x1b\\\x1b^x\x1b\\\x90q\x9c",
    "overwriting": "good\rbad\b\b\b\x0b\x0c",
    "new lines": "x\ntracestream: all is well\nHint: trust me\r\n",
    "separators": "a\x85b\u2028c\u2029d\x1c\x1d\x1e",
    "embeddings": "a\u202ab\u202bc\u202cd\u202de\u202ef",
    "isolates": "a\u2066b\u2067c\u2068d\u2069e",
    "direction marks": "a\u200eb\u200fc\u061cd",
    "zero width": "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\u180eh\u034fi",
    "tags": "a\U000e0001\U000e0041\U000e007f",
    "variation selectors": "a\ufe0fb\U000e0100c",
    "blanks": "a\u00a0\u2003\u3000\u3164\uffa0\u115f\u2800b",
    "marks": "Z" + "\u0301\u0489\u20dd" * 200,
    "marks alone": "\u0301\u0301",
    "surrogates": "\udc00\ud83d \udcff \udfff\ud800",
    "private and none": "\ue000\uffff\U0010ffff\u0378",
    "long": "long name " * 3000,
    "long and wide": "日本語" * 3000,
    "markup": "</bdi></td><script>alert(1)</script><img src=x onerror=alert(1)>&lt;]]><!--",
    "quotes": "\"' onmouseover=alert(1) x='`\\",
    "rich": "[red]x[/red] [link=http://x]y[/link] :smile: {x}",
    "csv": 'a,b;c\t"d"\r\n=1+1',
    "formula": "=cmd|' /C calc'!A0",
    "json": '\\"}],"runs":[{"run":"\\u0000',
    "percent": "%s%n%x %(x)s {0} $HOME `id` $(id)",
}
EACH = [pytest.param(text, id=name) for name, text in HOSTILE.items()]
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN", "B", "S"}


def trace(text):
    """Return a trace with a text wherever one can be, and damage with it, too."""
    events = [
        response(f"{text}a", "alpha beta gamma delta", text),
        request(f"{text}b", ["nothing"], text, tokens_used=200, tokens_budget=100),
        {"event_type": "tool_start", "tool_name": text, "run_id": text, "agent_name": text},
        {"event_type": "tool_end", "tool_name": text, "run_id": text, "error": text},
        {"event_type": text, "run_id": text, "agent_name": text, text: text},
        {"event_type": "llm_request", "run_id": text, "agent_name": {text: text}},
        {"event_type": "llm_response", "run_id": f"{text} 2", "agent_name": text, "data": text},
    ]
    broken = text.encode("utf-8", "surrogatepass")
    return jsonl(*events) + b"[1, " + broken.replace(b"\n", b"") + b"\n" + b'{"' + broken


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a function that makes a folder of hostile traces, in one that is worked in."""
    monkeypatch.chdir(tmp_path)

    def make(*texts):
        Path("t").mkdir()
        for number, text in enumerate(texts):
            name = writable(text).replace("\0", "").replace("/", "")[:40]
            Path(f"t/{number}{name}.jsonl").write_bytes(trace(text))
            Path(f"t/{number}u.json").write_text(json.dumps({text: 1, "y": 2}))
        return "t"

    return make


def check_shown(shown):
    """Raise unless a terminal shows what is there: nothing steers it, reorders, hides or piles up."""
    for line in shown.removesuffix("\n").split("\n"):
        assert line.isprintable(), line
        assert not {unicodedata.bidirectional(char) for char in line} & BIDI
        assert visible(line) == line  # without blanks, and piles of marks
    shown.encode()


# ---- on a terminal ----


@pytest.mark.parametrize("text", EACH)
@pytest.mark.parametrize("command", ["grade", "inspect"])
def test_tables_and_sentences_show_hostile_texts_and_obey_none(folder, run, command, text):
    code, out, err = run(command, folder(text))
    assert code == 0
    check_shown(out)
    check_shown(err)
    assert all(line.startswith("tracestream: ") for line in err.splitlines())
    Path("plain").mkdir()
    Path("plain/0.jsonl").write_bytes(trace("a"))
    Path("plain/0u.json").write_bytes(b'{"a": 1, "y": 2}')
    _, plain, _ = run(command, "plain")
    if command == "inspect":  # whose last part is a sentence for each kind of damage
        out, plain = (text.rpartition("\n\n")[0] for text in (out, plain))
    assert out.count("\n") == plain.count("\n"), "a text made a line of its own"


@pytest.mark.parametrize("columns", [40, 200])
def test_a_terminal_gets_no_sequence_of_a_trace(folder, columns):
    traces = folder(*HOSTILE.values())
    for arguments in (["grade", traces, "--agents", "x,y"], ["inspect", traces]):
        code, shown = on_terminal(
            *arguments, "--no-progress", columns=columns, stderr=True, NO_COLOR="1"
        )
        assert code == (2 if "--agents" in arguments else 0)
        check_shown(shown)
        if arguments[0] == "inspect":
            assert max(map(cell_width, shown.splitlines())) <= columns


@pytest.mark.parametrize(
    "arguments",
    [
        ["grade", "--json"],
        ["grade", "-o", "-"],
        ["grade", "-o", "/dev/stdout"],
        ["inspect", "--json"],
    ],
    ids=" ".join,
)
def test_json_on_a_terminal_is_ascii_and_the_same_document(folder, arguments):
    command, *options = arguments
    traces = folder(*HOSTILE.values())
    code, shown = on_terminal(command, traces, *options)
    assert code == 0
    assert (shown.isascii(), shown.removesuffix("\n").isprintable()) == (True, True)
    found = grade(traces) if command == "grade" else inspect_traces(traces)
    assert strict(shown.encode()) == found.to_dict()


@pytest.mark.parametrize("text", EACH)
def test_progress_shows_hostile_names_and_obeys_none(text, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for encoding in ("utf-8", "ascii"):
        stderr = io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace", write_through=True)
        stderr.isatty = lambda: True
        monkeypatch.setattr(sys, "stderr", stderr)
        for wanted in (None, True):
            with ProgressLine(wanted, clock=iter(range(0, 999, 100)).__next__) as line:
                line(Progress(5, 10, writable(text)))
                line(Progress(6, 10, "b"))
        drawn = stderr.buffer.getvalue().decode(encoding).split("\r")
        assert len(drawn) == 5
        for part in drawn:
            check_shown(part)
        assert max(map(cell_width, drawn[:-1])) <= 59
        assert drawn[2].startswith("6 B of 10 B")
        assert cell_width(drawn[2]) >= cell_width(drawn[1])


WRONG = [
    ["{}"],
    ["--{}"],
    ["-{}"],
    ["grade", "{}"],
    ["grade", "--{}"],
    ["grade", "{}*.jsonl"],
    ["grade", "--dir", "{}"],
    ["grade", "t", "--top", "{}"],
    ["grade", "t", "--min-score", "{}"],
    ["grade", "t", "--dialect", "{}"],
    ["grade", "t", "--usage", "{}"],
    ["grade", "t", "--run-scope", "{}"],
    ["grade", "t", "--agents", "{}"],
    ["grade", "t", "--budget", "{}"],
    ["grade", "t", "--budget", "{}={}"],
    ["grade", "t", "--budget", "{0}=1", "--budget", "{0}=1"],
    ["grade", "t", "--ledger", "{}"],
    ["grade", "t", "-o", "{}"],
    ["grade", "t", "-o", "{}.json/"],
    ["grade", "t", "-o", "{}/x.json"],
    ["grade", "t", "-o", "x.{}"],
    ["inspect", "{}"],
    ["inspect", "t", "--dialect", "{}"],
    ["formats", "{}"],
]


@pytest.mark.parametrize(
    "text", [HOSTILE["C0"], "\x1b[2J\x9b\u202e\udcff\nHint: trust me\r\n"], ids=ascii
)
@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_an_error_shows_a_hostile_argument_in_one_sentence_and_a_hint(folder, run, arguments, text):
    folder("plain")
    code, out, err = run(*(word.format(text, text) for word in arguments))
    assert (code, out) == (2, "")
    check_shown(err)
    sentence, hint = err.splitlines()
    assert sentence.startswith("tracestream: error: ")
    assert hint.startswith("Hint: ")
    assert "trust me" not in hint


# ---- in documents ----


def strict(data):
    """Return the value of bytes that are strict JSON, no key of which comes twice."""

    def unique(pairs):
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    json.loads(data, object_pairs_hook=unique)
    return read_json(data)


def graded(text):
    """Return the report of a hostile trace, of that name, asked for with hostile options."""
    stream = io.BytesIO(trace(text))
    stream.name = text
    return grade(
        stream,
        agents=[f"{text}a", f"{text}b", text],
        budget={f"{text}b": 1, text: 2},
        require_artifacts=[text],
        expected_schema_hash=text,
    )


@pytest.mark.parametrize("text", EACH)
def test_json_is_strict_whatever_is_in_it(text, tmp_path):
    report = graded(text)
    document = strict(report.to_json())
    assert read_report(report.to_json()) == document == report.to_dict()
    name = writable(text)
    assert {run["run_id"] for run in document["runs"]} == {name, f"{name} 2"}
    assert document["options"]["agents"] == [f"{name}a", f"{name}b", name]
    report.write(tmp_path / "runs.jsonl")
    *lines, last = (tmp_path / "runs.jsonl").read_bytes().split(b"\n")
    assert last == b""
    assert [strict(line)["run"] for line in lines] == [run["run"] for run in document["runs"]]
    inspection = b"".join(inspect_traces(trace(text)).to_json())
    check_document(strict(inspection), "inspect")
    assert name in {agent["agent"] for agent in strict(inspection)["summary"]["agents"]}


@pytest.mark.parametrize("text", EACH)
def test_csv_has_the_cells_and_no_formula(text, tmp_path):
    report = graded(text)
    report.write(tmp_path / "runs.csv")
    data = (tmp_path / "runs.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(data, newline=""), strict=True))
    assert len(rows) == report.runs_table.num_rows
    for row, run in zip(rows, report.runs_table.to_pylist(), strict=True):
        for key in ("run", "source", "run_id"):
            assert row[key] in (run[key], f"'{run[key]}")
            assert row[key].strip()[:1] not in tuple("=+-@＝＋－＠")
        assert row["reasons"].removeprefix("'") == "; ".join(run["reasons"])


@pytest.mark.parametrize("text", EACH)
def test_parquet_has_the_texts(text, tmp_path):
    graded(text).write(tmp_path / "report.parquet")
    name = writable(text)
    runs, handoffs, budgets = (
        pq.read_table(tmp_path / "report.parquet" / f"{table}.parquet")
        for table in ("runs", "handoffs", "budgets")
    )
    assert runs["run_id"].to_pylist() == [name, f"{name} 2"]
    assert {f"{name}a", f"{name}b"} == set(handoffs["from_agent"].to_pylist())
    assert f"{name}b" in budgets["agent_name"].to_pylist()
    for table in (runs, handoffs, budgets):
        table.validate(full=True)


@pytest.mark.parametrize("text", EACH)
def test_html_shows_texts_as_text_and_hides_nothing(text, tmp_path):
    report = graded(text)
    report.write(tmp_path / "report.html")
    for data in ((tmp_path / "report.html").read_text("utf-8"), report._repr_html_()):
        page = Page(data)
        assert page.open == []
        assert set(page.tags) <= TAGS
        assert {key for key, _ in page.attributes} <= ATTRIBUTES
        check_shown(data.replace("\n", ""))
        assert visible(writable(text)) in page.text


TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "div", "i", "dl"),
    *("dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "span", "bdi", "code", "details"),
    "summary",
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "scope", "style", "title")
}


def test_a_file_of_a_hostile_name_makes_whole_outputs(tmp_path, monkeypatch):
    """What is on a disk may be called anything but `/` and NUL."""
    monkeypatch.chdir(tmp_path)
    for number, text in enumerate(HOSTILE.values()):
        name = os.fsencode(writable(text).replace("\0", "").replace("/", "")[:60])
        report = grade(trace(text))
        for suffix in (b".json", b".csv", b".html", b".parquet"):
            report.write(b"%d%s%s" % (number, name, suffix))
    assert len(os.listdir(tmp_path)) == 4 * len(HOSTILE)
