"""The state of a run: the fold over its history, and all that is needed to continue.

It is plain data that is stored as JSON. Only `transitions` changes it.

A run is a tree. A frame is one list of steps being run, of which one is current; parallel steps and
loops have many frames, conditions and handlers have one. The key of a step is its name with the
round of every loop around it, as in `comment[3]`.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import DecodeError, Struct, json

from accord.workflows.core.errors import NewerSchemaError

T = TypeVar("T")

FIRST_SCHEMA: Final = 1
"""The schema of states, events and commands that every release can read.

A later schema is only given to data that earlier releases would misread.
"""
SCHEMA: Final = 2
"""The newest schema. 2: runs that were retried without naming a step."""

RunStatus: TypeAlias = Literal[
    "pending", "running", "waiting", "paused", "completed", "failed", "cancelled"
]
StepStatus: TypeAlias = Literal[
    "pending", "running", "waiting", "paused", "completed", "failed", "cancelled", "skipped"
]
FrameStatus: TypeAlias = Literal["running", "completed", "failed", "cancelled"]
Todo: TypeAlias = Literal["start", "settle", "round", "continue", "end"]
TIMEOUT: Final = "timeout"
"""The failure code of a step that exceeded its timeout."""
FINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""The statuses of runs that have ended."""


class Failure(Struct, frozen=True, omit_defaults=True):
    """The reason of a failure, and the key of the failed step."""

    code: str
    message: str
    step: str = ""
    details: Any = None
    unknown: bool = False
    """True if the outcome is unknown: the call may have taken effect."""


class StepRun(Struct, omit_defaults=True):
    """One step that was started. The output of a step with inner steps is composed of theirs."""

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
    """The `message` and `data` of an open approval."""
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
    """Labels of unfinished branches or rounds of a retried run, waiting for a free slot."""

    @property
    def call(self) -> str:
        """The task that first made the call: repetitions of a call share its name."""
        return self.resumes or self.task

    @property
    def task(self) -> str:
        """The name of the task outside; each retry of the run gives it another one."""
        return self.key if self.round == 1 else f"{self.key}@{self.round}"

    @property
    def active(self) -> bool:
        """True while the step runs or waits."""
        return self.status in ("running", "waiting")


class Frame(Struct, omit_defaults=True):
    """One list of steps being run.

    `at` is the index of the current step, `last` the key of the step that ended last, `rounds` are
    the rounds of the loops around it, outermost first.
    """

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
    """The state of a run.

    `applied` is the number of its events, `agenda` are the next decisions; `busy` and `idle` count
    the tasks that run and the steps that wait.
    """

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
    """The calls to repeat, by the keys of steps that are about to start again."""
    parent_task: str | None = None
    """The task of the parent run that waits for this run, if a retry has replaced the first one."""

    @property
    def status(self) -> RunStatus:
        """The status of the run, as callers see it."""
        if self.phase != "running":
            return self.phase
        if self.paused:
            return "paused"
        return "waiting" if self.idle and not self.busy and not self.agenda else "running"

    @property
    def next_timer(self) -> float | None:
        """The time of the next timer; None without one, or while the run is paused."""
        if self.phase != "running" or self.paused:
            return None
        return min((*self.wakes.values(), *self.deadlines.values()), default=None)


class _Head(Struct):
    schema: int


_HEAD: Final = json.Decoder(_Head)
_DECODER: Final = json.Decoder(State)


def check_schema(data: bytes) -> None:
    """Raise NewerSchemaError for data of a newer release."""
    schema = _HEAD.decode(data).schema
    if schema > SCHEMA:
        raise NewerSchemaError(schema, SCHEMA)


def frame_id(owner: str, label: str) -> str:
    """Return the id of a frame: the key of the step around it, and the label of the list."""
    return f"{owner}/{label}"


def step_key(name: str, rounds: tuple[int, ...]) -> str:
    """Return the key of a step, as in `comment[3]`."""
    return name + "".join(f"[{each}]" for each in rounds)


def encode_state(state: State) -> bytes:
    """Encode a state as JSON."""
    return json.encode(state)


def decode_state(data: bytes) -> State:
    """Decode a state. Raise NewerSchemaError or msgspec.DecodeError."""
    return decode(_DECODER, data)


def decode(decoder: json.Decoder[T], data: bytes) -> T:
    """Decode stored data. Raise NewerSchemaError, or msgspec.DecodeError if it is damaged."""
    try:
        check_schema(data)
        return decoder.decode(data)
    except RecursionError:  # msgspec has no exception of its own for it
        raise DecodeError("nested deeper than can be read") from None
