import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import praisonaiagents.trace as theirs
import pytest

import tracestream as ours
from tests.documents import check_document, read_json
from tracestream import ConfigError, lastrun

ROOT = Path(__file__).parents[1]
N_WRITERS, N_RECORDS = 20, 15


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A folder of their own for each test's pointer and traces; the clock stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRAISON_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(lastrun.time, "time", lambda: 1762598400.125)
    return tmp_path / "home"


def written():
    """The pointer as any reader of strict JSON sees it, held to its schema."""
    return check_document(read_json(ours.last_run_pointer_path().read_bytes()), "pointer")


# ---- where it is ----


def test_the_pointer_lies_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for unset in (lambda: monkeypatch.delenv("PRAISON_HOME"), lambda: None):
        unset()
        assert ours.last_run_pointer_path() == tmp_path / ".praison" / "last_trace.json"
        assert ours.last_run_pointer_path() == theirs.last_run_pointer_path()
        monkeypatch.setenv("PRAISON_HOME", "")


def test_praison_home_redirects_it(home):
    assert ours.last_run_pointer_path() == home / "last_trace.json"


@pytest.mark.parametrize("value", ["state", "~/state", "./a/../state"])
def test_praison_home_is_made_absolute_and_a_tilde_stays(tmp_path, monkeypatch, value):
    monkeypatch.setenv("PRAISON_HOME", value)
    path = ours.last_run_pointer_path()
    assert path == tmp_path / value / "last_trace.json"
    assert path == Path.cwd() / theirs.last_run_pointer_path()
    assert ours.record_completed_run("trace.jsonl") == path
    monkeypatch.chdir("/")
    assert json.loads(path.read_bytes())["path"] == str(tmp_path / "trace.jsonl")


def test_two_dots_behind_a_link_lead_where_the_reference_goes(tmp_path, monkeypatch):
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real/sub")
    for value in ("link/../state", str(tmp_path / "link" / ".." / "state")):
        monkeypatch.setenv("PRAISON_HOME", value)
        ours.record_completed_run("trace.jsonl")
        (found,) = tmp_path.rglob("last_trace.json")
        assert found == tmp_path / "real" / "state" / "last_trace.json"
        assert theirs.load_last_run_pointer() == ours.load_last_run_pointer() == written()
        found.unlink()


