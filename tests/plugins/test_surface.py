"""What plugins may count on is pinned, and who has none pays nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from accord import plugins
from accord.entry_points import GROUPS

SURFACE = [
    "Accept", "Changed", "Channel", "ChannelInfo", "Comment", "ConflictError", "ConnectError",
    "Fault", "ForbiddenError", "Format", "FormatError", "InvalidError", "Item", "Label", "Link",
    "Listener", "MessageTooLargeError", "NotFoundError", "NotKept", "Numbered", "Operations", "Options",
    "Origin", "Project", "Receiver", "Rest", "Retry", "RpcError", "ServiceError", "StepFailedError",
    "StepTask", "Transport", "TransportError", "Type", "Work", "listen_channel", "open_channel",
    "perform", "step_type",
]  # fmt: skip


def test_the_groups_and_the_names_are_these() -> None:
    assert GROUPS == (
        "accord.operations", "accord.transports", "accord.steps", "accord.importers",
    )  # fmt: skip
    assert sorted(plugins.__all__) == SURFACE
    assert dir(plugins) == SURFACE


@pytest.mark.parametrize("name", SURFACE)
def test_every_name_can_be_had(name: str) -> None:
    assert getattr(plugins, name) is not None


@pytest.mark.parametrize(
    "code",
    [
        "import accord; accord.connect, accord.serve, accord.Router",
        "from accord.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "import accord.plugins",
    ],
)
def test_nobody_looks_for_plugins_who_does_not_need_them(code: str) -> None:
    look = "import sys; sys.stderr.write(repr('importlib.metadata' in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{look}"], capture_output=True, text=True, check=True
    )
    assert done.stderr == "False"
