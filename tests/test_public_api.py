import inspect
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import tracestream

API = Path(__file__).parents[1] / "docs" / "api.md"
HEAVY = ["pyarrow", "polars", "msgspec", "orjson", "zlib_ng", "numpy", "numba", "typer", "rich"]


def documented():
    """The names in the first column of the tables."""
    return re.findall(r"^\| *`(\w+)[^`]*` *\|", API.read_text("utf-8"), re.MULTILINE)


def test_the_public_names_are_those_documented():
    assert sorted(documented()) == sorted(tracestream.__all__)


def test_public_names_are_sorted_and_each_is_there_once():
    names = tracestream.__all__
    assert names == sorted(set(names))


@pytest.mark.parametrize("name", tracestream.__all__)
def test_a_public_name_is_there_and_says_what_it_is(name):
    value = getattr(tracestream, name)
    assert name in dir(tracestream)
    if name != "__version__":
        first = inspect.getdoc(value).splitlines()[0]
        assert first.endswith((".", ":"))
        assert value.__module__.startswith("tracestream.")


def test_a_checker_sees_the_names_that_are_imported_lazily():
    text = inspect.getsource(tracestream)
    block = text[text.index("if TYPE_CHECKING:") : text.index("_HOMES = ")]
    imports = re.findall(r"from tracestream\.(\w+) import (?:\(([^)]*)\)|([^\n]*))", block)
    homes = {name: home for home, many, few in imports for name in re.findall(r"\w+", many or few)}
    assert homes == tracestream._HOMES
    assert sorted([*homes, "__version__"]) == sorted(tracestream.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'tracestream' has no attribute 'nope'"):
        _ = tracestream.nope


def imported_after(code):
    """Which heavy modules a fresh interpreter has imported after some code."""
    code += f"; import sys; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import tracestream", []),
        ("import tracestream; tracestream.__version__, dir(tracestream)", []),
        ("from tracestream import InputError, ConfigError, ContextEvalResult", []),
        ("from tracestream import ContextEvaluator", []),
        ("from tracestream import EvalPackage, EvalSuite, report_to_evalport, to_evalport", []),
    ],
)
def test_importing_costs_next_to_nothing(code, expected):
    assert imported_after(code) == expected


@pytest.mark.parametrize("name", ["read_batches", "grade"])
def test_reading_imports_no_polars(name):
    code = f'import tracestream; tracestream.{name}(b\'{{"event_type": "output"}}\')'
    assert "polars" not in imported_after(code)


def test_the_version_is_that_of_the_package():
    try:
        installed = version("tracestream")
    except PackageNotFoundError:
        pytest.skip("tracestream runs from the checkout and is not installed")
    assert tracestream.__version__ == installed


def test_errors_are_a_tree():
    def tree(error):
        children = [
            each for each in error.__subclasses__() if each.__module__.startswith("tracestream.")
        ]
        return {child.__name__: tree(child) for child in children}

    known = {
        "InputError": {"FrameError": {}, "DialectError": {"UnknownDialectError": {}}},
        "ConfigError": {},
        "SchemaError": {},
        "EvalPortError": {},
    }
    assert tree(tracestream.TraceStreamError) == known
    assert issubclass(tracestream.InputError, ValueError)
    assert issubclass(tracestream.ConfigError, ValueError)
    error = tracestream.FrameError("words", source="a", line=1, offset=2)
    assert (str(error), error.source, error.line, error.offset) == ("words", "a", 1, 2)


def test_no_module_has_the_name_of_a_public_name():
    """Importing a module sets it in its package under its name, over what is exported there."""
    modules = {path.stem for path in Path(tracestream.__file__).parent.iterdir()}
    assert modules.isdisjoint(tracestream.__all__)
