"""How many files and connections a process may have open: as many as it is allowed to.

Linux starts programs with room for 1,024 for the sake of old ones, and lets them ask for more.
"""

from __future__ import annotations

from contextlib import suppress


def allow_many_connections() -> None:
    """Raise the limit of open files to what the system allows."""
    import resource  # POSIX only

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    with suppress(ValueError, OSError):  # macOS says that there is no limit, and has one
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
