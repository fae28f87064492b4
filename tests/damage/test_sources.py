"""Sources that cannot be read, beside others that can: each is reported, the others are graded."""

import os

import pytest

from tests.damage.instances import record
from tracestream import grade, read_batches

LINE = record(0, agent_name="a") + b"\n"


def no_permission(path):
    path.write_bytes(LINE)
    path.chmod(0)


def vanished(path):
    path.symlink_to(path.with_name("nowhere"))


def loop(path):
    path.symlink_to(path.name)


def device(path):
    path.symlink_to("/dev/zero")


UNREADABLE = {
    each.__name__.replace("_", " "): each for each in (no_permission, vanished, loop, device)
}


@pytest.fixture
def folder(tmp_path):
    for name in ("a.jsonl", "z.jsonl"):
        (tmp_path / name).write_bytes(LINE)
    return tmp_path


@pytest.mark.parametrize("how", ["found", "named"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_source_is_reported_and_the_others_are_graded(folder, name, how):
    if name == "device" and how == "found":
        pytest.skip("in a folder only regular files are traces")
    path = folder / "m.jsonl"
    UNREADABLE[name](path)
    if name == "no permission" and os.access(path, os.R_OK):
        pytest.skip("this user may read every file")
    named = [str(folder / f"{letter}.jsonl") for letter in "amz"]
    source = str(folder) if how == "found" else named
    report = grade(source)
    assert [run["verdict"] for run in report.runs_table.to_pylist()] == [
        "pass",
        "ungradable",
        "pass",
    ]
    (run,) = [run for run in report.runs_table.to_pylist() if run["verdict"] == "ungradable"]
    assert run["source"] == str(path)
    assert "unreadable" in run["reasons"][0]
    reasons = report.ledger.to_dict()["reasons"]
    assert set(reasons) == {"unreadable_source"}
    assert (reasons["unreadable_source"]["class"], reasons["unreadable_source"]["count"]) == (
        "loss",
        1,
    )
    (example,) = reasons["unreadable_source"]["examples"]
    assert example["source"] == str(path)
    assert read_batches(source).read_all().num_rows == 2


def test_a_link_to_the_folder_itself_is_not_followed(folder):
    (folder / "again").symlink_to(folder)
    report = grade(str(folder))
    assert report.summary["runs"] == 2
    assert not report.ledger.entries


def test_an_empty_file_is_ungradable_and_neither_a_pass_nor_missing(folder):
    (folder / "m.jsonl").write_bytes(b"")
    report = grade(str(folder))
    verdicts = {run["source"]: run["verdict"] for run in report.runs_table.to_pylist()}
    assert verdicts.pop(str(folder / "m.jsonl")) == "ungradable"
    assert set(verdicts.values()) == {"pass"}
    assert not report.ledger.entries
