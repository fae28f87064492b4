"""Nasty traces: everything that makes reading, matching or counting words of a trace go wrong.

One set of generators serves twice: `nasty_trace(seed)` for many fixed traces, and hypothesis
strategies (`traces()`, `messages()`, ...) that draw from the same code and shrink, towards choices
of index 0 and random() of 0.0, so these are the tame ones. All events are what a JSON reader gives
back: a trace written by `write_jsonl` and read again is equal to it.
"""

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

Event = dict[str, Any]

WORDS = [
    *"the cat sat on a mat abc abcd data token report sales doubled market quarter plan".split(),
    *"x1y2 2024 v2 a1b 12345 007 q3 HTTP GPT4 Upper MIXEDcase it's don't e.g. 3.14 -5 1e5".split(),
    *"snake_case _lead trail_ __init__ a_b word_ _1234 12_34 me@mail.example path/to/file".split(),
    # Characters that lower-case into ASCII: Kelvin sign, dotted capital I.
    *"\u212aelvin boo\u212a na\u212a wor\u212aing \u0130stanbul ABCD\u0130 D\u0130ST".split(),
    # Word characters beyond ASCII, which stop a word from being a token.
    *"m² area² x²abcd abcd² naïve café straße ΣΑΣ ǅungla Ⅻ １２３４ ١٢٣٤ ﬁnal ſave".split(),
    *"日本語 漢字word word漢字 报告：销售额 한국어 עברית हिन्दी ไทย".split(),
    # Combining marks, which are no word characters and end a word.
    *"e\u0301tude cafe\u0301s a\u0308pfel z\u0351\u036dalgo report\u0301 rep\u0301ort".split(),
    *"🙂 🧑‍💻 🇩🇪 report🙂plan 🙂🙂🙂".split(),
    *"\u200bzero\u200bwidth \ufeffmark soft\u00adhyphen \u202ertl\u202c \U000e0041tag".split(),
]
QUOTED = r""" ' " ''' "it's" 'a'"b" \ \n \' C:\new\table ` \u0041 """.split()
CONTROL = ["\x00", "\x07", "\x1b[31m", "\x7f", "\x85", "\x0b", "\x0c", "\u2028", "\u2029", "\ufffd"]
SURROGATES = ["\ud83d", "\ude00", "\udcff", "re\ud800port", "\udfff\ud83d"]
SPACES = [*"            \n\t-_/\u00a0\u3000", "\n\n", "\r\n", ", ", ". ", "", ""]
CUT = "\n...[50,123 chars, showing first/last portions]...\n"
MARKUP = ['{"role": "user"}', "[1, 2]", "```json\n", "**bold**", "<b>", "=1+1", CUT]

AGENTS = [*"researcher writer Editor o'brien 日本 é🙂 a#b%c".split(), "agent 4", 'the "boss"']
NUMBERS = [0, -0.0, 1, -1, 0.1, 1e22, 1e-7, 1.5e300, 2**63, 2**64, 10**39 + 7, -(10**39), 5e-324]
NON_FINITE = [float("nan"), float("inf"), float("-inf")]
KEYS = ["text", "name", "id", "", "é", "k'", "ключ", "\u2028", "arguments", "abcd"]
COUNTS = [None, "", 0, False, True, 0.9, " 12 ", "1_000", "-3", 10**39 + 7, -0.0]
SINGLE_VALUES: list[Any] = [
    None,
    "",
    [],
    {},
    0,
    0.0,
    False,
    True,
    7,
    10**39 + 7,
    [None],
    [[]],
    [{}],
    {"": ""},
]


def text(rng: Random, n_words: int) -> str:
    """Return about n_words words; half of the texts are tame, the rest hold some of everything."""
    pools = [WORDS]
    if rng.random() > 0.5:
        pools = [WORDS, WORDS, WORDS, QUOTED, CONTROL, MARKUP, SURROGATES]
    pieces = []
    for _ in range(n_words):
        pieces += [rng.choice(rng.choice(pools)), rng.choice(SPACES)]
    return "".join(pieces)


