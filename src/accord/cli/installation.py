"""The database of an installation, for commands that look at it as it is: nothing is migrated,
made or sealed on the way."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from accord.app.settings import Settings
from accord.cli.exits import UsageError
from accord.cli.setting_flags import settings_from

WHERE: Final = "accord serve makes one, or say with --data where it is"


def existing(arguments: argparse.Namespace) -> Settings:
    """The settings of an installation. Raises `UsageError` where there is none."""
    settings = settings_from(arguments).settings
    check_there(settings)
    return settings


def is_there(settings: Settings) -> bool:
    """Whether there may be an installation: with SQLite, whether its file is there."""
    url = settings.database_url
    return not url.startswith("sqlite:") or Path(unquote(urlsplit(url).path)).is_file()


def check_there(settings: Settings) -> None:
    """Raises `UsageError` where there is no installation."""
    if not is_there(settings):
        raise UsageError(f"there is no installation in {settings.data}", advice=WHERE)


def audit_key(settings: Settings) -> bytes:
    """The key of the audit trail. Raises `UsageError`."""
    from accord.app.local import AUDIT_PURPOSE, server_key
    from accord.operations.accounts.server_key import KEY_FILE, ServerKeyError

    if not settings.is_shared and not (Path(settings.data) / KEY_FILE).is_file():
        raise UsageError(
            f"there is no server key in {settings.data}", advice="restore it from a backup"
        )
    try:
        return server_key(settings).derive(AUDIT_PURPOSE)
    except ServerKeyError as error:
        raise UsageError(str(error), advice="") from None
