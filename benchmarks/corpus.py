"""Seeded corpora of PraisonAI context traces: the same seed gives the same bytes on any machine.

Events are ContextEvents 1.1 as PraisonAI's writer spells them (`tests/test_corpus.py` holds them
against it). Text is made once, as sentences in both spellings (`\\u`-escaped and UTF-8), and put
together as bytes: a gigabyte takes seconds, memory stays flat. Of a .gz file only the content is
the same everywhere: its bytes depend on zlib too.

    python benchmarks/corpus.py demo build/demo/traces
    python benchmarks/corpus.py growing build/growing --size 1GB --runs 150 --seed 7
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

EPOCH_S, SECONDS_PER_EVENT = 1_750_000_000.0, 0.3125  # a corpus carries no clock
ESCAPED_OF_TEN = 7  # of ten runs, seven are \u-escaped, as json.dumps writes by default
HANDOFFS = ("verbatim", "verbatim", "headed", "paraphrase", "paraphrase", "lost", "lost")
TOOL_ERROR, TOOL_ERROR_SHARE = "timeout after 900 ms", 0.1
BUDGETS, BLOWN_SHARE = (8_000, 32_000, 128_000, 1_000_000, 100_000_000), 0.3
MAX_TURNS = 32  # tool calls of an agent: so history is about 85% of a growing trace
MIN_TURN_TEXT, FLAT_TURN_TEXT = 400, 2_000  # bytes of new text; below the first, fewer turns
OUTPUT_TURNS = 1.5  # the text of a final output, in turns
MIN_RUN_BYTES, MAX_AGENT_BYTES = 7_000, 8_000_000  # more make more agents, not larger records
EVENT_BYTES, MESSAGES_BYTES = 450, 330  # an event, and what a turn adds to history, beside text
AGENTS = ("Planner", "Researcher", "Analyst", "Writer", "Reviewer", "Editor")
TEAMS = ("billing", "release", "research", "support")
TOOLS = ("tavily_search", "read_file", "run_query", "fetch_page")
N_SENTENCES = 320  # of a topic; an eighth as many rough ones come after them
SMALL_WORDS = ("the", "and", "for", "is", "up", "by", "of", "per", "was", "in", "to", "a", "with")
# One row a topic, no word in two rows: a lost handoff shares next to nothing with what was lost.
TOPICS = [
    row.split()
    for row in """
    charger battery grid vehicle fleet station voltage adoption subsidy kilowatt plug range
    invoice refund ledger payment dispute currency receipt discount account auditor balance
    deploy rollback canary cluster pipeline artifact container incident pager latency patch
    soil harvest irrigation seedling orchard fertiliser pasture tractor drought yield barley
    patient dosage clinic symptom vaccine nurse diagnosis therapy allergy surgeon pulse ward
    harbour freight pallet customs vessel manifest crane tariff dockyard cargo pilot anchor
    violin rehearsal chorus tempo composer overture melody orchestra soloist encore ballet
    glacier moraine crevasse summit avalanche icefall basecamp altitude cornice ridge thaw
    enzyme protein genome plasmid ribosome antibody culture pipette membrane mutation assay
    telescope nebula orbit comet spectrum galaxy eclipse quasar satellite crater parallax
    """.strip().splitlines()
]
FOREIGN = ("café crème", "東京データ", "проверка данных", "数据质量", "🚀 リリース", "año")
ROUGH = ('"no"', "a\nline", "C:\\new", "it's", "a\u2028b", "a\tb", "👩\u200d🔬")  # trips readers
# The writer's fields in its order; run_id, parent_seq and node_id follow where there are any.
EVENT: dict[str, Any] = json.loads(
    '{"schema_version": "1.1", "event_type": "", "timestamp": 0.0, "session_id": "", "agent_name": '
    'null, "sequence_num": 0, "messages_count": 0, "tokens_used": 0, "tokens_budget": 0, "data": '
    '{}, "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0}'
)
MODEL, BULK = "gpt-4o-mini", "@bulk"  # the latter stands for JSON that is put in as bytes
# What stands before, between and after the events of a file.
FRAMINGS = {
    "lines": (b"", b"\n", b"\n"),
    "array": (b"[", b", ", b"]"),
    "pretty": (b"[\n", b",\n", b"\n]\n"),
}


class Shape(NamedTuple):
    """How a corpus is laid out; `run_bytes` is the usual size of a run's JSON."""

    run_bytes: int
    suffix: str = ".jsonl"
    framing: str = "lines"
    window: int = 0  # one file, this many runs being written at the same time; 0: a file a run
    growing: bool = True  # every request repeats the agent's history
    bare: bool = False  # nothing but requests and responses, no run id


