"""The TypeScript compiler, and clients that it compiled."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

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
