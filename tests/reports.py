"""Small traces and reports that several test files share."""

import io
import os
from functools import cache

from tests.documents import jsonl, request, response, tool_start
from tracestream import grade
from tracestream.render.outputs import FORMS, TABLES, write_report

SUFFIXES = [*FORMS, TABLES]

HANDED_ON = (response("a", "sales doubled", "good"), request("b", ["sales doubled"], "good"))
LOST = (
    response("a", "alpha beta gamma delta", "lossy"),
    request("b", ["nothing"], "lossy", tokens_used=150, tokens_budget=100),
)
ALONE = (response("a", "x", "alone", prompt_tokens=7, completion_tokens=5, cost_usd=0.25),)
TOOLS = (tool_start("search", "tools"), tool_start("read", "tools"))
IDLE = ({"event_type": "session_start", "run_id": "idle"},)
ALL = (*HANDED_ON, *LOST, *ALONE, *TOOLS, *IDLE)

HOSTILE = [
    "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "&lt;b&gt;",
    "=cmd|' /C calc'!A0",
    "\u202egnirts",
    "\x1b[31m\x00\x07\x7f\x85\u2028",
    'comma, "quote"\r\nnew line',
    "עברית",
    "\ufeff\u200b",
]


def of(*events, **options):
    """Return the report of a trace of these events."""
    return grade(jsonl(*events), **options)


def one_run(run_id, output, messages, used=10, budget=100):
    """Return a run of two agents that are named after it."""
    return [
        response("a " + run_id, output, run_id),
        request("b " + run_id, messages, run_id, tokens_used=used, tokens_budget=budget),
    ]


@cache
def sample_report():
    """Return 9 failed, 1 passed and 2 ungradable runs: losses, overruns, damage, hostile names."""
    events = one_run("good", "sales doubled", ["sales doubled"])
    for number, name in enumerate(HOSTILE):
        events += one_run(name, "alpha beta gamma delta", ["nothing"], used=200 + number)
    events.append({"event_type": "session_start", "run_id": "idle"})
    stream = io.BytesIO(jsonl(*events) + b"<b>not JSON</b>\n")
    stream.name = "=1+1<i>.jsonl"
    return grade([stream, io.BytesIO(b"")], min_score=3)


def content(path):
    """Return the bytes of a file, or of each file in a folder."""
    if path.is_dir():
        return {entry: (path / entry).read_bytes() for entry in sorted(os.listdir(path))}
    return path.read_bytes()


def written(report, path):
    """Write a report and return what is there."""
    write_report(report, path)
    return content(path)
