"""Calls whose commit, shared with others, has failed: the server makes each once more, and it is kept once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from http_serving import databases_of
from mcp_over_http import Served, served
from satchel import open_satchel
from satchel.base.errors import NotKept
from satchel.interfaces.http.access import AGENT, Access
from satchel.interfaces.http.databases import Databases, store_of
from satchel.interfaces.http.public import operation_named
from satchel.remote.opening import open_anywhere
from satchel.store.postgres.writing import Writer
from store.postgres.places import Place

pytestmark = pytest.mark.slow

_TOKEN = "satchel-token"


@pytest.fixture
def server(place: Place, tmp_path: Path) -> Iterator[Served]:
    """A server of the store, with a token for its project."""
    with served(databases=Databases(databases_of(place.address, tmp_path))) as running:
        running.rights[_TOKEN] = Access("t", "ann", AGENT, store_of("team"), "app")
        yield running


def over_api(server: Served, text: str) -> object:
    client: Any = open_anywhere(
        cwd="/", project="app", environ={"SATCHEL_URL": server.url, "SATCHEL_TOKEN": _TOKEN}, agent="ann"
    )
    with client as satchel:
        return operation_named("write_context").bound(satchel)(type="discovery", content=text)


def over_mcp(server: Served, text: str) -> object:
    return server.call(_TOKEN, "write_context", {"type": "discovery", "content": text})


@pytest.mark.parametrize("write", [over_api, over_mcp])
def test_a_call_is_made_once_more_and_kept_once(
    server: Served, place: Place, monkeypatch: pytest.MonkeyPatch, write: Callable[[Served, str], object]
) -> None:
    write(server, f"the project is there {write.__name__}")
    failed = fail_once(monkeypatch)
    assert "error" not in str(write(server, f"rain {write.__name__}"))
    assert failed == ["app"]
    with open_satchel(place.address, "app", environ={}) as satchel:
        assert satchel.entries.read(query=write.__name__).total == 2


def fail_once(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Let the next commit fail as one that is shared does; return for which projects it did."""
    failed: list[str | None] = []
    keep = Writer.keep

    def keep_or_fail(self: Writer, batch: Any, transaction: Any, **how: Any) -> None:
        if failed:
            return keep(self, batch, transaction, **how)
        failed.append(self._project)
        self.take_back(batch, transaction)
        raise NotKept("the commit has failed", "Nothing was written; try again")

    monkeypatch.setattr(Writer, "keep", keep_or_fail)
    return failed
