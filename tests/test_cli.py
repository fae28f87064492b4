import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import tracestream.grading
from tests import evalport
from tracestream import __version__, record_completed_run
from tracestream.cli import options
from tracestream.cli.app import COMMANDS, GROUPS, build_app
from tracestream.frames import MAX_RECORD_BYTES

TEXT = "the quarterly revenue report covers europe and asia"
ROOT = Path(__file__).parent.parent


def event(kind, agent, session="s", **data):
    record = {"event_type": kind, "session_id": session, "agent_name": agent, "data": data}
    return json.dumps(record).encode() + b"\n"


HANDOFF = event("llm_response", "researcher", response_content=TEXT) + event(
    "llm_request", "writer", messages=[{"role": "user", "content": TEXT}]
)
TOOL = b'{"event_type": "tool_start", "tool_name": "search"}\n'


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """A folder of traces: two runs, one handed on whole and one lost."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(HANDOFF)
    lost = event("llm_response", "researcher", response_content=TEXT)
    lost += event("llm_request", "writer", messages=["unrelated words only"])
    (folder / "b.jsonl").write_bytes(lost)
    return folder


def test_grade_writes_a_table(traces, run):
    code, out, err = run("grade", "--dir", "traces")
    assert code == 0
    assert out == (
        "VERDICT  HANDOFF  CONTENT LOST          TOOLS  EVENTS  RUN\n"
        "pass        2.00  researcher -> writer      0       2  traces/b.jsonl#s\n"
        "pass       10.00                            0       2  traces/a.jsonl#s\n"
        "\n"
        "handoff score  6.00  mean of 2\n"
        "content loss      1  run\n"
        "tool calls        0\n"
        "events            4\n"
        f"bytes read      {sum(path.stat().st_size for path in traces.iterdir())}\n"
        "\n"
        "2 runs: 2 passed, 0 failed, 0 ungradable\n"
    )
    assert err == ""


def test_paths_come_before_folders(traces, run):
    Path("z.jsonl").write_bytes(TOOL)
    code, out, _ = run("grade", "--json", "--dir", "traces", "z.jsonl")
    assert code == 0
    sources = [run["source"] for run in json.loads(out)["runs"]]
    assert sources == ["z.jsonl", "traces/a.jsonl", "traces/b.jsonl"]


def test_json_is_the_report_document_of_the_library(traces, run):
    code, out, err = run("grade", "traces", "--json", "--agents", "researcher, writer")
    assert code == 0
    report = tracestream.grading.grade("traces", agents=["researcher", "writer"])
    assert out.encode() == report.to_json()
    assert err == ""


def test_options_reach_the_library(traces, monkeypatch, run):
    asked = {}

    def grade(source, **options):
        asked.update(options, source=source)
        raise KeyboardInterrupt

    monkeypatch.setattr(tracestream.grading, "grade", grade)
    run("grade", "x", "--dialect", "PraisonAI", "--max-record-bytes", "5", "--agents", "a,b, c")
    assert asked["source"] == ["x"]
    assert asked["dialect"] == "PraisonAI"
    assert asked["max_record_bytes"] == 5
    assert asked["agents"] == ["a", "b", "c"]


def test_the_default_size_of_a_record_is_the_librarys():
    assert options.MAX_RECORD_BYTES == MAX_RECORD_BYTES


def test_damage_is_told_on_stderr_and_changes_nothing_else(traces, run):
    with (traces / "a.jsonl").open("ab") as file:
        file.write(b'{"event_type": "llm_re')
    code, out, err = run("grade", "traces")
    assert code == 0
    assert out.endswith("2 runs: 2 passed, 0 failed, 0 ungradable\n")
    assert err.splitlines() == [
        "tracestream: 1 record skipped in 1 of 2 files: torn_tail x1",
        "tracestream: loss: torn_tail x1: the last record is cut off; the file may still be "
        "written (first: traces/a.jsonl, line 3)",
    ]


def test_a_failed_run_is_1(traces, monkeypatch, run):
    grade = tracestream.grading.grade
    monkeypatch.setattr(
        tracestream.grading, "grade", lambda source, **_: grade(source, min_handoff=8.0)
    )
    code, out, err = run("grade", "traces")
    assert code == 1
    assert out.splitlines()[1].startswith("fail        2.00  researcher -> writer")
    assert out.endswith("2 runs: 1 passed, 1 failed, 0 ungradable\n")
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["grade"], "no traces given", id="nothing-given"),
        pytest.param(["grade", "nix.jsonl"], "no such file or folder: 'nix.jsonl'", id="path"),
        pytest.param(["grade", "--dir", "nix"], "no such file or folder: 'nix'", id="dir"),
        pytest.param(["grade", "traces", "nix"], "no such file or folder: 'nix'", id="one-of-two"),
        pytest.param(["grade", "nix*"], "nothing matches 'nix*'", id="glob"),
        pytest.param(["grade", "--dir", "traces/a.jsonl"], "is a file", id="dir-is-a-file"),
        pytest.param(["grade", "empty"], "the folder 'empty' is empty", id="empty-folder"),
        pytest.param(["grade", "other"], "no trace files in 'other'", id="no-traces"),
        pytest.param(["grade", "empty", "other"], "the folder 'empty' is empty", id="two-folders"),
        pytest.param(["grade", "traces", "--dialect", "x"], "no dialect 'x'", id="dialect"),
        pytest.param(["grade", "traces", "--agents", "a"], "two names or more", id="one-agent"),
        pytest.param(["grade", "traces", "--top", "x"], "'--top'", id="no-number"),
        pytest.param(["grade", "traces", "--top", "-1"], "'--top'", id="negative"),
        pytest.param(["grade", "t", "--max-record-bytes", "0"], "--max-record-bytes", id="zero"),
        pytest.param(["grade", "--tpo", "3"], "no such option: --tpo", id="option"),
        pytest.param(["graed", "traces"], "no such command 'graed'", id="command"),
        pytest.param(["eval", "nix"], "no such command 'nix'", id="command-of-a-group"),
        pytest.param(["formats", "x"], "unexpected extra argument", id="argument"),
        pytest.param(["grade", "\x1b[31m\u202e"], r"\x1b[31m\u202e", id="hostile"),
        pytest.param(["\x1b[31mx"], r"\x1b[31mx", id="hostile-command"),
    ],
)
def test_wrong_usage_is_2_with_one_sentence_and_a_hint(traces, run, arguments, words):
    Path("empty").mkdir()
    Path("other").mkdir()
    Path("other/notes.txt").write_text("no trace")
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("tracestream: error: ")
    assert words in err
    assert err.splitlines()[-1].startswith("Hint: ")
    assert "Traceback" not in err
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("name", "content", "words", "hint"),
    [
        pytest.param(
            "e.jsonl", b"", "e.jsonl: the source is empty", "nothing was written", id="empty"
        ),
        pytest.param("t.jsonl", b'{"ev', "t.jsonl: unknown format", "--dialect", id="torn"),
        pytest.param(
            "f.json",
            b'{"foo": 1}',
            "f.json: unknown format: first keys: foo",
            "--dialect",
            id="foreign",
        ),
        pytest.param(
            "m.bin", b"\0\1\2 no trace", "m.bin: unknown format", "--dialect", id="binary"
        ),
        pytest.param(
            "link", None, "link: unreadable: No such file", "may read it", id="unreadable"
        ),
        pytest.param(
            "o.jsonl", b'{"event_type": "x"}', "o.jsonl: no request", "dialect", id="none"
        ),
    ],
)
def test_nothing_to_grade_is_2_and_the_report_is_written(
    tmp_path, monkeypatch, run, name, content, words, hint
):
    monkeypatch.chdir(tmp_path)
    if content is None:
        Path(name).symlink_to("missing")
    else:
        Path(name).write_bytes(content)
    code, out, err = run("grade", name)
    assert code == 2
    assert out.endswith("1 run: 0 passed, 0 failed, 1 ungradable\n")
    assert f"tracestream: error: nothing to grade: {words}" in err
    assert err.splitlines()[-1].startswith("Hint: ")
    assert hint in err.splitlines()[-1]
    code, out, _ = run("grade", name, "--json")
    assert code == 2
    assert json.loads(out)["runs"][0]["verdict"] == "ungradable"


def test_a_file_that_may_not_be_read_is_ungradable(traces, run):
    (traces / "a.jsonl").chmod(0)
    if os.access(traces / "a.jsonl", os.R_OK):
        pytest.skip("this user may read everything")
    code, out, err = run("grade", "traces")
    assert code == 0
    assert "unreadable: Permission denied" in out
    assert "unreadable_source" in err


def test_ungradable_sources_beside_graded_ones_leave_0(traces, run):
    (traces / "c.jsonl").write_bytes(b"")
    Path("link.jsonl").symlink_to("missing")
    code, out, err = run("grade", "traces", "link.jsonl")
    assert code == 0
    assert out.endswith("4 runs: 2 passed, 0 failed, 2 ungradable\n")
    assert "error" not in err


def test_several_sources_without_a_gradable_run_name_the_first(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_bytes(b"")
    code, _, err = run("grade", ".")
    assert code == 2
    assert "none of 2 runs can be graded; the first is ./a.jsonl: the source is empty" in err


def test_an_empty_folder_beside_traces_is_told(traces, run):
    Path("empty").mkdir()
    Path("other").mkdir()
    Path("other/notes.txt").write_text("no trace")
    code, out, err = run("grade", "empty", "traces", "other")
    assert code == 0
    assert out.endswith("2 runs: 2 passed, 0 failed, 0 ungradable\n")
    assert err.splitlines() == [
        "tracestream: the folder 'empty' is empty",
        "tracestream: no trace files in 'other'",
    ]


def test_documents_of_ours_alone_are_nothing_to_grade(traces, run):
    Path("reports").mkdir()
    _, out, _ = run("grade", "traces", "--json")
    Path("reports/report.json").write_text(out)
    code, out, err = run("grade", "reports")
    assert code == 2
    assert out.endswith("0 runs: 0 passed, 0 failed, 0 ungradable\n")
    assert "documents that tracestream wrote" in err


def test_an_agent_that_no_run_has_is_2_and_the_report_is_written(traces, run):
    code, out, err = run("grade", "traces", "--agents", "researcher,Writer,writer")
    assert code == 2
    assert out.endswith("2 runs: 2 passed, 0 failed, 0 ungradable\n")
    first, hint = err.splitlines()
    assert first.startswith(
        "tracestream: error: --agents names the agent 'Writer', which is in no run"
    )
    assert "'researcher', 'writer'" in first
    assert hint.startswith("Hint: ")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"]])
def test_help_is_on_stdout(run, arguments):
    code, out, err = run(*arguments)
    assert code == 0
    assert out.startswith("Usage: tracestream ")
    assert err == ""


def test_no_arguments_show_the_help_as_wrong_usage(run):
    code, out, err = run()
    assert code == 2
    assert out == ""
    assert err.startswith("Usage: tracestream ")


def test_a_group_alone_shows_its_help_as_wrong_usage(run):
    code, out, err = run("eval")
    assert (code, out) == (2, "")
    assert err.startswith("Usage: tracestream eval ")
    assert run("eval", "--help") == (0, err, "")


def test_every_group_has_commands_and_every_command_its_group(run):
    grouped = {command.name.split()[0] for command in COMMANDS if " " in command.name}
    assert grouped == set(GROUPS)
    _, out, _ = run("--help")
    words = " ".join(out.split())
    for name, text in GROUPS.items():
        assert f" {name} {text}" in words
        _, help_of_group, _ = run(name, "--help")
        for command in COMMANDS:
            if command.name.startswith(f"{name} "):
                assert f"  {command.name.split()[1]} " in help_of_group
                assert f"    {command.examples[0]}\n" in help_of_group


def test_version(run):
    assert run("--version") == (0, f"tracestream {__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_and_option_is_documented(run, command):
    *group, name = command.name.split()
    code, out, _ = run(*group, name, "--help")
    assert code == 0
    words = " ".join(out.split())
    assert (command.run.__doc__ or "").split("\n")[0] in words
    assert command.examples
    for example in command.examples:
        assert f"    {example}\n" in out
        assert f"tracestream {command.name}" in example
    found = typer.main.get_command(build_app())
    for part in (*group, name):
        found = found.commands[part]
    for parameter in found.params:
        assert parameter.help, parameter.name
        assert " ".join(parameter.help.split()) in words


@pytest.mark.parametrize(
    "example", [e for command in COMMANDS for e in command.examples], ids=lambda example: example
)
def test_every_example_runs(traces, monkeypatch, example):
    Path("old").mkdir()
    Path("old/b.jsonl.gz").write_bytes(gzip.compress(HANDOFF))
    Path("a.jsonl").write_bytes(HANDOFF)
    Path("trace.jsonl").write_bytes(TOOL)
    evalport.write_examples(traces.parent)
    monkeypatch.setenv("PRAISON_HOME", str(traces.parent / "home"))
    record_completed_run("trace.jsonl")
    python = f"{shlex.quote(sys.executable)} -m tracestream"
    done = subprocess.run(
        ["sh", "-c", f'tracestream() {{ {python} "$@"; }}; {example}'],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert done.returncode in ((0, 1) if "--min-score" in example else (0,))


def test_formats_tells_every_dialect_and_how_it_is_recognised(run):
    from tracestream.dialects import DIALECTS

    code, out, err = run("formats")
    assert code == 0
    assert err == ""
    for dialect in DIALECTS:
        assert f"{dialect.name}\n  {dialect.title}\n" in out
        assert f"  recognised by: {dialect.recognised_by}\n" in out


def test_help_and_version_import_nothing_heavy():
    code = (
        "import sys\nfrom tracestream.cli import main\n"
        "main(['--version']), main(['--help']), main(['grade', '--help'])\n"
        "heavy = {'pyarrow', 'polars', 'rich', 'numba', 'zlib_ng', 'tracestream.grading'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
    assert done.stderr == b""
    assert done.returncode == 0
