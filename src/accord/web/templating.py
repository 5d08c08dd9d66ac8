"""Templates: everything in them is escaped, and a name that is not there is an error."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from accord.web import dates
from accord.web.assets import HTMX, Assets
from accord.web.differences import told
from accord.web.markdown import markdown
from accord.web.programs import program_name
from accord.web.provenance import is_assistant, through
from accord.web.redline import redline, unified
from accord.web.states import look_of


class Templates:
    """Fills templates of `accord.web`."""

    def __init__(self, assets: Assets) -> None:
        self._environment = environment = Environment(
            loader=PackageLoader("accord.web", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters |= {
            "ago": ago,
            "duration": dates.duration,
            "json": pretty_json,
            "look": look_of,
            "markdown": markdown,
            "program": program_name,
            "number": "{:,}".format,
            "told": told,
        }
        environment.globals |= {"redline": redline, "unified": unified}
        environment.globals |= {"through": through, "is_assistant": is_assistant}
        environment.globals["asset"] = assets.url
        environment.globals["has_htmx"] = HTMX in assets

    def fill(self, name: str, context: dict[str, Any]) -> str:
        return self._environment.get_template(name).render(context)


def ago(value: str | float) -> Markup:
    """A time as people say it, with the exact one to be seen by pointing at it."""
    time = dates.parse(value)
    words = dates.relative(time, datetime.now(UTC))
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        time.isoformat(), dates.exact(time), words
    )


def pretty_json(value: Any) -> Markup:
    """A value as it is on the wire, indented."""
    return escape(msgspec.json.format(msgspec.json.encode(value)).decode())
