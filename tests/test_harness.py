"""The four harness gates, held against the reference."""

from random import Random

import pytest
from praisonaiagents.eval.harness_eval import HarnessEvaluator as TheirEvaluator

from tracestream.kernels.harness import score_harness
from tracestream.results import HarnessResult

SCHEMA = {"read": {}}
HASH = TheirEvaluator({"tool_schema": SCHEMA}).run().schema_hash
SAME = (
    *("passed", "score", "tool_calls_sufficient", "schema_consistent", "judge_passed"),
    "missing_artifacts",
)


def test_equal_on_random_traces_and_gates():
    rng = Random(1)
    outcomes = set()
    for _ in range(2_000):
        calls, artifacts = rng.randrange(4), rng.sample("abc", rng.randrange(4))
        schema, judge = rng.choice([None, SCHEMA]), rng.choice([None, 0.0, 6.9, 7.0, float("nan")])
        required, least = rng.choices("abcd", k=rng.randrange(3)), rng.randrange(3)
        expected, threshold = rng.choice([None, HASH, "other"]), rng.choice([0.0, 7.0])
        theirs = TheirEvaluator(
            {
                **{"tool_calls": calls, "artifacts": artifacts, "tool_schema": schema},
                "judge_score": judge,
            },
            required,
            least,
            expected,
            threshold,
        ).run()
        ours = score_harness(
            calls,
            artifacts=artifacts,
            schema_hash=HASH if schema else None,
            judge_score=judge,
            required_artifacts=required,
            min_tool_calls=least,
            expected_schema_hash=expected,
            # The reference judges only what has a score; a gate of ours is asked for or not.
            judge_threshold=None if judge is None else threshold,
        )
        assert [
            *ours[:2],
            ours.tool_calls_sufficient,
            ours.schema_consistent,
            ours.judge_passed,
            list(ours.missing_artifacts),
        ] == [getattr(theirs, name) for name in SAME]
        outcomes.add(ours.score)
    assert outcomes == {0.0, 0.25, 0.5, 0.75, 1.0}


def test_a_judge_gate_without_a_judge_score_fails():
    assert score_harness(0, judge_threshold=0.0).judge_passed is False


def test_the_result_has_the_fields_and_keys_of_the_reference():
    theirs = TheirEvaluator({"tool_calls": 2}).run()
    ours = HarnessResult(**{name: getattr(theirs, name) for name in vars(theirs)})
    assert list(vars(ours)) == list(vars(theirs))
    assert list(ours.to_dict().items()) == list(theirs.to_dict().items())
    assert ours.overall_score == theirs.overall_score == pytest.approx(10.0)
