"""`tracestream inspect`: the document, what a person is shown, exit codes."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

import tracestream.inspection
from tests.documents import check_document, jsonl, read_json, request, response, schema, tool_start
from tracestream.cli import main, options, streams
from tracestream.dialects import dialect_names
from tracestream.inspection import inspect_traces
from tracestream.render.inspection import inspection_lines
from tracestream.render.text import cell_width, visible
from tracestream.schema import Kind

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
TEXT = "the quarterly revenue report covers europe and asia"
HANDOFF = jsonl(
    response("researcher", TEXT, "r1", timestamp=1.5, prompt_tokens=1200, completion_tokens=30),
    tool_start("search", "r1"),
    request("writer", [TEXT], "r1", timestamp=4, tokens_budget=100),
)
HOSTILE = '\x1b[2J\x1b]0;x\x07\u202e日本\u0301\u0301\u0301\u0301\u0301\r\n"=cmd()\u200b\x00'


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """A folder of three sources: a sound one, a torn one, and one that is no trace."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(HANDOFF)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(HANDOFF + b'{"event_ty', mtime=0))
    (folder / "c.json").write_bytes(b'{"foo": 1}')
    return folder


@pytest.fixture
def run(capfdbinary):
    """Run a command in this process; return exit code, stdout and stderr."""

    def run(*arguments):
        code = main(["inspect", *map(str, arguments)])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def test_a_line_a_source_the_damaged_first_then_totals_then_damage(traces, run):
    n_bytes = {path.name: path.stat().st_size for path in traces.iterdir()}
    code, out, err = run("traces")
    assert code == 0
    assert err == ""
    table, totals, damage = out.split("\n\n")
    assert table == (
        "RUNS  EVENTS  AGENTS  TEXT  TOOLS  TOK IN  TOK OUT   SPAN  BYTES  FORMAT"
        "                        SOURCE             NOTES\n"
        "   1       0       0     -      0       -        -      -   10 B  unknown, lines"
        "                traces/c.json      unknown format: first keys: foo; known dialects: "
        f"{', '.join(dialect_names())}\n"
        f"   1       3       3   2/2      1   1,200       30  2.5 s  {n_bytes['b.jsonl.gz']} B  "
        "praisonai, lines, compressed  traces/b.jsonl.gz  torn_tail x1\n"
        f"   1       3       3   2/2      1   1,200       30  2.5 s  {n_bytes['a.jsonl']} B  "
        "praisonai, lines              traces/a.jsonl"
    )
    assert totals.splitlines() == [
        "sources          3  1 not read as traces, 1 compressed, lines 3",
        "formats          1  praisonai 2",
        f"bytes        {sum(n_bytes.values()):>5}",
        "runs             3  2 gradable, 2 with a token budget",
        "agents           3  researcher 2, a 2, writer 2",
        "events           6",
        "  request        2  2 with text, llm_request 2",
        "  response       2  2 with text, llm_response 2",
        "  tool_call      2  tool_start 2",
        "handoffs         2  2 with text on both sides",
        "tool calls       2  search 2",
        "tool errors      0",
        "tokens in    2,400",
        "tokens out      60",
        "cost             -",
        "time span    2.5 s  1970-01-01 00:00:01 to 00:00:04 UTC",
    ]
    assert damage.splitlines() == [
        "loss: torn_tail x1: the last record is cut off; the file may still be written "
        "(first: traces/b.jsonl.gz, line 4)",
        "doubt: unknown_format x1: no dialect fits the first records (first: traces/c.json, line 1)",
    ]


