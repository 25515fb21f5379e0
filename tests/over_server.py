"""The tests of tools and commands, run again over a server: ``pytest --over-server``.

Where that is asked for, what an agent or a person calls goes over HTTP to a server of the same store, in this process.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn

from satchel import Satchel, open_satchel
from satchel.base.records import replace
from satchel.interfaces.http import logs
from satchel.interfaces.http.access import PERSON, Access
from satchel.interfaces.http.exchange import Exchange
from satchel.interfaces.http.server import make_app
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.http.tokens import Token
from satchel.remote.calls import Calls
from satchel.remote.connection import Connection, identify
from satchel.remote.service import RemoteSatchel, engine_of

is_asked_for = False
"""Whether ``--over-server`` was given."""


class _OpenedStores(Stores):
    """The stores of tests, each at its time and with its settings."""

    def __init__(self) -> None:
        super().__init__({})
        self.of_tests: dict[Path | str, Satchel] = {}

    def opened(self, store: Path | str, *, read_only: bool = False) -> Satchel:  # noqa: ARG002 -- as the test opened it
        return self.of_tests[store]


def _log_nothing(exchange: Exchange) -> None:
    """Log nothing: it would stand in what a test reads."""


class Hub:
    """A server of the stores of many tests: each token leads to the store that it was made for."""

    def __init__(self) -> None:
        self._known: dict[str, Access] = {}
        self._digests: dict[str, bytes] = {}
        self._stores = _OpenedStores()
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings = Settings(requests_per_minute=10_000_000)
        if is_asked_for:  # a test of the log itself runs beside those that call a server in any run
            logs.request = _log_nothing
        app = make_app(Serving(self, self._stores, settings))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        threading.Thread(target=server.run, args=([listening],), daemon=True).start()

    def access(self, text: str) -> Access | None:
        """Return the rights of a token."""
        return self._known.get(text)

    def access_of(self, token_id: str) -> Access | None:
        """Return the rights of the token of a public id, which is its text here."""
        return self._known.get(token_id)

    def digest(self, token_id: str) -> bytes | None:
        """Return the digest of a token by what names it."""
        return self._digests.get(token_id)

    def stores(self) -> list[Path]:
        """Return no store: it serves no pages."""
        return []

    def every(self) -> list[Token]:
        """Return no token: it serves no pages."""
        return []

    def token_for(self, satchel: Satchel, role: str = PERSON) -> str:
        """Return a new token for the project of an opened Satchel."""
        work = satchel.workplace
        token = secrets.token_hex(8)
        # a path of its own: a test may open one store several times
        store = satchel.place.file.with_name(f"{token}.db")
        self._stores.of_tests[store] = satchel
        self._digests.update([identify(token)])
        self._known[token] = Access(token, "tester", role, store, work.project_name or work.suggested_name)
        return token


@cache
def hub() -> Hub:
    """Return the server of this process."""
    return Hub()


_remote: dict[int, tuple[Satchel, RemoteSatchel]] = {}


def over_server(satchel: Satchel) -> Satchel:
    """Return what calls an opened Satchel over a server, where that is asked for; else itself."""
    if not is_asked_for:
        return satchel
    known = _remote.get(id(satchel))
    if known is None or known[0] is not satchel:
        known = _remote[id(satchel)] = satchel, remote_of(satchel)
    return known[1]


def open_over_server(*given: Any, **named: Any) -> Satchel:
    """Open a store of this machine, and call it over a server."""
    satchel = open_satchel(*given, **named)
    remote = remote_of(satchel)

    def close() -> None:
        RemoteSatchel.close(remote)
        satchel.close()

    vars(remote)["close"] = close
    return remote


def remote_of(satchel: Satchel, role: str = PERSON) -> RemoteSatchel:
    """Return what calls an opened Satchel over a server."""
    work = satchel.workplace
    connection = Connection(hub().url, hub().token_for(satchel, role))
    workplace = replace(work, engine=engine_of(connection), project_name=None)
    calls = Calls(connection, workplace, read_only=work.engine.read_only)
    return RemoteSatchel(calls, workplace, satchel.place, satchel.config, satchel.environ)


_READS_FILES = "a server sends the text of no file: who reads a package opens its file in its own working tree"
_UPKEEP = "upkeep is done on the machine of the store"
_TOKEN_NAMES = "a program that says nothing of itself acts as the person of its token, and not as nobody"

LEFT_OUT: Mapping[str, str] = {
    "test_a_package_that_cannot_be_read_keeps_no_other_from_being_read": _READS_FILES,
    "test_a_file_is_read_as_it_is_now": _READS_FILES,
    "test_a_rebuild_": _UPKEEP,
    "test_a_state_that_an_import_replaced": _UPKEEP,
    "is no item's id": "forget rewrites the whole file of a store: it is refused over a server",
    "test_the_format_of_what_is_saved_is_chosen[save_package": _TOKEN_NAMES,
    "test_a_critical_rule_stays_and_the_answer_says_who_was_asked": _TOKEN_NAMES,
    "test_a_run_that_was_started_is_worked_in_by_its_name": _TOKEN_NAMES,
    "test_a_message_shown_to_its_person_counts_as_read": _TOKEN_NAMES,
    "test_a_call_of_nobody_is_refused": _TOKEN_NAMES,
}
"""Why tests do not run over a server, by a part of their ids."""


def left_out(nodeid: str) -> str | None:
    """Return why a test does not run over a server, or None."""
    return next((reason for part, reason in LEFT_OUT.items() if part in nodeid), None)
