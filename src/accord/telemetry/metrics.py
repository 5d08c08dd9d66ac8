"""Metrics: the text format of Prometheus, histograms, and the metrics of incoming calls.

`Metrics` is an observer of calls; `Exposition` collects families of samples and writes them in
Prometheus' text format, version 0.0.4.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import isfinite
from threading import Lock, get_ident
from time import perf_counter
from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.methods.context import MakeContext, Outcome
from accord.jsonrpc.protocol.catalogue import CATALOGUE
from accord.jsonrpc.protocol.errors import RpcError
from accord.jsonrpc.protocol.messages import Id
from accord.transports.pages import Page

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels: TypeAlias = tuple[tuple[str, str], ...]
Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Sample(Struct, frozen=True, array_like=True):
    """One number of a metric; the parts of a histogram have names of their own."""

    name: str
    labels: Labels
    value: int | float


class Family(Struct, frozen=True):
    """A metric: its kind, its description and its samples."""

    kind: Kind
    about: str
    samples: list[Sample]


class Exposition:
    """A page of metrics for Prometheus."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}

    @property
    def families(self) -> Mapping[str, Family]:
        """The metrics that were added to the page, by name."""
        return self._families

    def family(
        self, name: str, kind: Kind, about: str, samples: Iterable[tuple[Labels, float]] = ()
    ) -> None:
        """Add a metric called `name`, with its value for each set of labels."""
        found = self._families.setdefault(name, Family(kind, about, []))
        found.samples.extend(Sample(name, labels, value) for labels, value in samples)

    def histogram(
        self, name: str, labels: Labels, bounds: Sequence[float], counts: Sequence[int], sum: float
    ) -> None:
        """Add the samples of a histogram to its metric.

        `counts` has one count per bound, and a last count for values above all bounds.
        """
        samples = self._families[name].samples
        limits = [*(repr(float(bound)) for bound in bounds), "+Inf"]
        for limit, count in zip(limits, accumulate(counts), strict=True):
            samples.append(Sample(f"{name}_bucket", (*labels, ("le", limit)), count))
        samples += (Sample(f"{name}_sum", labels, sum), Sample(f"{name}_count", labels, count))

    def include(self, families: Mapping[str, Family], label: tuple[str, str]) -> None:
        """Add the metrics of another page, with `label` added to each sample."""
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


class Histogram:
    """A histogram of values.

    `counts` has one count per bound, and a last count for values above all bounds.
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def include(self, other: Histogram) -> None:
        """Add the counts of another histogram with the same bounds."""
        self.counts = [
            mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)
        ]
        self.sum += other.sum

    def write(self, out: Exposition, name: str, labels: Labels) -> None:
        out.histogram(name, labels, self.bounds, self.counts, self.sum)


SECONDS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025),
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
"""The default bounds of the latency histogram's buckets, in seconds."""
BATCH_SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

UNKNOWN: Final = "(unknown)"
"""The method label of calls to methods that do not exist."""
OTHER: Final = "(other)"
"""The label of all methods beyond `MAX_METHODS`, and of all codes beyond `MAX_CODES`."""
MAX_METHODS: Final = 4_096
"""Maximum number of methods with a label of their own. Only a router that changes all the time has
more methods."""
MAX_CODES: Final = 64
"""Maximum number of error codes with a label of their own, in addition to those in Accord's error
catalogue."""

