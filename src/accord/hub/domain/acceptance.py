"""Who may accept a proposal, as far as its author is concerned. Pure.

    proposed          accepted by its author   with a token   in person
    with a token, by a run                     no             by the setting
    in person                                  no             no
    unknown (before `via` was stored)          no             no

In person is a login session, or a command on the machine itself. Other people accept whatever
their rights allow.
"""

from __future__ import annotations

from msgspec import Struct


class AcceptancePolicy(Struct, frozen=True):
    """The setting `accept_own_proposals`."""

    own: bool = True
    """Whether people may accept, in person, what their tokens and runs proposed."""


class Origin(Struct, frozen=True):
    """How somebody called: the columns of a proposal and the fields of a caller of these names."""

    user_id: str
    via: str
    run_id: str

    @property
    def in_person(self) -> bool:
        """Whether it was a person at the keyboard, and neither a token nor a workflow run."""
        return self.via in ("session", "local") and not self.run_id

    @property
    def by_program(self) -> bool:
        return self.via == "token" or bool(self.run_id)


def acceptance_problem(policy: AcceptancePolicy, proposed: Origin, accepts: Origin) -> str:
    """Return why somebody may not accept a proposal; an empty string where they may."""
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
