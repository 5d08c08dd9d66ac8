"""Random definitions, results in random order, failures and duplicates: the machine comes to what a
plain recursive interpreter comes to, and its histories say all there is to say."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from accord.workflows.core.decisions import decide
from accord.workflows.core.events import decode_event, encode_event
from accord.workflows.core.machine import fold
from accord.workflows.core.reading import read_definition
from accord.workflows.core.state import State, decode_state, encode_state
from tests.workflows.core.any_definition import Generated, generated
from tests.workflows.core.reference import Outcome, interpret
from tests.workflows.core.simulation import Simulation, World

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
WORLDS = st.builds(
    World,
    seed=st.integers(0, 10_000),
    failing=st.sampled_from([0.0, 0.1, 0.3]),
    noise=st.sampled_from([0.0, 0.5]),
)


@settings(max_examples=80, deadline=None, suppress_health_check=SLOW)
@given(generated(), WORLDS)
def test_any_run_comes_to_what_the_reference_says(case: Generated, world: World) -> None:
    simulation = Simulation(read_definition(case.definition), world)
    state = simulation.run(case.input, case.signals)
    expected = interpret(case.definition, case.input, world)
    assert _outcome(state, simulation) == expected
    assert (state.busy, state.idle, state.agenda, state.wakes, state.deadlines) == (
        0,
        0,
        [],
        {},
        {},
    )


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(generated(), WORLDS, st.data())
def test_any_prefix_folded_kept_and_continued_is_the_whole(
    case: Generated, world: World, data: st.DataObject
) -> None:
    simulation = Simulation(read_definition(case.definition), world)
    whole = simulation.run(case.input, case.signals)
    history = [decode_event(encode_event(event)) for event in simulation.history]
    assert history == simulation.history
    cut = data.draw(st.integers(0, len(history)))
    kept = decode_state(encode_state(fold(simulation.program, history[:cut])))
    assert (
        fold(simulation.program, history[cut:], kept) == whole == fold(simulation.program, history)
    )


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(generated(), WORLDS, st.data())
def test_what_is_decided_after_any_prefix_is_what_was_recorded(
    case: Generated, world: World, data: st.DataObject
) -> None:
    simulation = Simulation(read_definition(case.definition), world)
    simulation.run(case.input, case.signals)
    history = simulation.history
    cut = data.draw(st.integers(1, len(history)))
    state = fold(simulation.program, history[:cut])
    decided = decide(simulation.program, state, history[cut - 1].at).events
    assert decided == tuple(history[cut : cut + len(decided)])


def _outcome(state: State, simulation: Simulation) -> Outcome:
    code = None if state.error is None else state.error.code
    return Outcome(state.phase, with_codes(state.output), code, with_codes(simulation.inputs))


def with_codes(value: Any) -> Any:
    """The reference tells only the code of an error."""
    match value:
        case {"status": status, "output": output, "error": error}:
            return {
                "status": status,
                "output": with_codes(output),
                "error": error["code"] if error else None,
            }
        case dict():
            return {key: with_codes(each) for key, each in value.items()}
        case list():
            return [with_codes(each) for each in value]
        case _:
            return value
