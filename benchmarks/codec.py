"""Encoding and decoding messages."""

from __future__ import annotations

import json

from benchmarks.harness import Plan, Subject, compare
from benchmarks.processes import Process, Slices, figures, running, slices
from benchmarks.report import Row, at_least, at_most
from benchmarks.versus import Versus
from benchmarks.work import FIRST_ID, Work

TITLE = "Codec"

READ, TYPED = "params raw", "as a typed message"
PEERS = ("json + checks", "orjson + checks", "pydantic")

CALL = Work(
    "tools/call",
    {"name": "search", "arguments": {"query": "weather in Berlin", "unit": "celsius", "limit": 5}},
    bool,
)


def rows(plan: Plan) -> list[Row]:
    data = CALL.request(FIRST_ID).decode()
    reading = {
        READ: Process("benchmarks.ours.codec", "read", data),
        TYPED: Process("benchmarks.ours.codec", "decode", data),
        "json + checks": Process("benchmarks.peers.json_codec", data),
        "orjson + checks": Process("benchmarks.peers.orjson_codec", data, peer="orjson"),
        "pydantic": Process("benchmarks.peers.pydantic_codec", data, peer="pydantic"),
    }
    encoding = Process("benchmarks.ours.codec", "encode", data)
    with running(*reading.values(), encoding):
        subjects: dict[str, Subject] = {
            **slices(reading, [FIRST_ID, CALL.method, CALL.params]),
            "encode": Slices(encoding, {"jsonrpc": "2.0", "id": FIRST_ID, "result": CALL.params}),
        }
        costs = compare(subjects, plan)
    versus = Versus("codec", f"request of {len(data)} B, decoded and checked", costs)
    found = [*versus.rows(READ, PEERS, {"json + checks": at_least(8)}), *versus.rows(TYPED, PEERS)]
    return [*found, *_own_figures(costs.cost(READ), costs.cost("encode"), data, plan)]


def _own_figures(read: float, encode: float, data: str, plan: Plan) -> list[Row]:
    tail = figures("benchmarks.ours.codec_figures", data, str(plan.samples * 5))
    return [
        _rate(f"requests of {len(data)} B decoded a second", 1 / read, 1e6),
        _rate(f"answers of {_answer_size()} B encoded a second", 1 / encode, 1e6),
        _rate("one of each, a second", 1 / (read + encode), 1e6),
        _tail(f"decode {len(data)} B, 99th percentile", tail["read_p99"]),
        _tail("encode an answer, 99th percentile", tail["encode_p99"]),
        Row(
            group="codec",
            what="memory taken to decode a request of 64 KiB",
            ours=tail["allocated"],
            unit="bytes",
            bound=at_most(1024),
            proves=("F-23",),
        ),
    ]


def _answer_size() -> int:
    answer = {"jsonrpc": "2.0", "id": FIRST_ID, "result": CALL.params}
    return len(json.dumps(answer, separators=(",", ":")))


def _rate(what: str, value: float, least: float) -> Row:
    bound = at_least(least)
    return Row(group="codec", what=what, ours=value, unit="/s", bound=bound, proves=("F-25",))


def _tail(what: str, seconds: float) -> Row:
    value = seconds * 1e6
    return Row(
        group="codec", what=what, ours=value, unit="µs", bound=at_most(1.5), proves=("F-25",)
    )
