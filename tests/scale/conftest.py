"""One pair of servers for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scale.pair import Pair, running_pair
from tests.store.cluster import Cluster


@pytest.fixture(scope="module")
def pair(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with running_pair(tmp_path_factory.mktemp("pair"), cluster.database()) as found:
        yield found
