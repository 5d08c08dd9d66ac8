"""`make snapshots`: write all snapshots again, and say which of them changed."""

from __future__ import annotations

import asyncio

import pytest

from tests.store.cluster import running_cluster
from tools.snapshots import documents, observed
from tools.snapshots.interface import OF_CODE, OF_FILES, OF_POSTGRESQL, OF_SERVER, OF_USE
from tools.snapshots.kept import FOLDER, write


def main() -> None:
    texts = {file: make() for file, make in OF_CODE.items()}
    served = asyncio.run(documents.ask())
    texts |= {file: make(served) for file, make in OF_SERVER.items()}
    texts |= {file: asyncio.run(make()) for file, make in OF_FILES.items()}
    try:
        texts |= _of_postgresql()
    except pytest.skip.Exception as missing:
        print(f"{', '.join((*OF_USE, *OF_POSTGRESQL))} stay as they are: {missing}")
    changed = [file for file, text in sorted(texts.items()) if write(file, text)]
    for file in changed:
        print(f"{FOLDER.name}/{file} changed")
    if not changed:
        print("no snapshot changed")


def _of_postgresql() -> dict[str, str]:
    with running_cluster() as cluster:
        used = asyncio.run(observed.use(cluster.database()))
        texts = {file: make(used) for file, make in OF_USE.items()}
        for file, make in OF_POSTGRESQL.items():
            texts[file] = asyncio.run(make(cluster.database()))
    return texts


if __name__ == "__main__":
    main()
