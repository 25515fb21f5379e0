"""The server for a folder, from the environment or else the user's own configuration; opening a Satchel on it or here.

A project's file cannot name one, since it may have come with a clone.
"""

from __future__ import annotations

import os
import re

from satchel.base.errors import InvalidInput, Refused
from satchel.base.folders import config_path
from satchel.base.records import dataclass, field

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from satchel.client import Satchel
    from satchel.keep.sessions.caller import Caller

# the environment variables that go before the user's file
URL, TOKEN, INSECURE = "SATCHEL_URL", "SATCHEL_TOKEN", "SATCHEL_SERVER_INSECURE"

# the value of the address for the store on this machine
LOCAL = "local"

_FILE = "config.toml"
_TABLE, _PROJECTS = "server", "projects"
_MOST_URL_CHARS = 200

# compiled on use: hooks without a server need none
_PRINTABLE = r"[!-~]{8,500}"
_WITH_ID = r"satchel_([0-9a-f]{10})_[A-Za-z0-9_-]{43}"
_HOST = r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*|[0-9a-f:.]*:[0-9a-f:.]*"
_LOOPBACK = r"localhost|127(\.\d{1,3}){3}|::1"


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and the token for it, which is never printed."""

    url: str
    token: str = field(repr=False)
    source: str


@dataclass(frozen=True, slots=True)
class Configured:
    """The server settings in the user's file for one folder."""

    url: str | None = None
    token_file: str | None = None
    insecure: bool = False
    source: str = ""


def may_have_server(environ: Mapping[str, str]) -> bool:
    """Return whether :func:`server_for` may return a server: a fast check for startup."""
    if environ.get(URL):
        return True
    try:
        with open(f"{config_path()}/{_FILE}", "rb", buffering=0) as stream:  # noqa: PTH123 -- pathlib takes 3 ms
            return _TABLE.encode() in stream.readall()
    except FileNotFoundError:
        return False
    except OSError:
        return True


def server_for(environ: Mapping[str, str], folder: Path) -> Server | None:
    """Return the server for a folder; None for a local store.

    ``SATCHEL_URL`` and ``SATCHEL_TOKEN`` override the user's file, where the table of the project overrides the general
    one. A token is used only with the address from the same place. A store in ``SATCHEL_DB`` overrides the user's file.
    """
    address, db = environ.get(URL), environ.get("SATCHEL_DB")
    if address == LOCAL or (db and not address):
        return None
    if address and db:
        raise InvalidInput(
            f"{URL} names a server and SATCHEL_DB a store on this machine", "Leave one of the two variables unset"
        )
    token = environ.get(TOKEN)
    is_said = bool(address and token and (environ.get(INSECURE) or address.startswith("https:")))
    configured = Configured() if is_said or not may_have_server(environ) else configured_for(folder)
    insecure = _switch(environ[INSECURE]) if environ.get(INSECURE) else configured.insecure
    if address:
        url, source = checked_url(address, insecure=insecure), f"environment {URL}"
        is_of_file = configured.url is not None and checked_url(configured.url, insecure=True) == url
    elif configured.url is None or configured.url == LOCAL:
        return None
    else:
        url, source, is_of_file = checked_url(configured.url, insecure=insecure), configured.source, True
    if token:
        return Server(url, checked_token(token, f"environment {TOKEN}"), source)
    if is_of_file and configured.token_file is not None:
        return Server(url, read_token(configured.token_file), source)
    raise InvalidInput(
        f"there is no token for the server {url} ({source})",
        f"Set {TOKEN}, or run `satchel setup --url {url} --token -`, which asks for it",
    )


def open_anywhere(
    db: str | os.PathLike[str] | None = None,
    project: str | None = None,
    agent: str | None = None,
    run: str | None = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    read_only: bool = False,
    settings: Mapping[str, object] | None = None,
    caller: str | Caller | None = None,
    **more: Any,
) -> Satchel:
    """Open the store of a folder: that of its server if one is configured, else the local one.

    A store named by ``db`` takes precedence.
    """
    from pathlib import Path

    from satchel.base.folders import current_folder
    from satchel.client import open_satchel

    environ = os.environ if environ is None else environ
    if db is None:
        folder = Path(cwd) if cwd is not None else current_folder()
        server = server_for(environ, folder)
        if server is not None:
            from satchel.remote.service import open_server  # slow to import, mostly because of HTTP

            return open_server(server, folder, environ, project, agent, run, read_only, settings, caller)
    return open_satchel(
        db, project, agent, run, cwd=cwd, environ=environ, read_only=read_only, settings=settings, caller=caller, **more
    )