def test_of_a_single_source_the_runs_are_listed(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(HANDOFF + jsonl(tool_start("x", "r2"), {"event_type": "output"}))
    code, out, err = run("a.jsonl")
    assert (code, err) == (0, "")
    sources, runs, *_, damage = out.split("\n\n")
    assert sources.splitlines()[1].startswith("   2       5")
    assert runs.splitlines() == [
        "EVENTS  GRADABLE  HANDOFFS  BUDGET  RUN         AGENTS",
        "     3  yes            1/1  yes     a.jsonl#r1  researcher > writer",
        "     1  yes              -  no      a.jsonl#r2",
    ]
    assert damage == "no damage: everything was read as it was written\n"
    _, out, _ = run("a.jsonl", "--top", "1")
    assert "... and 1 more run; --top 2 lists all\n" in out


@pytest.mark.parametrize("top", [0, 1, 2, 3, 9])
def test_top_limits_the_list_and_never_the_totals(traces, run, top):
    _, out, _ = run("traces", "--top", top)
    _, all_of_it, _ = run("traces")
    *listed, totals, damage = out.split("\n\n")
    assert [totals, damage] == all_of_it.split("\n\n")[1:]
    names = [name for name in ("c.json", "b.jsonl.gz", "a.jsonl") if f"traces/{name}" in listed[0]]
    assert names == ["c.json", "b.jsonl.gz", "a.jsonl"][:top]
    more = max(0, 3 - top)
    assert (f"... and {more} more source" in listed[0]) == (more > 0)


def test_a_terminal_has_a_limit_and_its_width(traces, monkeypatch, run):
    for number in range(40):
        (traces / f"more-{number:02}.jsonl").write_bytes(HANDOFF)
    monkeypatch.setattr(streams, "terminal_width", lambda: 80)
    _, out, _ = run("traces")
    shown = out.splitlines()
    rest = f"... and {43 - options.TOP_ON_TERMINAL} more sources; --top 43 lists all"
    assert shown[options.TOP_ON_TERMINAL + 1] == rest
    assert max(map(len, shown)) <= 80


def test_json_is_the_document_of_the_library_and_damage_is_told_on_stderr(traces, run):
    code, out, err = run("--dir", "traces", "--json")
    assert code == 0
    assert out.encode() == b"".join(inspect_traces(["traces"]).to_json())
    document = check_document(read_json(out.encode()), "inspect")
    assert [source["source"] for source in document["sources"]] == [
        "traces/a.jsonl",
        "traces/b.jsonl.gz",
        "traces/c.json",
    ]
    assert [line.split(":")[1:3] for line in err.splitlines()] == [
        [" loss", " torn_tail x1"],
        [" doubt", " unknown_format x1"],
    ]


def test_options_reach_the_library(monkeypatch, run):
    asked = {}

    def inspect(source, **given):
        asked.update(given, source=source)
        raise KeyboardInterrupt

    monkeypatch.setattr(tracestream.inspection, "inspect_traces", inspect)
    code, _, _ = run("x", "--dialect", "PraisonAI", "--max-record-bytes", "5")
    assert code == 130
    assert callable(asked.pop("progress"))
    assert asked == {"source": ["x"], "dialect": "PraisonAI", "max_record_bytes": 5}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "no traces given", id="nothing-given"),
        pytest.param(["nix.jsonl"], "no such file or folder: 'nix.jsonl'", id="missing"),
        pytest.param(["traces", "nix"], "no such file or folder: 'nix'", id="one-missing"),
        pytest.param(["--dir", "empty"], "the folder 'empty' is empty", id="empty-folder"),
        pytest.param(["traces", "--dialect", "x"], "no dialect 'x'", id="dialect"),
        pytest.param(["traces", "--top", "-1"], "--top", id="top"),
        pytest.param(["traces", "--agents", "a,b"], "no such option: --agents", id="option"),
    ],
)
def test_wrong_usage_is_2_with_a_sentence_and_a_hint(traces, run, arguments, words):
    Path("empty").mkdir()
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tracestream: error: ")
    assert words in err
    assert err.splitlines()[-1].startswith("Hint: ")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("e.jsonl", b"", "nothing to read: e.jsonl: the source is empty", id="empty"),
        pytest.param("f.json", b'{"foo": 1}', "f.json: unknown format: first keys", id="foreign"),
        pytest.param("gone", None, "gone: unreadable: No such file", id="unreadable"),
    ],
)
def test_where_no_source_gives_an_event_it_is_2_and_all_is_written(
    tmp_path, monkeypatch, run, name, content, words
):
    monkeypatch.chdir(tmp_path)
    if content is None:
        os.symlink("nowhere", name)
    else:
        Path(name).write_bytes(content)
    code, out, err = run(name)
    assert code == 2
    assert name in out
    assert re.search(r"^events +0$", out, re.MULTILINE)
    assert words in err
    assert err.splitlines()[-1].startswith("Hint: ")
    code, out, _ = run(name, "--json")
    assert code == 2
    assert check_document(read_json(out.encode()), "inspect")["summary"]["problems"] == 1


def test_what_cannot_be_read_beside_what_can_leaves_0(traces, run):
    os.symlink("nowhere", "gone.jsonl")
    code, out, err = run("gone.jsonl", "traces", "--json")
    assert code == 0
    gone = json.loads(out)["sources"][0]
    assert gone["source"] == "gone.jsonl"
    assert gone["problem"].startswith("unreadable: ")
    assert gone["compressed"] is None
    assert gone["damage"] == {"unreadable_source": 1}
    assert [run["gradable"] for run in gone["runs"]] == [False]
    assert "loss: unreadable_source x1" in err


def test_only_documents_of_ours_are_nothing_to_read(traces, run):
    _, document, _ = run("traces", "--json")
    Path("ours").mkdir()
    Path("ours/contents.json").write_text(document)
    code, _, err = run("ours")
    assert code == 2
    assert "nothing to read\nHint: these are documents that tracestream wrote" in err


