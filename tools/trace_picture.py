"""Draws a trace as a waterfall.

`python -m tools.trace_picture` uses a system once, with PostgreSQL and Kafka, and writes
docs/pictures/trace.svg from the spans that it made.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from msgspec import Struct
from opentelemetry.sdk.trace import ReadableSpan

PICTURE: Final = Path(__file__).parent.parent / "docs" / "pictures" / "trace.svg"
WIDTH, LEFT, RIGHT, TOP, LINE = 960, 300, 70, 34, 26
COLOURS: Final = {
    "SERVER": "#3b6fd4",
    "CLIENT": "#b4690e",
    "CONSUMER": "#7a4fc0",
    "INTERNAL": "#2f8a5b",
}
KINDS: Final = {
    "SERVER": "a request that came in",
    "INTERNAL": "work of Accord",
    "CONSUMER": "a message in Kafka",
    "CLIENT": "a call that went out",
}
STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #1f2430 }
.soft { fill: #5b6272; font-size: 12px }
.back { fill: #ffffff }
.grid { stroke: #d9dde5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ef } .soft { fill: #a3acbd } .back { fill: #14171d } .grid { stroke: #2c323d }
}
"""


class Bar(Struct, frozen=True):
    """A span as it is drawn. Milliseconds since the trace began."""

    name: str
    depth: int
    kind: str
    start: float
    end: float


def draw(spans: Sequence[ReadableSpan]) -> str:
    """A picture of one trace."""
    bars = list(_bars(spans))
    most = max(bar.end for bar in bars)
    height = TOP + LINE * len(bars) + 44
    scale = (WIDTH - LEFT - RIGHT) / most
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>A trace of {len(bars)} spans</title><style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{height}" rx="8"/>',
    ]
    step = next(each for each in (10, 20, 50, 100, 200, 500, 1000, 10**9) if most / each <= 8)
    for tick in range(0, int(most) + 1, step):
        x = LEFT + tick * scale
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - 40}"/>'
            f'<text class="soft" x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{tick} ms</text>'
        )
    for number, bar in enumerate(bars):
        parts.append(_drawn(bar, TOP + number * LINE, scale))
    parts.append(_key(height - 16))
    return "\n".join((*parts, "</svg>")) + "\n"


def _drawn(bar: Bar, y: int, scale: float) -> str:
    x, width = LEFT + bar.start * scale, max((bar.end - bar.start) * scale, 2)
    took = bar.end - bar.start
    said = f"{took:.0f} ms" if took >= 10 else f"{took:.1f} ms"
    return (
        f'<text x="{14 + bar.depth * 18}" y="{y + 16}">{escape(bar.name)}</text>'
        f'<rect x="{x:.1f}" y="{y + 5}" width="{width:.1f}" height="14" rx="3" '
        f'fill="{COLOURS[bar.kind]}"/>'
        f'<text class="soft" x="{x + width + 6:.1f}" y="{y + 16}">{said}</text>'
    )


def _key(y: int) -> str:
    parts = []
    for number, (kind, about) in enumerate(KINDS.items()):
        x = 14 + number * 190
        parts.append(
            f'<rect x="{x}" y="{y - 10}" width="12" height="12" rx="3" fill="{COLOURS[kind]}"/>'
            f'<text class="soft" x="{x + 18}" y="{y}">{about}</text>'
        )
    return "".join(parts)


def _bars(spans: Sequence[ReadableSpan]) -> Iterator[Bar]:
    """In the order in which they are drawn: each below its parent, the first first."""
    known = {span.context.span_id for span in spans if span.context}
    began = min(span.start_time or 0 for span in spans)

    def below(parent: int | None, depth: int) -> Iterator[Bar]:
        children = [
            span
            for span in spans
            if (span.parent.span_id if span.parent and span.parent.span_id in known else None)
            == parent
        ]
        for span in sorted(children, key=lambda each: each.start_time or 0):
            start, end = span.start_time or 0, span.end_time or 0
            yield Bar(
                _name(span), depth, span.kind.name, (start - began) / 1e6, (end - began) / 1e6
            )
            assert span.context is not None
            yield from below(span.context.span_id, depth + 1)

    return below(None, 0)


def _name(span: ReadableSpan) -> str:
    service = str(span.resource.attributes.get("service.name", "accord"))
    return span.name if service == "accord" else f"{span.name} ({service})"


def main() -> int:
    from accord.app.settings import Settings
    from tests.observe.scene import TRACE, observe
    from tests.store.cluster import running_cluster
    from tools.kafka import Broker

    with tempfile.TemporaryDirectory() as folder, running_cluster() as cluster:
        broker = Broker(Path(folder))
        broker.start()
        try:
            settings = Settings(
                data=f"{folder}/data",
                database=cluster.database(),
                secret_key="k" * 64,
                port=0,
                tracing=True,
                allow_private_agents=True,
                bus=f"kafka://{broker.servers}",
            )
            observed = asyncio.run(observe(settings))
        finally:
            broker.kill()
    PICTURE.write_text(
        draw([each for each in observed.spans if f"{each.context.trace_id:032x}" == TRACE])
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
