"""Build hook: what the pages take from npm is part of every wheel and source distribution.

`make build` refuses to go on without it. Other builds, such as `pip install .` from a checkout
without npm, warn: the pages work without it, but load whole.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = "src/accord/web/static/vendor/htmx.min.js"
REQUIRED = "ACCORD_BUILD_REQUIRES_ASSETS"


class AssetsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Fetches the assets where they are missing."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run `tools/web-assets` unless the assets are there; editable installs need none."""
        if version == "editable" or Path(self.root, SCRIPT).is_file():
            return
        done = subprocess.run(
            [str(Path(self.root, "tools", "web-assets"))],
            capture_output=True,
            text=True,
            check=False,
        )
        if Path(self.root, SCRIPT).is_file():
            return
        message = done.stderr.strip() or f"{SCRIPT} is missing"
        if os.environ.get(REQUIRED):
            raise RuntimeError(
                f"{message}. A wheel to give away needs it: install Node.js with npm"
            )
        self.app.display_warning(message)
