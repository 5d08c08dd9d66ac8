"""Small charts as SVG, coloured by the style sheet: they repeat what stands beside them. Pure."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

HEIGHT: Final = 8


def bar(part: int, whole: int, width: int = 120) -> Markup:
    """How much of a whole a part is; an empty whole is an empty bar."""
    filled = part / whole * width if whole else 0.0
    return Markup(
        '<svg class="share" width="{w}" height="{h}" viewBox="0 0 {w} {h}" aria-hidden="true" '
        'focusable="false"><rect class="track" width="{w}" height="{h}" rx="4"/>'
        '<rect class="part" width="{f}" height="{h}" rx="4"/></svg>'
    ).format(w=width, h=HEIGHT, f=f"{filled:.1f}")


def percent(part: int, whole: int) -> str:
    """`83 %`; rounded down, so that only all of them are 100 %."""
    return f"{100 * part // whole} %" if whole else "none"