def test_in_a_folder_that_is_gone_only_absolute_paths_will_do(home, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir("gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigError, match=r"folder is gone, so 'trace.jsonl' is nowhere\nHint: "):
        ours.record_completed_run("trace.jsonl")
    assert ours.record_completed_run(tmp_path / "trace.jsonl") == home / "last_trace.json"
    monkeypatch.setenv("PRAISON_HOME", "state")
    with pytest.raises(ConfigError, match=r"folder is gone, so 'state' is nowhere\nHint: "):
        ours.last_run_pointer_path()
    assert ours.load_last_run_pointer() is None


def test_a_user_without_a_home_folder_is_told_what_to_set(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("PRAISON_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(ConfigError, match="no home folder\nHint: set PRAISON_HOME"):
        ours.record_completed_run("trace.jsonl")
    assert ours.load_last_run_pointer() is None


# ---- recording ----


def test_a_pointer_has_four_keys(home, tmp_path):
    path = ours.record_completed_run("trace.jsonl", meta={"agent": "researcher", "status": "ok"})
    assert path == home / "last_trace.json"
    expected = {
        "schema_version": "1.0",
        "path": str(tmp_path / "trace.jsonl"),
        "recorded_at": 1762598400.125,
        "meta": {"agent": "researcher", "status": "ok"},
    }
    assert written() == expected
    assert ours.load_last_run_pointer() == expected
    assert list(written()) == list(expected)


@pytest.mark.parametrize("meta", [None, {}])
def test_without_meta_it_is_an_empty_object(meta):
    ours.record_completed_run(Path("trace.jsonl"), meta)
    assert written()["meta"] == {}


def test_a_path_is_absolute_and_links_are_followed(tmp_path):
    (tmp_path / "run-7.jsonl").touch()
    (tmp_path / "latest.jsonl").symlink_to("run-7.jsonl")
    for given in ("latest.jsonl", Path("x/../latest.jsonl"), os.fspath(tmp_path / "run-7.jsonl")):
        ours.record_completed_run(given)
        assert written()["path"] == str(tmp_path / "run-7.jsonl")


def test_a_name_that_is_no_utf8_is_found_again(tmp_path):
    name = os.fsdecode(b"tr\xff\xc3\xa4ce.jsonl")
    Path(name).touch()
    pointer = ours.record_completed_run(name)
    assert pointer.read_bytes().isascii()
    for reader in (ours, theirs):
        assert os.path.samefile(reader.load_last_run_pointer()["path"], name)


@pytest.mark.parametrize("name", ["a\0b", "\ud800.jsonl", "\0" * 5000], ids=["NUL", "half", "long"])
def test_a_path_that_no_file_can_have_is_refused(name):
    with pytest.raises(ConfigError, match="no file can have the name") as caught:
        ours.record_completed_run(name)
    assert len(str(caught.value)) < 200
    assert ours.load_last_run_pointer() is None


def test_meta_is_copied(tmp_path):
    meta = {"agent": "researcher", "scores": [1, 2.5, None, True]}
    ours.record_completed_run("trace.jsonl", meta)
    meta["agent"] = "writer"
    assert written()["meta"] == {"agent": "researcher", "scores": [1, 2.5, None, True]}


def test_a_number_that_json_has_no_word_for_is_null():
    nan, inf = float("nan"), float("inf")
    ours.record_completed_run("trace.jsonl", {"loss": nan, "best": [inf, -inf, {"x": nan}], "n": 1})
    assert written()["meta"] == {"loss": None, "best": [None, None, {"x": None}], "n": 1}


def circle():
    meta = {}
    meta["itself"] = meta
    return meta


def nested(depth):
    meta = {}
    for _ in range(depth):
        meta = {"in": meta}
    return meta


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        pytest.param({"when": Path("x")}, "PosixPath", id="unknown-type"),
        pytest.param({"in": {("a", "b"): 1}}, "tuple", id="key"),
        pytest.param(circle(), "Circular", id="circle"),
        pytest.param(nested(100_000), "recursion", id="deep"),
        pytest.param(7, "int", id="no-mapping"),
    ],
)
def test_meta_that_json_cannot_say_is_refused_and_the_pointer_stays(meta, words):
    ours.record_completed_run("first.jsonl")
    with pytest.raises(ConfigError, match=f"meta cannot be written as JSON: .*{words}.*\nHint: "):
        ours.record_completed_run("second.jsonl", meta)
    assert written()["path"].endswith("first.jsonl")


def test_the_latest_wins_and_nothing_is_left_beside(home):
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        ours.record_completed_run(name)
    assert written()["path"].endswith("c.jsonl")
    assert os.listdir(home) == ["last_trace.json"]


@pytest.mark.parametrize("end", ["elsewhere.json", "no/folder.json", "last_trace.json", os.devnull])
def test_a_pointer_that_is_a_link_is_replaced(home, tmp_path, end):
    """As the reference does it: where a link leads to is another program's."""
    home.mkdir()
    (home / "elsewhere.json").write_text("{}")
    for record in (ours.record_completed_run, theirs.record_completed_run):
        ours.last_run_pointer_path().unlink(missing_ok=True)
        ours.last_run_pointer_path().symlink_to(end)
        assert not record("trace.jsonl").is_symlink()
        assert written()["path"] == str(tmp_path / "trace.jsonl")
        assert (home / "elsewhere.json").read_text() == "{}"


def test_the_folder_is_made(home, monkeypatch):
    monkeypatch.setenv("PRAISON_HOME", str(home / "a" / "b"))
    assert ours.record_completed_run("trace.jsonl").parent == home / "a" / "b"


def test_a_pointer_that_cannot_be_written_is_an_os_error(home):
    home.write_text("no folder")
    with pytest.raises(OSError):
        ours.record_completed_run("trace.jsonl")
    assert ours.load_last_run_pointer() is None


# ---- loading ----

UNUSABLE = {
    "empty": b"",
    "no JSON": b"{not json",
    "two values": b"{}{}",
    "array": b'[{"path": "x"}]',
    "text": b'"path"',
    "null": b"null",
    "no path": b'{"schema_version": "1.0", "meta": {}}',
    "empty path": b'{"path": ""}',
    "null path": b'{"path": null}',
    "no UTF-8": b'{"path": "\xff"}',
    "UTF-16": '{"path": "x"}'.encode("utf-16"),
    "BOM": b'\xef\xbb\xbf{"path": "x"}',
    "long integer": b'{"path": "x", "n": %s}' % (b"1" * 5000),
}
ONLY_OURS = {
    "number path": b'{"path": 7}',
    "list path": b'{"path": ["x"]}',
    "deep": b"[" * 100_000,
}
"""The reference gives these back, or fails."""


@pytest.mark.parametrize(
    "content", [*UNUSABLE.values(), *ONLY_OURS.values()], ids=[*UNUSABLE, *ONLY_OURS]
)
def test_an_unusable_pointer_is_none(home, content):
    home.mkdir()
    ours.last_run_pointer_path().write_bytes(content)
    assert ours.load_last_run_pointer() is None
    if content not in ONLY_OURS.values():
        assert theirs.load_last_run_pointer() is None


def test_a_missing_or_unreadable_pointer_is_none(home):
    assert ours.load_last_run_pointer() is None
    ours.last_run_pointer_path().mkdir(parents=True)
    assert ours.load_last_run_pointer() is None


def test_what_is_not_known_is_kept(home):
    home.mkdir()
    pointer = {"schema_version": "9.1", "path": "x", "recorded_at": "then", "extra": [1]}
    ours.last_run_pointer_path().write_text(json.dumps(pointer))
    assert ours.load_last_run_pointer() == pointer == theirs.load_last_run_pointer()


# ---- beside the reference ----


@pytest.mark.parametrize(
    "meta",
    [None, {"agent": "Forscher ä 日本", "n": 1, "x": {"y": [1.5, None]}}],
    ids=["none", "some"],
)
@pytest.mark.parametrize("name", ["trace.jsonl", "x/../ä 日本.jsonl", "/etc/trace.jsonl", "."])
def test_either_library_reads_what_the_other_wrote_and_writes_the_same(monkeypatch, name, meta):
    monkeypatch.setattr(theirs.last_run.time, "time", lambda: 1762598400.125)
    assert ours.record_completed_run(name, meta) == theirs.last_run_pointer_path()
    mine = ours.last_run_pointer_path().read_bytes()
    assert theirs.load_last_run_pointer() == ours.load_last_run_pointer() == json.loads(mine)
    assert theirs.record_completed_run(name, meta) == ours.last_run_pointer_path()
    assert ours.last_run_pointer_path().read_bytes() == mine
    assert ours.load_last_run_pointer() == theirs.load_last_run_pointer()


# ---- many at once ----

WRITER = f"""
import sys
from tracestream import record_completed_run
sys.stdin.readline()
for n in range({N_RECORDS}):
    record_completed_run(f"{{sys.argv[1]}}-{{n}}.jsonl", meta={{"who": sys.argv[1], "pad": "x" * n * 1000}})
"""


def test_twenty_writers_leave_one_whole_pointer_and_no_reader_sees_half(home):
    path = ours.record_completed_run("first-0.jsonl", meta={"who": "first", "pad": ""})
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, f"w{n}"],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for n in range(N_WRITERS)
    ]
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.close()
    seen = set()
    is_over = False
    while not is_over:
        is_over = all(writer.poll() is not None for writer in writers)
        pointer = json.loads(path.read_bytes())  # one that is torn or gone raises
        name = Path(pointer["path"]).stem
        who, n = name.split("-")
        assert pointer["meta"] == {"who": who, "pad": "x" * int(n) * 1000}
        seen.add(name)
    assert [writer.wait() for writer in writers] == [0] * N_WRITERS
    assert len(seen) > 1
    assert ours.load_last_run_pointer()["path"].endswith(f"-{N_RECORDS - 1}.jsonl")
    assert os.listdir(home) == ["last_trace.json"]


def test_threads_of_one_process_may_record_at_once(home):
    threads = [
        threading.Thread(target=ours.record_completed_run, args=(f"{n}.jsonl", {"n": n}))
        for n in range(N_WRITERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written()["path"].endswith(f"/{written()['meta']['n']}.jsonl")
    assert os.listdir(home) == ["last_trace.json"]


# ---- cost ----


def test_only_the_standard_library_is_imported():
    code = """
import sys
before = set(sys.modules)
from tracestream import last_run_pointer_path, load_last_run_pointer, record_completed_run
record_completed_run("trace.jsonl", meta={"agent": "researcher"})
assert load_last_run_pointer()["meta"], last_run_pointer_path()
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(new - sys.stdlib_module_names))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "tracestream\n"
