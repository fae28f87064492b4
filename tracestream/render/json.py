"""The report as JSON: one document, or one run a line.

Both come run by run: a report never stands in memory as Python objects, or as one text.
"""

from collections.abc import Iterator

import orjson

from tracestream.report import Report

RUN_SCHEMA = "tracestream.run/1"


def json_parts(report: Report) -> Iterator[bytes]:
    """Yield the report document (`schemas/report.schema.json`) in pieces: `to_json`'s bytes."""
    return report.json_parts()


def jsonl_parts(report: Report) -> Iterator[bytes]:
    """Yield one line a run: an entry of `runs` in the report document, headed by its schema.

    By the schema a grade knows the file as ours, if it lies in a folder of traces.
    """
    for document in report.run_documents():
        yield orjson.dumps({"schema": RUN_SCHEMA, **document}) + b"\n"
