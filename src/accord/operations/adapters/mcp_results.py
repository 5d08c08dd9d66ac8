"""Outcomes of operations as results of tools: a compact text, and structured content.

Some clients give a model the text, others only the structured content. So both contain the same,
and both mark stored data. Together they are small enough to be read: long texts are cut first, then
lists, and the result says where it was cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, to_builtins

from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.content import TextContent
from accord.mcp.protocol.messages import CallToolResult
from accord.operations.adapters.errors import fields_of, message_of
from accord.operations.adapters.mcp_text import (
    are_alike,
    as_text,
    fenced,
    plain_name,
    quotes_names,
    with_notice,
    with_notice_json,
)
from accord.operations.context import Effect
from accord.operations.errors import KINDS, ServiceError
from accord.operations.operation import Operation, Outcome, Preview
from accord.operations.pages import Page

MAX_BYTES: Final = 40_000
"""The size limit of a result: its text and its structured content together."""
TEXTS: Final = (16_000, 8_000, 4_000, 2_000, 1_000, 500, 200)
"""Maximum lengths of texts in a result, tried in this order until the result fits."""
LISTS: Final = (500, 200, 100, 50, 20, 10, 5, 2, 1, 0)
"""Maximum lengths of lists in a result, tried in this order until the result fits."""
TEXTS_OF_PAGES: Final = tuple(length for length in TEXTS if length >= 1_000)
"""Lengths to which texts of a page are cut; if none fits, the page gets fewer items."""


def fit_result(value: Any, fits: Callable[[Any], bool], *, lists: bool = True) -> Any:
    """Return `value` cut until it fits; None if no cut fits.

    `fits` returns True for a value that is small enough. Texts are cut first, then lists. Without
    `lists` only texts are cut, and not to the shortest lengths.
    """
    for length in TEXTS if lists else TEXTS_OF_PAGES:
        cut = _cut_texts(value, length)
        if fits(cut):
            return cut
    if not lists:
        return None
    short = _cut_texts(value, TEXTS[-1])
    for count in LISTS:
        cut = _cut_lists(short, count)
        if fits(cut):
            return cut
    return None


def _cut_texts(value: Any, length: int) -> Any:
    if isinstance(value, str):
        if len(value) <= length:
            return value
        return f"{value[:length]}… [{len(value) - length:,} more characters]"
    if isinstance(value, list):
        return [_cut_texts(each, length) for each in value]
    if isinstance(value, dict):
        return {key: _cut_texts(each, length) for key, each in value.items()}
    return value


def _cut_lists(value: Any, count: int) -> Any:
    if isinstance(value, list):
        return [_cut_lists(each, count) for each in value[:count]]
    if isinstance(value, dict):
        found = {key: _cut_lists(each, count) for key, each in value.items()}
        for key, each in value.items():
            if isinstance(each, list) and len(each) > count:
                found[f"{key}_left_out"] = len(each) - count
        return found
    return value


MAX_EFFECTS: Final = 10
"""Maximum number of effects named in the message about a write."""
MAX_MARKS: Final = 200
"""The part of `MAX_BYTES` that is reserved for the marks around stored text."""
MAX_CHARACTER_BYTES: Final = 4
"""The maximum size of one character in UTF-8, in bytes."""
MAX_ITEMS: Final = "limit"
"""The name of the parameter that limits the number of items on a page."""
MESSAGE: Final = "message"
"""The name of the member that describes the effects of a write in a sentence."""
_IN_FIRST_LINE: Final = frozenset(("code", "correlation_id"))
_PAGE: Final = Page.__struct_fields__


class TooManyItemsError(Exception):
    """A page is too large even with its texts cut; fewer items must be requested.

    `count` is a number of items that fits, or None if that is not known.
    """

    def __init__(self, count: int | None) -> None:
        super().__init__(f"{count} items fit")
        self.count = count


class Results:
    """A converter of one operation's outcomes to tool results.

    `rest` is a sentence for clients: how to get the full text if a text was cut.
    """

    def __init__(self, operation: Operation, rest: str) -> None:
        names = {each.name for each in operation.parameters}
        self._is_paged = MAX_ITEMS in names
        self._writes = operation.writes
        self._how = _advice(names, rest)

    def of(self, outcome: Outcome, *, can_have_less: bool = True) -> CallToolResult:
        """Return the tool result for an outcome.

        Raises TooManyItemsError for a result that is too large, if fewer items can be requested.
        """
        if isinstance(outcome.result, Preview):
            preview: Any = to_builtins(outcome.result)
            message = _preview_message(preview)
            return self._sized({MESSAGE: message, **preview}, _written_text)
        if self._writes:
            value = to_builtins(outcome.result)
            value = value if isinstance(value, dict) else {"result": value}
            message = _sentence(outcome)
            return self._sized({MESSAGE: message, **value}, _written_text)
        if isinstance(outcome.result, Page):  # the largest results, and most of them fit
            whole = _whole(_page_text(outcome.result), with_notice_json(encode(outcome.result)))
            if whole is not None:
                return whole
        return self._sized(to_builtins(outcome.result), _read_text, can_have_less=can_have_less)

    def of_error(self, error: ServiceError, correlation_id: str) -> CallToolResult:
        """Return a result that explains the error, so that a model can correct it."""
        message = message_of(error)
        about: dict[str, Any] = {
            **to_builtins(error.data),
            "code": error.kind.code,
            "message": message,
            "correlation_id": correlation_id,
        }
        if error.errors:
            about["errors"] = fields_of(error)
        first, said_first = f"{error.kind.code}, correlation id {correlation_id}", _IN_FIRST_LINE
        if not quotes_names(message, to_builtins(error.data)):
            first, said_first = f"{message}\n{first}", _IN_FIRST_LINE | {"message"}

        def text(value: dict[str, Any]) -> str:
            known = {key: each for key, each in value["error"].items() if key not in said_first}
            return f"{first}\n{fenced(as_text(known))}" if known else first

        return _error(self._sized({"error": about}, text))

    def of_failure(self, correlation_id: str) -> CallToolResult:
        """Return a result for an internal error."""
        code = "internal_error"
        message = f"{KINDS[code].title}. The log has more under {correlation_id}."
        about = {"code": code, "message": message, "correlation_id": correlation_id}
        text = f"{message}\n{code}, correlation id {correlation_id}"
        return _error(_result(text, {"error": about}))

    def _sized(
        self, value: Any, text: Callable[[Any], str], *, can_have_less: bool = False
    ) -> CallToolResult:
        whole = value if isinstance(value, dict) else {"result": value}
        found = _whole(text(whole), encode(_structured(whole)))
        return found or self._cut(whole, text, can_have_less=can_have_less)

    def _cut(
        self, whole: dict[str, Any], text: Callable[[Any], str], *, can_have_less: bool
    ) -> CallToolResult:
        room = MAX_BYTES - len(self._how.encode()) * 2 - MAX_MARKS

        def fits(value: dict[str, Any]) -> bool:
            return len(encode(_structured(value))) + len(text(value).encode()) <= room

        if self._is_paged and can_have_less and whole.get("items"):
            cut = fit_result(whole, fits, lists=False)
            if cut is None:
                raise TooManyItemsError(_fitting(whole, fits) if "next_cursor" in whole else None)
        else:
            cut = fit_result(whole, fits) or {}
        structured = {**_structured(cut), "truncated": self._how}
        return _result(f"{text(cut)}\n{self._how}", structured)


def _fitting(page: dict[str, Any], fits: Callable[[Any], bool]) -> int:
    """Return a number of the page's items that fits, at least one."""
    count = len(page["items"]) // 2
    while (
        count > 1
        and fit_result({**page, "items": page["items"][:count]}, fits, lists=False) is None
    ):
        count //= 2
    return max(count, 1)


