"""`tracestream evalport validate`."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tracestream.cli import evalport_files, streams
from tracestream.cli.exits import FAILED, PASSED, UNUSABLE
from tracestream.errors import ConfigError
from tracestream.writing import write_stdout

if TYPE_CHECKING:
    from tracestream.evalport.validation import Validation
    from tracestream.render.text import Line

EXAMPLES = (
    "tracestream evalport validate suite.json results.json",
    "tracestream evalport validate results.json --suite suite.yaml --json",
    "zcat cases.jsonl.gz | tracestream evalport validate - --kind testcase",
)

VALIDATION_SCHEMA = "tracestream.evalport-validation/1"
_SHOWN_CODES = 4

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="JSON, JSON Lines or YAML, perhaps compressed; globs; - reads stdin.",
        show_default=False,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="suite, resultset, testcase or grader. Default: the first field that only one of them has.",
    ),
]
Suite = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="FILE",
        help="Hold result sets and test cases against this suite, which is validated, too.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Write one JSON document instead of the lines.")
]


def command(
    files: Files,
    kind: Kind = None,
    suite: Suite = None,
    as_json: AsJson = False,
    max_faults: evalport_files.MaxFaults = evalport_files.MAX_FAULTS,
) -> int:
    """Validate EvalPort documents: suites, result sets, test cases, graders.

    Every fault is told with its JSON Pointer and a code: SCHEMA_INVALID, VERSION_UNSUPPORTED,
    DUPLICATE_ID, DANGLING_REFERENCE and the rest of docs/evalport.md. Files of any size are read as a
    stream, YAML up to 32 MiB. Exit code: 0 all are valid; 1 one is not; 2 wrong usage, or a file
    cannot be read.
    """
    from tracestream.evalport.conformance import KINDS

    if kind is not None and kind not in KINDS:
        raise ConfigError(f"--kind {kind!r} is none\nHint: {', '.join(KINDS)}.")
    found = _validations(files, kind, suite, max_faults)
    verdicts: set[int] = set()
    if as_json:
        write_stdout(_document(_judged(found, verdicts)))
    else:
        streams.write_lines(_lines(_judged(found, verdicts)))
    streams.flush()
    return max(verdicts)


def _validations(
    files: list[str], kind: str | None, suite: str | None, max_faults: int
) -> "Iterator[Validation]":
    from tracestream.evalport.validation import Validator, index_suite

    given = evalport_files.sources(files)
    index = None
    if suite is not None:
        index, found = index_suite(evalport_files.source(suite), max_faults=max_faults)
        yield from found
    validator = Validator(kind=kind, index=index, max_faults=max_faults)
    for source in given:
        yield from validator.source(source)


def _judged(found: "Iterable[Validation]", verdicts: set[int]) -> "Iterator[Validation]":
    for each in found:
        verdicts.add(UNUSABLE if each.is_unreadable else PASSED if each.is_valid else FAILED)
        yield each


def _document(found: "Iterable[Validation]") -> Iterator[bytes]:
    from tracestream.evalport.strictjson import write_json

    yield b'{"schema":"%b","files":[' % VALIDATION_SCHEMA.encode()
    separator, is_valid = b"", True
    for each in found:
        is_valid = is_valid and each.is_valid
        yield separator + write_json(each.to_dict())
        separator = b","
    yield b'],"valid":%b}\n' % (b"true" if is_valid else b"false")


def _lines(found: "Iterable[Validation]") -> "Iterator[Line]":
    from tracestream.render.text import Line, visible

    ascii_only = streams.is_ascii_only()
    for each in found:
        for fault in each.faults:
            yield Line(visible(fault.sentence(each.source), ascii_only=ascii_only))
        name = visible(each.source, ascii_only=ascii_only)
        text = f"{name}: {_verdict(each)}"
        yield Line(text, "green" if each.is_valid else "bold red", len(text))


def _verdict(found: "Validation") -> str:
    if found.is_valid:
        return f"valid, {_contents(found)}"
    count = sum(found.counts.values())
    codes = found.counts.most_common()
    words = ", ".join(f"{code} {number:,}" for code, number in codes[:_SHOWN_CODES])
    more = ", ..." if len(codes) > _SHOWN_CODES else ""
    told = f", the first {len(found.faults):,} told" if count > len(found.faults) else ""
    return f"not valid, {count:,} {'fault' if count == 1 else 'faults'} ({words}{more}){told}"


def _contents(found: "Validation") -> str:
    if found.kind == "testcase":
        return "1 test case" if found.n_documents == 1 else f"{found.n_documents:,} test cases"
    if found.kind == "suite":
        return f"suite of {found.n_elements:,} test case{'' if found.n_elements == 1 else 's'}"
    if found.kind == "resultset":
        return f"result set of {found.n_elements:,} result{'' if found.n_elements == 1 else 's'}"
    return "grader"
