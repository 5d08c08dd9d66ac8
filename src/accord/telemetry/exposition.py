"""Numbers as Prometheus reads them: its text format, version 0.0.4. Pure.

Knows the format only; what the numbers mean is told by whoever writes them. A page can be made of
the pages of several processes: each sample then says whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, Literal, TypeAlias

from msgspec import Struct

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels: TypeAlias = tuple[tuple[str, str], ...]
Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Sample(Struct, frozen=True, array_like=True):
    """One number: that of a family, or a part of a histogram, which has a name of its own."""

    name: str
    labels: Labels
    value: int | float


class Family(Struct, frozen=True):
    """A metric, with the values that it has."""

    kind: Kind
    about: str
    samples: list[Sample]


class Exposition:
    """A page of metrics, written family by family."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}

    @property
    def families(self) -> Mapping[str, Family]:
        """All that was written, by name."""
        return self._families

    def family(
        self, name: str, kind: Kind, about: str, samples: Iterable[tuple[Labels, float]] = ()
    ) -> None:
        """A metric called `name`, with the value it has for each set of labels."""
        found = self._families.setdefault(name, Family(kind, about, []))
        found.samples.extend(Sample(name, labels, value) for labels, value in samples)

    def histogram(
        self, name: str, labels: Labels, bounds: Sequence[float], counts: Sequence[int], sum: float
    ) -> None:
        """What belongs to a histogram: `counts` has one more than `bounds`, for all above."""
        samples = self._families[name].samples
        limits = [*(repr(float(bound)) for bound in bounds), "+Inf"]
        for limit, count in zip(limits, accumulate(counts), strict=True):
            samples.append(Sample(f"{name}_bucket", (*labels, ("le", limit)), count))
        samples += (Sample(f"{name}_sum", labels, sum), Sample(f"{name}_count", labels, count))

    def include(self, families: Mapping[str, Family], label: tuple[str, str]) -> None:
        """Add the families of another page; `label` says whose they are."""
        for name, each in families.items():
            found = self._families.setdefault(name, Family(each.kind, each.about, []))
            found.samples.extend(
                Sample(sample.name, (label, *sample.labels), sample.value)
                for sample in each.samples
            )

    def encode(self) -> bytes:
        lines: list[str] = []
        for name, each in self._families.items():
            lines += (f"# HELP {name} {each.about}", f"# TYPE {name} {each.kind}")
            lines += map(_line, each.samples)
        # A name with half a surrogate pair can be declared in Python, but not sent.
        return ("\n".join(lines) + "\n").encode(errors="backslashreplace")


def _line(sample: Sample) -> str:
    return f"{sample.name}{_labelled(sample.labels)} {sample.value!r}"


def _labelled(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels) + "}"
