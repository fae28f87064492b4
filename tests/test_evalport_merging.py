import json
import math
import random
from itertools import permutations

import pytest

from tests import evalport
from tests.evalport import grader_result, result, result_set
from tracestream.errors import InputError
from tracestream.evalport.merging import Merger, Summary
from tracestream.evalport.validation import validate_value
from tracestream.sources import discover


def merge(folder, *documents, suffix=".json"):
    """The merged document of documents, and the merger."""
    paths = []
    for number, document in enumerate(documents):
        path = folder / f"{number}{suffix}"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        paths.append(str(path))
    merger = Merger(discover(paths))
    assert [found.faults for found in merger.survey()] == [[] for _ in documents]
    merged = json.loads(b"".join(merger.parts()))
    found = validate_value(merged, kind="resultset")
    assert found.is_valid, found.faults
    return merged, merger


def test_results_stand_in_the_order_of_the_parts(tmp_path):
    merged, _ = merge(tmp_path, *(result_set(result(name)) for name in "cab"))
    assert [each["test_case_id"] for each in merged["results"]] == ["c", "a", "b"]
    assert (merged["suite_id"], merged["run_id"]) == ("s", "r")


def test_results_are_copied_as_they_are(tmp_path):
    text = json.dumps(result("a")).replace("1.0", "1.00e0")
    document = json.dumps(result_set(result("x"))).replace(json.dumps(result("x")), text)
    (tmp_path / "a.json").write_text(document)
    merger = Merger(discover(str(tmp_path / "a.json")))
    list(merger.survey())
    assert text.encode() in b"".join(merger.parts())


def test_one_line_parts_and_yaml_parts_merge_too(tmp_path):
    big = result("a", metadata={"n": 10**30})
    first = json.dumps(result_set(big)) + "\n"
    (tmp_path / "b.yaml").write_text(json.dumps(result_set(result("b"))))
    (tmp_path / "a.json").write_text(first)
    merger = Merger(discover([str(tmp_path / name) for name in ("a.json", "b.yaml")]))
    assert all(found.is_valid for found in merger.survey())
    merged = json.loads(b"".join(merger.parts()))
    assert merged["results"] == [big, result("b")]


def test_times_are_the_earliest_and_the_latest_and_keep_their_text(tmp_path):
    merged, _ = merge(
        tmp_path,
        result_set(result("a"), started_at="2026-01-15T10:30:00Z"),
        result_set(
            result("b"),
            started_at="2026-01-15T11:00:00.5+02:00",
            completed_at="2026-01-15t11:30:00.123456789z",
        ),
        result_set(
            result("d"), started_at="2026-01-15T10:30:00Z", completed_at="0000-01-01T00:00:00Z"
        ),
        result_set(result("c"), completed_at="2016-12-31T23:59:60Z"),
    )
    assert merged["started_at"] == "2026-01-15T11:00:00.5+02:00"
    assert merged["completed_at"] == "2026-01-15t11:30:00.123456789z"


def test_metadata_is_kept_where_the_parts_agree(tmp_path):
    merged, merger = merge(
        tmp_path,
        result_set(result("a"), metadata={"same": [1], "other": 1, "one": 2}),
        result_set(result("b"), metadata={"same": [1], "other": 2}),
        result_set(result("c")),
    )
    assert merged["metadata"] == {"same": [1], "one": 2}
    assert merger.left_out == ["other"]
    assert "metadata" not in merge(tmp_path, result_set(result("a")))[0]


def test_fields_of_a_newer_minor_version_are_said_to_be_left_out(tmp_path):
    _, merger = merge(tmp_path, result_set(result("a"), version="1.2.0", signature="x"))
    assert merger.left_out == ["signature"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("suite_id", "t"),
        ("run_id", "q"),
        ("version", "1.0.0"),
        ("suite_version", "2"),
        ("isolation", "shared"),
        ("provider", {"model": "m"}),
        ("runner", {"name": "n"}),
    ],
)
def test_parts_of_another_run_are_refused(tmp_path, key, value):
    first = {"suite_version": "1", "isolation": "fresh", "provider": {}, "runner": {}}
    documents = result_set(result("a"), **first), result_set(result("b"), **{**first, key: value})
    with pytest.raises(InputError, match=f"its {key} is another") as caught:
        merge(tmp_path, *documents)
    assert caught.value.source.endswith("1.json")


def test_the_same_attempt_in_two_parts_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"0\.json and .*2\.json both .* attempt 1 .* 'a'"):
        merge(tmp_path, *(result_set(result(name)) for name in "aba"))
    merged, _ = merge(tmp_path, *(result_set(result("a", attempt=n)) for n in (1, 2)))
    assert len(merged["results"]) == 2


def test_a_part_that_is_not_valid_is_told_and_stops_nothing_by_itself(tmp_path):
    path = evalport.write(tmp_path / "a.json", result_set(result("a", score=7)))
    merger = Merger(discover(str(path)))
    (found,) = merger.survey()
    assert [each.pointer for each in found.faults] == ["/results/0/grader_results/0/score"]


def test_a_part_that_changes_meanwhile_is_refused(tmp_path):
    path = evalport.write(tmp_path / "a.json", result_set(result("a")))
    merger = Merger(discover(str(path)))
    list(merger.survey())
    evalport.write(path, result_set(result("a"), result("b")))
    with pytest.raises(InputError, match="changed while it was read"):
        list(merger.parts())


def test_a_stream_cannot_be_merged():
    with pytest.raises(InputError, match="can be read only once"):
        Merger(discover(b"{}"))


def test_a_summary_counts_as_the_spec_has_it():
    summary = Summary()
    summary.add({**result("a", duration_ms=2), "grader_results": [grader_result(score=0.5)]})
    summary.add(result("b", passed=False, score=0.1))
    summary.add({**result("c"), "grader_results": []})
    summary.add(
        {
            **result("d", passed=False),
            "grader_results": [
                grader_result("exact", None, False),
                grader_result("near", None, False),
            ],
        }
    )
    assert summary.to_dict() == {
        "total": 4,
        "passed": 2,
        "failed": 1,
        "skipped": 1,
        "pass_rate": 2 / 3,
        "avg_score": 0.3,
        "duration_ms": 2,
        "by_grader": {"exact": {"passed": 1, "failed": 1, "avg_score": 0.3}},
    }


def test_a_summary_of_nothing_scored_leaves_the_means_out():
    summary = Summary()
    summary.add(
        {**result("a", passed=False), "grader_results": [grader_result(score=None, passed=False)]}
    )
    assert summary.to_dict() == {
        "total": 1,
        "passed": 0,
        "failed": 0,
        "skipped": 1,
        "by_grader": {},
    }


def test_means_do_not_depend_on_the_order_of_parts(tmp_path):
    generator = random.Random(3)
    scores = [generator.random() for _ in range(1200)]
    parts = [
        result_set(*(result(f"{at}", score=scores[at]) for at in range(first, first + 400)))
        for first in (0, 400, 800)
    ]
    summaries = [merge(tmp_path, *order)[0]["summary"] for order in permutations(parts)]
    assert all(summary == summaries[0] for summary in summaries)
    assert summaries[0]["avg_score"] == math.fsum(scores) / 1200
