"""Every form of a report, every refusal, and that a target is whole or untouched."""

import ctypes
import io
import os
import stat
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.documents import jsonl, response
from tests.reports import SUFFIXES, content, sample_report, written
from tracestream import ConfigError, grade
from tracestream.render import outputs
from tracestream.render.outputs import FORMS, check_outputs, write_report
from tracestream.report import Report


@pytest.fixture
def report():
    return sample_report()


# ---- whole or untouched ----


def fail_late(monkeypatch, suffix):
    """Make the writing of a form fail after some of it has been written."""
    places = {
        ".json": "tracestream.report.run_document",
        ".jsonl": "tracestream.report.run_document",
        ".ndjson": "tracestream.report.run_document",
        ".csv": "tracestream.render.csv._cell",
        ".html": "tracestream.render.markup.score",
        ".parquet": "tracestream.render.parquet._write_table",
    }
    module, _, name = places[suffix].rpartition(".")
    real = getattr(sys.modules[module], name)
    calls = []

    def failing(*args):
        calls.append(args)
        if len(calls) > 2:
            raise OSError("disk full")
        return real(*args)

    monkeypatch.setattr(places[suffix], failing)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_in_the_middle_leaves_the_target_and_no_rest(
    report, tmp_path, monkeypatch, suffix, exists
):
    target = tmp_path / f"report{suffix}"
    before = written(report, target) if exists else None
    fail_late(monkeypatch, suffix)
    with pytest.raises(OSError, match="disk full"):
        report.write(target)
    assert os.listdir(tmp_path) == ([target.name] if exists else [])
    assert before is None or content(target) == before


def test_a_parquet_folder_that_cannot_be_put_in_place_leaves_the_old_one(
    report, tmp_path, monkeypatch
):
    target = tmp_path / "report.parquet"
    before = written(report, target)
    without_exchange(monkeypatch)
    rename, calls = os.rename, []

    def failing(source, destination):
        calls.append(destination)
        if len(calls) == 2:
            raise OSError("no")
        rename(source, destination)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="no"):
        report.write(target)
    assert calls[1:] == [target, target]
    assert os.listdir(tmp_path) == ["report.parquet"]
    assert content(target) == before


def without_exchange(monkeypatch):
    """Take away the call that exchanges two folders at once, which not every system has."""
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two folders at once")
def test_there_is_always_a_parquet_folder_under_its_name(report, tmp_path, monkeypatch):
    target = tmp_path / "report.parquet"
    write_report(grade(b""), target)
    monkeypatch.delattr(os, "rename")  # a target that is renamed is missing for a moment
    write_report(report, target)
    assert pq.read_table(target / "runs.parquet").equals(report.runs_table)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_parquet_folder_is_replaced_as_a_whole(report, tmp_path, monkeypatch, at_once):
    if not at_once:
        without_exchange(monkeypatch)
    target = tmp_path / "report.parquet"
    write_report(grade(b""), target)
    target.chmod(0o750)
    write_report(report, target)
    assert os.listdir(tmp_path) == ["report.parquet"]
    assert pq.read_table(target / "runs.parquet").equals(report.runs_table)
    assert stat.S_IMODE(target.stat().st_mode) == 0o750


def test_an_empty_folder_is_replaced(report, tmp_path):
    target = tmp_path / "report.parquet"
    target.mkdir()
    assert len(written(report, target)) == 3


