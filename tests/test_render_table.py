import tracemalloc
from dataclasses import replace

import pyarrow as pa
import pytest

from tracestream import grade
from tracestream.render.table import table_lines
from tracestream.render.text import cell_width, visible
from tracestream.schema import GRADED
from tracestream.spool import Spool

HOSTILE = "a\x1b[31m\u202e\n\t\u200b.jsonl"


def report_of(*rows, lost=(), over=()):
    """Return a report of these runs; what a row leaves out has a sound default.

    Args:
        rows: Of RUNS.
        lost: Run, from and to of handoffs that lost content.
        over: Run and agent of budgets that were blown.
    """
    known = {"source": "a.jsonl", "verdict": "pass", "reasons": [], "events": 1}
    names = {row["run"]: {"lost_pairs": [], "over_budget": []} for row in rows}
    for run, one, other in lost:
        names[run]["lost_pairs"].append(f"{one} -> {other}")
    for run, agent in over:
        names[run]["over_budget"].append(agent)
    rows = [{**known, **names[row["run"]], **row} for row in rows]
    empty = grade(b'{"event_type": "tool_start", "tool_name": "search"}')
    return replace(
        empty,
        runs_spool=Spool.of(pa.Table.from_pylist(rows, GRADED)),
        n_events=4211,
        n_bytes=1834022,
    )


def texts(report, **options):
    return [line.text for line in table_lines(report, **options)]


def names(report, **options):
    """Return the runs listed, in order."""
    lines = texts(report, **options)
    at = lines[0].index("RUN")
    return [line[at:].split("  ")[0] for line in lines[1 : lines.index("")]]


SMALL = report_of(
    {
        **{"run": "a.jsonl#r1", "handoff_score": 10.0, "overall_score": 10.0},
        **{"content_loss": False, "tool_calls": 12, "events": 1200},
    },
    {
        **{"run": "b.jsonl", "verdict": "ungradable", "events": 0},
        "reasons": ["unreadable: Permission denied"],
    },
    {
        **{"run": "traces/c.jsonl", "verdict": "fail", "handoff_score": 2.4, "overall_score": 2.4},
        **{"content_loss": True, "tool_calls": 0, "events": 7},
        "reasons": ["overall_score 2.4 < 8.0", "1 tool call < 2"],
    },
    lost=[("traces/c.jsonl", "ann", "bob"), ("traces/c.jsonl", "bob", "cy")],
)

SMALL_TABLE = """\
VERDICT     HANDOFF  CONTENT LOST           TOOLS  EVENTS  RUN             REASONS
fail           2.40  ann -> bob, bob -> cy      0       7  traces/c.jsonl  overall_score 2.4 < 8.0; 1 tool call < 2
pass          10.00                            12    1200  a.jsonl#r1
ungradable        -                             -       0  b.jsonl         unreadable: Permission denied

handoff score       6.20  mean of 2
content loss           1  run
tool calls            12
events             4,211
bytes read     1,834,022

3 runs: 1 passed, 1 failed, 1 ungradable
"""


def test_a_small_report_outside_a_terminal():
    assert "\n".join(texts(SMALL)) + "\n" == SMALL_TABLE


def test_budgets_bring_their_columns_and_totals():
    report = report_of(
        {"run": "a", "handoff_score": 4.0, "budget_score": 10.0, "overall_score": 7.0},
        {"run": "b", "budget_score": 5.0, "overall_score": 5.0},
        over=[("b", "ann"), ("b", "bob")],
    )
    lines = texts(report)
    assert lines[:3] == [
        "VERDICT  OVERALL  HANDOFF  BUDGET  OVER BUDGET  TOOLS  EVENTS  RUN",
        "pass        5.00        -    5.00  ann, bob         -       1  b",
        "pass        7.00     4.00   10.00                   -       1  a",
    ]
    assert [line.split("  ")[0] for line in lines[4:7]] == [
        *("overall score", "handoff score", "budget score"),
    ]
    assert lines[4].split()[2:] == ["6.00", "mean", "of", "2"]
    assert lines[5].split()[2:] == ["4.00", "mean", "of", "1"]


def test_runs_are_listed_worst_first_and_equal_ones_in_their_order():
    scores = [
        ("u1", "ungradable", None),
        ("p9", "pass", 9.0),
        ("p-", "pass", None),
        ("f6", "fail", 6.0),
        ("p1", "pass", 1.0),
        ("f-", "fail", None),
        ("p9 too", "pass", 9.0),
        ("f2", "fail", 2.0),
        ("u2", "ungradable", None),
    ]
    rows = [{"run": run, "verdict": verdict, "overall_score": s} for run, verdict, s in scores]
    expected = ["f2", "f6", "f-", "p1", "p9", "p9 too", "p-", "u1", "u2"]
    assert names(report_of(*rows)) == expected


