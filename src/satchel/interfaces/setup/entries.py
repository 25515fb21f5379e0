"""A client's entry for Satchel: it starts the local program or connects to a server over HTTP."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from satchel.base.errors import Refused
from satchel.base.installation import is_cached, source_of_this
from satchel.base.records import dataclass, field
from satchel.interfaces.setup import parts
from satchel.interfaces.setup.editing import Change, Drop, Prune, Put, is_same
from satchel.remote.where import TOKEN

_NAME = "satchel"


def find_launcher(environ: Mapping[str, str], *, prefix: str | None = None, started_as: str | None = None) -> Path:
    """Return the absolute path by which clients start this installation of Satchel.

    A link on the path that leads to it comes first, since pipx and uv keep it where it is; then the command in the
    environment that runs.
    """
    root = Path(sys.prefix if prefix is None else prefix).absolute()
    if is_cached(root, environ):
        raise Refused(
            f"this is Satchel in an environment that does not stay ({root}), which clients could not start later",
            _install(),
        )
    scripts = root / "bin"
    program = Path(sys.argv[0] if started_as is None else started_as)
    installed = [
        file for file in (scripts / _NAME, program.absolute()) if file.name == _NAME and os.access(file, os.X_OK)
    ]
    if not installed or not installed[0].is_file():
        raise Refused(f"there is no command {_NAME} in {scripts}", _install())
    for link in _on_path(environ):
        if link.is_symlink() and link.exists() and link.samefile(installed[0]):
            return link
    return installed[0]


def _on_path(environ: Mapping[str, str]) -> Iterator[Path]:
    home = environ.get("HOME")
    own = [f"{home}/.local/bin"] if home else []
    for folder in [*own, *environ.get("PATH", "").split(os.pathsep)]:
        if Path(folder).is_absolute():
            yield Path(folder) / _NAME


def _install() -> str:
    source = source_of_this()
    return f"Install it with `uv tool install {source}` or `pipx install {source}`, then run `satchel setup` again"


def on_path(environ: Mapping[str, str]) -> Path | None:
    """Return the command that ``satchel`` starts in a shell, or None."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        file = Path(folder) / _NAME
        if file.is_absolute() and file.is_file() and os.access(file, os.X_OK):
            return file
    return None


# The id of the token prompt in a client that asks its user.
TOKEN_INPUT = "satchel-token"  # noqa: S105 -- the name of a prompt

# Keys of an HTTP entry; some clients reject them in an entry that starts a program.
_OF_ADDRESS = ("type", "url", "httpUrl", "headers", "bearer_token_env_var", "http_headers", "env_http_headers", "oauth")


@dataclass(frozen=True, slots=True)
class Server:
    """The entry that starts ``satchel mcp``. Keys added by the user stay, and so do arguments after ``mcp``.

    Attributes:
        place: the object that contains all servers.
        command: the launcher.
        entry: the other keys of the entry, written unless the user has set them.
        in_one_list: whether command and arguments form one list.
        united: keys whose lists are extended and never replaced.
    """

    place: parts.Keys
    command: str
    entry: Mapping[str, object] = field(default_factory=dict)
    in_one_list: bool = False
    united: frozenset[str] = frozenset()

    role = "server"

    def found(self, content: parts.Content) -> parts.Found:
        there = parts.at(content, (*self.place, parts.NAME))
        if there is None:
            return parts.Found(parts.State.MISSING)
        if not isinstance(there, Mapping) or not is_ours(there):
            return parts.Found(parts.State.STALE, "an entry of this name that starts something else")
        if asks_satchel(there):
            return parts.Found(parts.State.STALE, f"it asks {address_of(there)} itself")
        if any(not is_same(there.get(key), value) for key, value in self._wanted(there).items()):
            return parts.Found(parts.State.STALE, f"it starts {shlex.join(_words(there))}")
        return parts.Found(parts.State.CURRENT)

    def put(self, content: parts.Content) -> list[Change]:
        path = (*self.place, parts.NAME)
        there = parts.at(content, path)
        if there is None:
            return [Put(path, self._wanted({}))]
        if not isinstance(there, Mapping) or not is_ours(there):
            raise Refused(
                f"there is a server {parts.NAME!r} that does not start Satchel",
                "Rename or remove that entry, then try again",
            )
        stays = {key: value for key, value in there.items() if key not in _OF_ADDRESS} if asks_satchel(there) else there
        wanted = self._wanted(stays)
        return [
            *(Put((*path, key), value) for key, value in wanted.items() if not is_same(stays.get(key), value)),
            *(Drop((*path, key)) for key in there if key not in stays and key not in wanted),
        ]

    def take(self, content: parts.Content) -> list[Change]:
        there = parts.at(content, (*self.place, parts.NAME))
        if not isinstance(there, Mapping) or not is_ours(there):
            return []
        return [Drop((*self.place, parts.NAME)), Prune(self.place)]

    def others(self, content: parts.Content) -> list[str]:
        """Return the names of other entries that start Satchel."""
        servers = parts.at(content, self.place)
        if not isinstance(servers, Mapping):
            return []
        return [
            str(name)
            for name, entry in servers.items()
            if name != parts.NAME and isinstance(entry, Mapping) and runs_satchel(entry)
        ]

    def is_switched_off(self, content: parts.Content) -> bool:
        there = parts.at(content, (*self.place, parts.NAME))
        return isinstance(there, Mapping) and (there.get("disabled") is True or there.get("enabled") is False)

    def _wanted(self, there: Mapping[str, object]) -> dict[str, object]:
        words = _words(there)
        arguments = words[1:] if words[1:2] == ["mcp"] else ["mcp"]
        wanted: dict[str, object] = {key: there.get(key, value) for key, value in self.entry.items()}
        for key in self.united:
            had, needed = wanted[key], self.entry[key]
            if isinstance(had, list) and isinstance(needed, list):
                wanted[key] = [*had, *(one for one in needed if one not in had)]
        if self.in_one_list:
            return wanted | {"command": [self.command, *arguments]}
        return wanted | {"command": self.command, "args": arguments}


JsonPart = Server | parts.Hooks | parts.Listed | parts.Chosen | parts.Fixed


def runs_satchel(entry: Mapping[str, object]) -> bool:
    """Check whether an entry starts ``satchel mcp``, directly or through a runner such as uvx."""
    words = _words(entry)
    return "mcp" in words and any(parts.is_launcher(word) for word in words[: words.index("mcp")])


def asks_satchel(entry: Mapping[str, object]) -> bool:
    """Check whether an entry connects to a server over HTTP with Satchel's token."""
    if not isinstance(address_of(entry), str):
        return False
    headers = entry.get("headers")
    authorization = headers.get("Authorization") if isinstance(headers, Mapping) else None
    return entry.get("bearer_token_env_var") == TOKEN or (
        isinstance(authorization, str) and (TOKEN in authorization or f"input:{TOKEN_INPUT}" in authorization)
    )


def is_ours(entry: Mapping[str, object]) -> bool:
    """Check whether an entry starts Satchel or connects to its server."""
    return runs_satchel(entry) or asks_satchel(entry)


def address_of(entry: Mapping[str, object]) -> object:
    """Return an entry's URL; None if it has none."""
    return entry.get("httpUrl", entry.get("url"))


def _words(entry: Mapping[str, object]) -> list[str]:
    command, arguments = entry.get("command"), entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return [word for word in words if isinstance(word, str)]
