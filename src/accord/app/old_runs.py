"""What becomes of runs that ended long ago, as the settings say."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from accord.app.settings import Settings
from accord.store import Store
from accord.workflows.retention import Retention

FOLDER: Final = "archive"
"""In the data directory."""


def old_runs(settings: Settings, store: Store) -> Retention:
    """Archives runs, or removes them."""
    archive = Path(settings.data) / FOLDER if settings.old_runs == "archive" else None
    return Retention(store, keep_days=settings.keep_runs_days, archive=archive)
