"""The state of a run: what a fold over its history gives, and all that is needed to go on. It is
plain data, so that it can be kept as JSON and read back. Only `transitions` changes it.

A run is a tree. Steps are in frames; a frame is one list of steps being run, of which one is
current; parallel steps and loops have many frames, conditions and handlers have one. A step is
known by its key: its name, and the round of every loop around it, as in `comment[3]`.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import DecodeError, Struct, json

from accord.workflows.core.errors import NewerSchemaError

T = TypeVar("T")

FIRST_SCHEMA: Final = 1
"""The version of states, events and commands that every release understands. What a release before
would misread has a later one; everything else keeps this, so that it can be shared."""
SCHEMA: Final = 2
"""The newest version. 2: runs that were retried without naming a step."""

RunStatus: TypeAlias = Literal[
    "pending", "running", "waiting", "paused", "completed", "failed", "cancelled"
]
StepStatus: TypeAlias = Literal[
    "pending", "running", "waiting", "paused", "completed", "failed", "cancelled", "skipped"
]
FrameStatus: TypeAlias = Literal["running", "completed", "failed", "cancelled"]
Todo: TypeAlias = Literal["start", "settle", "round", "continue", "end"]
TIMEOUT: Final = "timeout"
"""The code of a step that took too long."""
FINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""The states in which a run has ended."""


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why something failed, and the key of the step that did."""

    code: str
    message: str
    step: str = ""
    details: Any = None
    unknown: bool = False
    """Whether the outcome is unknown: what was asked for may have been done."""


class StepRun(Struct, omit_defaults=True):
    """One step being run, or run. The output of a step with steps inside follows from those."""

    key: str
    name: str
    frame: str
    status: StepStatus
    started_at: float
    round: int = 1
    finished_at: float | None = None
    output: Any = None
    data: Any = None
    artifacts: Any = None
    error: Failure | None = None
    attempts: int = 0
    prompt: Any = None
    shown: Any = None
    """What people are shown who are to decide: an object with `message` and `data`."""
    size: int = 0
    choice: str | None = None
    items: list[Any] | None = None
    total: int = 0
    opened: int = 0
    succeeded: int = 0
    failed: int = 0
    settling: bool = False
    resumes: str = ""
    """The task whose call this one repeats, or whose child run it continues; see `call`."""
    halted: list[str] = []
    """Labels of branches or rounds that ended early and go on when others leave them room."""

    @property
    def call(self) -> str:
        """The name that identifies the call: repeated calls of unknown outcome share it."""
        return self.resumes or self.task

    @property
    def task(self) -> str:
        """What the outside calls it: another name in each round of retrying."""
        return self.key if self.round == 1 else f"{self.key}@{self.round}"

    @property
    def active(self) -> bool:
        return self.status in ("running", "waiting")


class Frame(Struct, omit_defaults=True):
    """One list of steps being run: `at` is the current one, `last` the key of the last that ended,
    `rounds` those of the loops around, the outermost first."""

    owner: str
    label: str
    rounds: tuple[int, ...] = ()
    at: int = 0
    status: FrameStatus = "running"
    last: str | None = None
    error: Failure | None = None

    @property
    def id(self) -> str:
        return frame_id(self.owner, self.label)


class State(Struct):
    """A run. `applied` counts its history, `agenda` is what is to be decided next, `busy` and
    `idle` count the steps that somebody works on and those that wait."""

    schema: int = FIRST_SCHEMA
    phase: Literal["pending", "running", "completed", "failed", "cancelled"] = "pending"
    applied: int = 0
    ignored: int = 0
    round: int = 1
    depth: int = 0
    input: Any = None
    output: Any = None
    error: Failure | None = None
    started_at: float | None = None
    finished_at: float | None = None
    paused: bool = False
    ending: Failure | None = None
    steps: dict[str, StepRun] = {}
    frames: dict[str, Frame] = {}
    agenda: list[tuple[Todo, str]] = []
    wakes: dict[str, float] = {}
    deadlines: dict[str, float] = {}
    signals: dict[str, list[Any]] = {}
    signal_ids: dict[str, int] = {}
    waiters: dict[str, list[str]] = {}
    busy: int = 0
    idle: int = 0
    bytes: int = 0
    resumed: dict[str, str] = {}
    """By key of a step that is about to start again: the call that it repeats."""
    parent_task: str | None = None
    """The task of the parent run that waits for this one, if not the one that started it."""

    @property
    def status(self) -> RunStatus:
        """The state of the run, as people see it."""
        if self.phase != "running":
            return self.phase
        if self.paused:
            return "paused"
        return "waiting" if self.idle and not self.busy and not self.agenda else "running"

    @property
    def next_timer(self) -> float | None:
        """When something is due that nobody will tell: decide again then."""
        if self.phase != "running" or self.paused:
            return None
        return min((*self.wakes.values(), *self.deadlines.values()), default=None)


class _Head(Struct):
    schema: int


_HEAD: Final = json.Decoder(_Head)
_DECODER: Final = json.Decoder(State)


def check_schema(data: bytes) -> None:
    """Raises NewerSchemaError for what a newer version wrote."""
    schema = _HEAD.decode(data).schema
    if schema > SCHEMA:
        raise NewerSchemaError(schema, SCHEMA)


def frame_id(owner: str, label: str) -> str:
    return f"{owner}/{label}"


def step_key(name: str, rounds: tuple[int, ...]) -> str:
    return name + "".join(f"[{each}]" for each in rounds)


def encode_state(state: State) -> bytes:
    """A state as JSON."""
    return json.encode(state)


def decode_state(data: bytes) -> State:
    """Return a state from JSON. Raise NewerSchemaError or msgspec.DecodeError for what is none."""
    return decode(_DECODER, data)


def decode(decoder: json.Decoder[T], data: bytes) -> T:
    """Return what was kept. Raise NewerSchemaError or msgspec.DecodeError for what is damaged."""
    try:
        check_schema(data)
        return decoder.decode(data)
    except RecursionError:  # msgspec has no exception of its own for it
        raise DecodeError("nested deeper than can be read") from None
