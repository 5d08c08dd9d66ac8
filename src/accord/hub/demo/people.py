"""The people of the sample project, who cannot sign in, and their comments."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.operations.context import Role

PEOPLE: Final[dict[str, Role]] = {
    "mara": "User",
    "jonas": "User",
    "aylin": "User",
    "pieter": "User",
    "ines": "User",
    "sven": "Commenter",
}
OWNER: Final = "mara"
"""The creator of everything that has no creator of its own."""
COLOURS: Final = {
    "accessibility": "#7c3aed",
    "crew": "#0e7490",
    "harbour": "#1d4ed8",
    "offline": "#b45309",
    "payments": "#15803d",
    "privacy": "#be185d",
    "reporting": "#4b5563",
    "safety": "#b91c1c",
}
"""By label."""


class Remark(Struct, frozen=True, kw_only=True):
    """A comment with its replies."""

    on: str
    by: str
    text: str
    answers: tuple[tuple[str, str], ...] = ()
    resolved_by: str = ""
    quote: str = ""


REMARKS: Final = (
    Remark(
        on="REQ-002",
        by="sven",
        text="Last July we had 1,900 people on the page when sales opened. Is 500 enough?",
        answers=(
            ("jonas", "500 who search at the same moment. The opening of sales is US-035."),
            ("sven", "Then it should say so. Otherwise I would test the wrong thing."),
        ),
        quote="up to 500 passengers",
    ),
    Remark(
        on="REQ-006",
        by="pieter",
        text="Fifteen minutes is too long for the last sailing on a Friday.",
        answers=(("mara", "We keep it until we have numbers from the first season."),),
        resolved_by="mara",
        quote="15 minutes",
    ),
    Remark(
        on="REQ-008",
        by="aylin",
        text="This is the one that must never break. I would like to see a test for every release.",
    ),
    Remark(
        on="REQ-021",
        by="jonas",
        text="Contradicts the release after 15 minutes. Which of the two wins for groups?",
        answers=(
            ("mara", "The longer one, but only once somebody from the office has confirmed it."),
            ("jonas", "Then both requirements need a sentence about that."),
        ),
    ),
    Remark(
        on="US-003",
        by="ines",
        text="The tourist offices ask for invoices with a later payment date. Not in scope?",
        answers=(("mara", "Not this season. I put it on the list for autumn."),),
        resolved_by="ines",
    ),
    Remark(
        on="US-007",
        by="sven",
        text="Can the refund go to a voucher if the passenger prefers that?",
    ),
    Remark(
        on="EP-003",
        by="sven",
        text="The stewards on the northern route want to try the scanner before it is finished.",
        answers=(("aylin", "From the next build on. I bring two devices on Thursday."),),
        resolved_by="aylin",
    ),
    Remark(
        on="US-011",
        by="pieter",
        text="Antennas at the outer islands fail about once a week in winter. Please keep this "
        "story at the top.",
    ),
    Remark(
        on="EP-003",
        by="ines",
        text="What happens with dogs? They count for the lifeboats in Denmark.",
        answers=(("pieter", "Not as souls. But the captain wants to know. I ask."),),
    ),
    Remark(
        on="US-012",
        by="pieter",
        text="The captain's word is final. The count by hand must always be possible.",
        resolved_by="pieter",
    ),
    Remark(
        on="EP-004",
        by="sven",
        text="Does the islander fare hold for the dog, too? People ask every day.",
        answers=(("aylin", "Dogs travel free. We should write that down somewhere."),),
    ),
    Remark(
        on="US-016",
        by="ines",
        text="Two seasons that are equally long: which one applies?",
        answers=(("jonas", "Good question. I would refuse to publish the second one."),),
    ),
    Remark(
        on="EP-006",
        by="aylin",
        text="Erasing names and keeping counts looks like a contradiction. It is none: counts have "
        "no names. Let us say so in both.",
        resolved_by="mara",
    ),
    Remark(
        on="US-028",
        by="sven",
        text="The harbour master would like this as a phone call to a person, not as a web page.",
    ),
    Remark(
        on="EP-008",
        by="jonas",
        text="The rehearsal in March took 22 minutes. We are close, not there.",
        answers=(("mara", "What took the longest?"), ("jonas", "Finding the person with the key.")),
    ),
    Remark(
        on="US-034",
        by="pieter",
        text="Boarding must go on even where booking does not. That is why scanners judge alone.",
        resolved_by="jonas",
    ),
)
