"""A pydantic model with the checks that Accord's codec makes."""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from benchmarks.peers.slices import measure


class Request(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    jsonrpc: Literal["2.0"]
    method: str = Field(min_length=1)
    id: StrictInt | StrictStr | StrictFloat | None = None
    params: list[Any] | dict[str, Any] | None = None


read = Request.model_validate_json


def operate(count: int) -> None:
    for _ in range(count):
        read(DATA)


DATA = sys.argv[1].encode()
message = read(DATA)
measure(json.dumps([message.id, message.method, message.params]), operate)
