"""Suites run against traces in tests: the result set, held to both validators."""

from contextlib import contextmanager

from openeval import validate

from tests.documents import read_json
from tests.evalport import write
from tracestream.evalport.matching import read_traces
from tracestream.evalport.running import SuiteRun
from tracestream.evalport.suites import Suite
from tracestream.evalport.validation import Validator, index_suite
from tracestream.sources import discover


@contextmanager
def prepared(document):
    """Have a suite that was checked, and is `suite.json` here."""
    write("suite.json", document)
    ready = Suite(discover("suite.json")[0])
    found = [each.sentence(v.source) for v in ready.check() for each in v.faults]
    assert not found
    yield ready


def graded(document, traces="traces"):
    """Return the result set of a suite, which both validators take, and the run of it."""
    with prepared(document) as ready, read_traces(discover(traces), ready.wanted) as found:
        run = SuiteRun(ready, found, run_id="r", started_at=found.earliest)
        data = b"".join(run.parts())
    result_set = read_json(data)
    checked = validate.validate_result_set(result_set)
    assert checked.valid, checked.errors
    index, _ = index_suite(discover("suite.json")[0])
    (held,) = Validator(kind="resultset", index=index).source(discover(data)[0])
    assert held.is_valid, held.faults
    return result_set, run


def contains(text, grader_id="c", **fields):
    """Return a grader."""
    return {"id": grader_id, "type": "contains", "params": {"substring": text}, **fields}


def answer_of(result_set):
    """What each result was graded on, by test case."""
    return [
        (each["test_case_id"], each.get("attempt"), each.get("actual_output"))
        for each in result_set["results"]
    ]


def write_bytes(path, data):
    """Write a file."""
    with open(path, "wb") as file:
        file.write(data)
