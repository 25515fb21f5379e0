"""Proposals that are accepted or rejected over a server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from http_serving import Served
from satchel.base.errors import Refused
from satchel.interfaces.operations.corrections import OPERATIONS
from satchel.remote.where import open_anywhere


@pytest.mark.parametrize("verb", ["accept", "reject"])
@pytest.mark.parametrize("arguments", [{"refs": ["AGENTS.md:1"]}, {"refs": ["5eed5eed"]}, {"all": True}])
def test_what_is_settled_only_beside_the_files_is_refused_with_the_reason(
    server: Served, here: Path, verb: str, arguments: dict[str, object]
) -> None:
    (operation,) = (one for one in OPERATIONS if one.command == (verb,))
    environ = {**os.environ, "SATCHEL_URL": f"http://127.0.0.1:{server.port}", "SATCHEL_TOKEN": "person-token"}
    with (
        open_anywhere(cwd=here, environ=environ) as satchel,
        pytest.raises(Refused, match="over a server only a draft or an unconfirmed rule"),
    ):
        operation.bound(satchel)(**arguments)
