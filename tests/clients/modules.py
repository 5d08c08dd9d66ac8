"""Generated Python clients, loaded as modules."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import Any

from accord.openrpc.clients import read_api, write_python


def python_client(document: Any, name: str = "generated_client", **options: bool) -> ModuleType:
    """The module of the client that is written from a document."""
    return load(write_python(read_api(document), command="accord openrpc client", **options), name)


def load(source: str, name: str = "generated_client") -> ModuleType:
    """What running a source as a module gives."""
    spec = spec_from_loader(name, loader=None)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # msgspec looks there for what annotations name
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), vars(module))
    return module
