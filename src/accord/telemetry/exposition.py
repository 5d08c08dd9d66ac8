"""Numbers as Prometheus reads them: its text format, version 0.0.4. Pure.

Knows the format only; what the numbers mean is told by whoever writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, Literal, TypeAlias

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels: TypeAlias = tuple[tuple[str, str], ...]
Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Exposition:
    """A page of metrics, written family by family."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def family(
        self, name: str, kind: Kind, about: str, samples: Iterable[tuple[Labels, float]] = ()
    ) -> None:
        """A metric called `name`, with the value it has for each set of labels."""
        self._lines += (f"# HELP {name} {about}", f"# TYPE {name} {kind}")
        self._lines += (f"{name}{_labelled(labels)} {value!r}" for labels, value in samples)

    def histogram(
        self, name: str, labels: Labels, bounds: Sequence[float], counts: Sequence[int], sum: float
    ) -> None:
        """What belongs to a histogram: `counts` has one more than `bounds`, for all above."""
        limits = [*(repr(float(bound)) for bound in bounds), "+Inf"]
        for limit, count in zip(limits, accumulate(counts), strict=True):
            self._lines.append(f"{name}_bucket{_labelled((*labels, ('le', limit)))} {count}")
        written = _labelled(labels)
        self._lines += (f"{name}_sum{written} {sum!r}", f"{name}_count{written} {count}")

    def encode(self) -> bytes:
        # A name with half a surrogate pair can be declared in Python, but not sent.
        return ("\n".join(self._lines) + "\n").encode(errors="backslashreplace")


def _labelled(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels) + "}"
