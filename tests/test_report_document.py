"""The report document: each run, the head, its schema, and that its bytes are always the same."""

import hashlib
import io
import json
import os

import pytest

from tests.documents import graded, jsonl, response, schema
from tests.reports import ALL, HANDED_ON, IDLE, LOST, TOOLS, of
from tracestream import ContextEvaluator, grade
from tracestream.quality import REASONS
from tracestream.report import REPORT_SCHEMA
from tracestream.schema import PUBLISHED, RUNS, json_schema
from tracestream.version import __version__

# ---- run documents ----


def test_context_is_what_the_evaluator_gives():
    (run,) = graded(of(*LOST))["runs"]
    budget = {"agent_name": "b", "used_tokens": 150, "budget_tokens": 100}
    expected = ContextEvaluator(list(LOST), ["a", "b"], [budget]).run().to_dict()
    expected |= {"eval_id": run["context"]["eval_id"], "name": "<bytes>#lossy"}
    assert json.dumps(run["context"]) == json.dumps(expected)


@pytest.mark.parametrize("name", ["<bytes>#good", "日本"])
def test_eval_id_is_made_of_the_name_of_the_run(name):
    stream = io.BytesIO(jsonl(*HANDED_ON) if "#" in name else jsonl(response("a", "x")))
    stream.name = name.partition("#")[0]
    (run,) = graded(grade(stream))["runs"]
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    for part in ("context", "harness"):
        assert (run[part]["eval_id"], run[part]["name"]) == (digest, name)


def test_a_run_without_handoffs_and_budgets_has_the_seeds_zeros():
    report = of(*TOOLS)
    (run,) = graded(report)["runs"]
    for name in ("handoff_score", "budget_score", "overall_score"):
        assert run["context"][name] == 0.0
        assert report.runs[name].to_list() == [None]
    assert (run["context"]["handoffs"], run["context"]["budgets"]) == ([], [])


def test_every_gradable_run_has_context_harness_and_usage():
    runs = graded(of(*ALL))["runs"]
    for run in runs[:4]:
        assert run["verdict"] == "pass"
        assert all(run[part] for part in ("context", "harness", "usage"))
    assert [run["harness"]["tool_call_count"] for run in runs[:4]] == [0, 0, 0, 2]
    assert runs[2]["usage"] == {"input_tokens": 7, "output_tokens": 5, "cost_usd": 0.25}


def test_an_ungradable_run_has_neither_context_nor_harness_nor_usage():
    report = of(*IDLE)
    (run,) = graded(report)["runs"]
    assert (run["context"], run["harness"], run["usage"]) == (None, None, None)
    assert run["reasons"] == ["no request, response, tool call or budget"]
    scores = RUNS.names[RUNS.names.index("handoff_score") : RUNS.names.index("events")]
    assert [report.runs[name].to_list() for name in scores] == [[None]] * len(scores)


def test_harness_says_what_was_asked_and_what_is_missing():
    (run,) = graded(of(*TOOLS, min_tool_calls=3, require_artifacts=["b", "a", "b"]))["runs"]
    assert run["harness"] | {"eval_id": "", "name": ""} == {
        "eval_id": "",
        "name": "",
        "passed": False,
        "score": 0.5,
        "tool_call_count": 2,
        "tool_calls_sufficient": False,
        "schema_hash": None,
        "schema_consistent": True,
        "artifacts_complete": False,
        "missing_artifacts": ["b", "a", "b"],
        "judge_score": None,
        "judge_passed": True,
        "metadata": {"required_artifacts": ["b", "a", "b"]},
    }
    assert run["reasons"][:2] == ["tool_calls 2 < 3", "this trace records no artifacts"]


def test_rows_of_a_run_never_get_to_another_of_the_same_name(tmp_path, monkeypatch):
    """A file may be called what the run of another file is."""
    monkeypatch.chdir(tmp_path)
    bare = [{k: v for k, v in event.items() if k != "run_id"} for event in LOST]
    (tmp_path / "a").write_bytes(jsonl(*HANDED_ON))
    (tmp_path / "a#good").write_bytes(jsonl(*bare))
    runs = graded(grade(["a", "a#good"]))["runs"]
    assert [run["run"] for run in runs] == ["a#good", "a#good (2)"]
    assert [run["source"] for run in runs] == ["a", "a#good"]
    scores = [[h["context_passed_score"] for h in run["context"]["handoffs"]] for run in runs]
    assert scores == [[10.0], [2.0]]
    assert [len(run["context"]["budgets"]) for run in runs] == [0, 1]


def test_a_run_is_named_after_its_source_and_its_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(jsonl(response("a", "x", "50%#1"), response("a", "x", "2")))
    (tmp_path / "b.jsonl").write_bytes(jsonl(response("a", "x")))
    runs = graded(grade(["a.jsonl", "b.jsonl"]))["runs"]
    assert [run["run"] for run in runs] == ["a.jsonl#50%25%231", "a.jsonl#2", "b.jsonl"]
    assert [run["run_id"] for run in runs] == ["50%#1", "2", None]


def test_runs_are_in_the_order_of_sources_then_of_first_events(tmp_path):
    events = [response("a", "x", run) for run in ("z", "m", "z", "a", "m")]
    for name in ("b", "a"):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl(*events))
    report = grade([tmp_path / "b.jsonl", tmp_path / "a.jsonl"])
    assert [run["run_id"] for run in graded(report)["runs"]] == ["z", "m", "a"] * 2
    offsets = report.runs["first_offset"].to_list()
    assert offsets == sorted(offsets[:3]) * 2
    assert [source[-7] for source in report.runs["source"]] == ["b"] * 3 + ["a"] * 3
    assert [run["source"] for run in graded(grade(tmp_path))["runs"]] == sorted(
        report.runs["source"]
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the source is empty"),
        (b"\n\n", "no event could be read"),
        (b'{"unknown": 1}\n', "unknown format: first keys: unknown; known dialects: "),
        (b"\x00\x01\x02", "unknown format: "),
    ],
)
def test_a_source_without_an_event_is_one_ungradable_run(data, reason):
    (run,) = graded(grade([io.BytesIO(data), io.BytesIO(jsonl(*HANDED_ON))]))["runs"][:1]
    assert (run["verdict"], run["source"]) == ("ungradable", "<stream>")
    assert run["reasons"][0].startswith(reason)


