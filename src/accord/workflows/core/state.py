"""The state of a run: everything that is needed to continue it.

The state is plain data, stored as JSON; only `transitions` changes it.

A run is a tree of steps and frames. A frame is the execution of one list of steps, of which one is
the current step. Parallel steps and loops contain many frames, conditions and handlers one. The key
of a step is its name and the rounds of all loops around it, as in `comment[3]`.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import DecodeError, Struct, json

from accord.workflows.core.errors import NewerSchemaError

T = TypeVar("T")

FIRST_SCHEMA: Final = 1
"""The schema version of states, events and commands that every release can read.

Data gets a later version only if earlier releases would misread it.
"""
SCHEMA: Final = 2
"""The newest schema version; version 2 added retries that name no step."""

RunStatus: TypeAlias = Literal[
    "pending", "running", "waiting", "paused", "completed", "failed", "cancelled"
]
StepStatus: TypeAlias = Literal[
    "pending", "running", "waiting", "paused", "completed", "failed", "cancelled", "skipped"
]
FrameStatus: TypeAlias = Literal["running", "completed", "failed", "cancelled"]
Todo: TypeAlias = Literal["start", "settle", "round", "continue", "end"]
TIMEOUT: Final = "timeout"
"""The failure code of a step that timed out."""
FINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""The statuses of ended runs."""


class Failure(Struct, frozen=True, omit_defaults=True):
    """The reason why a step or run failed, with the key of the failed step."""

    code: str
    message: str
    step: str = ""
    details: Any = None
    unknown: bool = False
    """True if the outcome of the call is unknown, so it may have taken effect."""


class StepRun(Struct, omit_defaults=True):
    """A step that was started; for a step inside a loop, in one round.

    The output of a step with inner steps is not stored, but composed from the outputs of those.
    """

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
    """The `message` and `data` of an open approval; None for other steps."""
    size: int = 0
    choice: str | None = None
    items: list[Any] | None = None
    total: int = 0
    opened: int = 0
    succeeded: int = 0
    failed: int = 0
    settling: bool = False
    resumes: str = ""
    """The earlier task whose call or child run this step repeats or continues; empty for none."""
    halted: list[str] = []
    """In a retried run: the labels of unfinished branches or rounds yet to be continued.

    They wait because of the step's limit of concurrent branches or rounds.
    """

    @property
    def call(self) -> str:
        """The name of the task that first made the call; repetitions of a call share it."""
        return self.resumes or self.task

    @property
    def task(self) -> str:
        """The name of the step's task: `KEY`, or `KEY@2` after the first retry of the run."""
        return self.key if self.round == 1 else f"{self.key}@{self.round}"

    @property
    def active(self) -> bool:
        """True while the step runs or waits."""
        return self.status in ("running", "waiting")


class Frame(Struct, omit_defaults=True):
    """The execution of one list of steps.

    `at` is the index of the current step, and `last` the key of the step that ended last. `rounds`
    are the current rounds of the loops around the frame, outermost first.
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

    `applied` is the number of events applied, `busy` the number of running tasks, and `idle` the
    number of waiting steps. `agenda` lists the pending decisions.
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
    """The task whose call a step repeats when it starts again after a retry, by the step's key."""
    parent_task: str | None = None
    """The parent's task that waits for this run, if it is not the one that started the run."""

    @property
    def status(self) -> RunStatus:
        """The status of the run as shown to callers."""
        if self.phase != "running":
            return self.phase
        if self.paused:
            return "paused"
        return "waiting" if self.idle and not self.busy and not self.agenda else "running"

    @property
    def next_timer(self) -> float | None:
        """The time of the next timer; None if there is none or the run is paused."""
        if self.phase != "running" or self.paused:
            return None
        return min((*self.wakes.values(), *self.deadlines.values()), default=None)


class _Head(Struct):
    schema: int


_HEAD: Final = json.Decoder(_Head)
_DECODER: Final = json.Decoder(State)


def check_schema(data: bytes) -> None:
    """Raise NewerSchemaError if a newer release wrote this data."""
    schema = _HEAD.decode(data).schema
    if schema > SCHEMA:
        raise NewerSchemaError(schema, SCHEMA)


def frame_id(owner: str, label: str) -> str:
    """Return the id of a frame, made of the key of the step around it and the list's label."""
    return f"{owner}/{label}"


def step_key(name: str, rounds: tuple[int, ...]) -> str:
    """Return the key of a step in these rounds, as in `comment[3]`."""
    return name + "".join(f"[{each}]" for each in rounds)


def encode_state(state: State) -> bytes:
    """Encode a state as JSON."""
    return json.encode(state)


def decode_state(data: bytes) -> State:
    """Decode a state from JSON.

    Raise NewerSchemaError if a newer release wrote it, msgspec.DecodeError if it is invalid.
    """
    return decode(_DECODER, data)


def decode(decoder: json.Decoder[T], data: bytes) -> T:
    """Decode stored data with a decoder for its type.

    Raise NewerSchemaError if a newer release wrote it, msgspec.DecodeError if it is invalid.
    """
    try:
        check_schema(data)
        return decoder.decode(data)
    except RecursionError:  # msgspec has no exception of its own for it
        raise DecodeError("nested deeper than can be read") from None
