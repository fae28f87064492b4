"""benchmarks/corpus.py: what it writes is what PraisonAI writes, and what its shapes claim."""

import argparse
import gzip
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from praisonaiagents.eval.context_eval import ContextEvaluator
from praisonaiagents.trace.context_events import ContextEvent

CORPUS = Path(__file__).parents[1] / "benchmarks" / "corpus.py"
spec = importlib.util.spec_from_file_location("corpus", CORPUS)
assert spec is not None
assert spec.loader is not None
corpus = importlib.util.module_from_spec(spec)
spec.loader.exec_module(corpus)

# Of every shape: enough runs for its claims, in a second at most.
SMALL: dict[str, dict[str, int]] = {
    "demo": {},
    "growing": {"size": 6_000_000, "runs": 10},
    "flat": {"size": 2_000_000, "runs": 10},
    "interleaved": {"size": 4_000_000, "runs": 80},
    "array": {"runs": 2},
    "array-pretty": {"runs": 2},
    "gz": {"size": 2_000_000, "runs": 4},
    "many-small": {"runs": 1_200},
}
DEMO_SHA256 = "ade9488ea46d9b70fe6560e60e6fc7002cfbc57f7df071156ac02421d86a5a46"
Event = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {shape: tmp_path_factory.mktemp("corpora") / shape for shape in SMALL}
    for shape, options in SMALL.items():
        corpus.generate(shape, folders[shape], **options)
    return folders


