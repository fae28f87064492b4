"""`scan`: only what polars asks for is decoded, and a query gives what it gives on all rows."""

import gzip
import io
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestream import batches, read_batches
from tracestream import lazyframe as module
from tracestream.dialects import praisonai
from tracestream.errors import ConfigError, FrameError, InputError, UnknownDialectError
from tracestream.lazyframe import SCHEMA, scan
from tracestream.schema import EVENTS

Query = Callable[[pl.LazyFrame], pl.LazyFrame]
Answer = Callable[[], bool]

ENGINES = ("in-memory", "streaming")
AGENTS = ["planner", "o'brien", "日本 🙂", "e\u0301diteur, of a name longer than a view", None]


def event(number: int) -> dict[str, Any]:
    kind = ("llm_request", "llm_response", "tool_start", "tool_end", "odd")[number % 5]
    message = {"role": "user", "content": f"message {number} é"}
    response = {"response_content": f"ответ {number} 🙂 " * (number % 4)}
    return {
        "event_type": kind,
        "agent_name": AGENTS[number * 7 % 11 % len(AGENTS)],
        "run_id": f"r{number // 40}",
        "sequence_num": number,
        "timestamp": 1_750_000_000.25 + number,
        "tool_name": f"tool {number % 3}" if kind.startswith("tool") else None,
        "duration_ms": number / 3 if kind == "tool_end" else None,
        "tokens_budget": 500 if number % 2 else None,
        "prompt_tokens": number,
        "cost_usd": number / 1000,
        "data": {"llm_request": {"messages": [message]}, "llm_response": response}.get(kind),
    }


