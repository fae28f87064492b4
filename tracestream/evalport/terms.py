"""The words of the mapping to EvalPort, each once.

They are the reference's (praisonaiagents 1.7, ``eval/evalport.py``) and stay so, whoever writes the
document: they are how a reader finds what a package or a report has and EvalPort has no place for.
Only the runner, which says who wrote it, is ours.
"""

SPEC_VERSION = "1.0.0-rc.5"
"""Version of the spec that documents are written for. Source: the spec's own version field."""

NAMESPACE = "praisonai"
"""Key in a metadata object under which fields stand that EvalPort has no place for. Source: the reference."""

VERDICT_GRADER = "praisonai_verdict"
"""Id of the grader that carries a case's own verdict and score. Source: the reference."""

VERDICT_DESCRIPTION = "PraisonAI per-case verdict (EvalResult.passed/score)"
"""What the verdict grader says of itself. Source: the reference."""

CRITERION_DESCRIPTION = "PraisonAI criterion: {}"
"""What a criterion's grader says of itself. Source: the reference."""

GRADER_TYPE = "custom"
"""Type of all these graders: one that a handler knows. Source: the spec's list of grader types."""

HANDLER = "praisonaiagents.eval"
"""Who can run these graders. Source: the reference."""

RAW_SCORE = "openeval.raw_score"
"""Metadata key of a score as it was before it was brought to 0..1. Source: the spec's reserved keys."""

COST = "openeval.cost"
"""Metadata key of a result's tokens and cost. Source: the spec's reserved keys."""

AGGREGATION_STATUS = "openeval.aggregation_status"
"""Metadata key of a result that no grader gave a score. Source: the spec's reserved keys."""

UNSCORED = "unscored"
"""What stands there. Source: the spec."""

ERROR_TYPE = "runner_error"
"""Type of the error of a case that could not be run to its end. Source: the spec's list of error types."""

RUNNER = "tracestream"
"""Who wrote a result set: also the handler of our graders, and the key under which our own metadata stand."""
