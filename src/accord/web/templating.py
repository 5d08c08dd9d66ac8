"""Templates: all values are escaped, and an undefined name is an error.

Rendering Markdown takes long. If a template contains much Markdown, its rendering on the event loop
is aborted, and the template is rendered again in a thread. All slow pages share one thread, so that
they delay only each other.
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

MAX_MARKDOWN_ON_LOOP: Final = 2_000
"""The most characters of Markdown that are rendered on the event loop for a page: that takes 20 ms
at worst, and 1 to 2 ms for usual texts."""


class TakesLongError(Exception):
    """A template contains so much Markdown that it must be rendered in a thread."""


class Templates:
    """The templates of the pages. Call `close` when they are no longer needed."""

    def __init__(self, assets: Assets) -> None:
        self._rendered = MarkdownHtml()
        self._here = threading.local()  # the event loop and the thread count on their own
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
        """Render a template. Raises TakesLongError if it must be rendered in a thread."""
        self._here.left = MAX_MARKDOWN_ON_LOOP
        return self._environment.get_template(name).render(context)

    async def fill_in_thread(self, name: str, context: dict[str, Any]) -> str:
        """Render a template in the thread for slow templates."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._fill, name, context)

    def close(self) -> None:
        """Stop the thread for slow templates."""
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
    """Return a time as HTML: relative to now, with the exact time as the title."""
    time = formatting.parse(value)
    words = formatting.relative(time, datetime.now(UTC))
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        time.isoformat(), formatting.exact(time), words
    )


def pretty_json(value: Any) -> Markup:
    """Return a value as indented JSON, escaped for HTML."""
    return escape(msgspec.json.format(msgspec.json.encode(value)).decode())
