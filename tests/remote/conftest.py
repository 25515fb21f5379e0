"""A local program, its server, and what lies between them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cutting_proxy import Proxy, proxy_to
from http_serving import FixedTokens, Served, served
from satchel import Satchel, open_satchel
from satchel.interfaces.http.settings import Settings
from satchel.remote import calls
from satchel.remote.where import open_anywhere
from server_process import made_store

Opens = Callable[..., Satchel]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call whose answer was lost is sent again at once."""
    monkeypatch.setattr(calls, "_PAUSES", (0.0,) * 6)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store on the server's machine."""
    return made_store(tmp_path.resolve() / "theirs")


@pytest.fixture
def server(store: Path) -> Iterator[Served]:
    """A server in a thread."""
    with served(FixedTokens(store)) as running:
        yield running


@pytest.fixture
def proxy(server: Served) -> Iterator[Proxy]:
    """What lies between."""
    with proxy_to(server.port) as one:
        # the server checks by which name it is asked
        server.serving.settings = Settings(host_names=(f"127.0.0.1:{one.port}",))
        yield one


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The project's folder on the local machine."""
    folder = tmp_path.resolve() / "here"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def open_at(here: Path) -> Iterator[Opens]:
    """Open a Satchel at the URL of a server."""
    opened: list[Satchel] = []

    def open_one(url: str, token: str = "person-token", **options: object) -> Satchel:
        environ = {**os.environ, "SATCHEL_URL": url, "SATCHEL_TOKEN": token}
        opened.append(open_anywhere(cwd=here, environ=environ, agent="ann", **options))  # type: ignore[arg-type]
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def times_kept(store: Path) -> Iterator[Callable[[str], int]]:
    """Say how often a text is kept in the server's store."""
    with open_satchel(store, read_only=True, environ={}) as satchel:

        def count(text: str) -> int:
            with satchel.workplace.engine.read() as transaction:
                rows = transaction.one("SELECT count(*) FROM agent_messages WHERE message = :text", {"text": text})
            assert rows is not None
            return int(rows[0])

        yield count
