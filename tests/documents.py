"""Traces as tests write them, and report documents as tests read them: strict, held to the schema."""

import json
import re
from pathlib import Path

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parent.parent / "schemas"


def response(agent, content, run_id=None, **fields):
    """Return an event in which an agent answers."""
    return _event("llm_response", agent, run_id, {"response_content": content}, fields)


def request(agent, messages, run_id=None, **fields):
    """Return an event in which an agent is asked; fields are tokens_used, tokens_budget, ..."""
    return _event("llm_request", agent, run_id, {"messages": messages}, fields)


def tool_start(tool, run_id=None):
    """Return an event that starts a tool call."""
    return _event("tool_start", "a", run_id, {}, {"tool_name": tool})


def _event(event_type, agent, run_id, data, fields):
    event = {"event_type": event_type, "agent_name": agent, "data": data, **fields}
    return event if run_id is None else {**event, "run_id": run_id}


def jsonl(*events):
    """Return events as JSON lines."""
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def schema(name):
    """Return a schema of the project: report, runs, handoffs, budgets or events."""
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))


def check_document(document, name="report"):
    """Raise unless a parsed document fits a schema, and its counts add up."""
    # What a validator sees as equal and a reader does not: tuples, float counts, missing keys.
    Draft202012Validator(schema(name)).validate(document)
    if name == "report":
        summary, runs = document["summary"], document["runs"]
        verdicts = [run["verdict"] for run in runs]
        counted = [verdicts.count(verdict) for verdict in ("pass", "fail", "ungradable")]
        assert [summary[key] for key in ("passed", "failed", "ungradable")] == counted
        assert summary["runs"] == len(runs)
        assert len({run["run"] for run in runs}) == len(runs)
    return document


def read_json(data):
    """Return the value of bytes that are strict JSON: UTF-8, no NaN, no half of a surrogate pair."""
    text = data.decode("utf-8")
    value = json.loads(text, parse_constant=_refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def read_report(data):
    """Return the report document that bytes hold, held to its schema."""
    assert re.fullmatch(rb"[^\n]+\n", data), "one line"
    return check_document(read_json(data))


def graded(report):
    """Return the document of a report, held to its schema."""
    return read_report(report.to_json())


def _refuse(constant):
    raise AssertionError(f"{constant} is no JSON")
