"""EvalPort, an open format for evaluation suites and their results: to it, from it."""

from tracestream.evalport.mapping import from_evalport, to_evalport
from tracestream.evalport.results import report_to_evalport

__all__ = ["from_evalport", "report_to_evalport", "to_evalport"]
