"""Peers in other languages: built from their folder in `peers` by the toolchain of the language.

They are built in the cache folder, again when a file of theirs changes. Where a toolchain is
missing, its peer is left out, and the run says so.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from msgspec import Struct

from benchmarks.environments import CACHE, alone
from benchmarks.harness import say

PEERS: Final = Path(__file__).parent / "peers"


class Toolchain(Struct, frozen=True):
    """How the peer of one language is built, and started in its folder."""

    needs: tuple[str, ...]
    build: tuple[str, ...]
    start: tuple[str, ...]


TOOLCHAINS: Final = {
    "go_sdk": Toolchain(("go",), ("go", "build", "-o", "server", "."), ("./server",)),
    "rmcp": Toolchain(
        ("cargo",),
        ("cargo", "build", "--release", "--quiet"),
        ("target/release/benchmark",),
    ),
    "typescript_sdk": Toolchain(
        ("node", "npm"),
        ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"),
        ("node", "server.mjs"),
    ),
}


def built(peer: str) -> list[str] | None:
    """Return the command that starts a peer, None where its toolchain is missing."""
    toolchain = TOOLCHAINS[peer]
    missing = [program for program in toolchain.needs if shutil.which(program) is None]
    if missing:
        say(f"{peer} is left out: {', '.join(missing)} is not installed")
        return None
    folder = CACHE / "bench" / peer
    with alone(peer):
        if _copied(peer, folder):
            say(f"building {peer}")
            done = subprocess.run(toolchain.build, cwd=folder, stdout=sys.stderr, check=False)
            if done.returncode:
                sys.exit(f"{' '.join(toolchain.build)} failed in {folder}")
            (folder / "built.txt").touch()
    program, *arguments = toolchain.start
    program = str(folder / program) if "/" in program else program
    return [program, *(str(folder / each) for each in arguments)]


def _copied(peer: str, folder: Path) -> bool:
    """Copy the sources of a peer where they differ; return whether it has to be built."""
    changed = not (folder / "built.txt").exists()
    for file in sorted((PEERS / peer).rglob("*")):
        copy = folder / file.relative_to(PEERS / peer)
        if file.is_file() and (not copy.exists() or copy.read_bytes() != file.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
            changed = True
    if changed:
        (folder / "built.txt").unlink(missing_ok=True)
    return changed
