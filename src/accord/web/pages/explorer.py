"""The explorer of the JSON-RPC methods, in the frame of the pages.

It is a document of its own inside of the page, under its own and stricter policy: no text ever
becomes HTML there. Only pages of ours may have it inside of them.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from accord.openrpc.explorer import framed_page
from accord.web.request import THEME, PageRequest, Pages
from accord.web.responses import POLICY, Html, PageResponse

PATH: Final = "/explorer"
FRAME: Final = f"{PATH}/frame"
RPC_PATH: Final = "/rpc"
AROUND: Final = f"{POLICY}; frame-src 'self'"

pages: Final = Pages()


@pages.get(PATH)
async def explorer(request: PageRequest) -> PageResponse:
    page = await request.page("explorer/explorer.html", frame=FRAME, rpc=RPC_PATH)
    return replace(page, policy=AROUND)


@pages.get(FRAME)
async def frame(request: PageRequest) -> PageResponse:
    theme = request.cookies.get(THEME, "")
    framed = framed_page(
        place=RPC_PATH, csrf=request.csrf, theme=theme if theme in ("light", "dark") else ""
    )
    return Html(framed.html, policy=framed.policy)
