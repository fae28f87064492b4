"""What evaluators over runs in memory share: a name, an id, a place to keep the result."""

import json
import logging
import os
import uuid
from pathlib import Path
from typing import Any

from tracestream.results import strict
from tracestream.writing import atomic_write

logger = logging.getLogger(__name__)


class Evaluator:
    """What all evaluators share: an id, a name, and a place to keep the result.

    Args:
        name: Name of the evaluation; None or empty becomes ``eval_{eval_id}``.
        save_results_path: Where to write the result as JSON; ``{name}`` and ``{eval_id}`` in it are
            filled in and missing folders made. None or empty keeps nothing.
        verbose: Log the start, the end and the file written, at level INFO.

    Attributes:
        eval_id: The first 8 characters of a random UUID.
    """

    def __init__(
        self,
        name: str | None = None,
        save_results_path: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.eval_id = str(uuid.uuid4())[:8]
        self.name = name or f"eval_{self.eval_id}"
        self.save_results_path = save_results_path
        self.verbose = verbose

    def _log(self, message: str, *args: object) -> None:
        if self.verbose:
            logger.info(message, *args)

    def _save(self, result: Any) -> None:
        """Write a result to save_results_path, if there is one."""
        path = save_result(result, self.save_results_path, name=self.name, eval_id=self.eval_id)
        if path is not None:
            self._log("Saved results to: %s", path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, eval_id={self.eval_id!r})"


def save_result(
    result: Any, template: str | os.PathLike[str] | None, **names: object
) -> str | None:
    """Write a result as strict JSON and return where; a failure is logged and costs the run nothing.

    Args:
        result: What has a ``to_dict``.
        template: The path, with names in braces; missing folders are made. None or empty: nothing
            is written.
        **names: What the names in braces stand for.
    """
    if not template:
        return None
    try:
        path = os.fspath(template).format(**names)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, json.dumps(strict(result.to_dict(), default=str), indent=2).encode())
    except Exception as error:  # A bad path, a full disk, a bad placeholder: all the same here.
        logger.warning("Failed to save results: %s", error)
        return None
    return path
