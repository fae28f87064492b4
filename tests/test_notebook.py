"""The notebook runs, shows what it says, and its stored outputs are those of a run.

`python tests/test_notebook.py` runs it and stores what comes out. Cells are run in order in one
namespace, without Jupyter; a last line that is an expression is shown as Jupyter shows it, as text.
"""

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebooks" / "overlap.ipynb"

Cell = dict[str, Any]


def read() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return document


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def run_cell(cell: Cell, number: int, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a code cell; return its outputs, in the notebook format."""
    tree = ast.parse("".join(cell["source"]), f"{NOTEBOOK.name}, cell {number}")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"{NOTEBOOK.name}, cell {number}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown = compile(ast.Expression(last.value), f"{NOTEBOOK.name}, cell {number}", "eval")
            value = eval(shown, namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = lines(printed.getvalue())
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        outputs.append(
            {
                "data": {"text/plain": lines(repr(value))},
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def run(document: dict[str, Any]) -> dict[str, Any]:
    """Run all code cells of a notebook, storing their outputs in it; return the variables."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    with pl.Config(restore_defaults=True):
        for number, cell in enumerate(code, 1):
            cell["outputs"] = run_cell(cell, number, namespace)
            cell["execution_count"] = number
    document["metadata"]["polars"] = pl.__version__
    return namespace


def write(document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True)
    NOTEBOOK.write_text(text + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return read()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return read()


@pytest.fixture(scope="module")
def variables(document: dict[str, Any]) -> dict[str, Any]:
    return run(document)


def test_overlap_of_the_scanned_columns_is_what_grade_says(variables: dict[str, Any]) -> None:
    scored, graded = variables["scored"], variables["graded"]
    assert scored["score"].to_list() == [10.0, 8.0, 10.0, 2.0]
    assert scored["exact"].to_list() == [True, False, True, False]
    assert scored["shared_tokens"].to_list() == [None, 4, None, 0]
    assert scored.rows() == graded.rows()


def test_lost_words_are_named(variables: dict[str, Any]) -> None:
    assert variables["lost"][:3] == ["2024", "breaker", "deployed"]


def test_events_are_counted_by_agent(variables: dict[str, Any]) -> None:
    assert dict(variables["counts"].select("agent", "events").iter_rows())["writer"] == 4


def test_stored_outputs_are_those_of_a_run(
    stored: dict[str, Any], document: dict[str, Any], variables: dict[str, Any]
) -> None:
    version = stored["metadata"]["polars"]
    if version != pl.__version__:
        pytest.skip(f"outputs were stored with polars {version}; another prints tables its own way")
    for cell, fresh in zip(stored["cells"], document["cells"], strict=True):
        assert cell.get("outputs") == fresh.get("outputs"), "run python tests/test_notebook.py"


def test_notebook_is_of_the_format_jupyter_reads(stored: dict[str, Any]) -> None:
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 4)
    assert stored["metadata"]["kernelspec"]["name"] == "python3"
    for cell in stored["cells"]:
        extra = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "metadata", "source"} | extra
        assert all(line.endswith("\n") for line in cell["source"][:-1])


if __name__ == "__main__":
    refreshed = read()
    run(refreshed)
    write(refreshed)
