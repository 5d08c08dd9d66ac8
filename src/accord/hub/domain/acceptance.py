"""The right to accept a proposal, as far as its author is concerned. Pure.

    proposed          accepted by its author   with a token   in person
    with a token, by a run                     no             by the setting
    in person                                  no             no
    unknown (before `via` was stored)          no             no

In person means a login session, or a command on the machine itself. Other people may accept if
their rights allow it.
"""

from __future__ import annotations

from msgspec import Struct


class AcceptancePolicy(Struct, frozen=True):
    """The setting `accept_own_proposals`."""

    own: bool = True
    """True if people may accept, in person, proposals of their own tokens and runs."""


class ProposalOrigin(Struct, frozen=True):
    """The way a caller called: by token, session or run.

    The fields are columns of a proposal and fields of a caller.
    """

    user_id: str
    via: str
    run_id: str

    @property
    def in_person(self) -> bool:
        """True for a person at the keyboard; false for a token or a workflow run."""
        return self.via in ("session", "local") and not self.run_id

    @property
    def by_program(self) -> bool:
        return self.via == "token" or bool(self.run_id)


def acceptance_problem(
    policy: AcceptancePolicy, proposed: ProposalOrigin, accepts: ProposalOrigin
) -> str:
    """Return the reason against accepting a proposal; empty if there is none."""
    if proposed.user_id != accepts.user_id:
        return ""
    if not accepts.in_person:
        return (
            "you proposed it yourself, and nobody accepts with a token what they proposed: "
            "sign in and accept it there, or ask somebody else"
        )
    if not proposed.by_program:
        return "you proposed it yourself: somebody else has to accept it"
    if not policy.own:
        return (
            "it was proposed with a token of yours: somebody else has to accept it "
            "(setting accept_own_proposals)"
        )
    return ""