def _advice(names: set[str], rest: str) -> str:
    ways = []
    if "fields" in names:
        ways.append("name the `fields` that you need")
    if "detail" in names:
        ways.append("ask for detail=concise")
    if "cursor" in names:
        ways.append("ask for fewer by `limit` and go on by `cursor`")
    if not ways:
        ways.append("ask for less")
    how = ", or ".join(ways)
    cut = f"Cut to {MAX_BYTES // 1000} KB. For the rest {how}."
    return f"{cut} {rest}" if rest else cut


def _whole(text: str, structured: bytes) -> CallToolResult | None:
    """Return a tool result with this uncut text and JSON; None if it is too large."""
    room = MAX_BYTES - len(structured)
    if len(text) * MAX_CHARACTER_BYTES > room and len(text.encode()) > room:
        return None
    return CallToolResult(content=[TextContent(text=text)], structured_content=Raw(structured))


def _result(text: str, structured: Any) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=Raw(encode(structured))
    )


def _error(result: CallToolResult) -> CallToolResult:
    return msgspec.structs.replace(result, is_error=True)


# Texts


def _has_own_text(value: dict[str, Any]) -> bool:
    """Return True if a result has a text of its items besides the list of items."""
    return isinstance(value.get("items"), list) and isinstance(value.get("text"), str)


