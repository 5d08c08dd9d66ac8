"""URI templates (RFC 6570), expanded and matched."""

from __future__ import annotations

import re
from urllib.parse import unquote


class UriTemplate:
    """A template such as `weather://{city}`. Raises ValueError for one that is malformed."""

    def __init__(self, text: str) -> None:
        self.text = text
        parts = re.split(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", text)
        if any("{" in literal or "}" in literal for literal in parts[::2]):
            raise ValueError(f"'{text}' is no URI template")
        self.variables = tuple(parts[1::2])
        pattern = "".join(
            "([^/?#]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts)
        )
        self._pattern = re.compile(pattern)

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI that the template can expand to; None for any other."""
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        return dict(zip(self.variables, map(unquote, found.groups()), strict=True))
