"""The TypeScript of docs/clients.md passes the compiler, with the client of the service on the page."""

from __future__ import annotations

from pathlib import Path

from accord.openrpc import Api
from accord.openrpc.clients import read_api, write_typescript
from tests.clients.modules import load
from tests.clients.typescript import check
from tests.markdown import read_blocks

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"


def test_the_typescript_of_the_page_passes_the_compiler(packages: Path, tmp_path: Path) -> None:
    blocks = read_blocks("clients.md", PAGE)
    (service,) = (block.code for block in blocks if block.text == "service.py")
    api = Api(load(service, "users_service").router, title="Users", version="1.0")
    source = write_typescript(read_api(api.document()), command="accord openrpc client")
    (tmp_path / "client.ts").write_text(source)
    (shown,) = (block.code for block in blocks if block.language == "ts")
    (tmp_path / "shown.ts").write_text(shown)
    assert check(tmp_path, packages) == ""
