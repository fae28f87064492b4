"""What the pages show runs: the format's adapter page with its imports changed, and our own."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from openeval.validate import validate_result_set, validate_suite

ROOT = Path(__file__).parents[1]
SEED = ROOT.parent / "shared" / "seeds" / "evalport-adapter.txt"
THEIR_IMPORT = "from praisonaiagents.eval import"

# The page's code, in its order: each goes on from the one before.
SNIPPETS = [
    """
import json
from praisonaiagents import Agent
from praisonaiagents.eval import (
    EvalCase, EvalPackage, EvalSuite, HarnessEvaluator,
    to_evalport, report_to_evalport,
)

agent = Agent(name="Support", instructions="Answer support questions.")

package = EvalPackage(
    name="support_eval",
    cases=[EvalCase(name="refund", input="refund policy?", expected="30 days")],
)

evaluators = [HarnessEvaluator(trace={"tool_calls": 0}, name=c.name) for c in package.cases]
report = EvalSuite(evaluators=evaluators, name=package.name).run()

with open("suite.json", "w") as f:
    json.dump(to_evalport(package), f, indent=2)
with open("results.json", "w") as f:
    json.dump(report_to_evalport(report, run_id="ci-1"), f, indent=2)
""",
    """
from praisonaiagents.eval import report_to_evalport

result_set = report_to_evalport(report)   # report: EvalReport from a suite run
""",
    """
import json
from praisonaiagents.eval import report_to_evalport

result_set = report_to_evalport(report)   # report: EvalReport from a suite run
with open("results.json", "w") as f:
    json.dump(result_set, f, indent=2)
""",
    """
result_set = report_to_evalport(
    report,
    run_id="ci-build-1234",
    started_at="2026-09-30T00:00:00+00:00",
)
""",
    """
from praisonaiagents.eval import EvalCase, EvalPackage, to_evalport, from_evalport

package = EvalPackage(name="demo", cases=[EvalCase(name="c1", input="ping")])
restored = from_evalport(to_evalport(package))
assert restored.to_dict() == package.to_dict()
""",
    """
from praisonaiagents.eval import from_evalport, HarnessEvaluator, EvalSuite

package = from_evalport(external_suite_dict)   # from a Benchmark Hub / other harness
evaluators = [
    HarnessEvaluator(trace={"tool_calls": 1, "artifacts": ["out.txt"]}, name=case.name)
    for case in package.cases
]
report = EvalSuite(evaluators=evaluators, name=package.name).run(print_summary=True)
""",
    """
from praisonaiagents.eval import to_evalport, report_to_evalport
from openeval.validate import validate_suite, validate_result_set   # opt-in, install separately

suite = to_evalport(package)
result_set = report_to_evalport(report, run_id="ci-build-1234")

assert validate_suite(suite).valid
assert validate_result_set(result_set).valid
""",
    """
import json
from praisonaiagents.eval import EvalCase, EvalPackage, to_evalport

package = EvalPackage(
    name="math_eval",
    description="Basic math evaluation",
    cases=[EvalCase(name="addition", input="What is 2 + 2?", expected="4")],
    thresholds={"accuracy": 0.9},
)

suite = to_evalport(package)
print(json.dumps(suite, indent=2))
""",
    """
from praisonaiagents.eval import from_evalport, EvalSuite

suite_dict = {
    "id": "external_suite",
    "test_cases": [{"id": "greeting", "input": "Say hello", "graders": ["praisonai_verdict"]}],
}

package = from_evalport(suite_dict)
print(package.name, len(package))
""",
]


def run(code, names):
    code = code.replace(THEIR_IMPORT, "from tracestream import")
    code = code.replace("from praisonaiagents import Agent\n", "")
    exec(compile(code, "page", "exec"), names)


def test_the_code_of_the_page_runs_with_its_imports_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    external = {"id": "hub", "test_cases": [{"id": "a", "input": "ping", "graders": ["g"]}]}
    names = {"Agent": SimpleNamespace, "external_suite_dict": external}
    for code in SNIPPETS:
        run(code, names)
    assert validate_suite(json.loads((tmp_path / "suite.json").read_bytes())).valid
    written = json.loads((tmp_path / "results.json").read_bytes())
    assert validate_result_set(written).valid
    assert written["suite_id"] == "support_eval"
    assert written["results"] == [
        {
            "test_case_id": "refund",
            "passed": True,
            "grader_results": [
                {"grader_id": "praisonai_verdict", "type": "custom", "score": 1.0, "passed": True}
            ],
        }
    ]
    assert names["result_set"]["results"][0]["test_case_id"] == "a"
    out = capsys.readouterr().out
    assert "EvalSuite Results: support_eval" in out
    assert "EvalSuite Results: hub" in out
    assert out.endswith("external_suite 1\n")


def test_the_same_report_gives_the_same_document():
    names = {"Agent": SimpleNamespace}
    documents = []
    for _ in range(2):
        run(SNIPPETS[0].partition("with open")[0] + SNIPPETS[3], names)
        documents.append(json.dumps(names["result_set"]))
    assert documents[0] == documents[1]


@pytest.mark.skipif(not SEED.is_file(), reason="needs the folder ../shared")
def test_the_code_is_the_pages():
    page = SEED.read_text("utf-8")
    assert [code for code in SNIPPETS if code.strip() not in page] == []
    n_imports = len(re.findall(rf"^{THEIR_IMPORT}", page, re.MULTILINE))
    assert sum(THEIR_IMPORT in code for code in SNIPPETS) == n_imports


def test_the_code_of_our_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "evalport.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    for code in blocks:
        exec(compile(code, "evalport.md", "exec"), {})
    assert validate_result_set(json.loads((tmp_path / "results.json").read_bytes())).valid
