"""What is not there, and what was refused.

LookupError
├── UnknownRunError         there is no such run
└── UnknownWorkflowError    there is no such workflow, or no such version
"""

from __future__ import annotations


class UnknownRunError(LookupError):
    """There is no such run."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"there is no run {run_id[:80]!r}")


class UnknownWorkflowError(LookupError):
    """There is no such workflow, or no such version of it."""

    def __init__(self, name: str, version: int | None = None) -> None:
        shown = name[:80] if version is None else f"{name[:80]}@{version}"
        super().__init__(f"there is no workflow {shown!r}")
