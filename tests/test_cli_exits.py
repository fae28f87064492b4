import errno
import signal
import tempfile

import tracestream.grading
from tracestream import SchemaError, __version__


def failing(error):
    def grade(*_, **__):
        raise error

    return grade


def test_a_fault_of_ours_is_3_in_one_line(monkeypatch, run):
    monkeypatch.delenv("TRACESTREAM_DEBUG", raising=False)
    monkeypatch.setattr(tracestream.grading, "grade", failing(KeyError("x\x1b\n" + "s" * 200)))
    code, out, err = run("grade", "traces")
    assert code == 3
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith(r"tracestream: error: internal error: KeyError: 'x\x1b\ns")
    assert "s" * 81 not in line
    assert __version__ in line
    assert "report" in line
    assert "TRACESTREAM_DEBUG=1" in line


def test_debugging_shows_the_traceback_of_a_fault(monkeypatch, run):
    monkeypatch.setenv("TRACESTREAM_DEBUG", "1")
    monkeypatch.setattr(tracestream.grading, "grade", failing(KeyError("x")))
    code, _, err = run("grade", "traces")
    assert code == 3
    assert err.startswith("Traceback")
    assert "KeyError: 'x'" in err


def test_a_batch_that_does_not_fit_its_schema_is_a_fault(monkeypatch, run):
    error = SchemaError("columns differ")
    monkeypatch.setattr(tracestream.grading, "grade", failing(error))
    code, _, err = run("grade", "traces")
    assert code == 3
    assert "SchemaError: columns differ" in err


def test_running_out_of_memory_is_3_and_says_what_helps(monkeypatch, run):
    monkeypatch.setattr(tracestream.grading, "grade", failing(MemoryError()))
    code, _, err = run("grade", "traces")
    assert code == 3
    assert err.splitlines()[0] == "tracestream: error: out of memory"
    assert "--max-record-bytes" in err


def test_a_full_disk_is_2(monkeypatch, run):
    error = OSError(errno.ENOSPC, "No space left on device", "/var/spill")
    monkeypatch.setattr(tracestream.grading, "grade", failing(error))
    code, out, err = run("grade", "traces")
    assert code == 2
    assert out == ""
    assert err == (
        "tracestream: error: No space left on device: /var/spill\n"
        "Hint: make room there, or choose another place.\n"
    )


def test_a_full_folder_for_temporary_files_can_be_another(monkeypatch, run):
    error = OSError(errno.ENOSPC, "No space left on device", tempfile.gettempdir())
    monkeypatch.setattr(tracestream.grading, "grade", failing(error))
    code, _, err = run("grade", "traces")
    assert code == 2
    assert err.endswith("\nHint: make room there, or name another folder in TMPDIR.\n")


def test_a_file_name_gives_no_hint(monkeypatch, run):
    error = OSError(errno.EIO, "Input/output error", "x\x1b[2J\nHint: trust me")
    monkeypatch.setattr(tracestream.grading, "grade", failing(error))
    code, _, err = run("grade", "traces")
    assert code == 2
    assert err == r"tracestream: error: Input/output error: x\x1b[2J\nHint: trust me" + "\n"


def test_a_traceback_shows_a_hostile_message_and_obeys_none(monkeypatch, run):
    monkeypatch.setenv("TRACESTREAM_DEBUG", "1")
    monkeypatch.setattr(
        tracestream.grading, "grade", failing(ValueError("\x1b[2J\x9b\u202e\x85\r"))
    )
    code, _, err = run("grade", "traces")
    assert code == 3
    assert err.startswith("Traceback")
    assert r"ValueError: \x1b[2J\x9b\u202e\x85\r" in err.split("\n")
    assert all(line.isprintable() for line in err.split("\n"))


def test_a_broken_pipe_that_is_not_stdout_is_no_success(monkeypatch, run):
    monkeypatch.setattr(tracestream.grading, "grade", failing(BrokenPipeError(32, "Broken pipe")))
    code, _, err = run("grade", "traces")
    assert code == 2
    assert err == "tracestream: error: Broken pipe\n"


def test_ctrl_c_is_130(monkeypatch, run):
    # A shell that runs tests in the background has them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(
        tracestream.grading, "grade", lambda *_, **__: signal.raise_signal(signal.SIGINT)
    )
    try:
        code, out, err = run("grade", "traces")
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert out == ""
    assert err == "tracestream: interrupted\n"
