"""The session: what a connection knows, without a connection."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec import UNSET

from accord.jsonrpc.protocol.channel import MOVES, Limits, State
from accord.jsonrpc.protocol.errors import BusyError, IdsExhaustedError
from accord.jsonrpc.protocol.session import LAST_ID, REMEMBERED_CALLS, Counter, Session, Uuids


def session(**limits: int) -> Session:
    return Session(limits=Limits(**limits))


def begin(it: Session, *, now: float = 0.0, timeout: float | None = 30.0, **options: object) -> int:
    pending, _ = it.call("m", UNSET, "token", now=now, timeout=timeout, **options)  # type: ignore[arg-type]
    assert isinstance(pending.id, int)
    return pending.id


@pytest.mark.req("F-10", "F-14", "RPC-4e")
def test_a_call_gets_the_next_id_and_waits_under_it() -> None:
    it = session()
    pending, data = it.call("add", [1, 2], "token", now=5.0, timeout=30.0)
    assert data == b'{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}'
    assert (pending.id, pending.token, pending.deadline) == (1, "token", 35.0)
    assert begin(it) == 2
    settled = it.settle(1)
    assert settled is pending
    assert list(it.pending) == [2]
    assert it.statistics.calls_sent == 2
    assert it.statistics.answers_received == 1


@pytest.mark.req("F-14")
def test_the_counter_stops_with_advice_instead_of_reissuing_an_id() -> None:
    it = Session(limits=Limits(), next_id=Counter(first=LAST_ID))
    assert begin(it) == LAST_ID == 2**60 - 1
    with pytest.raises(IdsExhaustedError, match="reconnect"):
        begin(it)
    assert list(it.pending) == [LAST_ID]


@pytest.mark.req("F-14")
def test_uuids_can_be_used_as_ids() -> None:
    it = Session(limits=Limits(), next_id=Uuids(lambda size: bytes(range(size))))
    pending, data = it.call("m", UNSET, None, now=0, timeout=None)
    assert pending.id == "00010203-0405-4607-8809-0a0b0c0d0e0f"
    assert b'"id":"00010203-0405-4607-8809-0a0b0c0d0e0f"' in data
    assert it.settle(pending.id) is pending


@pytest.mark.req("F-02", "F-30")
@pytest.mark.parametrize("id", [1.0, "1", None, True])
def test_an_answer_with_an_equal_id_of_another_type_matches_nothing(id: object) -> None:
    it = session()
    begin(it)
    assert it.settle(id) is None  # type: ignore[arg-type]
    assert list(it.pending) == [1]
    assert it.statistics.answers_unknown == 1


@pytest.mark.req("F-13")
def test_calls_expire_at_their_own_deadlines_and_late_answers_are_counted() -> None:
    it = session()
    first, second = begin(it, timeout=10.0), begin(it, timeout=5.0)
    forever = begin(it, timeout=None)
    assert it.next_deadline() == 5.0
    assert it.expire(4.9) == []
    assert [call.id for call in it.expire(5.0)] == [second]
    assert it.next_deadline() == 10.0
    assert [call.id for call in it.expire(99.0)] == [first]
    assert it.next_deadline() is None
    assert list(it.pending) == [forever]
    assert it.settle(second) is None
    assert (it.statistics.answers_late, it.statistics.answers_unknown) == (1, 0)
    assert it.settle(second) is None
    assert (it.statistics.answers_late, it.statistics.answers_unknown) == (1, 1)
    assert it.statistics.calls_timed_out == 2


@pytest.mark.req("F-13")
def test_progress_moves_a_deadline_up_to_its_maximum() -> None:
    it = session()
    bounded = begin(it, timeout=10.0, longest=25.0)
    free = begin(it, timeout=10.0)
    forever = begin(it, timeout=None)
    assert it.extend(bounded, now=8.0) == 18.0
    assert it.extend(bounded, now=17.0) == 25.0
    assert it.extend(free, now=100.0) == 110.0
    assert it.extend(forever, now=1.0) is None
    assert it.extend(99, now=1.0) is None


@pytest.mark.req("F-15")
def test_an_abandoned_call_is_removed_and_its_answer_is_late() -> None:
    it = session()
    id = begin(it)
    assert it.abandon(id)
    assert not it.abandon(id)
    assert it.pending == {}
    assert it.settle(id) is None
    assert (it.statistics.calls_abandoned, it.statistics.answers_late) == (1, 1)


@pytest.mark.req("F-24")
def test_only_so_many_given_up_calls_are_remembered() -> None:
    it = session(max_pending=10**6)
    ids = [begin(it) for _ in range(REMEMBERED_CALLS + 1)]
    for id in ids:
        it.abandon(id)
    it.settle(ids[0])
    it.settle(ids[1])
    assert (it.statistics.answers_unknown, it.statistics.answers_late) == (1, 1)


@pytest.mark.req("F-28")
def test_no_more_calls_wait_than_the_limit_allows() -> None:
    it = session(max_pending=2)
    begin(it)
    begin(it)
    with pytest.raises(BusyError, match="2 calls are waiting for answers, the limit") as refused:
        begin(it)
    assert refused.value.data == {"reason": "busy", "limit": 2}
    it.settle(1)
    assert begin(it) == 3


def test_what_cannot_be_encoded_is_raised_and_leaves_nothing_behind() -> None:
    it = session()
    with pytest.raises(TypeError):
        it.call("m", [object()], None, now=0, timeout=None)
    assert it.pending == {}
    assert it.statistics.calls_sent == 0


@pytest.mark.req("F-18", "F-27")
def test_a_lost_connection_loses_all_calls_but_those_that_can_be_sent_again() -> None:
    it = session()
    once = begin(it)
    again = begin(it, idempotent=True)
    assert [call.id for call in it.lose(keep_resendable=True)] == [once]
    assert it.resendable() == [b'{"jsonrpc":"2.0","id":2,"method":"m"}']
    assert [call.id for call in it.lose()] == [again]
    assert it.pending == {}
    assert it.statistics.calls_lost == 2


@pytest.mark.req("F-05")
def test_an_error_without_an_id_can_only_mean_the_one_message_that_is_under_way() -> None:
    it = session()
    batch = it.next_message()
    ids = [begin(it, message=batch), begin(it, message=batch)]
    assert it.only_message() == ids
    begin(it)
    assert it.only_message() == []
    it.settle(3)
    it.statistics.requests_received += 1
    assert it.only_message() == []


def test_notifications_are_encoded_and_counted() -> None:
    it = session()
    assert it.notification("log", {"a": 1}) == (
        b'{"jsonrpc":"2.0","method":"log","params":{"a":1}}'
    )
    assert it.statistics.notifications_sent == 1


@pytest.mark.req("F-20")
def test_the_state_moves_only_as_the_table_says() -> None:
    for start in State:
        for end in State:
            it = Session(limits=Limits(), state=start)
            assert it.move(end) is (end in MOVES[start])
            assert it.state is (end if end in MOVES[start] else start)
    assert MOVES[State.CLOSED] == frozenset()


class SessionModel(RuleBasedStateMachine):
    """The session against a dictionary of id to deadline."""

    def __init__(self) -> None:
        super().__init__()
        self.session = Session(limits=Limits(max_pending=8))
        self.model: dict[int, float | None] = {}
        self.now = 0.0
        self.issued = 0

    @rule(timeout=st.none() | st.floats(0.1, 10))
    def call(self, timeout: float | None) -> None:
        try:
            pending, data = self.session.call("m", UNSET, None, now=self.now, timeout=timeout)
        except BusyError:
            assert len(self.model) == 8
            return
        self.issued += 1
        assert pending.id == self.issued
        assert msgspec.json.decode(data)["id"] == self.issued
        self.model[self.issued] = None if timeout is None else self.now + timeout

    @rule(id=st.integers(0, 40))
    def answer(self, id: int) -> None:
        settled = self.session.settle(id)
        assert (settled is not None) == (id in self.model)
        self.model.pop(id, None)

    @rule(id=st.integers(0, 40))
    def abandon(self, id: int) -> None:
        assert self.session.abandon(id) == (id in self.model)
        self.model.pop(id, None)

    @rule(seconds=st.floats(0, 6))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        due = {
            id
            for id, deadline in self.model.items()
            if deadline is not None and deadline <= self.now
        }
        assert {call.id for call in self.session.expire(self.now)} == due
        for id in due:
            del self.model[id]

    @rule()
    def lose(self) -> None:
        assert {call.id for call in self.session.lose()} == set(self.model)
        self.model.clear()

    @invariant()
    def agrees(self) -> None:
        assert set(self.session.pending) == set(self.model)
        deadlines = [deadline for deadline in self.model.values() if deadline is not None]
        assert self.session.next_deadline() == min(deadlines, default=None)
        counts = self.session.statistics
        assert counts.calls_sent == self.issued
        assert len(self.model) == self.issued - (
            counts.answers_received
            + counts.calls_abandoned
            + counts.calls_timed_out
            + counts.calls_lost
        )


@pytest.mark.req("F-10", "F-13", "F-24")
class TestSessionModel(SessionModel.TestCase):  # type: ignore[misc, valid-type]
    """Runs the model."""
