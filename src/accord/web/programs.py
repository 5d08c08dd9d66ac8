"""What a program calls itself, as people would. Pure.

Browsers pretend to be each other in their `User-Agent`: the most particular name counts.
"""

from __future__ import annotations

import re
from typing import Final

_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "Chrome"),
    ("Chrome", "Chrome"),
    ("Version", "Safari"),
)
"""By what stands before the version; the first that is there counts."""
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def program_name(text: str) -> str:
    """A browser by its name, version and system; every other program as it says."""
    if not text.startswith("Mozilla/5.0 ("):
        return text
    for word, name in _BROWSERS:
        found = re.search(rf"\b{word}/([0-9]{{1,4}})", text)
        if found:
            system = next((name for word, name in _SYSTEMS if word in text), "")
            return f"{name} {found[1]}" + (f" on {system}" if system else "")
    return text