def test_a_source_that_cannot_be_read_is_one_ungradable_run(tmp_path):
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "gone.jsonl").symlink_to("nowhere")
    report = grade([tmp_path / "gone.jsonl", jsonl(*HANDED_ON)])
    run = graded(report)["runs"][0]
    assert run["verdict"] == "ungradable"
    assert run["reasons"][0].startswith("unreadable: ")
    assert report.exit_code == 0


# ---- what is in it, and what is not ----


def test_the_head_says_what_graded_and_how():
    document = graded(of(*HANDED_ON))
    assert list(document) == [
        *("schema", "version", "scoring", "options", "summary", "problems", "quality", "runs")
    ]
    head = [document[name] for name in ("schema", "version", "scoring")]
    assert head == [REPORT_SCHEMA, __version__, "praisonai/1"]


def test_options_hold_what_can_change_a_score_or_a_verdict_and_nothing_else():
    plain = graded(of(*HANDED_ON))["options"]
    assert list(plain) == list(schema("report")["$defs"]["options"]["properties"])
    assert not {"jobs", "memory", "engine", "progress", "strict", "on_error"} & set(plain)
    other = {"strict": True, "batch_rows": 1, "block_bytes": 7, "progress": lambda *heard: None}
    assert of(*HANDED_ON, **other).to_json() == of(*HANDED_ON).to_json()
    asked = graded(of(*HANDED_ON, min_score=5, agents=("a", "b"), usage="total"))["options"]
    assert asked == {**plain, "min_score": 5.0, "agents": ["a", "b"], "usage": "total"}


def test_quality_of_the_document_is_the_ledger():
    data = jsonl(*HANDED_ON) + b"not JSON\n" * 7
    report = grade(data)
    quality = graded(report)["quality"]
    assert (quality["records"], quality["skipped"], quality["bytes_dropped"]) == (2, 7, 56)
    assert list(quality["reasons"]) == ["malformed_record"]
    entry = quality["reasons"]["malformed_record"]
    assert (entry["class"], entry["count"], len(entry["examples"])) == ("loss", 7, 5)
    assert [e["line"] for e in entry["examples"]] == [3, 4, 5, 6, 7]
    assert report.quality.to_dicts() == [
        {"reason": "malformed_record", "class": "loss", "count": 7, **example}
        for example in entry["examples"]
    ]


def test_the_schema_knows_every_reason():
    names = schema("report")["$defs"]["quality"]["properties"]["reasons"]["propertyNames"]
    assert names["enum"] == list(REASONS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_written_schemas_are_those_of_the_code(name):
    """`python -m tracestream.schema --write schemas/` was run."""
    assert schema(name) == json_schema(name)


def test_the_schema_of_the_report_leaves_nothing_open():
    def objects(part):
        if isinstance(part, dict):
            if part.get("type") == "object" and "properties" in part:
                yield part
            for value in part.values():
                yield from objects(value)
        if isinstance(part, list):
            for value in part:
                yield from objects(value)

    found = list(objects(schema("report")))
    assert len(found) == 14
    for part in found:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


# ---- the same bytes ----


def corpus(folder):
    """Write traces of every kind of run, with damage, and one name that is no UTF-8."""
    (folder / "traces" / "deep").mkdir(parents=True)
    (folder / "traces" / "a.jsonl").write_bytes(jsonl(*ALL) + b"not JSON\n")
    (folder / "traces" / "deep" / "b.jsonl").write_bytes(jsonl(*LOST))
    (folder / "traces" / "c.json").write_bytes(b"{}")
    with open(os.path.join(os.fsencode(folder), b"traces", b"caf\xe9.jsonl"), "wb") as file:
        file.write(jsonl(*HANDED_ON))


OPTIONS = {"min_score": 6, "budget": {"*": 10, "a": 3}, "agents": ["a", "b"], "usage": "total"}


def test_the_same_corpus_graded_twice_gives_the_same_bytes(tmp_path, monkeypatch):
    corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    report = grade("traces", **OPTIONS)
    assert len(graded(report)["runs"]) == 8
    assert grade("traces", **OPTIONS).to_json() == report.to_json()


def test_another_working_folder_with_the_same_relative_paths_gives_the_same_bytes(
    tmp_path, monkeypatch
):
    given = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        corpus(tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        given.append(grade("traces", **OPTIONS).to_json())
    assert given[0] == given[1]
    assert str(tmp_path).encode() not in given[0]


def test_shuffled_file_times_give_the_same_bytes(tmp_path, monkeypatch):
    corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = grade("traces", **OPTIONS).to_json()
    files = sorted(path for path in (tmp_path / "traces").rglob("*") if path.is_file())
    for number, path in enumerate(reversed(files)):
        os.utime(path, (1_000_000_000 - number, 2_000_000_000 + number))
    assert grade("traces", **OPTIONS).to_json() == before


@pytest.mark.parametrize("options", [{"batch_rows": 1}, {"block_bytes": 3}, {"batch_rows": 2}])
def test_how_it_was_read_does_not_change_the_bytes(tmp_path, monkeypatch, options):
    corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert grade("traces", **options).to_json() == grade("traces").to_json()
