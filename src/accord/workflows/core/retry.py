"""When a failed task is tried again. Seconds; the random number from 0 to 1 is the caller's."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from accord.workflows.core.definition import Retry

Outcome: TypeAlias = Literal["unknown", "definite"]
"""Whether the other side may have done its work all the same, or is known to have failed."""


class Attempt(Struct, frozen=True):
    """One try: `number` counts all of a task, `group` those that the other side must not tell from
    each other, as they carry the same message id."""

    number: int = 1
    group: int = 1
    at: float = 0.0


def delay(policy: Retry, tried: int, random: float) -> float:
    """How long to wait after `tried` attempts: growing, up to the policy's longest; with jitter
    between half of that and all of it."""
    exponent = min(tried - 1, 1_000)
    try:
        grown = policy.initial_delay * policy.multiplier**exponent
    except OverflowError:
        grown = policy.max_delay
    longest = min(grown, policy.max_delay)
    return longest * (0.5 + 0.5 * random) if policy.jitter else longest


def next_attempt(
    policy: Retry,
    made: Attempt,
    outcome: Outcome,
    *,
    now: float,
    random: float,
    deadline: float | None = None,
    retry_after: float = 0.0,
) -> Attempt | None:
    """The attempt that follows on `made`; None where the policy or the deadline allows no more.

    After a definite failure, if the policy is for those too, it is a new group, with a new message
    id; else the same again.
    """
    if made.number >= policy.attempts or (outcome == "definite" and policy.failures != "all"):
        return None
    at = now + max(delay(policy, made.number, random), retry_after)
    if deadline is not None and at >= deadline:
        return None
    group = made.group + 1 if outcome == "definite" else made.group
    return Attempt(made.number + 1, group, at)
