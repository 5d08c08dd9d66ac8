"""The generator of others makes clients from our documents."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from accord.openrpc import Api, expose
from tests.exposure.shop import make_shop
from tests.node_packages import node_packages
from tests.openrpc.judges import HERE, PATIENCE
from tests.openrpc.zoo import described, flat_zoo


@pytest.fixture(scope="module")
def generator() -> Path:
    return node_packages(HERE / "generator") / ".bin" / "open-rpc-generator"


def of_zoo() -> Api:
    return Api(flat_zoo(), title="Zoo", version="1.0.0", servers=["http://localhost/"])


def of_shop() -> Api:
    """Without the recursive types, which the generator unfolds for ever."""
    return expose(
        make_shop(), exclude=("/categories/**", "/**/reviews"), servers=["http://localhost/"]
    )


def of_users() -> Api:
    return Api(described(), title="Users", version="1.0.0", servers=["http://localhost/"])


@pytest.mark.req("O-08")
@pytest.mark.parametrize("make", [of_zoo, of_shop, of_users])
def test_clients_are_generated_from_our_documents(
    generator: Path, tmp_path: Path, make: Callable[[], Api]
) -> None:
    document = make().document()
    (tmp_path / "openrpc.json").write_text(json.dumps(document))
    for language in ("typescript", "rust"):
        done = subprocess.run(
            [str(generator), "generate", "-t", "client", "-l", language, "-n", "client"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "Done!\n"), done.stderr
    [client] = tmp_path.rglob("index.ts")
    written = client.read_text()
    for method in document["methods"]:
        assert f'"{method["name"]}"' in written
    assert [*tmp_path.rglob("index.rs")] != []