def test_stdin_is_read(traces):
    done = subprocess.run(
        [sys.executable, "-m", "tracestream", "inspect", "-", "--json"],
        input=HANDOFF,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (source,) = check_document(read_json(done.stdout), "inspect")["sources"]
    assert (source["source"], source["compressed"], source["events"]) == ("-", None, 3)


texts = st.one_of(
    st.text(max_size=30), st.sampled_from([HOSTILE, "", "日本語" * 20, "שלום", "a" * 90])
)


@settings(max_examples=60)
@given(
    names=st.lists(texts, min_size=1, max_size=8),
    n_sources=st.integers(1, 3),
    width=st.integers(1, 220),
    ascii_only=st.booleans(),
)
def test_no_line_is_wider_than_the_terminal_or_holds_what_is_not_visible(
    names, n_sources, width, ascii_only
):
    events = [
        event
        for name in names
        for event in (
            {"event_type": name, "agent_name": name, "run_id": name},
            request(name, [TEXT], name),
            tool_start(name, name),
        )
    ]
    inspection = inspect_traces([io.BytesIO(jsonl(*events)) for _ in range(n_sources)])
    for columns in (width, None):
        for line in inspection_lines(inspection, width=columns, ascii_only=ascii_only):
            assert visible(line.text) == line.text
            assert line.n_styled <= len(line.text)
            assert line.text.isascii() or not ascii_only
            assert columns is None or cell_width(line.text) <= columns


def test_a_wide_terminal_shows_what_a_pipe_shows(traces):
    inspection = inspect_traces(["traces"])
    assert list(inspection_lines(inspection, width=500)) == list(inspection_lines(inspection))


@pytest.mark.parametrize("width", range(48, 72))
def test_what_does_not_fit_is_counted(width):
    events = [tool_start(f"a_tool_{number:02}") for number in range(30)]
    lines = inspection_lines(inspect_traces(jsonl(*events)), width=width)
    shown = [line.text for line in lines]
    begin = next(at for at, text in enumerate(shown) if text.startswith("tool calls"))
    tools = " ".join(shown[begin : begin + 3])
    n_shown = tools.count("a_tool_")
    assert 0 < n_shown < 30
    assert tools.endswith(f", +{30 - n_shown} more")
    assert shown[begin + 3].startswith("tool errors")


def test_the_schema_is_one_and_knows_every_kind():
    Draft202012Validator.check_schema(schema("inspect"))
    assert schema("inspect")["$defs"]["kind"]["enum"] == list(Kind)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda d: d.update(extra=1), id="extra"),
        pytest.param(lambda d: d["summary"].update(extra=1), id="extra-in-summary"),
        pytest.param(lambda d: d["sources"][0].update(extra=1), id="extra-in-source"),
        pytest.param(lambda d: d["sources"][0].pop("kinds"), id="no-kinds"),
        pytest.param(lambda d: d["summary"].update(events="11"), id="text-for-a-number"),
        pytest.param(lambda d: d["summary"]["time"].update(first="now"), id="no-time"),
    ],
)
def test_the_schema_refuses_other_documents(change):
    document = check_document(inspect_traces(HANDOFF).to_dict(), "inspect")
    change(document)
    with pytest.raises(ValidationError):
        check_document(document, "inspect")


def test_json_is_strict_whatever_the_traces_hold():
    data = (
        b'{"event_type": "odd\\ud83d", "agent_name": "a\\u0000\\udc00", "cost_usd": NaN}\n'
        b'{"event_type": "llm_response", "agent_name": "\xff\x1b[31m", "cost_usd": 1e400}\n'
        b'{"event_type": "tool_start", "tool_name": "=cmd()\\u202e", "timestamp": Infinity}\n'
    )
    written = b"".join(inspect_traces(data).to_json())
    document = check_document(read_json(written), "inspect")
    assert document["summary"]["events"] == 3
    assert written.count(b"\n") == 1


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared")
def test_the_samples_of_praisonai_are_what_their_index_says(monkeypatch, run):
    monkeypatch.chdir(SHARED / "samples")
    code, out, _ = run("praisonai", "--json")
    assert code == 0
    actions, context = json.loads(out)["sources"]
    assert context["source"] == "praisonai/context_two_agents.jsonl"
    assert context["events"] == 27
    assert context["usage"]["input_tokens"] == 2104
    assert context["usage"]["output_tokens"] == 150
    assert (context["tool_calls"], context["tool_errors"]) == (2, 1)
    assert [agent["agent"] for agent in context["agents"]] == ["Researcher", "Writer"]
    assert {"kind": "handoff", "events": 1}.items() <= context["kinds"][-3].items()
    assert (actions["events"], actions["tool_calls"], actions["tool_errors"]) == (8, 2, 1)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared")
@pytest.mark.parametrize("folder", ["samples", "cases"])
def test_all_shared_files_give_a_document(folder):
    check_document(inspect_traces(SHARED / folder).to_dict(), "inspect")
