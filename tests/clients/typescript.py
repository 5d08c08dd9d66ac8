"""The TypeScript compiler, and clients that it compiled."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

STRICT = {
    "strict": True,
    "target": "ES2022",
    "module": "ES2022",
    "moduleResolution": "bundler",
    "lib": ["ES2022", "DOM", "DOM.Iterable"],
    "types": [],
    "noUnusedLocals": True,
    "noUnusedParameters": True,
    "noUncheckedIndexedAccess": True,
    "noPropertyAccessFromIndexSignature": True,
    "noImplicitReturns": True,
    "noImplicitOverride": True,
    "noFallthroughCasesInSwitch": True,
    "exactOptionalPropertyTypes": True,
    "verbatimModuleSyntax": True,
    "isolatedModules": True,
    "declaration": True,
}


def check(folder: Path, packages: Path) -> str:
    """What the compiler complains about in the TypeScript files of a folder."""
    return _compile(folder, packages, {"noEmit": True})


def build(folder: Path, packages: Path) -> None:
    """Compile the TypeScript files of a folder to JavaScript beside them."""
    assert _compile(folder, packages, {}) == ""
    (folder / "package.json").write_text('{"type": "module"}')


def _compile(folder: Path, packages: Path, options: dict[str, bool]) -> str:
    settings = {"compilerOptions": {**STRICT, **options}, "include": ["*.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(settings))
    compiler = packages / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        ["node", str(compiler), "--project", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def run(script: str, folder: Path, given: Any = None) -> Any:
    """What a script says, with `say`, that Node runs in a folder of compiled clients; the script
    has `given`."""
    (folder / "given.json").write_text(json.dumps(given))
    (folder / "script.js").write_text(_PROLOGUE + script)
    done = subprocess.run(
        ["node", "script.js"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return json.loads(done.stdout)


_PROLOGUE = """
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync("given.json", "utf8"));
const say = (value) => process.stdout.write(JSON.stringify(value));
"""