def contents(folder: Path) -> dict[str, bytes]:
    """Each file's decompressed bytes by its path."""
    return {
        str(path.relative_to(folder)): gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def records(data: bytes) -> list[bytes]:
    """The records of a file of lines; all but the torn one end in a line break."""
    assert b"\r" not in data
    return data.split(b"\n")[:-1]


def all_events(folder: Path) -> list[list[Event]]:
    """Each file's events, a torn record left out."""
    return [
        json.loads(data) if data.startswith(b"[") else [json.loads(line) for line in records(data)]
        for data in contents(folder).values()
    ]


def by_run(events: list[Event]) -> dict[str | None, list[Event]]:
    runs = defaultdict(list)
    for event in events:
        if event["agent_name"] is not None:
            runs[event.get("run_id")].append(event)
    return dict(runs)


def repeated_share(folder: Path) -> float:
    """How much of a corpus are the messages of an agent's request before, said again."""
    repeated = total = 0
    for events in all_events(folder):
        total += sum(len(json.dumps(event)) for event in events)
        for run in by_run(events).values():
            requests = defaultdict(list)
            for event in run:
                if event["event_type"] == "llm_request":
                    requests[event["agent_name"]].append(json.dumps(event["data"]["messages"])[:-1])
            for sent in requests.values():
                repeated += sum(len(a) for a, b in pairwise(sent) if b.startswith(a))
    return repeated / total


@pytest.mark.parametrize("shape", SMALL)
def test_same_seed_gives_same_files(shape: str, made: dict[str, Path], tmp_path: Path) -> None:
    corpus.library.cache_clear()
    corpus.generate(shape, tmp_path / "again", **SMALL[shape])
    digests = [
        {
            path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in (made[shape], tmp_path / "again")
    ]
    assert digests[0] == digests[1]


def test_demo_is_the_same_on_every_machine(made: dict[str, Path]) -> None:
    """A new digest means new corpora for everybody: change it only together with the generator."""
    digest = hashlib.sha256()
    for name, data in contents(made["demo"]).items():
        digest.update(f"{name} {len(data)}\n".encode() + data)
    assert digest.hexdigest() == DEMO_SHA256


def test_other_seed_gives_other_files(made: dict[str, Path], tmp_path: Path) -> None:
    corpus.generate("demo", tmp_path / "other", seed=1)
    ours, theirs = contents(made["demo"]), contents(tmp_path / "other")
    assert ours.keys() == theirs.keys()
    assert all(data != theirs[name] for name, data in ours.items())


@pytest.mark.parametrize("shape", [shape for shape in SMALL if "array" not in shape])
def test_records_are_what_the_reference_writes(shape: str, made: dict[str, Path]) -> None:
    for data in list(contents(made[shape]).values())[:20]:
        for line in records(data):
            event = ContextEvent.from_dict(json.loads(line))
            if line.isascii():
                assert line.decode() == event.to_json()
            else:
                assert line.decode() == json.dumps(event.to_dict(), ensure_ascii=False)


@pytest.mark.parametrize("shape", SMALL)
def test_sequence_numbers_and_parents_are_consistent(shape: str, made: dict[str, Path]) -> None:
    for events in all_events(made[shape])[:50]:
        assert [event["sequence_num"] for event in events] == list(range(len(events)))
        for event in events:
            assert event.get("parent_seq") is None or event["parent_seq"] < event["sequence_num"]
            if event["event_type"] in ("tool_call_end", "agent_end", "session_end"):
                start = events[event["parent_seq"]]
                assert start["event_type"] == event["event_type"].replace("_end", "_start")
                assert start["agent_name"] == event["agent_name"]


@pytest.mark.parametrize("shape", SMALL)
def test_size_is_within_a_tenth(shape: str, made: dict[str, Path]) -> None:
    options = SMALL[shape]
    asked = options.get("size") or options.get("runs", 24) * corpus.SHAPES[shape].run_bytes
    assert sum(map(len, contents(made[shape]).values())) == pytest.approx(asked, rel=0.1)


@pytest.mark.parametrize("shape", SMALL)
def test_number_of_runs_is_the_one_asked_for(shape: str, made: dict[str, Path]) -> None:
    runs = [run for events in all_events(made[shape]) for run in by_run(events)]
    assert len(runs) == SMALL[shape].get("runs", 24)


def test_demo_ends_in_compressed_array_and_torn_files(made: dict[str, Path]) -> None:
    files = {path.name: path.read_bytes() for path in made["demo"].iterdir()}
    special = {
        name: data
        for name, data in files.items()
        if not (name.endswith(".jsonl") and data.endswith(b"}\n"))
    }
    assert len(files) == 24
    assert sorted(special) == ["release-0021.jsonl.gz", "research-0022.json", "support-0023.jsonl"]
    with pytest.raises(json.JSONDecodeError):
        json.loads(special["support-0023.jsonl"].split(b"\n")[-1])


@pytest.mark.parametrize("shape", ["demo", "many-small"])
def test_handoffs_and_budgets_vary(shape: str, made: dict[str, Path]) -> None:
    handoffs, budgets = [], []
    for run in (run for events in all_events(made[shape]) for run in by_run(events).values()):
        requests = [event for event in run if event["event_type"] == "llm_request"]
        agents = list(dict.fromkeys(event["agent_name"] for event in requests))
        assert len(agents) >= 2
        ledger = [
            {
                "agent_name": agent,
                "used_tokens": max(e["tokens_used"] for e in requests if e["agent_name"] == agent),
                "budget_tokens": next(
                    e["tokens_budget"] for e in requests if e["agent_name"] == agent
                ),
            }
            for agent in agents
        ]
        result = ContextEvaluator(trace_events=run, agent_order=agents, budget_ledger=ledger)
        handoffs += result.evaluate_handoff()
        budgets += result.evaluate_budget()
    exact = [handoff for handoff in handoffs if handoff.context_relevance_score == 9.0]
    lost = [handoff for handoff in handoffs if handoff.content_loss_detected]
    partly = [handoff for handoff in handoffs if 5.0 <= handoff.context_passed_score < 10.0]
    assert min(len(exact), len(lost), len(partly)) >= len(handoffs) / 10
    assert all(budget.budget_tokens > 0 for budget in budgets)
    blown = [budget for budget in budgets if not budget.within_budget]
    assert 0.15 <= len(blown) / len(budgets) <= 0.45


def test_growing_repeats_most_of_its_bytes(tmp_path: Path) -> None:
    corpus.generate("growing", tmp_path / "usual", runs=1)
    assert 0.8 <= repeated_share(tmp_path / "usual") <= 0.9


def test_flat_repeats_nothing(made: dict[str, Path]) -> None:
    assert repeated_share(made["flat"]) == 0.0


@pytest.mark.parametrize("shape", ["growing", "flat"])
def test_seven_files_of_ten_are_escaped(shape: str, made: dict[str, Path]) -> None:
    files = contents(made[shape]).values()
    assert [data.isascii() for data in files].count(True) == 7
    assert all(rb"\u" in data for data in files if data.isascii())


def test_interleaved_is_one_file_of_runs_that_take_turns(made: dict[str, Path]) -> None:
    [events] = all_events(made["interleaved"])
    ids = [event["run_id"] for event in events if "run_id" in event]
    turns = sum(a != b for a, b in pairwise(ids))
    assert turns > 0.9 * len(ids)
    assert {event["session_id"] for event in events} == {"trace"}


def test_array_is_one_line(made: dict[str, Path]) -> None:
    [data] = contents(made["array"]).values()
    assert b"\n" not in data
    assert len(json.loads(data)) > 100


def test_pretty_array_is_indented_by_two(made: dict[str, Path]) -> None:
    [data] = contents(made["array-pretty"]).values()
    assert data.startswith(b'[\n  {\n    "schema_version": "1.1",\n')
    assert data.endswith(b"\n  }\n]\n")
    [plain], [pretty] = all_events(made["array"]), all_events(made["array-pretty"])
    assert pretty == plain


def test_gz_carries_no_name_and_no_time(made: dict[str, Path]) -> None:
    for path in made["gz"].iterdir():
        assert path.suffixes == [".jsonl", ".gz"]
        assert path.read_bytes()[3:8] == bytes(5)  # flags, then the time


def test_many_small_are_bare_files_of_two_kilobytes(made: dict[str, Path]) -> None:
    files = list(made["many-small"].rglob("*.jsonl"))
    assert sorted(path.name for path in made["many-small"].iterdir()) == ["000", "001"]
    assert len(files) == 1_200
    assert all(1_500 <= path.stat().st_size <= 3_000 for path in files)
    for path in files[:20]:
        events = [json.loads(line) for line in records(path.read_bytes())]
        assert [event["event_type"] for event in events] == ["llm_request", "llm_response"] * 2
        assert all("run_id" not in event for event in events)


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("64KB", 64_000), ("1.5GB", 1_500_000_000), ("256MiB", 256 << 20), ("7B", 7)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert corpus.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "big", "-1", "1TB", "1 GB", "KB"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no size"):
        corpus.parse_size(text)


def test_command_writes_a_corpus_and_never_over_another(tmp_path: Path) -> None:
    command = [sys.executable, str(CORPUS), "demo", str(tmp_path / "out"), "--runs", "4"]
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == f"{tmp_path / 'out'}: 0.2 MB of JSON\n"
    before = contents(tmp_path / "out")
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (second.returncode, second.stdout) == (2, "")
    assert "is not empty" in second.stderr
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("options", [{"runs": 0}, {"runs": -1}, {"size": 10_000, "runs": 9}])
def test_impossible_corpora_are_refused(options: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one run takes at least"):
        corpus.generate("growing", tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.parametrize("shape", ["growing", "flat", "interleaved", "array", "gz"])
def test_memory_does_not_grow_with_size(shape: str, tmp_path: Path) -> None:
    script = (
        "import resource, sys; sys.argv = sys.argv[1:]; import runpy; "
        "runpy.run_path(sys.argv[0], run_name='__main__'); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for size in ("200MB", "600MB"):
        out = tmp_path / size
        command = [sys.executable, "-c", script, str(CORPUS), shape, str(out), "--size", size]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(run.stdout.split()[-1]))
        shutil.rmtree(out)
    assert peaks[1] < 1.1 * peaks[0]