@pytest.mark.parametrize("top", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("width", [None, 80])
def test_totals_are_of_all_runs_whatever_is_listed(top, width):
    lines = texts(SMALL, top=top, width=width)
    summary = SMALL_TABLE.splitlines()[5:]
    assert lines[-len(summary) :] == summary
    listed = lines[: -len(summary)]
    assert len(listed) == (0 if top == 0 else min(top, 3) + 2 + (top < 3))


def test_a_cut_list_says_what_it_leaves_out():
    assert texts(SMALL, top=1)[2] == ("... and 2 more (1 passed, 1 ungradable); --top 3 lists all")


def test_a_report_without_runs_has_a_summary():
    lines = texts(report_of())
    assert lines[0].startswith("handoff score")
    assert lines[-1] == "0 runs: 0 passed, 0 failed, 0 ungradable"


WIDE = report_of(
    *SMALL.runs_table.to_pylist(),
    {"run": f"traces/{'deep/' * 30}run.jsonl#session-17", "overall_score": 9.0, "events": 10**9},
    {"run": "日本語のとても長い名前のセッション.jsonl#終わり", "overall_score": 8.0},
    {"run": "שלום/مرحبا-وصلت-الرسالة-الطويلة-جدا.jsonl#" + "א" * 20, "budget_score": 1.0},
    {"run": HOSTILE * 3, "verdict": "fail", "reasons": [HOSTILE * 5]},
)


@pytest.mark.parametrize("width", [1, 10, 20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_every_line_fits_the_terminal_and_prints(width, ascii_only):
    for line in table_lines(WIDE, width=width, ascii_only=ascii_only):
        assert cell_width(line.text) <= width
        assert line.text.isprintable()
        assert line.text.isascii() or not ascii_only
        assert line.n_styled <= len(line.text)


@pytest.mark.parametrize("width", [40, 80, 200, None])
def test_columns_stay_aligned_beside_wide_and_right_to_left_names(width):
    lines = texts(WIDE, width=width)
    title = lines[0]
    rows = lines[1 : lines.index("")]
    assert len(rows) == 7
    for name in ("OVERALL", "HANDOFF", "EVENTS"):
        if name in title.split():
            end = title.index(name) + len(name)
            assert all(row[:end].isascii() and row[end - 1] not in " " for row in rows), name
            assert {row[end : end + 2] for row in rows} == {"  "}
    if "REASONS" in title.split():
        at = cell_width(title[: title.index("REASONS")])
        for row in rows:
            if "unreadable" in row:
                assert cell_width(row[: row.index("unreadable")]) == at


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (20, "VERDICT RUN"),
        (40, "VERDICT HANDOFF RUN"),
        (55, "VERDICT HANDOFF CONTENT LOST RUN"),
        (62, "VERDICT HANDOFF RUN REASONS"),
        (75, "VERDICT HANDOFF CONTENT LOST RUN REASONS"),
        (92, "VERDICT HANDOFF CONTENT LOST TOOLS EVENTS RUN REASONS"),
    ],
)
def test_a_narrow_terminal_loses_what_matters_less(width, columns):
    assert texts(SMALL, width=width)[0].split() == columns.split()


def test_why_runs_failed_outlives_the_parts_of_their_score():
    scores = {"handoff_score": 1.0, "budget_score": 1.0, "overall_score": 1.0}
    passed = {"run": "r" * 40, "reasons": ["no handoff to score"], **scores}
    failed = {**passed, "verdict": "fail", "reasons": ["overall_score 1.0 < 8.0"]}
    assert "REASONS" not in texts(report_of(passed), width=74)[0]
    assert "REASONS" in texts(report_of(passed, failed), width=74)[0]


def test_a_long_name_is_cut_in_the_middle_only_on_a_terminal():
    name = f"traces/{'deep/' * 30}run.jsonl#session-17"
    report = report_of({"run": name})
    assert names(report) == [name]
    (cut,) = names(report, width=80)
    assert cut.startswith("traces/")
    assert "…" in cut
    assert cut.endswith("run.jsonl#session-17")
    assert cell_width(cut) == 80 - len("pass           -      -       1  ")


def test_one_endless_name_does_not_fill_up_every_row():
    report = report_of(
        {"run": "x" * 100_000, "reasons": ["why"]}, {"run": "short", "reasons": ["why"]}
    )
    lines = texts(report)
    assert lines[1].endswith("x" * 100_000 + "  why")
    assert len(lines[2]) < 200


def test_hostile_names_are_shown_escaped():
    assert names(report_of({"run": HOSTILE})) == [visible(HOSTILE)]
    assert r"a\x1b[31m\u202e\n\t\u200b.jsonl" in texts(report_of({"run": HOSTILE}))[1]


def test_the_beginning_of_a_line_is_styled_by_its_verdict():
    title, *rows = list(table_lines(SMALL))[:4]
    assert title.style == "bold"
    assert [(line.text[: line.n_styled], line.style) for line in rows] == [
        ("fail", "bold red"),
        ("pass", "green"),
        ("ungradable", "yellow"),
    ]


def test_thousands_of_runs_are_drawn_a_slice_at_a_time():
    n_runs = 20_000
    runs = pa.table(
        {
            "run": [f"traces/run-{i:05}.jsonl" for i in range(n_runs)],
            "source": ["a"] * n_runs,
            "verdict": ["pass"] * n_runs,
            "reasons": pa.array([[]] * n_runs, pa.list_(pa.string())),
            "overall_score": [i * 7919 % n_runs / n_runs * 10 for i in range(n_runs)],
            "events": [1] * n_runs,
        }
    )
    missing = {f.name: pa.nulls(n_runs, f.type) for f in GRADED if f.name not in runs.column_names}
    table = pa.table({**dict(zip(runs.column_names, runs.columns, strict=True)), **missing})
    report = replace(SMALL, runs_spool=Spool.of(table.select(GRADED.names).cast(GRADED)))
    report.summary  # noqa: B018 - not what is measured
    tracemalloc.start()
    try:
        n_lines = sum(1 for _ in table_lines(report))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_lines == n_runs + 9
    assert peak < 4 << 20  # all rows as Python objects take over 20 MB
    lines = texts(report, top=3)
    assert [line.split()[1] for line in lines[1:4]] == ["-", "-", "-"]
    assert lines[1].endswith("  traces/run-00000.jsonl")
    assert lines[4] == "... and 19,997 more (19,997 passed); --top 20000 lists all"