_NAMESPACE: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class Metrics:
    """An observer that counts calls.

    One object may observe several servers, also in several threads.
    """

    def __init__(self, *, buckets: Sequence[float] = SECONDS, namespace: str = "accord") -> None:
        """Count with `buckets` as the bounds of the latency histogram, in seconds.

        Names of metrics begin with `namespace`. Raises ValueError if the bounds do not increase, or
        if no metric's name can begin with `namespace`.
        """
        _check_buckets(buckets)
        if _NAMESPACE.fullmatch(namespace) is None:
            raise ValueError(f"namespace {namespace!r} must match {_NAMESPACE.pattern}")
        self._namespace = namespace
        self._lock = Lock()
        self._bounds = tuple(buckets)
        self._by_thread: dict[int, dict[str, _Method]] = {}
        """The counters of each thread. Threads count separately, since a lock would cost as much as
        everything else in a call's count."""
        self._codes: set[int] = set()
        self._batches = Histogram(BATCH_SIZES)
        self._refused: Counter[str] = Counter()

    # What an observer is told

    def called(
        self, method: str, id: Id | UnsetType, *, known: bool, context: MakeContext
    ) -> _Timed:
        methods = self._by_thread.get(get_ident())
        counts = methods.get(method) if known and methods is not None else None
        if counts is None:
            counts = self._counts(method if known else UNKNOWN)
        if id is UNSET:
            counts.notifications += 1
        else:
            counts.requests += 1
        return _Timed(counts, perf_counter())

    def batch_received(self, size: int) -> None:
        with self._lock:
            self._batches.add(size)

    def refused(self, error: RpcError) -> None:
        with self._lock:
            self._refused[self._code_label(error.code)] += 1

    # Labels

    def _counts(self, name: str) -> _Method:
        """Return the counters of the current thread for a method."""
        with self._lock:
            methods = self._by_thread.setdefault(get_ident(), {})
            if len(methods) >= MAX_METHODS and name not in methods:
                name = OTHER
            return methods.setdefault(name, _Method(self._bounds, self._code))

    def _code(self, outcome: Outcome) -> str:
        with self._lock:
            return self._code_label(outcome)

    def _code_label(self, outcome: Outcome) -> str:
        if isinstance(outcome, int) and CATALOGUE.get(outcome) is None:
            if len(self._codes) >= MAX_CODES and outcome not in self._codes:
                return OTHER
            self._codes.add(outcome)
        return str(outcome)

    # What Prometheus is told

    def page(self) -> Page:
        """Return the metrics as a page: `pages={"metrics": metrics.page}`."""
        return Page(
            body=self.text(), media_type=MEDIA_TYPE, headers=(("cache-control", "no-store"),)
        )

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        out = Exposition()
        self.write(out)
        return out.encode()

    def write(self, out: Exposition) -> None:
        """Add the metrics to a page, which may have other metrics too."""
        with self._lock:
            self._write(out, sorted(self._total().items()))

    def _total(self) -> dict[str, _Method]:
        """Return the counters of each method, summed over all threads.

        Threads may count further calls meanwhile.
        """
        total: dict[str, _Method] = {}
        for methods in self._by_thread.values():
            for name, counts in list(methods.items()):
                if name not in total:
                    total[name] = _Method(self._bounds, self._code)
                total[name].include(counts)
        return total

    def _write(self, out: Exposition, methods: list[tuple[str, _Method]]) -> None:
        space = self._namespace
        out.family(
            f"{space}_calls_total",
            "counter",
            "Calls that came in, refused ones included.",
            [
                ((("method", name), ("kind", kind)), count)
                for name, each in methods
                for kind, count in (
                    ("notification", each.notifications),
                    ("request", each.requests),
                )
            ],
        )
        out.family(
            f"{space}_call_errors_total",
            "counter",
            "Calls that ended with an error, by its code.",
            [
                ((("method", name), ("code", code)), count)
                for name, each in methods
                for code, count in sorted(each.errors.items())
            ],
        )
        out.family(
            f"{space}_calls_in_flight",
            "gauge",
            "Calls that have not ended.",
            [((("method", name),), each.in_flight) for name, each in methods],
        )
        out.family(f"{space}_call_seconds", "histogram", "How long calls took to end.")
        for name, each in methods:
            each.seconds.write(out, f"{space}_call_seconds", (("method", name),))
        out.family(f"{space}_batch_messages", "histogram", "How many messages came in one batch.")
        self._batches.write(out, f"{space}_batch_messages", ())
        out.family(
            f"{space}_messages_refused_total",
            "counter",
            "What came in and was no call, by the code of its refusal.",
            [((("code", code),), count) for code, count in sorted(self._refused.items())],
        )


class _Method:
    """The counters of one method."""

    __slots__ = ("code", "errors", "notifications", "requests", "seconds")

    def __init__(self, bounds: tuple[float, ...], code: Callable[[Outcome], str]) -> None:
        self.code = code
        """A function that returns the label of an outcome."""
        self.requests = 0
        self.notifications = 0
        self.errors: Counter[str] = Counter()
        self.seconds = Histogram(bounds)

    def include(self, other: _Method) -> None:
        # Ends are read before beginnings, or there could be more of them.
        self.seconds.include(other.seconds)
        self.requests += other.requests
        self.notifications += other.notifications
        self.errors.update(other.errors.copy())

    @property
    def in_flight(self) -> int:
        return self.requests + self.notifications - sum(self.seconds.counts)


class _Timed(Struct, gc=False):
    """One call in progress, whose duration is measured."""

    counts: _Method
    started: float

    def ended(self, outcome: Outcome, error: BaseException | None) -> None:
        seconds = perf_counter() - self.started
        counts = self.counts
        histogram = counts.seconds  # its `add` is written out, as this happens at every call
        histogram.counts[bisect_left(histogram.bounds, seconds)] += 1
        histogram.sum += seconds
        if outcome is not None:
            counts.errors[counts.code(outcome)] += 1

    def left(self) -> None:
        pass


def _check_buckets(buckets: Sequence[float]) -> None:
    rising = all(low < high for low, high in pairwise(buckets))
    if not buckets or not rising or not all(isfinite(bound) for bound in buckets):
        raise ValueError(f"buckets must be numbers that rise, got {tuple(buckets)}")
