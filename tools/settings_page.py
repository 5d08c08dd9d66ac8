"""Writes docs/hub/settings.md, every setting as a page."""

from __future__ import annotations

from pathlib import Path

import msgspec

from accord.app.settings import NO_FLAG, SettingValue, resolve

PAGE = Path(__file__).parent.parent / "docs" / "hub" / "settings.md"

OPENING = """\
# Settings

<!-- Generated from accord/app/settings.py by `make docs`. -->

Everything that `accord serve` can be told. Nothing has to be: what you leave out has its default.

A setting is given by a flag (`--log-level debug`), by a variable of the environment
(`ACCORD_LOG_LEVEL=debug`), or in a TOML file (`log_level = "debug"`): `accord.toml` in the data
directory, or the one that `--config` or `ACCORD_CONFIG` names. Flags come first, the file last.
`accord config` shows all of them with their values, and where each was given.

Several values are separated by commas in the environment, are a list in the file, and a flag is
given several times. What is marked secret has no flag, as everybody on the machine can see
the flags of a process.

| setting | what it is for | default | environment |
|---|---|---|---|
"""


def render() -> str:
    """The whole page."""
    return OPENING + "".join(map(_row, resolve({}, {}).each()))


def _row(setting: SettingValue) -> str:
    default = msgspec.json.encode(setting.default).decode()
    secret = " (secret)" if setting.name in NO_FLAG else ""
    about = f"{setting.about}{secret}"
    return f"| `{setting.name}` | {about} | `{default}` | `{setting.variable}` |\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(render(), encoding="utf-8")