@pytest.mark.parametrize("at_once", [True, False])
def test_what_appears_in_a_parquet_folder_meanwhile_is_kept(report, tmp_path, monkeypatch, at_once):
    if not at_once:
        without_exchange(monkeypatch)
    target = tmp_path / "report.parquet"
    write_report(report, target)
    from tracestream.render import parquet

    sync = parquet._sync
    monkeypatch.setattr(
        parquet, "_sync", lambda folder: [(target / "mine.txt").write_text("mine"), sync(folder)]
    )
    with pytest.raises(ConfigError, match=r"'mine\.txt'"):
        report.write(target)
    assert os.listdir(tmp_path) == ["report.parquet"]
    assert (target / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_symbolic_link_stays_and_what_it_names_is_written(report, tmp_path, suffix):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / f"real{suffix}", tmp_path / f"link{suffix}"
    link.symlink_to(target)
    assert written(report, link) == content(target)
    assert link.is_symlink()


# ---- streams ----


def test_a_dash_is_stdout(report, capfdbinary):
    write_report(report, "-")
    assert capfdbinary.readouterr().out == report.to_json()


def test_a_dash_is_stdout_where_it_takes_text_only(report, monkeypatch):
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    write_report(report, "-")
    assert text.getvalue().encode() == report.to_json()


@pytest.mark.parametrize("suffix", ["", *FORMS])
def test_a_pipe_is_written_directly(report, tmp_path, suffix):
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    check_outputs([pipe])
    write_report(report, pipe)
    reader.join()
    assert received == [written(report, tmp_path / f"file{suffix or '.json'}")]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_dev_stdout_redirected_to_a_file_keeps_what_is_there(tmp_path):
    program = (
        "import tracestream as ts\n"
        "print('before', flush=True)\n"
        "ts.grade(b'').write('/dev/stdout')\n"
        "print('after')"
    )
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert b"after" in (tmp_path / "out").read_bytes()


def test_shared_memory_is_a_folder_like_any_other(report):
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no /dev/shm")
    target = f"/dev/shm/tracestream-{os.getpid()}.json"
    try:
        write_report(report, target)
        inode = os.stat(target).st_ino
        write_report(report, target)
        assert os.stat(target).st_ino != inode
    finally:
        os.unlink(target)


# ---- refusals ----


def refusal(*paths, **options):
    with pytest.raises(ConfigError) as caught:
        check_outputs(paths, **options)
    sentence, hint = str(caught.value).split("\nHint: ")
    assert sentence
    assert hint.endswith(".")
    return sentence


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("report.txt", "the suffix '.txt' is unknown"),
        ("report.json.gz", "the suffix '.gz' is unknown"),
        ("report", "there is no suffix"),
        (".json", "there is no suffix"),
        ("", "there is no suffix"),
        ("missing/report.json", "there is no folder"),
        ("missing/report.parquet", "there is no folder"),
        ("file/report.json", "Not a directory"),
        ("folder.json", "is a folder"),
        ("new.json/", "is a folder"),
        ("folder.csv/", "is a folder"),
        ("file.parquet", "is no folder"),
        ("foreign.parquet", "holds 'notes.txt'"),
        ("theirs.parquet", "holds 'runs.parquet'"),
        ("nested.parquet", "holds 'runs.parquet'"),
        ("pipe.parquet", "Parquet is written as a folder"),
        ("pipe.txt", "the suffix '.txt' is unknown"),
        ("loop.json", "symbolic links"),
        ("nul\0.json", "null"),
        ("x" * 300 + ".json", "too long"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(report, tmp_path, name, words):
    for folder in ("folder.json", "folder.csv", "foreign.parquet", "theirs.parquet"):
        (tmp_path / folder).mkdir()
    (tmp_path / "nested.parquet" / "runs.parquet").mkdir(parents=True)
    for file in ("file", "file.parquet", "foreign.parquet/notes.txt"):
        (tmp_path / file).write_text("mine")
    pq.write_table(pa.table({"run": ["x"]}), tmp_path / "theirs.parquet" / "runs.parquet")
    for pipe in ("pipe.parquet", "pipe.txt"):
        os.mkfifo(tmp_path / pipe)
    (tmp_path / "loop.json").symlink_to("loop.json")
    before = sorted(tmp_path.rglob("*"))
    path = f"{tmp_path}/{name}" if name else ""
    assert words in refusal(path)
    with pytest.raises(ConfigError):
        report.write(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_unknown_suffix_names_the_known_ones():
    with pytest.raises(ConfigError, match=r"\.json, \.jsonl, \.ndjson, \.csv, \.html, \.parquet"):
        check_outputs(["report.xml"])


def test_a_damaged_table_in_a_parquet_folder_is_not_ours(report, tmp_path):
    target = tmp_path / "report.parquet"
    write_report(report, target)
    (target / "runs.parquet").write_bytes(b"PAR1")
    assert "'runs.parquet'" in refusal(target)


def test_a_table_under_another_name_is_not_ours(report, tmp_path):
    target = tmp_path / "report.parquet"
    write_report(report, target)
    os.rename(target / "budgets.parquet", target / "handoffs.parquet")
    assert "'handoffs.parquet'" in refusal(target)


def test_a_link_in_a_parquet_folder_is_not_ours(report, tmp_path):
    target, other = tmp_path / "report.parquet", tmp_path / "other.parquet"
    write_report(report, target)
    write_report(report, other)
    (target / "runs.parquet").unlink()
    (target / "runs.parquet").symlink_to(other / "runs.parquet")
    assert "'runs.parquet'" in refusal(target)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
def test_a_folder_that_takes_no_files_is_refused():
    assert "cannot write" in refusal("/proc/report.json")
    assert "cannot write" in refusal("/proc/report.parquet")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.json", "a.json"),
        ("a.json", "./a.json"),
        ("a.json", "link.json"),
        ("a.json", "linked/a.json"),
        ("a.parquet", "a.parquet/"),
        ("-", "/dev/stdout"),
        ("-", "-"),
        ("pipe", "./pipe"),
    ],
)
def test_two_outputs_of_one_place_are_refused(tmp_path, monkeypatch, one, other):
    monkeypatch.chdir(tmp_path)
    os.symlink("a.json", "link.json")
    os.symlink(".", "linked")
    os.mkfifo("pipe")
    assert "the same output" in refusal(one, "other.csv", other)
    check_outputs([one, "other.csv"])


def test_an_output_inside_another_is_refused(report, tmp_path):
    write_report(report, tmp_path / "report.parquet")
    inside = tmp_path / "report.parquet" / "report.json"
    assert "lies in the output" in refusal(inside, tmp_path / "report.parquet")
    check_outputs([inside])


@pytest.mark.parametrize(
    "given", ["a.jsonl", "../traces/a.jsonl", ".", "*.jsonl", "link.jsonl"], ids=repr
)
def test_an_output_never_takes_the_place_of_a_trace(tmp_path, monkeypatch, given):
    (tmp_path / "traces").mkdir()
    monkeypatch.chdir(tmp_path / "traces")
    trace = tmp_path / "traces" / "a.jsonl"
    trace.write_bytes(jsonl(response("a", "x")))
    os.symlink("a.jsonl", "link.jsonl")
    assert "is read, and would be lost" in refusal(trace, traces=["-", given])
    check_outputs(["b.jsonl", "a.json"], traces=[given])
    check_outputs([trace], traces=["-"])


def test_a_trace_that_is_missing_is_not_told_here(tmp_path):
    (tmp_path / "notes.csv").write_text("mine")
    check_outputs([tmp_path / "notes.csv"], traces=["missing.jsonl"])


def test_a_report_among_the_traces_may_be_replaced(report, tmp_path):
    targets = [tmp_path / f"report{suffix}" for suffix in SUFFIXES]
    for target in targets:
        write_report(report, target)
    check_outputs(targets, traces=[tmp_path])


def test_checking_leaves_nothing_and_changes_nothing(report, tmp_path):
    targets = [tmp_path / f"report{suffix}" for suffix in SUFFIXES]
    check_outputs(targets)
    assert os.listdir(tmp_path) == []
    before = [written(report, target) for target in targets]
    check_outputs(map(str, targets))
    assert [content(target) for target in targets] == before


def test_a_suffix_may_be_in_capitals(report, tmp_path):
    assert written(report, tmp_path / "REPORT.JSON") == report.to_json()
    assert len(written(report, tmp_path / "Report.Parquet")) == 3


def test_a_name_that_is_no_utf8_can_be_written(report, tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.json")
    write_report(report, path)
    with open(path, "rb") as file:
        assert file.read() == report.to_json()


def test_a_refusal_of_a_name_that_is_no_utf8_can_be_printed(tmp_path):
    refusal(os.fsdecode(b"caf\xe9.xyz")).encode()


def test_every_form_that_is_documented_is_there():
    for suffix in SUFFIXES:
        assert suffix in Report.write.__doc__
        assert suffix in outputs.write_report.__doc__


def test_the_ledger_and_a_trace_that_begins_with_run_are_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_bytes(b'{"run":"1","event_type":"llm_response"}\n')
    for read in ("t.jsonl", "./t.jsonl"):
        with pytest.raises(ConfigError, match="would be lost"):
            check_outputs(["t.jsonl"], traces=[read])


def test_the_file_that_stdin_reads_is_not_overwritten(tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_bytes(data := jsonl(response("a", "x")))
    with open(trace, "rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "tracestream", "grade", "-", "-o", str(trace)],
            stdin=stdin,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 2
    assert b"is read, and would be lost" in done.stderr
    assert trace.read_bytes() == data
