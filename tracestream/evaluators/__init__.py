"""Evaluators over runs in memory, with the seed's constructors, methods and numbers.

They meet the same kernels as the grading of files: one scorer, two doors.
"""

from tracestream.evaluators.base import Evaluator
from tracestream.evaluators.context import ContextEvaluator
from tracestream.evaluators.harness import HarnessEvaluator, harness_row_to_eval_case
from tracestream.evaluators.suite import EvalSuite

__all__ = [
    "ContextEvaluator",
    "EvalSuite",
    "Evaluator",
    "HarnessEvaluator",
    "harness_row_to_eval_case",
]
