"""Whatever the bytes are, a fault and no traceback; and the same faults however the bytes are cut."""

import json
import random

import pytest

from tests import evalport
from tests.documents import read_json
from tracestream.evalport.documents import read_values
from tracestream.evalport.strictjson import write_json
from tracestream.evalport.validation import Validator
from tracestream.sources import Source

LINES = b"".join(json.dumps(evalport.case(name)).encode() + b"\n" for name in "abc")
DOCUMENTS = [
    ("a.json", json.dumps(evalport.suite()).encode()),
    ("-", json.dumps(evalport.result_set(), indent=1).encode()),
    ("c.jsonl", LINES),
    ("-", LINES),
    ("s.yaml", evalport.YAML_SUITE.encode()),
    ("-", evalport.YAML_SUITE.encode()),
]
PIECES = [
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\n", b"\\ud800", b"NaN", b"1e999"),
    *(b"\xff", b"\x00", b"\xef\xbb\xbf", b"\x1f\x8b\x08", b"9" * 5000, b'{"a":' * 200),
    *(b"&a ", b"*a ", b"!!int ", b"- ", b"---\n", b"<<: ", b"? ", b"| ", b"%"),
]


def damage(data, generator):
    data = bytearray(data)
    for _ in range(generator.choice([1, 1, 2, 4])):
        at = generator.randrange(len(data) + 1)
        way = generator.randrange(4)
        if way == 0:
            data[at:at] = generator.choice(PIECES)
        elif way == 1:
            del data[at : at + generator.choice([1, 1, 3, 50])]
        elif way == 2:
            data[at : at + 1] = bytes([generator.randrange(256)])
        else:
            del data[at:]
    return bytes(data)


def check(seed, n_documents):
    generator = random.Random(seed)
    n_valid = 0
    for _ in range(n_documents):
        name, data = generator.choice(DOCUMENTS)
        data = damage(data, generator)
        size = generator.randrange(1, 20)
        blocks = [data[at : at + size] for at in range(0, len(data), size)]
        whole, cut = (
            [found.to_dict() for found in Validator().source(Source(0, name, stream=iter(stream)))]
            for stream in ([data], blocks)
        )
        assert whole == cut, data
        read_json(write_json(whole))
        n_valid += whole[0]["valid"]
        for value, faults in read_values(Source(0, name, stream=[data])):
            assert faults or write_json(value)
    assert 0 < n_valid < n_documents / 2


def test_damaged_bytes_are_faults():
    check(seed=4, n_documents=500)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_damaged_bytes_are_faults_for_long(seed):
    check(seed=100 + seed, n_documents=10_000)
