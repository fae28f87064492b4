"""The documents say what is so: code in them runs, commands and options exist, links lead somewhere."""

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import evalport
from tests.documents import jsonl, request, response, tool_start
from tracestream import grade, record_completed_run
from tracestream.cli.app import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")])


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


def commands(page):
    """The tracestream commands of a page: lines behind a prompt."""
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    shown = [line.partition("#")[0].strip()[2:] for line in lines if line.startswith("$ ")]
    return [line for line in shown if "tracestream " in line]


COMMAND_LINES = sorted({line for page in PAGES for line in commands(page)})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with what the examples name."""
    monkeypatch.chdir(tmp_path)
    events = jsonl(
        response("researcher", "sales doubled", "r1"),
        request("writer", ["sales doubled"], "r1", tokens_used=10, tokens_budget=20),
        response("writer", "report", "r1", prompt_tokens=10, completion_tokens=5),
        request("editor", ["report"], "r1", tokens_used=10, tokens_budget=20),
    )
    for name in ("traces/a.jsonl", "a.jsonl", "runs/c.jsonl", "logs/b.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(events)
    (tmp_path / "logs/b.jsonl.gz").write_bytes(gzip.compress(events))
    (tmp_path / "budgets.csv").write_text("agent_name,budget_tokens\nresearcher,8000\nwriter,60\n")
    (tmp_path / "trace.jsonl").write_bytes(jsonl(tool_start("search")))
    evalport.write_examples(tmp_path)
    monkeypatch.setenv("PRAISON_HOME", str(tmp_path / "home"))
    record_completed_run("trace.jsonl")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("number", range(len(blocks(ROOT / "README.md", "python"))))
def test_python_in_the_readme_runs(folder, number):
    code = "import tracestream as ts\n" + blocks(ROOT / "README.md", "python")[number]
    exec(compile(code, "README.md", "exec"), {})


@pytest.mark.parametrize(
    "line", [line for line in COMMAND_LINES if re.match(r"tracestream [a-z-]", line)]
)
def test_commands_in_the_documents_run(folder, line):
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "error" not in done.stderr


def test_the_documents_show_commands():
    assert len(COMMAND_LINES) > 5


def test_every_command_is_documented():
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    cells = re.findall(r"^\| (`tracestream [^|]*)\|", page, re.M)
    # In a cell, what takes arguments is in capitals or brackets: `tracestream eval last-trace FILE`.
    named = re.findall(r"`tracestream ([a-z-]+(?: [a-z-]+)*)", " ".join(cells))
    assert sorted(named) == sorted(c.name for c in COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_in_the_documents_exist(page):
    source = "".join(path.read_text() for path in (ROOT / "tracestream" / "cli").glob("*.py"))
    source += "".join(path.read_text() for path in (ROOT / "benchmarks").glob("*.py"))
    source += (ROOT / "tests" / "damage" / "fuzz.py").read_text()
    known = {"--help", "--no-progress"}
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text("utf-8")):
        assert option in known or f'"{option}' in source, option


def test_the_trace_in_the_documents_is_a_whole_run():
    (trace,) = blocks(ROOT / "docs" / "formats.md", "json")
    for line in trace.splitlines():
        json.loads(line)
    report = grade(trace.encode())
    assert report.summary["handoff_score"] == report.summary["budget_score"] == 10.0


def test_every_decision_has_its_number_once():
    numbers = [path.name[:4] for path in (ROOT / "docs/decisions").glob("[0-9]*.md")]
    assert sorted(numbers) == [f"{n:04d}" for n in range(1, len(numbers) + 1)]
