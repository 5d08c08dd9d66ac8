"""What all pages share."""

from __future__ import annotations

from msgspec import Struct

from accord.operations.accounts.accounts import Accounts
from accord.operations.accounts.authentication import RequestAuthenticator
from accord.operations.runner import Runner
from accord.web.assets import Assets
from accord.web.frame import Frames
from accord.web.keeping import Keeping
from accord.web.templating import Templates


class Services(Struct, frozen=True):
    runner: Runner
    accounts: Accounts
    authenticator: RequestAuthenticator
    assets: Assets
    templates: Templates
    frames: Frames
    keeping: Keeping
    public_url: str
    """Where people reach the system, for what they paste into their programs; empty where that is
    what they asked for."""
