"""The graders that need no model and no person: each makes a score of what a run answered.

A grader is prepared once, from its `params`, and then asked for each run. What it needs of a run is a
Sample. Source: the spec's Grader Type System and its Appendix A; where they leave something open,
the reference runner's behaviour, but for what docs/evalport.md says.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.evalport.faults import quoted

EXPECTED_TOOLS = "expected_tools"
"""Type, and default id, of the grader of a test case's `expected_tools`: the spec has the field, and no type."""

SKIP_REASON = "skip_reason"
"""Metadata key of a grader result without a score. Source: the spec, Execution-Level Errors."""

UNSUPPORTED = "unsupported_grader_type"
NO_EXPECTED_OUTPUT = "missing_expected_output"
NO_EXPECTED_TOOLS = "missing_expected_tools"
NO_OUTPUT_RECORDED = "output_not_recorded"
NO_TOOLS_RECORDED = "tools_not_recorded"

_FLAGS = frozenset("imsU")
_FLAGS_WITHOUT_EFFECT = frozenset(
    "gu"
)  # JavaScript's: all matches, and Unicode, which RE2 always has
_SHOWN_TOOLS = 10


class Sample(NamedTuple):
    """What is graded: what a run answered, and what its test case says.

    Attributes:
        output: The run's final output; None: it has none.
        tools: How often it called each tool; None: its trace does not name them.
        is_recorded: Whether its trace records outputs at all.
        input: The test case's.
        expected: Its expected output.
        context: Its context.
        expected_tools: The tools it expects to be called.
    """

    output: str | None = None
    tools: Mapping[str, int] | None = None
    is_recorded: bool = True
    input: str | list[str] = ""
    expected: str | None = None
    context: list[str] | None = None
    expected_tools: list[str] | None = None


class Score(NamedTuple):
    """What a grader says.

    Attributes:
        value: 0..1, or None: not verified.
        passed: Never True without a value.
        reason: Why, in words; at most 80 characters of a trace.
        metadata: More of it, for programs.
    """

    value: float | None
    passed: bool
    reason: str
    metadata: dict[str, Any] | None = None


Grade = Callable[[Sample], Score]
"""A prepared grader."""

TextGrade = Callable[[str], Score]
"""One that looks at nothing but an output."""


