"""The explorer: a page on which methods are found, read and called.

The page is a handful of static files in `page`, served as they are but for their type comments.
It knows nothing but a document and an endpoint, and loads nothing from anywhere else: its
content security policy, which is sent along, would not let it.
"""

from accord.openrpc.explorer.pages import (
    FramedPage as FramedPage,
    explorer_pages as explorer_pages,
    framed_page as framed_page,
)

__all__ = ["FramedPage", "explorer_pages", "framed_page"]