def configured_for(folder: Path) -> Configured:
    """Return the server settings in the user's file for a folder; only their types are checked."""
    from pathlib import Path

    from satchel.base.file_checks import read_toml

    file = Path(config_path(), _FILE)
    try:
        tables = read_toml(file, links=True, about=_TABLE.encode())
    except InvalidInput as error:
        raise InvalidInput(f"{file} {error.problem}", "Correct it; it may say which server is meant") from error
    general, projects = _table(tables.get(_TABLE), _TABLE), tables.get(_PROJECTS)
    own, source = {}, f"your {_FILE}"
    if isinstance(projects, dict) and any(isinstance(one, dict) and _TABLE in one for one in projects.values()):
        by_folder = {Path(name).expanduser(): (name, one) for name, one in projects.items() if isinstance(one, dict)}
        for root in _roots(folder):
            name, one = by_folder.get(root, ("", {}))
            if _TABLE in one:
                own = _table(one[_TABLE], f'{_PROJECTS}."{name}".{_TABLE}')
                source = f"your {_FILE}, for {name}" if "url" in own else source
                break
    # a token of the general table is not used for the address of a project
    if own.get("url", general.get("url")) != general.get("url"):
        general = {key: value for key, value in general.items() if key == "insecure"}
    values = general | own
    url, token_file, insecure = values.get("url"), values.get("token_file"), values.get("insecure", False)
    for key, value in (("url", url), ("token_file", token_file)):
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"server.{key} in {file} is no text", f'Write {key} = "..."')
    if not isinstance(insecure, bool):
        raise InvalidInput(
            f"server.insecure in {file} is neither true nor false", "Write insecure = true, or remove it"
        )
    assert url is None or isinstance(url, str)
    assert token_file is None or isinstance(token_file, str)
    return Configured(url, token_file, insecure, source)


def checked_url(text: str, *, insecure: bool = False) -> str:
    """Return the address of a server, without a slash or ``/mcp`` at its end."""
    from urllib.parse import urlsplit

    right = f"Give it as in https://satchel.example.org; the token goes in {TOKEN}"
    text = text.strip()
    if "@" in text or "?" in text or "#" in text:  # not repeated: it may hold a password
        raise InvalidInput("the server's address has a user, a password, a query or a fragment", right)
    shown = repr(text[:80])
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise InvalidInput(f"the server's address {shown} is none ({error})", right) from error
    if len(text) > _MOST_URL_CHARS or not re.fullmatch(r"https?://[!-~]+", text) or set(text) & set("\\<>{}"):
        raise InvalidInput(f"the server's address {shown} is not https:// and a host", right)
    if port == 0 or not re.fullmatch(_HOST, host):
        raise InvalidInput(f"the server's address {shown} names no host or port that can be asked", right)
    if parts.scheme == "http" and not insecure and not re.fullmatch(_LOOPBACK, host):
        raise Refused(
            f"{shown} would send the token and all contents to {host} unencrypted",
            f"Use https://; where the network is private, set server.insecure = true in your own file, or {INSECURE}=1",
        )
    path = parts.path.rstrip("/").removesuffix("/mcp").rstrip("/")
    shown_host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown_host}{'' if port is None else f':{port}'}{path}"


def checked_token(text: str, source: str) -> str:
    token = text.strip()
    if not re.fullmatch(_PRINTABLE, token):
        raise InvalidInput(
            f"the text in {source} is no token",
            "A token is one word of letters, digits and signs, as `satchel token new` shows it once",
        )
    return token


def read_token(name: str) -> str:
    """Return the token in a file, which must be readable only by its owner."""
    from satchel.base.file_checks import read_secret

    path = token_path(name)
    remedy = f"Run `satchel setup --url URL --token -`, which writes it, or set {TOKEN}"
    return checked_token(read_secret(path, "the server's token", remedy), str(path))


def token_path(name: str) -> Path:
    from pathlib import Path

    return Path(config_path()) / Path(name).expanduser()


def public_id(token: str) -> str:
    """Return the public part of a token; nothing of one in an unknown format."""
    match = re.fullmatch(_WITH_ID, token)
    return match[1] if match else "of another form"


def _table(value: object, name: str) -> dict[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} in your {_FILE} is no table", f"Write [{name}] with url = ... below it")
    return value


def _roots(folder: Path) -> Iterator[Path]:
    from satchel.base.paths import worktree_of

    folder = folder.resolve()
    repository = worktree_of(str(folder))
    top = None if repository is None else repository.worktree or repository.root
    for one in (folder, *folder.parents):
        yield one
        if one == top:
            break
    if repository is not None:
        yield repository.root


def _switch(text: str) -> bool:
    value = {"true": True, "false": False, "1": True, "0": False}.get(text.strip().lower())
    if value is None:
        raise InvalidInput(f"{INSECURE} is neither true nor false", f"Set {INSECURE}=1, or leave it out")
    return value
