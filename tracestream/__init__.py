"""Grade AI-agent trace logs: gigabytes of JSONL or JSON arrays, many runs, no model call.

Names are imported when they are first used, so that importing tracestream costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracestream.version import __version__

if TYPE_CHECKING:
    from tracestream.batches import read_batches
    from tracestream.errors import (
        ConfigError,
        DialectError,
        EvalPortError,
        FrameError,
        InputError,
        SchemaError,
        TraceStreamError,
        UnknownDialectError,
    )
    from tracestream.evalport import from_evalport, report_to_evalport, to_evalport
    from tracestream.evaluators import (
        ContextEvaluator,
        EvalSuite,
        HarnessEvaluator,
        harness_row_to_eval_case,
    )
    from tracestream.grading import grade
    from tracestream.lastrun import (
        last_run_pointer_path,
        load_last_run_pointer,
        record_completed_run,
    )
    from tracestream.lazyframe import scan
    from tracestream.overlaps import overlap
    from tracestream.package import EvalCase, EvalPackage, EvalReport, EvalResult
    from tracestream.report import Report
    from tracestream.results import (
        BudgetComplianceResult,
        ContextEvalResult,
        ContextHandoffResult,
        HarnessResult,
    )

_HOMES = {
    "read_batches": "batches",
    "scan": "lazyframe",
    "overlap": "overlaps",
    "ConfigError": "errors",
    "DialectError": "errors",
    "EvalPortError": "errors",
    "FrameError": "errors",
    "InputError": "errors",
    "SchemaError": "errors",
    "TraceStreamError": "errors",
    "UnknownDialectError": "errors",
    "from_evalport": "evalport",
    "report_to_evalport": "evalport",
    "to_evalport": "evalport",
    "ContextEvaluator": "evaluators",
    "EvalSuite": "evaluators",
    "HarnessEvaluator": "evaluators",
    "harness_row_to_eval_case": "evaluators",
    "grade": "grading",
    "last_run_pointer_path": "lastrun",
    "load_last_run_pointer": "lastrun",
    "record_completed_run": "lastrun",
    "EvalCase": "package",
    "EvalPackage": "package",
    "EvalReport": "package",
    "EvalResult": "package",
    "Report": "report",
    "BudgetComplianceResult": "results",
    "ContextEvalResult": "results",
    "ContextHandoffResult": "results",
    "HarnessResult": "results",
}
"""Each public name, and the module it lives in."""

__all__ = [
    "BudgetComplianceResult",
    "ConfigError",
    "ContextEvalResult",
    "ContextEvaluator",
    "ContextHandoffResult",
    "DialectError",
    "EvalCase",
    "EvalPackage",
    "EvalPortError",
    "EvalReport",
    "EvalResult",
    "EvalSuite",
    "FrameError",
    "HarnessEvaluator",
    "HarnessResult",
    "InputError",
    "Report",
    "SchemaError",
    "TraceStreamError",
    "UnknownDialectError",
    "__version__",
    "from_evalport",
    "grade",
    "harness_row_to_eval_case",
    "last_run_pointer_path",
    "load_last_run_pointer",
    "overlap",
    "read_batches",
    "record_completed_run",
    "report_to_evalport",
    "scan",
    "to_evalport",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracestream' has no attribute {name!r}")
    value = getattr(import_module(f"tracestream.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
