import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracestream.errors import ConfigError, InputError
from tracestream.sources import discover, source_name


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(*names):
    for name in names:
        path = Path(os.fsdecode(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}\n")


def names(source):
    found = discover(source)
    assert [each.order for each in found] == list(range(len(found)))
    return [each.name for each in found]


READ = [
    *(
        "a.jsonl",
        "a.ndjson",
        "a.json",
        "a.traj",
        "a.eval",
        "A.JSONL",
        "a.jsonl.gz",
        "a.json.zst",
        "a.ndjson.bz2",
    ),
    *(
        "a.traj.xz",
        "a.jsonl.1",
        "a.jsonl.12.gz",
        "a.jsonl.gz.2",
        "a b.jsonl",
        "é.jsonl",
        "a.meta.jsonl",
        "meta.json",
    ),
]
PASSED_OVER = [
    *(
        "a.txt",
        "a",
        "jsonl",
        "a.jsonl.bak",
        "a.jsonl~",
        "a.gz",
        "a.jsonl.lz4",
        "a.jsonlx",
        "ajsonl",
        "a.csv",
    ),
    *(".a.jsonl", ".jsonl", "a.meta.json", "b.META.json", ".hidden/a.jsonl"),
]


@pytest.mark.parametrize("name", READ)
def test_names_read_in_a_folder(name):
    write(f"dir/{name}")
    assert names("dir") == [f"dir/{name}"]


@pytest.mark.parametrize("name", PASSED_OVER)
def test_names_passed_over_in_a_folder(name):
    write(f"dir/{name}", "dir/trace.jsonl")
    assert names("dir") == ["dir/trace.jsonl"]


@pytest.mark.parametrize("name", PASSED_OVER)
def test_a_named_file_is_always_read(name):
    write(name)
    assert names(name) == [name]


def test_folders_are_read_to_their_depth_and_sorted_by_path_components_as_bytes():
    write(
        *(
            f"t/{name}"
            for name in (
                "a-b.jsonl",
                "a.jsonl",
                "a/b.jsonl",
                "a/a/z.jsonl",
                "Z.jsonl",
                "é.jsonl",
                "z.jsonl",
            )
        )
    )
    expected = [
        "t/Z.jsonl",
        "t/a/a/z.jsonl",
        "t/a/b.jsonl",
        "t/a-b.jsonl",
        "t/a.jsonl",
        "t/z.jsonl",
        "t/é.jsonl",
    ]
    assert names("t") == expected
    assert names("t/*") == expected
    assert names("t/**") == expected
    assert names(Path("t")) == expected
    assert names(os.path.abspath("t")) == [os.path.abspath(name) for name in expected]


@pytest.mark.parametrize(
    ("folder", "name"), [(".", "./t/a.jsonl"), ("t/", "t/a.jsonl"), ("t/../t", "t/../t/a.jsonl")]
)
def test_a_name_stays_as_it_was_given(folder, name):
    write("t/a.jsonl")
    assert names(folder) == [name]


def test_what_a_folder_gives_is_known_to_be_found():
    write("t/a.jsonl")
    assert [source.in_folder for source in discover(["t/a.jsonl"])] == [False]
    assert [source.in_folder for source in discover(["t"])] == [True]
    assert [source.in_folder for source in discover("t/*.jsonl")] == [False]


def test_several_paths_keep_the_order_given():
    write("z.jsonl", "a/b.jsonl", "a/a.jsonl", "m.jsonl")
    assert names(["z.jsonl", "a", Path("m.jsonl")]) == [
        "z.jsonl",
        "a/a.jsonl",
        "a/b.jsonl",
        "m.jsonl",
    ]
    assert names(("m.jsonl", "a")) == ["m.jsonl", "a/a.jsonl", "a/b.jsonl"]
    assert names({"z.jsonl", "m.jsonl", "a"}) == ["a/a.jsonl", "a/b.jsonl", "m.jsonl", "z.jsonl"]
    assert names([["z.jsonl"], "a/*a.jsonl"]) == ["z.jsonl", "a/a.jsonl"]


def test_a_file_given_twice_is_read_once():
    write("t/a.jsonl", "b.jsonl")
    os.link("t/a.jsonl", "t/hard.jsonl")
    os.symlink("a.jsonl", "t/soft.jsonl")
    assert names("t") == ["t/a.jsonl"]
    assert names(["b.jsonl", "t/soft.jsonl", "t", "./b.jsonl", "t/../b.jsonl"]) == [
        "b.jsonl",
        "t/soft.jsonl",
    ]


def test_links_to_folders_are_not_followed_and_links_to_files_are():
    write("t/a.jsonl", "elsewhere/b.jsonl", "elsewhere/c.jsonl")
    os.symlink("../elsewhere", "t/folder")
    os.symlink("../elsewhere", "t/folder.jsonl")
    os.symlink(".", "t/loop")
    os.symlink("../elsewhere/b.jsonl", "t/b.jsonl")
    assert names("t") == ["t/a.jsonl", "t/b.jsonl"]
    assert names("t/folder") == ["t/folder/b.jsonl", "t/folder/c.jsonl"]


def test_a_folder_named_like_a_trace_is_a_folder():
    write("t/run.jsonl/a.jsonl")
    assert names("t") == ["t/run.jsonl/a.jsonl"]


def test_what_is_no_regular_file_is_passed_over_in_a_folder():
    write("t/a.jsonl")
    os.mkfifo("t/pipe.jsonl")
    os.symlink("pipe.jsonl", "t/link.jsonl")
    os.symlink("/dev/null", "t/null.jsonl")
    assert names("t") == ["t/a.jsonl"]
    assert names("t/pipe.jsonl") == ["t/pipe.jsonl"]


def test_a_link_to_nothing_is_a_source_that_cannot_be_read():
    write("t/a.jsonl")
    os.symlink("nowhere", "t/b.jsonl")
    os.symlink("c.jsonl", "t/c.jsonl")
    assert names("t") == ["t/a.jsonl", "t/b.jsonl", "t/c.jsonl"]
    assert names("t/b.jsonl") == ["t/b.jsonl"]
    (loop,) = discover("t/c.jsonl")
    assert isinstance(loop.error, OSError)


def test_a_link_to_nothing_named_like_a_glob_is_itself():
    """`ln -s folder/*.jsonl .` makes one, where the folder is empty."""
    write("a.jsonl")
    os.symlink("nowhere/*.jsonl", "*.jsonl")
    assert names("*.jsonl") == ["*.jsonl"]
    assert names("[a*].jsonl") == ["*.jsonl", "a.jsonl"]


def test_globs_match_files_and_folders():
    write("a1.jsonl", "a2.txt", "b.jsonl", "a3/x.jsonl", ".a4.jsonl")
    assert names("a*") == ["a1.jsonl", "a2.txt", "a3/x.jsonl"]
    assert names("[ab]*.jsonl") == ["a1.jsonl", "b.jsonl"]
    assert names("**/*.jsonl") == ["a1.jsonl", "a3/x.jsonl", "b.jsonl"]


def test_a_name_that_exists_is_no_glob():
    write("[a].jsonl", "a.jsonl")
    assert names("[a].jsonl") == ["[a].jsonl"]


@pytest.mark.parametrize(
    "path", ["gone.jsonl", "gone/", "", "a\0b", "*.none", "a.jsonl/b", "t/gone"]
)
def test_a_path_that_is_not_there_is_an_error_that_says_so(path):
    write("a.jsonl", "t/a.jsonl")
    with pytest.raises(InputError, match="Hint: ") as caught:
        discover(["a.jsonl", path])
    assert caught.value.source == path
    assert repr(path) in str(caught.value)


@pytest.mark.parametrize("source", ["t", ["t"], [], (), ["t", "t/empty"]], ids=repr)
def test_nothing_to_read_is_an_error_that_lists_the_suffixes(source):
    write("t/notes.txt")
    os.mkdir("t/empty")
    with pytest.raises(InputError, match=r"no trace files in (?s:.*)\*\.jsonl \*\.ndjson"):
        discover(source)


def test_a_folder_that_cannot_be_listed_is_a_source_with_an_error(monkeypatch):
    write("t/a.jsonl", "t/locked/b.jsonl", "t/z.jsonl")
    scandir = os.scandir

    def refuse(path):
        if path == "t/locked":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = discover("t")
    assert [source.name for source in found] == ["t/a.jsonl", "t/locked", "t/z.jsonl"]
    assert isinstance(found[1].error, PermissionError)


def test_a_path_that_cannot_be_looked_at_is_a_source_with_an_error():
    (source,) = discover("x" * 5000)
    assert isinstance(source.error, OSError)


def test_names_that_are_no_utf8_are_written_with_percent_signs():
    write(b"t/a\xff\xe9.jsonl", b"t/\xc3\xa9.jsonl")
    assert names("t") == ["t/a%FF%E9.jsonl", "t/é.jsonl"]
    assert names(os.fsdecode(b"t/a\xff*")) == ["t/a%FF%E9.jsonl"]
    (entry,) = [entry for entry in os.scandir(b"t") if b"\xff" in entry.name]
    assert names(entry) == ["t/a%FF%E9.jsonl"]
    with pytest.raises(InputError, match="b%FE"):
        discover(os.fsdecode(b"b\xfe"))


def test_two_sources_never_have_one_name():
    write(b"a\xff.jsonl", "a%FF.jsonl")
    assert names([os.fsdecode(b"a\xff.jsonl"), "a%FF.jsonl"]) == ["a%FF.jsonl", "a%FF.jsonl (2)"]
    assert names([io.BytesIO(), io.BytesIO(), io.BytesIO()]) == [
        "<stream>",
        "<stream> (2)",
        "<stream> (3)",
    ]


def test_a_name_can_be_written():
    assert source_name("é%41\U0001f642") == "é%41\U0001f642"
    assert source_name("a\ud83d\udcff") == "a\ufffd%FF"


def test_bytes_and_blocks_are_sources():
    for source in (b"{}", bytearray(b"{}"), memoryview(b"{}")):
        (found,) = discover(source)
        assert (found.name, found.path, list(found.stream)) == ("<bytes>", None, [b"{}"])
    (found,) = discover([b"{", b"}"])
    assert (found.name, list(found.stream)) == ("<bytes>", [b"{", b"}"])
    blocks = (block for block in (b"{", b"}"))
    (found,) = discover(blocks)
    assert (found.name, found.stream) == ("<bytes>", blocks)


def test_a_list_may_mix_all_kinds():
    write("t/a.jsonl", "b.jsonl")
    with open("b.jsonl", "rb") as file, os.fdopen(os.dup(file.fileno()), "rb") as unnamed:
        assert names([b"{}", "t", file, unnamed, io.BytesIO(), iter([b"{}"])]) == [
            *("<bytes>", "t/a.jsonl", "b.jsonl", "<stream>", "<stream> (2)", "<bytes> (2)"),
        ]


@pytest.mark.parametrize("source", [None, 7, 1.5, object()], ids=lambda value: type(value).__name__)
def test_what_cannot_be_read_is_an_error(source):
    with pytest.raises(ConfigError, match="cannot read traces from"):
        discover(source)
    with pytest.raises(ConfigError, match="cannot read traces from"):
        discover([source])


READ_ALL = """
import sys
from tracestream.blocks import open_blocks
from tracestream.quality import Quality, SourceLedger
from tracestream.sources import discover
for source in discover(sys.argv[1:]):
    with open_blocks(source, SourceLedger(Quality(), source.name, 0)) as blocks:
        print(source.name, b"".join(blocks))
"""


def read_all(*paths, **streams):
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, *paths], capture_output=True, check=False, **streams
    )
    return done.stdout.decode(), done.stderr.decode()


def test_stdin_is_a_source():
    write("a.jsonl")
    assert read_all("-", input=b"one\n" * 2) == ("- b'one\\none\\n'\n", "")
    assert read_all("a.jsonl", "-", input=b"")[0] == "a.jsonl b'{}\\n'\n- b''\n"


def test_a_closed_stdin_is_a_source_that_cannot_be_read():
    out, err = read_all("-", preexec_fn=lambda: os.close(0))
    assert out == ""
    assert err.rstrip().endswith("OSError: [Errno 9] Bad file descriptor")
    assert "open_blocks" in err  # discovery is done by then