def passage(rng: Random) -> str:
    """Return an agent's output: often empty or short, often beyond 200 characters."""
    return text(rng, rng.choice([0, 1, 2, 5, 12, 30, 60]))


def handed_on(rng: Random, output: str) -> str:
    """Return what an agent makes of another's output: all, some, a paraphrase, or none of it."""
    words = output.split(" ")
    kept = [word for word in words if rng.random() < rng.random()]
    shuffled = rng.sample(words, len(words))
    around = text(rng, 3)
    return rng.choice(
        [
            output,
            around + output + around,
            output + around,
            output[:200],
            output[:199] + around,
            output[:200] + around,
            output[1:],
            output[len(output) // 2 :],
            " ".join(shuffled),
            " ".join(kept),
            " ".join(shuffled).upper().replace("K", "\u212a"),
            output.swapcase(),
            output.replace(" ", "_"),
            output.replace(" ", ""),
            repr(output)[1:-1],
            json.dumps(output),
            around,
            "",
        ]
    )


def json_value(rng: Random, depth: int = 3) -> Any:
    """Return any JSON value, non-finite numbers included."""
    kind = rng.randrange(8 if depth else 5)
    if kind < 2:
        return text(rng, rng.randrange(4))
    if kind == 2:
        return rng.choice(NUMBERS)
    if kind == 3:
        return rng.choice([None, True, False, *NON_FINITE])
    if kind == 4:
        return rng.choice(SINGLE_VALUES)
    if kind == 5:
        return {rng.choice(KEYS): json_value(rng, depth - 1) for _ in range(rng.randrange(4))}
    return [json_value(rng, depth - 1) for _ in range(rng.randrange(4))]


def message(rng: Random, content: str) -> Any:
    """Return one chat message around a content, in any of the shapes that clients send."""
    role = rng.choice(["system", "user", "assistant", "tool"])
    shape = rng.randrange(9)
    if shape == 0:
        parts = [{"type": "text", "text": part} for part in content.partition("\n")]
        return {"role": role, "content": parts}
    if shape == 1:
        call = {"name": "search", "arguments": json.dumps({"q": content})}
        return {"role": role, "content": None, "tool_calls": [{"id": "c1", "function": call}]}
    if shape == 2:
        return {"role": role, "content": content, "extra": json_value(rng)}
    if shape == 3:
        return content
    if shape == 4:
        return {"content": content, "role": role, "name": rng.choice(AGENTS)}
    return {"role": role, "content": content}


def request_messages(rng: Random, contents: list[str]) -> Any:
    """Return the messages of a request that mentions some contents: mostly a list, or anything."""
    shape = rng.randrange(12)
    if shape == 0:
        return rng.choice(SINGLE_VALUES)
    if shape == 1:
        return "".join(contents)
    if shape == 2:
        return {"n": rng.choice(NUMBERS), "messages": [message(rng, c) for c in contents]}
    if shape == 3:
        return [[message(rng, content)] for content in contents]
    if shape == 4:
        return json_value(rng)
    return [message(rng, content) for content in contents]


class Trace:
    """Collects the events of one file, in one of the shapes that PraisonAI has written.

    The shapes are ContextEvent 1.1, ContextEvent 1.0 (no run_id, parent_seq, node_id) and bare
    dicts of event_type, agent_name and data.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.events: list[Event] = []
        self.version = rng.choice(["1.1", "1.1", "1.0", "bare"])
        self.session = rng.choice(["sess-1", "default", "s#1%"])
        self.runs = [f"run-{n}" for n in range(rng.choice([1, 1, 2, 3]))]
        self.run = self.runs[0]

    def add(self, event_type: str, agent: str | None = None, **data: Any) -> Event:
        """Append an event. Content of the fields that vary by version is drawn here."""
        rng = self.rng
        event: Event = {"event_type": event_type, "agent_name": agent, "data": data}
        if agent is None and rng.random() > 0.5:
            del event["agent_name"]
        if not data and rng.random() > 0.5:
            event["data"] = None
        if self.version != "bare":
            event = self._context_event(event)
        self.events.append(event)
        return event

    def _context_event(self, event: Event) -> Event:
        sequence = len(self.events)
        head = {
            "schema_version": self.version,
            "event_type": event["event_type"],
            "timestamp": 1_796_000_000.25 + sequence,
            "session_id": self.session,
            "agent_name": event.get("agent_name"),
            "sequence_num": sequence,
            "messages_count": 0,
            "tokens_used": 0,
            "tokens_budget": 0,
            "data": event["data"],
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "cost_usd": 0.0,
        }
        if self.version == "1.0":
            return head
        if self.rng.random() < 0.9:
            head["run_id"] = self.run
        if sequence:
            head["parent_seq"] = self.rng.randrange(sequence)
        if head["agent_name"]:
            head["node_id"] = f"agent:{head['agent_name']}"
        return head

    def add_noise(self, agent: str) -> None:
        """Append an event that must change no handoff."""
        rng = self.rng
        content = text(rng, 4)
        kind = rng.randrange(8)
        if kind == 0:
            self.add("message_added", agent, role="user", content=content)
        elif kind == 1:
            self.add("llm_response", None, response_content=content)
        elif kind == 2:
            self.add("llm_request", None, messages=[message(rng, content)])
        elif kind == 3:
            self.add("llm_response", agent, finish_reason="stop", response_tokens=3)
        elif kind == 4:
            self.add("llm_response", agent, response_content=rng.choice([None, ""]))
        elif kind == 5:
            self.add("llm_request", agent, messages=rng.choice([None, [], {}, "", 0, False, 0.0]))
        elif kind == 6:
            self.add("llm_request", agent, model="m")
        else:
            self.add(rng.choice(["agent_end", "hologram_start", "LLM_RESPONSE", ""]), agent)

    def add_tool_call(self, agent: str) -> None:
        """Append a tool call of either family: start and end, one alone, or one without a name."""
        rng = self.rng
        call = {"tool_args": json_value(rng)}
        if rng.random() < 0.9:
            call["tool_name"] = rng.choice(["search", "read_file", "日本"])
        halves = rng.choice([(0, 1), (0, 1), (0,), (1,)])
        if rng.random() > 0.5:
            for half in halves:
                self.add(("tool_call_start", "tool_call_end")[half], agent, **call)
        else:
            for half in halves:
                self.add(("tool_start", "tool_end")[half], agent)
                self.events[-1].update(call)

    def add_turn(self, agent: str, outputs: list[str]) -> None:
        """Append one turn of an agent; any part of it may be missing."""
        rng = self.rng
        if rng.random() > 0.5:
            self.run = rng.choice(self.runs)
        self.add("agent_start", agent, role=agent)
        contents = [text(rng, 3)] + [handed_on(rng, output) for output in outputs[-2:]]
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            request = self.add("llm_request", agent, messages=request_messages(rng, contents))
            if self.version != "bare":
                request["tokens_used"] = rng.choice([0, 412, 8200, 8200.0, 130_000])
                request["tokens_budget"] = rng.choice([0, 0, 8000, 128_000])
        if rng.random() > 0.6:
            self.add_tool_call(agent)
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            output = passage(rng)
            self.add("llm_response", agent, response_content=output, response_tokens=1)
            outputs.append(output)
        while rng.random() > 0.7:
            self.add_noise(agent)


def trace(rng: Random) -> list[Event]:
    """Return the events of one nasty trace, drawn from a source of randomness."""
    nasty = Trace(rng)
    agents = rng.sample(AGENTS, rng.choice([0, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5]))
    outputs: list[str] = []
    if rng.random() > 0.3:
        nasty.add("session_start")
    for agent in agents:
        nasty.add_turn(agent, outputs)
    while agents and rng.random() > 0.7:
        nasty.add_turn(rng.choice(agents), outputs)
    if rng.random() > 0.3:
        nasty.add("session_end")
    # A JSON reader joins two halves of a surrogate pair that met by chance.
    read_back: list[Event] = json.loads(json.dumps(nasty.events))
    return read_back


def nasty_trace(seed: int) -> list[Event]:
    """Return the events of the nasty trace of a seed."""
    return trace(Random(seed))


def agent_order(rng: Random, events: list[Event]) -> list[str]:
    """Return an order to grade a trace by: as it ran, shuffled, repeated, or with strangers."""
    seen = [event.get("agent_name") for event in events]
    names = list(dict.fromkeys(name for name in seen if name))
    shape = rng.randrange(5)
    if shape == 0:
        return rng.sample(names, len(names))
    if shape == 1:
        return [rng.choice([*names, "stranger", ""]) for _ in range(rng.randrange(6))]
    if shape == 2:
        return [*names, *names]
    return names


def ledger(rng: Random) -> list[dict[str, Any]]:
    """Return a budget ledger of counts that ``int()`` takes: numbers, text, nothing at all."""
    entries = []
    for _ in range(rng.randrange(5)):
        entry: dict[str, Any] = {"agent_name": rng.choice([*AGENTS, "", None])}
        for key in ("used_tokens", "budget_tokens"):
            entry[key] = rng.choice(
                [
                    rng.randrange(20_000),
                    rng.randrange(20_000),
                    rng.randrange(-50, 50),
                    rng.random() * 1000,
                    str(rng.randrange(9000)),
                    rng.choice(COUNTS),
                ]
            )
        if rng.random() < 0.1:
            del entry[rng.choice(list(entry))]
        entries.append(entry)
    return entries


def write_jsonl(events: list[Event], seed: int = 0) -> bytes:
    """Return events as JSON lines; each line raw UTF-8 or escaped, spaced or tight, by a seed."""
    rng = Random(seed)
    return b"".join(write_json(event, rng) + b"\n" for event in events)


def write_json(value: Any, rng: Random) -> bytes:
    """Return one value as JSON; a lone surrogate has no UTF-8 and is always escaped."""
    separators = rng.choice([None, (",", ":")])
    try:
        escaped = rng.random() < 0.5
        return json.dumps(value, ensure_ascii=escaped, separators=separators).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=separators).encode()


def _drawn(make: Any) -> st.SearchStrategy[Any]:
    return st.randoms(use_true_random=False).map(make)


def texts() -> st.SearchStrategy[str]:
    """Texts out of nasty pieces and of any characters, lone surrogates included."""
    pieces = st.sampled_from([*WORDS, *SPACES, *QUOTED, *CONTROL, *SURROGATES, *MARKUP])
    mixed = st.lists(pieces | st.text(st.characters(), max_size=8), max_size=30)
    return mixed.map("".join)


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON values, non-finite numbers and lone surrogates included."""
    numbers = st.integers() | st.floats() | st.sampled_from(NUMBERS)
    scalars = st.none() | st.booleans() | numbers | texts()
    return st.recursive(
        scalars, lambda inner: st.lists(inner) | st.dictionaries(texts(), inner), max_leaves=12
    )


def messages() -> st.SearchStrategy[Any]:
    """Messages of a request, of every shape, or any JSON value."""
    return _drawn(lambda rng: request_messages(rng, [passage(rng)])) | json_values()


def traces() -> st.SearchStrategy[list[Event]]:
    """Whole traces, as `nasty_trace` gives them."""
    return _drawn(trace)


def ledgers() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Budget ledgers."""
    return _drawn(ledger)
