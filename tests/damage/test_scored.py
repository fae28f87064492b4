"""What damage does to values and scores: missing is missing, the last key wins, ids are exact, a cut text is said."""

import json

import pytest

from tests.damage.instances import record
from tracestream import grade, read_batches

CUT = "\n...[50,123 chars, showing first/last portions]...\n"
"""What PraisonAI writes where it shortens a text."""


def rows(*records, columns=None):
    return read_batches(b"".join(each + b"\n" for each in records), columns=columns).read_all()


def row(data, *columns):
    (found,) = rows(record(0), data, columns=columns).slice(1).to_pylist()
    return tuple(found.values())


def test_a_field_of_the_wrong_type_is_missing_and_the_rest_counts():
    data = record(1, agent_name="a", session_id=[1], duration_ms="5", data=7, status="ok")
    assert row(data, "agent", "session_id", "duration_ms", "status", "tool") == (
        *("a", None, None),
        *("ok", "t1"),
    )


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_never_enters_a_sum(number):
    line = '{"event_type": "llm_response", "agent_name": "a", "prompt_tokens": %s, "cost_usd": %s}'
    report = grade(f"{line % (7, 0.5)}\n{line % (number, number)}\n".encode())
    assert report.summary["input_tokens"] == 7
    (run,) = report.runs_table.to_pylist()
    assert run["cost_usd"] == 0.5
    json.loads(report.to_json(), parse_constant=lambda name: pytest.fail(f"{name} in a document"))


def test_ids_of_more_than_64_bits_are_two_runs_and_exact():
    ids = [2**127 + 7, 2**127 + 8]
    report = grade(b"".join(record(0, session_id=each) + b"\n" for each in ids))
    assert [run["run_id"] for run in report.runs_table.to_pylist()] == [str(each) for each in ids]


def test_an_event_type_this_version_does_not_know_is_other_and_keeps_its_name():
    assert row(record(1, event_type="hologram"), "kind", "event_type") == ("other", "hologram")


def test_the_last_of_two_equal_keys_wins_and_the_key_is_named():
    data = record(1)[:-1] + b', "session_id": "first", "session_id": "second"}'
    assert row(data, "session_id") == ("second",)
    (example,) = grade(data + b"\n").ledger.entries["duplicate_key"].examples
    assert "session_id" in example.detail


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_record_over_several_lines_keeps_its_newlines_and_the_lines_behind_it_their_numbers(
    newline,
):
    data = record(1, agent_name="X").replace(
        b"X", f"one{newline}two{newline}{newline}four".encode()
    )
    found = rows(record(0), data, record(2), columns=["line", "agent"]).to_pylist()
    assert found == [
        {"line": 1, "agent": None},
        {"line": 2, "agent": f"one{newline}two{newline}{newline}four"},
        {"line": 6, "agent": None},
    ]


def handoff(output, content):
    """Two agents, the second handed a content, as lines."""
    response = {
        "event_type": "llm_response",
        "agent_name": "a",
        "data": {"response_content": output},
    }
    request = {
        "event_type": "llm_request",
        "agent_name": "b",
        "data": {"messages": [{"role": "user", "content": content}]},
    }
    return b"".join(json.dumps(each).encode() + b"\n" for each in (response, request))


WORDS = "alpha bravo charlie delta"


@pytest.mark.parametrize(
    ("output", "content", "lines"),
    [
        (WORDS, WORDS, []),
        (f"alpha bravo{CUT}delta echo", WORDS, [1]),
        (WORDS, f"alpha bravo{CUT}delta echo", [2]),
        (f"alpha{CUT}bravo", f"alpha{CUT}bravo", [1, 2]),
    ],
    ids=["neither", "the output", "the input", "both"],
)
def test_a_cut_text_is_scored_and_said(output, content, lines):
    report = grade(handoff(output, content))
    assert report.summary["handoff_score"] is not None
    entry = report.ledger.entries.get("cut_content")
    assert ([] if entry is None else [example.line for example in entry.examples]) == lines
    assert set(report.ledger.entries) <= {"cut_content"}
    assert report.ledger.count("doubt") == len(lines)


def test_a_cut_text_gives_the_score_that_the_reference_gives_it():
    cut = grade(handoff(f"alpha{CUT}bravo", f"alpha{CUT}bravo"))
    assert cut.summary["handoff_score"] == 10.0


def test_an_output_that_quotes_a_cut_is_not_cut():
    assert not grade(handoff(CUT.replace("\n", "\\n"), WORDS)).ledger.entries


def test_what_only_looks_like_a_cut_is_none():
    for text in (
        "... [50,123 chars] ...",
        "[50,123 chars, showing first/last portions]",
        "\n...\n",
    ):
        assert not grade(handoff(text, text)).ledger.entries
