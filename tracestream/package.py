"""An evaluation as data: the cases, the package they come in, what each gave, and the report.

Fields, their order, the defaults and the keys of ``to_dict`` are those of the reference
(praisonaiagents 1.7, ``eval/package.py``). A dict that is taken over is not copied.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracestream.errors import ConfigError


@dataclass
class EvalCase:
    """One thing to ask, and what to expect.

    Attributes:
        name: Which case; unique in its package.
        input: What is asked.
        expected: The answer hoped for; None if there is none.
        criteria: Names of what the answer is judged by.
        metadata: Whatever else is known.
        timeout_seconds: How long the answer may take.
        verify: A function that scores the answer; it stays in this process, no document holds it.

    Raises:
        ConfigError: The name or the input is empty.

    Example:
        >>> EvalCase(name="addition", input="What is 2 + 2?", expected="4").timeout_seconds
        30.0
    """

    name: str
    input: str
    expected: str | None = None
    criteria: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    timeout_seconds: float = 30.0
    verify: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("EvalCase must have a name\nHint: any text that is not empty.")
        if not self.input:
            raise ConfigError("EvalCase must have an input\nHint: any text that is not empty.")

    def to_dict(self) -> dict[str, Any]:
        """Return every field but `verify`, in their order."""
        return {name: value for name, value in vars(self).items() if name != "verify"}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "EvalCase":
        """Return the case that `to_dict` gave; all but name and input may be missing.

        Raises:
            ConfigError: The name or the input is missing or empty.
        """
        return cls(
            name=_required(data, "name", cls),
            input=_required(data, "input", cls),
            expected=data.get("expected"),
            criteria=data.get("criteria", []),
            metadata=data.get("metadata", {}),
            timeout_seconds=data.get("timeout_seconds", 30.0),
        )


@dataclass
class EvalResult:
    """What one case gave.

    Attributes:
        case_name: Which case.
        passed: Whether it passed.
        score: 0..1.
        actual_output: The answer; None if there is none.
        error: What went wrong, in words; None if nothing did.
        latency_ms: How long the answer took; None if nobody measured it.
        criteria_scores: A score, 0..1, per criterion.
        record: What happened on the way, such as messages and tool calls.

    Example:
        >>> EvalResult("addition", passed=True, score=1.0).to_dict()["latency_ms"]
        0.0
    """

    case_name: str
    passed: bool
    score: float
    actual_output: str | None = None
    error: str | None = None
    latency_ms: float | None = 0.0
    criteria_scores: dict[str, float] = field(default_factory=dict)
    record: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, in their order."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "EvalResult":
        """Return the result that `to_dict` gave; all but the first three fields may be missing.

        Raises:
            ConfigError: One of the first three fields is missing.
        """
        return cls(
            case_name=_required(data, "case_name", cls),
            passed=_required(data, "passed", cls),
            score=_required(data, "score", cls),
            actual_output=data.get("actual_output"),
            error=data.get("error"),
            latency_ms=data.get("latency_ms", 0.0),
            criteria_scores=data.get("criteria_scores", {}),
            record=data.get("record"),
        )


@dataclass
class EvalReport:
    """What a package gave: counts, the mean score, and a result per case.

    Attributes:
        package_name: Which package.
        total_cases: Cases run.
        passed_cases: Those that passed.
        failed_cases: Those that did not.
        average_score: Mean score of the cases, 0..1.
        results: One per case.
        thresholds_met: Whether each threshold of the package was reached.

    Example:
        >>> report = EvalReport("math", 4, 3, 1, 0.8)
        >>> report.pass_rate, report.all_passed
        (0.75, False)
    """

    package_name: str
    total_cases: int
    passed_cases: int
    failed_cases: int
    average_score: float
    results: list[EvalResult] = field(default_factory=list)
    thresholds_met: dict[str, bool] = field(default_factory=dict)

    @property
    def pass_rate(self) -> float:
        """Share of the cases that passed, 0..1; 0.0 without cases."""
        return self.passed_cases / self.total_cases if self.total_cases else 0.0

    @property
    def all_passed(self) -> bool:
        """Whether no case failed, which is so without cases."""
        return self.failed_cases == 0

    def to_dict(self) -> dict[str, Any]:
        """Return counts, means and every result, as plain dicts and lists."""
        return {
            "package_name": self.package_name,
            "total_cases": self.total_cases,
            "passed_cases": self.passed_cases,
            "failed_cases": self.failed_cases,
            "average_score": self.average_score,
            "pass_rate": self.pass_rate,
            "thresholds_met": self.thresholds_met,
            "results": [result.to_dict() for result in self.results],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "EvalReport":
        """Return the report that `to_dict` gave; results and thresholds may be missing.

        Raises:
            ConfigError: The name, a count, the mean, or a field that a result needs is missing.
        """
        return cls(
            package_name=_required(data, "package_name", cls),
            total_cases=_required(data, "total_cases", cls),
            passed_cases=_required(data, "passed_cases", cls),
            failed_cases=_required(data, "failed_cases", cls),
            average_score=_required(data, "average_score", cls),
            results=[EvalResult.from_dict(result) for result in data.get("results", [])],
            thresholds_met=data.get("thresholds_met", {}),
        )


@dataclass
class EvalPackage:
    """Cases that belong together, with what counts as good enough.

    Attributes:
        name: Which package.
        description: What it is for.
        version: Its version, not that of any format.
        cases: The cases.
        thresholds: A number to reach per measure, such as ``{"accuracy": 0.9}``.
        seed: For runs that shall come out the same; None if there is none.

    Raises:
        ConfigError: The name is empty.

    Example:
        >>> package = EvalPackage("math", cases=[EvalCase("addition", "What is 2 + 2?")])
        >>> package.add_case(EvalCase("root", "What is the root of 9?"))
        >>> len(package)
        2
    """

    name: str
    description: str = ""
    version: str = "1.0.0"
    cases: list[EvalCase] = field(default_factory=list)
    thresholds: dict[str, float] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("EvalPackage must have a name\nHint: any text that is not empty.")

    def add_case(self, case: EvalCase) -> None:
        """Put a case at the end."""
        self.cases.append(case)

    def add_cases(self, cases: Iterable[EvalCase]) -> None:
        """Put several cases at the end, in their order."""
        self.cases.extend(cases)

    def __len__(self) -> int:
        return len(self.cases)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in their order, and every case, as plain dicts and lists."""
        return {
            "name": self.name,
            "description": self.description,
            "version": self.version,
            "cases": [case.to_dict() for case in self.cases],
            "thresholds": self.thresholds,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "EvalPackage":
        """Return the package that `to_dict` gave; all but the name may be missing.

        Raises:
            ConfigError: The name, or the name or input of a case, is missing or empty.
        """
        return cls(
            name=_required(data, "name", cls),
            description=data.get("description", ""),
            version=data.get("version", "1.0.0"),
            cases=[EvalCase.from_dict(case) for case in data.get("cases", [])],
            thresholds=data.get("thresholds", {}),
            seed=data.get("seed"),
        )


def _required(data: object, key: str, cls: type) -> Any:
    if not isinstance(data, Mapping):
        raise ConfigError(
            f"{cls.__name__} is made of a mapping, not of a {type(data).__name__}\n"
            "Hint: give what its to_dict() returns."
        )
    if key not in data:
        raise ConfigError(f"{cls.__name__} needs {key!r}\nHint: give what its to_dict() returns.")
    return data[key]
