"""The right to accept one's own proposals, for every way to propose and to accept."""

from __future__ import annotations

import pytest

from accord.hub.domain.acceptance import AcceptancePolicy, ProposalOrigin, acceptance_problem

pytestmark = pytest.mark.req("H-30")

TOKEN, SESSION, LOCAL = (ProposalOrigin("uma", via, "") for via in ("token", "session", "local"))
RUN = ProposalOrigin("uma", "local", "run-1")
UNKNOWN = ProposalOrigin("uma", "", "")

SAME_WAY = "nobody accepts with a token what they proposed"
SOMEBODY_ELSE = "somebody else has to accept it"
SETTING = "accept_own_proposals"


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("proposed", [TOKEN, SESSION, LOCAL, RUN, UNKNOWN])
@pytest.mark.parametrize("accepts", [TOKEN, SESSION, LOCAL, RUN])
def test_others_are_not_asked_how_they_called(
    proposed: ProposalOrigin, accepts: ProposalOrigin, own: bool
) -> None:
    other = ProposalOrigin("otto", accepts.via, accepts.run_id)
    assert acceptance_problem(AcceptancePolicy(own=own), proposed, other) == ""


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("proposed", [TOKEN, SESSION, LOCAL, RUN, UNKNOWN])
@pytest.mark.parametrize("accepts", [TOKEN, RUN, UNKNOWN])
def test_programs_never_accept_what_their_owner_proposed(
    proposed: ProposalOrigin, accepts: ProposalOrigin, own: bool
) -> None:
    assert SAME_WAY in acceptance_problem(AcceptancePolicy(own=own), proposed, accepts)


@pytest.mark.parametrize("accepts", [SESSION, LOCAL])
def test_people_accept_in_person_what_their_programs_proposed(accepts: ProposalOrigin) -> None:
    for proposed in (TOKEN, RUN):
        assert acceptance_problem(AcceptancePolicy(), proposed, accepts) == ""
        assert SETTING in acceptance_problem(AcceptancePolicy(own=False), proposed, accepts)
    for proposed in (SESSION, LOCAL, UNKNOWN):
        assert SOMEBODY_ELSE in acceptance_problem(AcceptancePolicy(), proposed, accepts)