SHAPES = {
    "demo": Shape(60_000),
    "growing": Shape(6_500_000),
    "flat": Shape(1_000_000, growing=False),
    "interleaved": Shape(6_500_000, window=64),
    "array": Shape(6_500_000, ".json", "array", window=1),
    "array-pretty": Shape(6_500_000, ".json", "pretty", window=1),
    "gz": Shape(6_500_000, ".jsonl.gz"),
    "many-small": Shape(2_200, bare=True),
}


def pick(rng: random.Random, items: Sequence[Any]) -> Any:
    """One of `items`; of random's methods only `random()` promises the same numbers everywhere."""
    return items[int(rng.random() * len(items))]


def sentence(rng: random.Random, topic: Sequence[str]) -> str:
    """A sentence of about 100 characters on one topic."""
    words = []
    for _ in range(12 + int(rng.random() * 6)):
        kind = rng.random()
        word = pick(rng, SMALL_WORDS if kind < 0.4 else topic)
        words.append(word if kind < 0.75 else f"{word}{100 + int(rng.random() * 900)}")
    if rng.random() < 0.15:
        words.append(pick(rng, FOREIGN))
    text = " ".join(words)
    return f"{text[0].upper()}{text[1:]} {int(rng.random() * 100)}%."


@lru_cache(maxsize=1)
def library(seed: int) -> tuple[list[list[bytes]], list[list[bytes]]]:
    """Sentences as they stand in a JSON string: `[escaped][topic][sentence]`, rough ones last."""
    rng = random.Random(seed)
    pools: tuple[list[list[bytes]], list[list[bytes]]] = ([], [])
    for topic in TOPICS:
        texts = [sentence(rng, topic) for _ in range(N_SENTENCES)]
        texts += [f"{pick(rng, ROUGH)}: {sentence(rng, topic)}" for _ in range(N_SENTENCES // 8)]
        for escaped, pool in enumerate(pools):
            spelled = (json.dumps(text, ensure_ascii=bool(escaped)) for text in texts)
            pool.append([text[1:-1].encode() for text in spelled])
    return pools


def passage(rng: random.Random, pool: Sequence[bytes], n_bytes: float) -> bytes:
    """Sentences of about `n_bytes` in all, without rough parts in the first 200 characters."""
    n_first = min(3, max(1, int(n_bytes // 100)))
    sentences = [pool[int(rng.random() * N_SENTENCES)] for _ in range(n_first)]
    n, n_pool, draw = sum(map(len, sentences)), len(pool), rng.random
    while n < n_bytes:
        sentences.append(pool[int(draw() * n_pool)])
        n += len(sentences[-1]) + 1
    return b" ".join(sentences)


def to_json(value: dict[str, Any], bulk: bytes = b"") -> bytes:
    """`value` as the writer serialises it, with the JSON `bulk` in the place of BULK."""
    return json.dumps(value).encode().replace(b'"%b"' % BULK.encode(), bulk, 1)


def message(role: str, content: bytes, **more: Any) -> bytes:
    """A chat message as JSON; `content` is the inside of a JSON string."""
    return to_json({"role": role, "content": BULK, **more}, b'"%b"' % content)


class Session:
    """One recording: numbers, stamps and serialises events as PraisonAI's emitter does."""

    def __init__(self, name: str) -> None:
        self.name, self.seq = name, 0  # the number of the next event

    def event(
        self, kind: str, agent: str | None, data: dict[str, Any], bulk: bytes = b"", **fields: Any
    ) -> bytes:
        """The next event; `bulk` takes the place of BULK in it."""
        event = EVENT | {"event_type": kind, "session_id": self.name, "sequence_num": self.seq}
        event |= {"timestamp": EPOCH_S + self.seq * SECONDS_PER_EVENT, "agent_name": agent}
        self.seq += 1
        return to_json(event | {"data": data} | fields, bulk)


class Plan(NamedTuple):
    """What an agent will do: `turns` tool calls, `text_bytes` of new text in each."""

    turns: int
    text_bytes: float
    budget: int


def plan_agent(rng: random.Random, n_bytes: float, growing: bool, given: bool) -> Plan:
    """An agent whose events come to about `n_bytes`; `given` if an output is handed to it."""
    n_bytes -= 6 * EVENT_BYTES + MESSAGES_BYTES
    if growing:
        for turns in range(MAX_TURNS - int(rng.random() * 6), -1, -1):
            # A turn's text stands once in its own events, and in every request that follows.
            beside = turns * (4 * EVENT_BYTES + MESSAGES_BYTES * (turns + 3) / 2)
            weight = 0.92 * turns * (turns + 3) / 2 + OUTPUT_TURNS * (turns + 2 if given else 1)
            text_bytes = max(60.0, (n_bytes - beside) / weight)
            if text_bytes >= MIN_TURN_TEXT:
                break
    else:
        text_bytes = FLAT_TURN_TEXT
        turns = int(n_bytes / (4 * EVENT_BYTES + MESSAGES_BYTES + 1.75 * text_bytes))
    repeated, given_bytes = turns if growing else 1, OUTPUT_TURNS * given * text_bytes
    tokens = (100 + repeated * (text_bytes + 250) + given_bytes) / 4
    budget = next(budget for budget in BUDGETS if budget > 2 * tokens)
    if rng.random() < BLOWN_SHARE:
        budget = int((0.4 + 0.4 * rng.random()) * tokens)
    return Plan(turns, text_bytes, budget)


class Run:
    """One run: a few agents, each handing on to the next."""

    def __init__(self, session: Session, shape: Shape, n_bytes: float, seed: int, index: int):
        self.session, self.shape, self.n_bytes = session, shape, n_bytes
        self.rng = random.Random((seed << 32) + index + 1)
        self.pools = library(seed)[index * 7 % 10 < ESCAPED_OF_TEN]
        self.run = f"{self.rng.getrandbits(128):032x}"

    def _event(
        self, kind: str, agent: str | None, parent: int, data: dict[str, Any], **more: Any
    ) -> bytes:
        node = more.pop("node", agent and f"agent:{agent}")
        ids: dict[str, Any] = {} if self.shape.bare else {"run_id": self.run, "parent_seq": parent}
        ids |= {"node_id": node} if node else {}
        return self.session.event(kind, agent, data, **more, **ids)

    def _frame(self, *args: Any, **more: Any) -> Iterator[bytes]:
        """An event that frames others; a bare trace does without."""
        if not self.shape.bare:
            yield self._event(*args, **more)

    def events(self) -> Iterator[bytes]:
        """The run's events: about `n_bytes`, with a byte or two between them."""
        rng, left, root = self.rng, self.n_bytes, self.session.seq
        n_agents = 2 if left < 3 * MIN_RUN_BYTES else 2 + int(rng.random() * 3)
        n_agents = max(n_agents, math.ceil(left / MAX_AGENT_BYTES))
        names = [AGENTS[i % 6] + (f" {i // 6 + 1}" if i > 5 else "") for i in range(n_agents)]
        first_topic, handed = int(rng.random() * len(TOPICS)), b""
        data: dict[str, Any] = {"kind": "agents", "name": "Team", "process": "sequential"}
        yield from self._frame("workflow_start", None, 0, data)
        for i, name in enumerate(names):
            pool, other_pool = (self.pools[(first_topic + i + k) % len(TOPICS)] for k in (0, 5))
            plan = plan_agent(rng, left / (n_agents - i), self.shape.growing, given=i > 0)
            output, handed_on = self._outcome(pool, other_pool, OUTPUT_TURNS * plan.text_bytes)
            for event in self._agent(name, root, plan, pool, handed, output):
                left -= len(event) + 1
                yield event
            handed = handed_on
            if i + 1 < n_agents:
                data = {"from_agent": name, "to_agent": names[i + 1], "reason": "done"}
                data |= {"context_passed": {}, "kind": "handoff"}
                frame = ("agent_handoff", name, root, data)
                yield from self._frame(*frame, node=f"agent:{names[i + 1]}")
        data = {"status": "completed", "duration_ms": 1000.5}
        yield from self._frame("workflow_end", None, root, data)

    def _outcome(
        self, pool: list[bytes], other_pool: list[bytes], n_bytes: float
    ) -> tuple[bytes, bytes]:
        """An agent's final output, and what the next agent is given of it."""
        output, kind = passage(self.rng, pool, n_bytes), pick(self.rng, HANDOFFS)
        if kind == "lost":
            return output, passage(self.rng, other_pool, n_bytes)
        if kind == "paraphrase":
            return output, b" ".join(output.split(b" ")[1::3])
        if kind == "headed":  # verbatim, but Python's repr() shows the line break as two characters
            output = b"Findings:\\n" + output
        return output, output

    def _agent(
        self, name: str, root: int, plan: Plan, pool: list[bytes], handed: bytes, output: bytes
    ) -> Iterator[bytes]:
        """The events of one agent, from its start to its end."""
        rng, growing, start = self.rng, self.shape.growing, self.session.seq
        yield from self._frame("agent_start", name, root, {"role": name, "goal": "g"})
        system = message("system", b"You are %b." % name.encode()) + b", "
        context = b"\\n\\nContext:\\n" + handed if handed else b""
        history, n_messages = system + message("user", b"Write it up." + context), 2
        for _ in range(plan.turns):
            said = passage(rng, pool, 0.2 * plan.text_bytes)
            found = passage(rng, pool, 0.8 * plan.text_bytes)
            sent = history if growing else system + message("user", found)
            yield from self._model_call(name, start, plan, n_messages, sent, said, "tool_calls")
            tool, call_id = pick(rng, TOOLS), f"call_{self.session.seq}"
            failed = rng.random() < TOOL_ERROR_SHARE
            yield from self._tool_call(name, start, tool, b"" if failed else found)
            if growing:
                call = {"name": tool, "arguments": json.dumps({"query": tool})}
                calls = [{"id": call_id, "type": "function", "function": call}]
                asked = message("assistant", said, tool_calls=calls)
                answer = TOOL_ERROR.encode() if failed else found
                answered = message("tool", answer, tool_call_id=call_id)
                history = b", ".join((history, asked, answered))
                n_messages += 2
        yield from self._model_call(name, start, plan, n_messages, history, output, "stop")
        yield from self._frame("agent_end", name, start, {"status": "completed"})

    def _model_call(
        self, name: str, start: int, plan: Plan, n_messages: int, sent: bytes, said: bytes, why: str
    ) -> Iterator[bytes]:
        prompt, completion = len(sent) // 4, len(said) // 4
        data: dict[str, Any] = {"model": MODEL, "messages": BULK}
        fields = {"messages_count": n_messages, "tokens_used": prompt, "tokens_budget": plan.budget}
        yield self._event("llm_request", name, start, data, bulk=b"[%b]" % sent, **fields)
        data = {"response_tokens": completion, "duration_ms": 200.5 + completion}
        data |= {"finish_reason": why, "response_content": BULK, "model": MODEL}
        usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
        usage["cost_usd"] = round(prompt * 1.5e-7 + completion * 6e-7, 6)
        yield self._event("llm_response", name, start, data, bulk=b'"%b"' % said, **usage)

    def _tool_call(self, name: str, start: int, tool: str, found: bytes) -> Iterator[bytes]:
        node, seq = f"tool:{name}/{tool}", self.session.seq
        data: dict[str, Any] = {"tool_name": tool, "tool_args": {"query": tool}}
        yield self._event("tool_call_start", name, start, data, node=node)
        data = {"tool_name": tool, "result": BULK if found else None, "duration_ms": 930.25}
        data["error"] = None if found else TOOL_ERROR
        more = {"bulk": b'"%b"' % found, "cost_usd": 0.001 if "search" in tool else 0.0}
        yield self._event("tool_call_end", name, seq, data, node=node, **more)


def recording(session: Session, runs: Iterable[Run], shape: Shape, seed: int) -> Iterator[bytes]:
    """The events of `runs`, the shape's window of them at a time, in turns drawn by `seed`."""
    rng, waiting = random.Random(seed), (run.events() for run in runs)
    if not shape.bare:
        yield session.event("session_start", None, {"framework": "praisonai"})
    started = list(islice(waiting, max(1, shape.window)))
    while started:
        place = int(rng.random() * len(started))
        if (event := next(started[place], None)) is not None:
            yield event
        else:
            started[place : place + 1] = islice(waiting, 1)
    if not shape.bare:
        yield session.event("session_end", None, {"status": "ok"}, parent_seq=0)


def write_events(path: Path, events: Iterable[bytes], framing: str) -> int:
    """Writes `events`, compressed if `path` ends in .gz, and gives the bytes of their JSON."""
    (before, between, after), n_bytes = FRAMINGS[framing], 0
    with ExitStack() as stack:
        out: IO[bytes] | gzip.GzipFile = stack.enter_context(path.open("wb", buffering=1 << 16))
        if path.suffix == ".gz":  # no name, no time: the same content is the same file
            out = stack.enter_context(gzip.GzipFile("", "wb", 4, out, mtime=0))
        for event in events:
            if framing == "pretty":
                text = json.dumps([json.loads(event)], indent=2, ensure_ascii=event.isascii())
                event = text[2:-2].encode()
            n_bytes += out.write(before) + out.write(event)
            before = between
        return n_bytes + out.write(after)


def generate(
    shape: str, out_dir: Path, *, size: int | None = None, runs: int | None = None, seed: int = 0
) -> int:
    """Writes a corpus into `out_dir`, empty or absent; gives its bytes of JSON, uncompressed.

    `size` asks for these bytes, indentation aside. What is not given follows from the usual size
    of a run; with neither there are 24. A demo ends in a compressed, an array and a torn file.
    """
    plan = SHAPES[shape]
    if runs is None:
        runs = 24 if size is None else max(1, round(size / plan.run_bytes))
    n_bytes = plan.run_bytes if size is None else size / max(1, runs)
    least = plan.run_bytes if plan.bare else MIN_RUN_BYTES
    if runs < 1 or n_bytes < 0.9 * least:
        raise ValueError(f"{runs} runs of {n_bytes:.0f} bytes: one run takes at least {least}")
    if out_dir.is_dir() and any(out_dir.iterdir()):
        raise ValueError(f"{out_dir} is not empty")
    demo_ends = {runs - 3: (".jsonl.gz", "lines"), runs - 2: (".json", "array")}
    special, json_bytes = demo_ends if shape == "demo" else {}, 0
    for index in range(1 if plan.window else runs):
        session = Session("trace" if plan.window else f"{TEAMS[index % 4]}-{index:04}")
        indices = range(runs) if plan.window else [index]
        members = (Run(session, plan, n_bytes, seed, each) for each in indices)
        suffix, framing = special.get(index, (plan.suffix, plan.framing))
        folder = out_dir / f"{index // 1000:03}" if plan.bare else out_dir
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (session.name + suffix)
        json_bytes += write_events(path, recording(session, members, plan, seed), framing)
    if shape == "demo":  # its last writer was killed: the file ends within a record
        lost = path.stat().st_size // 10
        os.truncate(path, path.stat().st_size - lost)
        json_bytes -= lost
    return json_bytes


def parse_size(text: str) -> int:
    """Bytes of `512`, `64KB`, `1.5GB` (powers of 1000) or `256MiB` (powers of 1024)."""
    if not (match := re.fullmatch(r"(\d+(?:\.\d+)?)(?:([KMG])(i?))?B?", text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no size, such as 64MB or 1.5GiB")
    number, prefix, binary = match.groups(default="")
    return int(float(number) * (1024 if binary else 1000) ** (" KMG".index(prefix or " ")))


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate a seeded corpus of agent traces.")
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("out_dir", type=Path, help="a folder that is empty or absent")
    parser.add_argument("--size", type=parse_size, help="bytes of JSON: 64MB, 1GB, 256MiB")
    parser.add_argument("--runs", type=int, help="how many runs share that size")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    try:
        json_bytes = generate(**vars(asked))
    except ValueError as exc:
        parser.error(str(exc))
    print(f"{asked.out_dir}: {json_bytes / 1e6:.1f} MB of JSON")


if __name__ == "__main__":
    main()
