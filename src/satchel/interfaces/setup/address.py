"""The address and token of a server: checked, planned, and written to the user's configuration."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import click

from satchel.base import user_files
from satchel.base.config import FILE_NAME
from satchel.base.errors import InvalidInput, Refused, Unreachable
from satchel.base.folders import config_folder, current_folder
from satchel.base.paths import StorePlace
from satchel.base.records import dataclass, field
from satchel.base.text import shortened
from satchel.base.user_files import ConfigFile
from satchel.interfaces.setup.editing import Drop, Prune, Put, Syntax, edited, parse
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.parts import Content, Keys, at
from satchel.interfaces.setup.planning import Edit, Outcome, Plan, Way
from satchel.remote.where import TOKEN, checked_token, checked_url, configured_for, public_id, read_token, token_path

_SECONDS = 5.0
_MOST_BYTES = 65_536
_NO_SERVER = "Check the address; it is that of a `satchel serve`, or of the proxy in front of it"


def reach(url: str, token: str) -> str:
    """Ask a server for its health with a token, and return a sentence about its answer."""
    if url.startswith("http:"):
        _checked(url, *_request(url, None))
    fields = _checked(url, *_request(url, token))
    if "project" not in fields:
        return "the server answers, and does not say whether it takes the token"
    project = _printable(str(fields["project"]))
    if fields.get("store", "ok") != "ok":
        return f"the server takes the token for project {project}, but its store is {_printable(str(fields['store']))}"
    return f"the server takes the token, for project {project}"


def _checked(url: str, status: int, headers: dict[str, str], body: bytes) -> dict[str, object]:
    if status in {301, 302, 303, 307, 308}:
        raise InvalidInput(
            f"{url} leads elsewhere: {_printable(headers.get('location', 'it does not say where'))}",
            "Name the address that it leads to; a token is not sent on",
        )
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidInput(f"what answers at {url} is no server of Satchel (status {status})", _NO_SERVER)
    error = fields.get("error")
    if isinstance(error, dict):
        problem, remedy = (_printable(str(error.get(key, ""))) for key in ("problem", "remedy"))
        if status == 401:
            raise Refused(f"the server {url} does not take this token: {problem}", remedy)
        raise InvalidInput(f"the server {url} answers {status}: {problem}", remedy or _NO_SERVER)
    if status not in {200, 503} or "status" not in fields:
        raise InvalidInput(f"what answers at {url} is no server of Satchel (status {status})", _NO_SERVER)
    return fields


def _request(url: str, token: str | None) -> tuple[int, dict[str, str], bytes]:
    from http.client import HTTPException  # as the next, only for this

    from satchel.remote.connection import ask, connect, prove

    parts = urlsplit(url)
    try:
        with connect(parts, _SECONDS) as sock:
            if token is not None and parts.scheme == "http":
                try:
                    prove(sock, parts.path, parts.netloc, token)
                except Refused as error:
                    raise Refused(f"the server {url} does not take this token: {error.problem}", error.remedy) from None
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            with ask(sock, "GET", f"{parts.path}/health", parts.netloc, headers) as answer:
                received = {name.lower(): value for name, value in answer.getheaders()}
                return answer.status, received, answer.read(_MOST_BYTES)
    except (OSError, HTTPException) as error:
        why = _printable(str(error) or type(error).__name__)
        raise Unreachable(
            f"the server {url} cannot be reached ({why})",
            "Nothing was written; check address and network, or add --offline to write it without asking",
        ) from error


def _printable(text: str) -> str:
    return shortened("".join(char if char.isprintable() else " " for char in text), 200)


_TOKENS = "tokens"
_IGNORED = "# tokens are for nobody else\n*\n"
_HEADER_WITH_COMMENT = re.compile(r"^\[server\][ \t]*\r?\n[ \t]*#", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Address:
    """A server that stores the data of one project, or of all if the project is None."""

    url: str
    token: str = field(repr=False)
    project: Path | None


def plan_address(address: Address, reply: str | None = None) -> Plan:
    """Plan the edits that make the local program use a server."""
    file = _read(config_folder() / FILE_NAME)
    before = parse(file.text, Syntax.TOML)
    place, name = _place(address.project), f"{_TOKENS}/{_file_name(address)}"
    wanted = {"url": address.url, "token_file": name}
    there = at(before, place)
    now = there if isinstance(there, Mapping) else {}
    text = edited(
        file.text, Syntax.TOML, [Put((*place, key), value) for key, value in wanted.items() if now.get(key) != value]
    )
    secrets = [
        Edit(_read(config_folder() / _TOKENS / ".gitignore"), _IGNORED, Way.PRIVATE),
        Edit(
            _read(config_folder() / name), f"{address.token}\n", Way.PRIVATE, f"(the token {public_id(address.token)})"
        ),
    ]
    edits = [edit for edit in secrets if edit.after != edit.file.text or edit.file.mode != user_files.PRIVATE]
    files = [(edit.file.path, f"token {public_id(address.token)}") for edit in edits if edit.shown]
    if text != file.text:
        edits.insert(0, Edit(file, text, Way.PUT))  # first: its record lists the created folders
        files.insert(0, (file.path, f"server {address.url} for {address.project or 'all projects'}"))
    notes = [] if reply is None else [reply]
    if isinstance(now.get("url"), str) and now["url"] != address.url:
        notes.append(f"replaced the server {now['url']}")
    old = now.get("token_file")
    if isinstance(old, str) and old != name and _is_ours(old) and _uses(before, old) == 1:
        edits += _unlinked(old)
        files += [(token_path(old), "token of the address before")] if token_path(old).exists() else []
    for edit in edits:
        user_files.check_writable(edit.file)
    return Plan(tuple(edits), (Outcome("server", tuple(files), tuple(notes)),))


def plan_no_address(journal: Journal, url: str | None = None, project: Path | None = None) -> Plan:
    """Plan the edits that remove the servers that setup has configured."""
    file = _read(config_folder() / FILE_NAME)
    before = parse(file.text, Syntax.TOML)
    names = [(place, name) for place, name in _token_files(before) if url is None or place == _place(project)]
    text, edits, files = file.text, list[Edit](), list[tuple[Path, str]]()
    for place, name in names:
        there = str(at(before, (*place, "url")))
        if url is not None and there != url:
            continue
        text = _without(text, place)
        files = files or [(file.path, f"server {there}")]
        if token_path(name).exists() and not any(edit.file.path == token_path(name) for edit in edits):
            edits += _unlinked(name) if url is None or _uses(before, name) == 1 else []
    if text == file.text:
        return Plan((), (Outcome("server", is_there=False),))
    files += [(edit.file.path, "token") for edit in edits]
    is_last = not _token_files(parse(text, Syntax.TOML))
    after = None if is_last and not text.strip() and journal.made(file.path) else text
    if is_last:
        ignored = _read(config_folder() / _TOKENS / ".gitignore")
        edits += [Edit(ignored, None, Way.PRIVATE)] if ignored.existed else []
    edits.append(Edit(file, after, Way.TAKE if is_last else Way.PUT))
    for edit in edits:
        user_files.check_writable(edit.file)
    return Plan(tuple(edits), (Outcome("server", tuple(files)),))


def _without(text: str, place: Keys) -> str:
    text = edited(text, Syntax.TOML, [Drop((*place, "token_file")), Drop((*place, "url"))])
    # comments below the header explain this table's keys and would otherwise end up below another table
    if len(place) == 1 and _HEADER_WITH_COMMENT.search(text):
        return text
    return edited(text, Syntax.TOML, [Prune(place[:length]) for length in range(len(place), 0, -1)])


def _place(project: Path | None) -> Keys:
    return ("server",) if project is None else ("projects", str(project), "server")


def _file_name(address: Address) -> str:
    host = re.sub(r"[^a-z0-9.-]+", "-", address.url.partition("://")[2].lower()).strip("-.")
    digest = sha256(f"{address.url}\0{address.project or ''}".encode()).hexdigest()[:8]
    return f"{host[:80]}-{digest}"


def _token_files(content: Content) -> list[tuple[Keys, str]]:
    projects = content.get("projects")
    places = [_place(None)]
    if isinstance(projects, Mapping):
        places += [("projects", str(name), "server") for name in projects]
    result = ((place, at(content, (*place, "token_file"))) for place in places)
    return [(place, name) for place, name in result if isinstance(name, str) and _is_ours(name)]


def _uses(content: Content, name: str) -> int:
    return sum(token_path(one) == token_path(name) for _, one in _token_files(content))


def _is_ours(name: str) -> bool:
    return token_path(name).parent == config_folder() / _TOKENS


def _unlinked(name: str) -> list[Edit]:
    file = _read(token_path(name))
    return [Edit(file, None, Way.PRIVATE, "(the token)")] if file.existed else []


def _read(path: Path) -> ConfigFile:
    if path.is_relative_to(Path.home()):
        return user_files.read(path)
    below = config_folder().parent
    while not below.exists():
        below = below.parent
    return user_files.read(path, below)


_MOST_CHARS = 4_096
_FROM_INPUT = "-"
_NOTHING = Plan((), ())


@dataclass(frozen=True, slots=True)
class Remote:
    """The server options of ``satchel setup``."""

    url: str | None
    token: str | None
    token_file: str | None
    everywhere: bool
    offline: bool

    def check_options(self, *, is_removal: bool, mode: str | None) -> None:
        """Refuse options that exclude each other."""
        of_token = [name for name, value in (("--token", self.token), ("--token-file", self.token_file)) if value]
        others = [*of_token, *("--" + name for name in ("everywhere", "offline") if getattr(self, name))]
        if self.url is None:
            if others:
                raise InvalidInput(f"{others[0]} goes with --url", "Add --url URL, the server's address")
            return
        if self.token not in {None, _FROM_INPUT}:
            raise InvalidInput(
                "a token on the command line stays in the shell's history and is seen by others",
                f"Write --token -, which asks for it, --token-file FILE, or set {TOKEN}",
            )
        if len(of_token) > 1:
            raise InvalidInput("--token and --token-file exclude each other", "Choose one")
        if is_removal and (unfit := [name for name in others if name != "--everywhere"]):
            raise InvalidInput(f"{unfit[0]} does not go with --remove", "Leave it out")
        if mode == "--check":
            raise InvalidInput("--url does not go with --check", "Leave one of the two out")
        if mode == "--print" and others:
            raise InvalidInput(f"{others[0]} does not go with --print", "Leave it out")

    def checked_url(self) -> str | None:
        return None if self.url is None else checked_url(self.url, insecure=configured_for(current_folder()).insecure)

    def project_of(self, store: StorePlace | None) -> Path | None:
        """Return the root of the project to configure; None for all."""
        if self.everywhere:
            return None
        if store is None or store.root is None:
            raise Refused(f"{current_folder()} lies in no project", "Go into one, or add --everywhere for all projects")
        return store.root

    def plan(self, store: StorePlace | None, *, asks: bool, is_dry: bool) -> Plan:
        """Check the server, and plan the changes to the user's configuration."""
        url = self.checked_url()
        if url is None:
            return _NOTHING
        project = self.project_of(store)
        token = self._token(url, asks=asks)
        reply = None
        if not (self.offline or is_dry):
            try:
                reply = reach(url, token)
            except Unreachable as error:
                if not (asks and click.confirm(f"{error.problem}. Write it all the same?", default=False)):
                    raise
        return plan_address(Address(url, token, project), reply)

    def _token(self, url: str, *, asks: bool) -> str:
        if self.token_file is not None:
            try:
                with Path(self.token_file).expanduser().open(encoding="ascii", errors="replace") as stream:
                    return checked_token(stream.read(_MOST_CHARS), self.token_file)
            except OSError as error:
                raise InvalidInput(
                    f"{self.token_file} cannot be read ({error.strerror})", "Name another file"
                ) from error
        if self.token == _FROM_INPUT:
            value = _prompted() if sys.stdin.isatty() else sys.stdin.readline(_MOST_CHARS)
            return checked_token(value, "the input")
        if os.environ.get(TOKEN):
            return checked_token(os.environ[TOKEN], f"environment {TOKEN}")
        before = configured_for(current_folder())
        if before.token_file is not None and before.url is not None and checked_url(before.url, insecure=True) == url:
            return read_token(before.token_file)
        if asks:
            return checked_token(_prompted(), "the input")
        raise InvalidInput(
            f"there is no token for {url}",
            f"Add --token -, which reads it from the input, --token-file FILE, or set {TOKEN}; "
            "`satchel token new NAME` makes one where the server runs",
        )


def _prompted() -> str:
    return str(click.prompt("Token", hide_input=True, err=True))
