"""A store that something happens to while the server runs: each request is answered, and all is well afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from http_serving import FixedTokens, Served, served
from satchel import open_satchel
from satchel.base.records import NamedTuple
from server_process import made_store

_ENDINGS = ("", "-wal", "-shm")


class Trouble(NamedTuple):
    """Something that happens to a store.

    Attributes:
        read, write: the codes with which requests end; None where they are answered.
        remedy: part of the remedy.
    """

    happens: Callable[[Path], None]
    read: str | None
    write: str | None
    remedy: str


def _checkpointed(store: Path) -> None:
    with closing(apsw.Connection(str(store))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _moved_away(store: Path) -> None:
    _checkpointed(store)
    for ending in _ENDINGS:
        part = store.with_name(f"{store.name}{ending}")
        if part.exists():
            part.rename(store.with_name(f"away.db{ending}"))


def _replaced_by(content: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def replace(store: Path) -> None:
        _moved_away(store)
        store.touch(0o600)
        store.write_bytes(content(store.with_name("away.db").read_bytes()))

    return replace


def _made_newer(store: Path) -> None:
    _moved_away(store)
    store.touch(0o600)
    store.write_bytes(store.with_name("away.db").read_bytes())
    with closing(apsw.Connection(str(store))) as connection:
        connection.execute("UPDATE store SET min_reader = 9999, min_writer = 9999")
        connection.pragma("wal_checkpoint(TRUNCATE)")


def _foreign(store: Path) -> None:
    _moved_away(store)
    store.touch(0o600)
    with closing(apsw.Connection(str(store))) as connection:
        connection.execute("CREATE TABLE theirs (x)")


def _of_another(store: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(store.parents[2] / "state-of-another"))
        other = made_store(store.parents[2] / "unlisted")
    _moved_away(store)
    _checkpointed(other)
    other.rename(store)


def _linked(store: Path) -> None:
    _moved_away(store)
    store.symlink_to("away.db")


def _open_to_all(store: Path) -> None:
    store.chmod(0o666)


TROUBLES = {
    "removed": Trouble(_moved_away, "store_missing", "store_missing", "satchel restore"),
    "emptied": Trouble(_replaced_by(lambda _: b""), "store_missing", "store_missing", "satchel restore"),
    "damaged": Trouble(
        _replaced_by(lambda content: content[:4096] + b"\xa5" * (len(content) - 4096)),
        "store_damaged",
        "store_damaged",
        "satchel",
    ),
    "truncated": Trouble(
        _replaced_by(lambda content: content[: len(content) // 2]), "store_damaged", "store_damaged", "satchel"
    ),
    "newer": Trouble(_made_newer, "store_newer", "store_newer", "Upgrade Satchel"),
    "foreign": Trouble(_foreign, "store_foreign", "store_foreign", ""),
    "linked": Trouble(_linked, "refused", "refused", ""),
    "open to all": Trouble(_open_to_all, "refused", "refused", "chmod"),
}


def _mended(store: Path) -> None:
    """Do what an operator does: put back what was there."""
    if store.with_name("away.db").exists():
        for ending in _ENDINGS:
            part = store.with_name(f"{store.name}{ending}")
            part.unlink(missing_ok=True)
            if (away := store.with_name(f"away.db{ending}")).exists():
                away.rename(part)
    store.chmod(0o600)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of its own for each test."""
    return made_store(tmp_path.resolve() / "project")


@pytest.fixture
def server(store: Path) -> Iterator[Served]:
    """A server that waits for no lock."""
    environ = {"SATCHEL_STORE_LOCK_WAIT_MS": "50"}
    with served(FixedTokens(store), environ=environ) as running:
        assert write(running, "before") == (200, None, "")
        yield running


def write(server: Served, text: str) -> tuple[int, str | None, str]:
    return _outcome(server, "write_context", {"type": "discovery", "content": text})


def read(server: Served, text: str) -> tuple[int, str | None, str]:
    """Read what contains a text; where nothing does, the status is 0."""
    status, code, remedy = _outcome(server, "search", {"query": text})
    answer = server.ask("/api/search", method="POST", body=json.dumps({"query": text}).encode()).json()
    return status if status != 200 or answer["results"] else 0, code, remedy


def _outcome(server: Served, name: str, given: dict[str, Any]) -> tuple[int, str | None, str]:
    answer = server.ask(f"/api/{name}", method="POST", body=json.dumps(given).encode())
    error = answer.json().get("error", {})
    return answer.status, error.get("code"), error.get("remedy") or ""


@pytest.mark.parametrize("name", TROUBLES)
def test_a_store_in_trouble_is_told_of_and_used_again_once_it_is_mended(server: Served, store: Path, name: str) -> None:
    trouble = TROUBLES[name]
    trouble.happens(store)
    for _ in range(2):
        for outcome, code in ((read(server, "before"), trouble.read), (write(server, "during"), trouble.write)):
            assert outcome[1] == code
            assert trouble.remedy in outcome[2]
    assert server.ask().status in {200, 503}
    _mended(store)
    assert write(server, "after") == (200, None, "")
    assert [read(server, text)[0] for text in ("before", "during", "after")] == [200, 0, 200]


def test_another_store_in_its_place_is_not_believed(server: Served, store: Path) -> None:
    _of_another(store)
    assert write(server, "during")[:2] == (403, "refused")
    assert read(server, "before")[:2] == (403, "refused")
    _mended(store)
    assert read(server, "before")[0] == 200


_HOLDER = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_store_that_another_process_holds_can_be_read_and_is_busy_for_writers(server: Served, store: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert write(server, "during")[:2] == (503, "busy")
        assert read(server, "before")[0] == 200
        holder.communicate()
    assert write(server, "after")[0] == 200
    assert read(server, "during")[0] == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes what is read-only")
def test_a_store_that_cannot_be_written_can_be_read(server: Served, store: Path) -> None:
    store.chmod(0o400)
    assert write(server, "during")[:2] == (403, "read_only")
    assert read(server, "before")[0] == 200
    store.chmod(0o600)
    assert write(server, "after")[0] == 200


def test_a_backup_that_an_operator_restores_is_served(server: Served, store: Path) -> None:
    with open_satchel(store, environ={}) as satchel:
        backup = satchel.housekeeping.backup()
        assert write(server, "later")[0] == 200
        satchel.housekeeping.restore(backup.file)
    assert [read(server, text)[0] for text in ("before", "later")] == [200, 0]
    assert write(server, "after")[0] == 200


def test_one_store_in_trouble_keeps_no_other_from_working(store: Path, tmp_path: Path) -> None:
    other = made_store(tmp_path.resolve() / "other")
    tokens = FixedTokens(store)
    tokens._accesses["other"] = FixedTokens(other)._accesses["person-token"]
    with served(tokens) as server:
        assert write(server, "before")[0] == 200
        _moved_away(store)
        assert write(server, "during")[0] == 410
        body = json.dumps({"type": "discovery", "content": "there"}).encode()
        assert server.ask("/api/write_context", method="POST", body=body, token="other").status == 200