def _is_tree(value: dict[str, Any]) -> bool:
    """Return True if items of a result have children."""
    return any(isinstance(each, dict) and "children" in each for each in value["items"])


def _structured(value: dict[str, Any]) -> dict[str, Any]:
    """Return the structured content of a result, without a text of the same items."""
    if _has_own_text(value):
        value = {key: each for key, each in value.items() if key != "text"}
    return with_notice(value)


def _read_text(value: dict[str, Any]) -> str:
    items = value.get("items")
    if _has_own_text(value):
        others = {key: each for key, each in value.items() if key not in ("items", "text")}
        if _is_tree(value):
            return fenced(f"{as_text(others)}\n{value['text']}")
        return fenced(as_text({**others, "items": items}))
    if not isinstance(items, list) or "total" not in value:
        return fenced(as_text(value))
    others = {key: each for key, each in value.items() if key not in _PAGE}
    return _list_text(items, value.get("next_cursor"), value["total"], others)


def _page_text(page: Page[Any]) -> str:
    """Return the text of a page of structs."""
    names = [name for name in page.__struct_fields__ if name not in _PAGE]
    others = to_builtins({name: getattr(page, name) for name in names}) if names else {}
    items = page.items if are_alike(page.items) else to_builtins(page.items)
    return _list_text(items, page.next_cursor, page.total, others)


def _list_text(
    items: list[Any], next_cursor: str | None, total: int, others: dict[str, Any]
) -> str:
    more = f"; more by cursor={next_cursor}" if next_cursor else ""
    head = f"{len(items)} of {total:,}{more}."
    text = "\n".join(part for part in (as_text(others), as_text(items)) if part)
    return f"{head}\n{fenced(text)}" if text else head


def _written_text(value: dict[str, Any]) -> str:
    """Return the text of a write: its effects, then its result."""
    others = {
        key: each for key, each in value.items() if key not in (MESSAGE, "change_id", "dry_run")
    }
    text = as_text(others)
    return f"{value[MESSAGE]}\n{fenced(text)}" if text else str(value[MESSAGE])


def _sentence(outcome: Outcome) -> str:
    """Return a sentence about the effects of a write."""
    change = f" Change {outcome.change_id}." if outcome.change_id else ""
    if outcome.replayed:
        return f"Done before, by a call with the same idempotency_key: not done again.{change}"
    done = _done(outcome.effects) if outcome.effects else "Nothing was changed"
    return f"{done}.{change}"


def _done(effects: Sequence[Effect]) -> str:
    named = [
        f"{each.action} {_named(each.kind, each.reference_id, each.id)}"
        for each in effects[:MAX_EFFECTS]
    ]
    if len(effects) > MAX_EFFECTS:
        named.append(f"and {len(effects) - MAX_EFFECTS:,} more")
    words = ", ".join(named)
    return words[:1].upper() + words[1:]


def _named(kind: str, reference_id: str, id: str) -> str:
    """Return the label of an entity: its reference id, else its kind and id.

    A reference id or id that might instruct a model is left out; see `plain_name`.
    """
    kind = kind.replace("_", " ")
    return plain_name(reference_id) or f"{kind} {plain_name(id)}".rstrip()


def _preview_message(value: dict[str, Any]) -> str:
    changes = value.get("changes") or []
    actions = ", ".join(
        f"{each['action']} {_named(each['kind'], each.get('reference_id') or '', '')}"
        for each in changes[:MAX_EFFECTS]
    )
    more = f" and {len(changes) - MAX_EFFECTS:,} more" if len(changes) > MAX_EFFECTS else ""
    head = f"Dry run: nothing was changed. Would be {actions}{more}." if actions else ""
    return head or "Dry run: nothing would change."