def lines(events: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(e, ensure_ascii=False).encode() + b"\n" for e in events)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("traces")
    events = [event(number) for number in range(200)]
    (root / "a.jsonl").write_bytes(lines(events[:90]))
    (root / "b.jsonl.gz").write_bytes(gzip.compress(lines(events[90:130])))
    (root / "c.json").write_text(json.dumps(events[130:]), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def whole(folder: Path) -> pl.DataFrame:
    """All events, as `read_batches` gives them."""
    frame = pl.from_arrow(read_batches(folder).read_all())
    assert isinstance(frame, pl.DataFrame)
    return frame.cast({pl.Categorical: pl.String})


@pytest.fixture(params=[3, 8192], ids=["small batches", "one batch"])
def batch_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(module, "BATCH_ROWS", request.param)
    return int(request.param)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count how often each column is decoded."""
    counts = dict.fromkeys(praisonai.COLUMNS, 0)
    for column, get in praisonai.COLUMNS.items():

        def counting(value: Any, column: str = column, get: Callable[[Any], Any] = get) -> Any:
            counts[column] += 1
            return get(value)

        monkeypatch.setitem(praisonai.COLUMNS, column, counting)
    return counts


@pytest.fixture
def all_closed(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Say whether every source that was opened is closed, now or soon."""

    inner, opened = batches.open_blocks, []

    @contextmanager
    def tracked(source: Any, *args: Any, **options: Any) -> Iterator[Any]:
        with inner(source, *args, **options) as blocks:
            opened.append(source)
            try:
                yield blocks
            finally:
                opened.remove(source)

    def all_closed() -> bool:
        for _ in range(600):
            pl.Series([0]).sum()  # at times polars lets go of a reader only when it is called again
            if not opened:
                return True
            threading.Event().wait(0.05)
        return False

    monkeypatch.setattr(batches, "open_blocks", tracked)
    return all_closed


def test_schema_is_events_with_dictionaries_as_text(folder: Path, whole: pl.DataFrame) -> None:
    assert scan(folder).collect_schema() == SCHEMA == whole.schema
    assert SCHEMA.names() == EVENTS.names
    assert {SCHEMA[name] for name in ("source", "kind", "event_type", "agent")} == {pl.String}


c = pl.col
PREDICATES: dict[str, pl.Expr] = {
    "equal": c("agent") == "日本 🙂",
    "missing": c("agent").is_null(),
    "order of text": c("agent") < "p",
    "in a list": c("kind").is_in(["request", "response"]),
    "in a series": c("line").is_in(pl.Series([1, 5, 7, 190])),
    "text method": c("agent").str.starts_with("o'"),
    "regular expression": c("text").str.contains(r"ответ \d*5"),
    "length of text": c("text").str.len_bytes() > 30,
    "bytes": c("messages").bin.contains(b"message 55"),
    "between": c("duration_ms").is_between(10, 40.5),
    "time": c("ts") > datetime.fromtimestamp(1_750_000_100, UTC),
    "null or false": c("budget_tokens") > 100,
    "or": (c("kind") == "request") | (c("cost_usd") > 0.1),
    "when": pl.when(c("seq") > 50).then(pl.lit(True)).otherwise(c("agent") == "planner"),
    "none": c("seq") < 0,
    "constant true": pl.lit(True),
    "constant false": pl.lit(False),
    "constant null": pl.lit(None, dtype=pl.Boolean),
    "window": c("seq") > c("seq").mean().over("agent"),
    "position": pl.int_range(pl.len()) % 10 == 3,
    "series of the whole": pl.lit(pl.Series([number % 9 == 0 for number in range(200)])),
}


@pytest.mark.parametrize("predicate", PREDICATES.values(), ids=PREDICATES)
@pytest.mark.parametrize("engine", ENGINES)
def test_filter_gives_what_it_gives_on_all_rows(
    folder: Path, whole: pl.DataFrame, batch_rows: int, engine: Any, predicate: pl.Expr
) -> None:
    found = scan(folder).filter(predicate).collect(engine=engine)
    assert found.equals(whole.filter(predicate))
    assert found.schema == SCHEMA
    narrow = scan(folder).filter(predicate).select("model", "line").collect(engine=engine)
    assert narrow.equals(whole.filter(predicate).select("model", "line"))


QUERIES: dict[str, Query] = {
    "everything": lambda q: q,
    "head": lambda q: q.head(7),
    "filter, then head": lambda q: q.filter(c("kind") == "response").head(5),
    "head, then filter": lambda q: q.head(17).filter(c("kind") == "response"),
    "head, filter, head": lambda q: q.head(50).filter(c("kind") == "response").head(4),
    "head of no columns": lambda q: q.head(5).select(pl.len()),
    "length": lambda q: q.select(pl.len()),
    "reordered": lambda q: q.select("tool", "line", "agent"),
    "expressions": lambda q: q.select(
        c("agent").fill_null("nobody").str.to_uppercase(),
        size=c("text").str.len_chars(),
        day=c("ts").dt.date(),
        message=c("messages").cast(pl.String),
    ),
    "grouped": lambda q: q.group_by("agent", maintain_order=True).agg(
        pl.len(), c("text").last(), c("input_tokens").sum(), c("cost_usd").max()
    ),
    "new names": lambda q: (
        q.rename({"agent": "who"}).with_columns(twice=c("seq") * 2).filter(c("twice") > 90)
    ),
    "numbered": lambda q: q.with_row_index().filter(c("index") > 150),
    "joined with text": lambda q: q.join(
        pl.LazyFrame({"agent": ["planner", "日本 🙂"], "team": ["x", "y"]}), on="agent"
    ).sort("seq"),
    "joined with itself": lambda q: (
        q.filter(c("kind") == "request")
        .join(q.filter(c("kind") == "response"), on=["run_id", "agent"])
        .select("run_id", "agent", "seq", "seq_right", "text_right")
        .sort(pl.all())
    ),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("engine", ENGINES)
def test_query_gives_what_it_gives_on_all_rows(
    folder: Path, whole: pl.DataFrame, batch_rows: int, engine: Any, query: Query
) -> None:
    lazy = scan(folder)
    found = query(lazy).collect(engine=engine)
    assert found.equals(query(whole.lazy()).collect(engine="in-memory"))
    assert found.equals(query(lazy).collect(engine=engine))  # and again


STEPS: list[st.SearchStrategy[Query]] = [
    st.sampled_from([p for name, p in PREDICATES.items() if name != "series of the whole"]).map(
        lambda predicate: lambda q: q.filter(predicate)
    ),
    st.integers(0, 60).map(lambda n: lambda q: q.head(n)),
    st.integers(0, 90).map(lambda n: lambda q: q.tail(n)),
    st.tuples(st.integers(-50, 60), st.integers(0, 90)).map(lambda at: lambda q: q.slice(*at)),
]


@given(
    steps=st.lists(st.one_of(STEPS), max_size=4),
    columns=st.lists(st.sampled_from(EVENTS.names), unique=True, min_size=1),
    how=st.tuples(st.sampled_from([1, 7, 8192]), st.sampled_from(ENGINES)),
)
def test_any_filters_and_limits_give_what_they_give_on_all_rows(
    folder: Path, whole: pl.DataFrame, steps: list[Query], columns: list[str], how: tuple[int, Any]
) -> None:
    lazy, expected = scan(folder), whole.lazy()
    for step in steps:
        lazy, expected = step(lazy), step(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH_ROWS", how[0])
        found = lazy.select(columns).collect(engine=how[1])
    assert found.equals(expected.select(columns).collect(engine="in-memory"))


@pytest.mark.parametrize("engine", ENGINES)
def test_only_columns_asked_for_are_decoded(
    folder: Path, decoded: dict[str, int], engine: Any
) -> None:
    lazy = scan(folder)
    assert lazy.select(pl.len()).collect(engine=engine).item() == 200
    assert sum(decoded.values()) == 0
    counts = lazy.filter(c("tool").is_null()).group_by("agent").agg(pl.len())
    assert counts.collect(engine=engine).height == len(AGENTS)
    assert {column for column, count in decoded.items() if count} == {"agent", "tool"}


@pytest.mark.parametrize("engine", ENGINES)
def test_head_stops_reading_and_closes(
    folder: Path, decoded: dict[str, int], all_closed: Answer, engine: Any
) -> None:
    assert scan(folder).head(5).select("agent").collect(engine=engine).height == 5
    assert decoded["agent"] == 5
    assert all_closed()


@pytest.mark.parametrize("batch_rows", [2], indirect=True)
def test_head_of_a_filter_stops_when_streamed(
    folder: Path, decoded: dict[str, int], all_closed: Answer, batch_rows: int
) -> None:
    query = scan(folder).filter(c("kind") == "response").head(2)
    assert query.collect(engine="streaming").height == 2
    assert decoded["kind"] < 100  # polars asks for some batches ahead
    assert all_closed()


def test_batch_size_of_polars_bounds_the_frames(folder: Path) -> None:
    frames = module._Events(module.discover(folder), "auto", "report")(["seq"], None, None, 64)
    assert [frame.height for frame in frames] == [64, 64, 64, 8]


def test_rows_kept_by_a_filter_pin_no_batch() -> None:
    data = {"response_content": "x" * 50_000}
    events = [event(1) | {"sequence_num": number, "data": data} for number in range(60)]
    batch = read_batches(lines(events), columns=["seq", "text"]).read_next_batch()
    assert batch.get_total_buffer_size() > 3_000_000
    assert module._fitting(batch, c("seq") == 7).get_total_buffer_size() < 60_000


def test_missing_path_and_unknown_arguments_fail_at_once(folder: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        scan(folder / "absent.jsonl")
    with pytest.raises(UnknownDialectError, match="praisonai"):
        scan(folder, dialect="nonsense")
    with pytest.raises(ConfigError, match="on_error"):
        scan(folder, on_error="ignore")


def through_polars(kind: type[Exception], words: str) -> Any:
    """Expect an error as it comes out of polars, which keeps its type from 2.0 on."""
    if pl.__version__ < "2":
        return pytest.raises(pl.exceptions.ComputeError, match=f"{kind.__name__}: {words}")
    return pytest.raises(kind, match=words)


DAMAGED = lines([event(0)]) + b'{"event_type": \n' + lines([event(1)])


@pytest.mark.parametrize("engine", ENGINES)
def test_damage_raises_our_error_through_polars(
    tmp_path: Path, all_closed: Answer, engine: Any
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DAMAGED)
    query = scan(path, on_error="raise").group_by("agent").agg(pl.len())
    words = rf"{path}, line 2, offset \d+: not JSON(.|\n)*Hint:"
    with through_polars(FrameError, words) as raised:
        query.collect(engine=engine)
    assert getattr(raised.value, "line", 2) == 2
    assert all_closed()


def test_damage_is_reported_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tracestream"):
        assert scan(DAMAGED).collect().height == 2
    assert [r.getMessage()[:26] for r in caplog.records] == ["loss: malformed_record x1:"]


def test_file_that_vanishes_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([event(0)]))
    lazy, strict = scan(path), scan(path, on_error="raise")
    path.unlink()
    with caplog.at_level(logging.WARNING, "tracestream"):
        assert lazy.collect().height == 0
    assert "unreadable_source" in caplog.text
    with through_polars(InputError, ".*unreadable_source"):
        strict.collect()


@pytest.mark.parametrize("data", [b"", b"\n\n", b"[]", b'{"some": "other format"}'], ids=repr)
def test_no_events_give_an_empty_frame_of_the_schema(data: bytes) -> None:
    lazy = scan(data)
    assert lazy.collect().schema == SCHEMA
    found = lazy.select("agent", "line").filter(c("line") > 1).collect()
    assert found.schema == {"agent": pl.String, "line": pl.Int64}
    assert lazy.group_by("agent").agg(pl.len()).collect(engine="streaming").height == 0


def test_text_columns_hold_utf8_whatever_the_trace_holds() -> None:
    data = (
        b'{"event_type": "llm_response", "agent_name": "a\xff\xfe", "run_id": "\\udc00",'
        b' "data": {"response_content": "cut \xf0\x9f here \\ud83d \xed\xa0\x80"}}\n'
        b'{"event_type": "llm_request", "agent_name": "b", "data": {"messages": ["\xff"]}}\n'
        b'{"event_type": "tool\xc0_x", "tool_name": "\\ud83d\\ude42 \xe2\x82"}\n'
    )
    frame = scan(data).collect()
    assert frame["agent"].to_list() == ["a\ufffd\ufffd", "b", None]
    assert frame["run_id"][0] == "\ufffd"
    assert frame["text"][0].startswith("cut \ufffd here \ufffd ")
    assert frame["tool"][2] == "🙂 \ufffd"
    for column in frame.select(pl.col(pl.String)):
        "".join(column.drop_nulls()).encode("utf-8")
    assert scan(data).filter(c("agent").str.contains("\ufffd")).collect().height == 1


def named_pipe(data: bytes, folder: Path) -> Path:
    path = folder / "pipe.jsonl"
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return path


@pytest.mark.parametrize(
    "stream",
    [lambda data, _: iter([data]), lambda data, _: io.BytesIO(data), named_pipe],
    ids=["iterator", "file object", "named pipe"],
)
def test_stream_can_be_collected_once(tmp_path: Path, stream: Callable[[bytes, Path], Any]) -> None:
    lazy = scan(stream(lines([event(0), event(1)]), tmp_path))
    assert lazy.collect().height == 2
    with pytest.raises(InputError, match="is a stream, and has been read\nHint: collect it once"):
        lazy.select("line").collect()
    with pytest.raises(InputError, match="has been read"):
        lazy.join(lazy, on="line").collect()


def test_threads_collect_the_same_scan_at_once(folder: Path, whole: pl.DataFrame) -> None:
    lazy, texts = scan(folder), whole.filter(c("kind") == "response").select("text")
    queries = [lazy, lazy.filter(c("kind") == "response").select("text")]
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(queries[n % 2].collect, engine=ENGINES[n % 3 % 2]) for n in range(30)]
        for number, job in enumerate(jobs):
            assert job.result(timeout=60).equals([whole, texts][number % 2])


def test_parquet_and_batches_hold_all(folder: Path, whole: pl.DataFrame, tmp_path: Path) -> None:
    scan(folder).sink_parquet(tmp_path / "events.parquet")
    assert pl.read_parquet(tmp_path / "events.parquet").equals(whole)
    batches = list(scan(folder).collect_batches(chunk_size=30))
    assert max(batch.height for batch in batches) <= 30
    assert pl.concat(batches).equals(whole)