class Unfit(Exception):
    """Parameters that no run can be graded by.

    Args:
        pointer: Where, below the grader.
        message: What is wrong, in words.
        hint: What to do about it.
    """

    def __init__(self, pointer: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.pointer = pointer
        self.message = message
        self.hint = hint


def yes_or_no(passed: bool, reason: str) -> Score:
    """Return a score of 1 or 0."""
    return Score(1.0 if passed else 0.0, passed, reason)


def skipped(why: str, reason: str) -> Score:
    """Return that a grader gave no score.

    Args:
        why: For programs: a `skip_reason`.
        reason: In words.
    """
    return Score(None, False, reason, {SKIP_REASON: why})


def of_output(grade: TextGrade) -> Grade:
    """Return a grader of outputs as one of samples.

    A run that gave no output has failed: it did end without one. One whose format records no outputs is not
    verified.

    Example:
        >>> of_output(lambda output: yes_or_no(True, output))(Sample(output=None)).reason
        'the run has no final output'
    """

    def graded(sample: Sample) -> Score:
        if sample.output is not None:
            return grade(sample.output)
        if sample.is_recorded:
            return yes_or_no(False, "the run has no final output")
        return skipped(NO_OUTPUT_RECORDED, "this format of traces records no output")

    return graded


def exact_match(params: Mapping[str, Any]) -> Grade:
    r"""Return a grader: the output is the expected one.

    Args:
        params: `ignore_case` (false), `trim_whitespace` (true).

    Example:
        >>> exact_match({})(Sample(output=" Paris\n", expected="Paris")).passed
        True
    """
    is_trimmed, is_caseless = params.get("trim_whitespace", True), params.get("ignore_case", False)

    def normal(text: str) -> str:
        text = text.strip() if is_trimmed else text
        return text.lower() if is_caseless else text

    def grade(sample: Sample) -> Score:
        expected = sample.expected
        if expected is None:
            return skipped(NO_EXPECTED_OUTPUT, "the test case has no expected_output")

        def compare(output: str) -> Score:
            passed = normal(output) == normal(expected)
            return yes_or_no(
                passed,
                "it is as expected" if passed else f"it is {quoted(output)}, not as expected",
            )

        return of_output(compare)(sample)

    return grade


def contains(params: Mapping[str, Any]) -> Grade:
    """Return a grader: a text stands in the output.

    Args:
        params: `substring`, `ignore_case` (false).

    Example:
        >>> contains({"substring": "30 days"})(Sample(output="Within 30 days.")).value
        1.0
    """
    substring, is_caseless = params["substring"], params.get("ignore_case", False)

    def grade(output: str) -> Score:
        if is_caseless:
            passed = substring.lower() in output.lower()
        else:
            passed = substring in output
        return yes_or_no(passed, f"{quoted(substring)} {'stands' if passed else 'is not'} in it")

    return of_output(grade)


def regex(params: Mapping[str, Any]) -> Grade:
    r"""Return a grader: a regular expression matches somewhere in the output.

    The expression is RE2's, as Arrow has it built in: its time is linear, whoever wrote it.

    Args:
        params: `pattern`, `flags` (of i, m, s, U; g and u change nothing).

    Raises:
        Unfit: RE2 does not know it.

    Example:
        >>> regex({"pattern": "^total: [0-9]+$", "flags": "im"})(Sample(output="Sum\nTotal: 7")).value
        1.0
    """
    flags = set(params.get("flags", "")) - _FLAGS_WITHOUT_EFFECT
    if flags - _FLAGS:
        what = f"RE2 has no flag {quoted(min(flags - _FLAGS))}"
        raise Unfit(
            "/params/flags", what, "i ignores case, m takes lines, s lets . match line ends."
        )
    pattern = f"(?{''.join(sorted(flags))}){params['pattern']}" if flags else params["pattern"]
    shown = quoted(params["pattern"])
    try:
        matches(pattern, "")
    except ValueError as error:
        hint = "RE2 has no backreferences and does not look ahead or behind."
        raise Unfit("/params/pattern", f"it is no RE2: {error}", hint) from error

    def grade(output: str) -> Score:
        passed = matches(pattern, output)
        return yes_or_no(passed, f"{shown} {'matches' if passed else 'does not match'}")

    return of_output(grade)


def matches(pattern: str, text: str) -> bool:
    """Return whether a regular expression of RE2 matches somewhere in a text.

    Raises:
        ValueError: It is none; the message says why.
    """
    try:
        found = pc.match_substring_regex(pa.scalar(text, pa.large_string()), pattern)
    except pa.ArrowInvalid as error:
        raise ValueError(str(error).removeprefix("Invalid regular expression: ")) from error
    return bool(found.as_py())


def expected_tools(params: Mapping[str, Any]) -> Grade:
    """Return a grader: the tools that the test case expects were called.

    Each expected call needs a call of its own; further calls, and the order, do not matter. The score is
    the share of expected calls that were made.

    Example:
        >>> sample = Sample(tools={"search": 3}, expected_tools=["search", "read"])
        >>> expected_tools({})(sample)[:3]
        (0.5, False, "not called: 'read'")
    """

    def grade(sample: Sample) -> Score:
        if not sample.expected_tools:
            return skipped(NO_EXPECTED_TOOLS, "the test case has no expected_tools")
        if sample.tools is None:
            return skipped(
                NO_TOOLS_RECORDED, "this format of traces does not name the tools called"
            )
        missing = Counter(sample.expected_tools) - Counter(sample.tools)
        value = 1 - missing.total() / len(sample.expected_tools)
        if not missing:
            return Score(value, True, "all expected tools were called")
        return Score(value, False, f"not called: {_names(missing)}")

    return grade


def _names(missing: Counter[str]) -> str:
    times = (f"{quoted(name)}{'' if n == 1 else f' ({n} times)'}" for name, n in missing.items())
    shown = [name for name, _ in zip(times, range(_SHOWN_TOOLS), strict=False)]
    return ", ".join([*shown, "..."] if len(missing) > _SHOWN_TOOLS else shown)


def unsupported(kind: str, why: str = "") -> Grade:
    """Return a grader that never gives a score, and says so, as the spec asks of a runner.

    Args:
        kind: The type.
        why: Why not, in words.

    Example:
        >>> unsupported("human", "it needs a person")(Sample(output="x")).metadata
        {'skip_reason': 'unsupported_grader_type'}
    """
    reason = f"a grader of the type {quoted(kind)} is not run here{why and ': '}{why}"
    return lambda sample: skipped(UNSUPPORTED, reason)
