"""The page "Grade your last run" of PraisonAI's documentation: its snippets run as they stand.

Two things are changed: the module that is imported, and the name of the program. Agents are stubbed.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.documents import schema
from tracestream import last_run_pointer_path, load_last_run_pointer, record_completed_run

ROOT = Path(__file__).parents[1]
PAGE = ROOT.parent / "shared" / "seeds" / "grade-your-last-run.txt"

FIRST = """\
from praisonaiagents import Agent
from tracestream import record_completed_run

agent = Agent(
    name="Researcher",
    instructions="Research the user's question using the available tools.",
)

result = agent.start("What is the capital of France?")

# Mark this run as the latest trace to grade.
# Point at whatever trace file your trace sink produced.
record_completed_run("trace.jsonl", meta={"agent": "Researcher"})
"""
QUICK_START = """\
from praisonaiagents import Agent
from tracestream import record_completed_run

agent = Agent(
    name="Researcher",
    instructions="Research the user's question using the available tools.",
)

agent.start("What is the capital of France?")

record_completed_run("trace.jsonl", meta={"agent": "Researcher"})
"""
RECORD = """\
from tracestream import record_completed_run

pointer_path = record_completed_run(
    "trace.jsonl",
    meta={"agent": "researcher", "status": "ok"},
)
"""
LOAD = """\
from tracestream import load_last_run_pointer

pointer = load_last_run_pointer()
# None, or:
# {"schema_version": "1.0", "path": "...", "recorded_at": 1762..., "meta": {...}}
"""
WHERE = """\
from tracestream import last_run_pointer_path

print(last_run_pointer_path())
# -> /Users/you/.praison/last_trace.json   (default)
# -> $PRAISON_HOME/last_trace.json          (when PRAISON_HOME is set)
"""
POINTER = """\
{
  "schema_version": "1.0",
  "path": "/absolute/path/to/trace.jsonl",
  "recorded_at": 1762598400.123,
  "meta": {"agent": "researcher"}
}
"""
GRADE = "tracestream eval last-trace --json\n"
GRADED = '{"passed": true, "score": 1.0, "tool_call_count": 1}\n'
IN_CI = "tracestream eval last-trace --min-tool-calls 1 --json || exit 1\n"
EVENT = '{"event_type": "tool_start", "tool_name": "search"}\n'

PYTHON = {
    "first": FIRST,
    "quick-start": QUICK_START,
    "record": RECORD,
    "load": LOAD,
    "where": WHERE,
}


class Agent:
    def __init__(self, name, instructions):
        self.name = name

    def start(self, prompt):
        Path("trace.jsonl").write_text(EVENT)
        return "Paris"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRAISON_HOME", str(tmp_path / "home"))
    agents = ModuleType("praisonaiagents")
    agents.Agent = Agent
    monkeypatch.setitem(sys.modules, "praisonaiagents", agents)
    return tmp_path


def run_python(code):
    names = {}
    exec(code, names)
    return names


def run_shell(script):
    """Run a line of shell; return its exit code and stdout."""
    program = f'tracestream() {{ {shlex.quote(sys.executable)} -m tracestream "$@"; }}\n'
    done = subprocess.run(
        ["sh", "-c", program + script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("code", [FIRST, QUICK_START], ids=["first", "quick-start"])
def test_an_agent_runs_is_recorded_and_graded(folder, code):
    run_python(code)
    assert load_last_run_pointer()["path"] == str(folder / "trace.jsonl")
    assert load_last_run_pointer()["meta"] == {"agent": "Researcher"}
    assert run_shell(GRADE) == (0, GRADED)
    assert run_shell(IN_CI) == (0, GRADED)


def test_a_failing_grade_fails_the_build(folder):
    Path("trace.jsonl").write_text("")
    record_completed_run("trace.jsonl")
    assert run_shell(IN_CI + "echo built") == (
        1,
        GRADED.replace("true, ", "false, ").replace("1.0", "0.75").replace("1}", "0}"),
    )


def test_record_returns_the_pointer_path(folder):
    assert run_python(RECORD)["pointer_path"] == last_run_pointer_path()
    assert load_last_run_pointer()["meta"] == {"agent": "researcher", "status": "ok"}


def test_load_returns_none_or_the_pointer(folder):
    assert run_python(LOAD)["pointer"] is None
    run_python(RECORD)
    pointer = run_python(LOAD)["pointer"]
    assert list(pointer) == ["schema_version", "path", "recorded_at", "meta"]
    assert isinstance(pointer["recorded_at"], float)


def test_where_prints_the_path(folder, monkeypatch, capsys):
    run_python(WHERE)
    monkeypatch.delenv("PRAISON_HOME")
    monkeypatch.setenv("HOME", "/Users/you")
    run_python(WHERE)
    expected = [f"{folder}/home/last_trace.json", "/Users/you/.praison/last_trace.json"]
    assert capsys.readouterr().out.splitlines() == expected


def test_the_pointer_of_the_page_is_one(folder):
    Path("home").mkdir()
    last_run_pointer_path().write_text(POINTER)
    assert load_last_run_pointer() == json.loads(POINTER)
    assert list(json.loads(POINTER)) == schema("pointer")["required"]


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the folder ../shared")
def test_these_are_the_snippets_of_the_page():
    page = PAGE.read_text("utf-8")
    for snippet in PYTHON.values():
        assert (
            snippet.replace("from tracestream import", "from praisonaiagents.trace import") in page
        )
    for shell in (GRADE, IN_CI):
        assert re.sub("^tracestream", "praisonai", shell) in page
    for text in (GRADED, EVENT, POINTER):
        assert text in page
    assert page.count("import record_completed_run") + page.count("import load_last") + page.count(
        "import last_run"
    ) == len(PYTHON)
