"""The house: which module may import which. A new module is put into LAYERS, or this fails."""

import ast
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "tracestream"
MAX_LINES = 400

LAYERS = [
    "version errors schema quality results package harnesstrace",
    "jsontext structure members framings sources blocks frames spans writing ledgers lastrun",
    "dialects",
    "rows batches lazyframe spool",
    "kernels",
    "folds",
    "evaluators evalport overlaps scoring verdicts tables report grading inspection",
    "render cli",
    "tracestream __main__",
]
"""Lowest first. A module imports from its own layer and from those before it; a folder is one name."""

DOORS = {
    (
        "report",
        "render",
    ): "Report.write and its HTML in a notebook; imported only when they are called",
}
"""Imports against that order, and why."""


def layer_of(name):
    (layer,) = [at for at, names in enumerate(LAYERS) if name in names.split()]
    return layer


def modules():
    """Every module by its dotted name below the package."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "tracestream"] = path
    return found


MODULES = modules()


def imports_of(tree, names):
    """The modules of ours that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            full = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in full:
            if name == "tracestream" or name.startswith("tracestream."):
                parts = name.split(".")[1:]
                while parts and ".".join(parts) not in names:
                    parts.pop()
                yield ".".join(parts) or "tracestream"


IMPORTS = {
    name: set(imports_of(ast.parse(path.read_bytes()), MODULES)) - {name}
    for name, path in MODULES.items()
}


def test_imports_are_seen_wherever_they_stand():
    source = """
import os, tracestream.errors
from tracestream import batches, grade
from tracestream.cli import grade as command, main
from tracestreamer import nothing
if TYPE_CHECKING:
    from tracestream.report import Report
def function():
    if True:
        from tracestream.render.html import page
"""
    assert set(imports_of(ast.parse(source), {*MODULES, "cli.grade", "render.html"})) == {
        *("errors", "batches", "tracestream", "cli.grade", "cli", "report", "render.html"),
    }


def test_every_module_has_its_layer():
    names = {name.split(".")[0] for name in MODULES}
    assert names == set(" ".join(LAYERS).split())
    assert len(" ".join(LAYERS).split()) == len(names)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_from_its_layer_and_those_below(name):
    top = name.split(".")[0]
    for imported in IMPORTS[name]:
        other = imported.split(".")[0]
        assert layer_of(other) <= layer_of(top) or (top, other) in DOORS, (
            f"{name} imports {imported}"
        )


def test_no_door_stands_open_for_nothing():
    used = {
        (name.split(".")[0], other.split(".")[0]) for name in MODULES for other in IMPORTS[name]
    }
    assert set(DOORS) <= used
    for top, other in DOORS:
        assert layer_of(other) > layer_of(top)


def test_doors_are_not_passed_when_a_module_is_imported():
    for name, path in MODULES.items():
        body = ast.Module(chain.from_iterable(_run_at_import(ast.parse(path.read_bytes()))), [])
        passed = {(name.split(".")[0], other.split(".")[0]) for other in imports_of(body, MODULES)}
        assert not passed & set(DOORS), name


def _run_at_import(tree):
    """The statements of a module that are no functions, classes or types for a checker."""
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield [node]


def test_there_are_no_circles():
    graph = {}
    for name, others in IMPORTS.items():
        top = name.split(".")[0]
        graph[name] = {other for other in others if (top, other.split(".")[0]) not in DOORS}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names them


def test_no_module_imports_the_public_names():
    assert [name for name in MODULES if "tracestream" in IMPORTS[name]] == []


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_has_a_name_that_says_something_and_an_end(name):
    assert not {"util", "utils", "helper", "helpers", "common", "misc"} & set(
        name.strip("_").split(".")
    )
    assert len(MODULES[name].read_bytes().splitlines()) <= MAX_LINES
