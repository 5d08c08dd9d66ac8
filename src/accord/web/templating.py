"""Templates: everything in them is escaped, and a name that is not there is an error.

Texts in Markdown may take long to render. A template with more of them than are rendered in no time
is given up on the event loop, and filled again in a thread: there is one for all, so that whoever
writes such texts keeps nobody waiting but those who read them.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from math import inf
from typing import Any, Final

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from accord.web import formatting
from accord.web.formatting import is_assistant, look_of, program_name, through
from accord.web.forms import ticked
from accord.web.markdown import MarkdownHtml
from accord.web.redline import field_changes, redline, unified
from accord.web.responses import HTMX, Assets

MOST_NOW: Final = 2_000
"""Most characters of Markdown that are rendered on the event loop for one page: that takes 20 ms
at worst, and one or two for usual texts."""


class TakesLongError(Exception):
    """A template is to be filled in a thread: there is much to be rendered in it."""


class Templates:
    """Fills templates of `accord.web`. Close it at the end."""

    def __init__(self, assets: Assets) -> None:
        self._rendered = MarkdownHtml()
        self._here = threading.local()
        self._thread = ThreadPoolExecutor(1, "accord-web-templates")
        self._environment = environment = Environment(
            loader=PackageLoader("accord.web", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters |= {
            "ticked": ticked,
            "ago": ago,
            "duration": formatting.duration,
            "json": pretty_json,
            "look": look_of,
            "markdown": self._markdown,
            "program": program_name,
            "number": "{:,}".format,
            "told": field_changes,
        }
        environment.globals |= {"redline": redline, "unified": unified}
        environment.globals |= {"through": through, "is_assistant": is_assistant}
        environment.globals["asset"] = assets.url
        environment.globals["has_htmx"] = HTMX in assets

    def fill(self, name: str, context: dict[str, Any]) -> str:
        """Raises TakesLongError for a template that `fill_in_thread` is for."""
        self._here.left = MOST_NOW
        return self._environment.get_template(name).render(context)

    async def fill_in_thread(self, name: str, context: dict[str, Any]) -> str:
        """Fill a template however long it takes."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._fill, name, context)

    def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _fill(self, name: str, context: dict[str, Any]) -> str:
        self._here.left = inf
        return self._environment.get_template(name).render(context)

    def _markdown(self, text: str) -> Markup:
        found = self._rendered.find(text)
        if found is not None:
            return found
        self._here.left -= len(text)
        if self._here.left < 0:
            raise TakesLongError
        return self._rendered.render(text)


def ago(value: str | float) -> Markup:
    """A time as people say it, with the exact one to be seen by pointing at it."""
    time = formatting.parse(value)
    words = formatting.relative(time, datetime.now(UTC))
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        time.isoformat(), formatting.exact(time), words
    )


def pretty_json(value: Any) -> Markup:
    """A value as it is on the wire, indented."""
    return escape(msgspec.json.format(msgspec.json.encode(value)).decode())
