"""Other configuration that starts Satchel in a client: a plugin, an entry of another scope, hooks in another file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from satchel.base import user_files
from satchel.base.errors import SatchelError
from satchel.base.text import shortened
from satchel.interfaces.setup.clients import Client, Place, Wish
from satchel.interfaces.setup.editing import Syntax, parse
from satchel.interfaces.setup.entries import Server, runs_satchel
from satchel.interfaces.setup.parts import NAME, Content, Hooks, at

_PLUGIN_PREFIX = f"{NAME}@"


class Double(NamedTuple):
    """A second configuration that starts Satchel.

    Attributes:
        part: the server or the hooks.
        text: the duplicate, its location and the fix.
        is_harmless: whether the second call of a hook injects nothing.
    """

    part: str
    text: str
    is_harmless: bool = False


def plugin_of(client: Client, place: Place) -> str | None:
    """Return the name of Satchel's plugin for Claude Code, such as ``satchel@market``, if it is enabled."""
    if client.name != "claude":
        return None
    folder = client.folder_in(place)
    files = [user_files.followed(folder / "settings.json", place.home)]
    if place.project is not None:
        files += [place.project / ".claude" / name for name in ("settings.json", "settings.local.json")]
    switched: dict[str, bool] = {}
    for file in files:
        enabled = at(content_of(file), ("enabledPlugins",))
        if isinstance(enabled, Mapping):
            switched |= {str(name): value is True for name, value in enabled.items()}
    installed = at(content_of(folder / "plugins" / "installed_plugins.json"), ("plugins",))
    names = [str(name) for name in installed] if isinstance(installed, Mapping) else []
    return next((name for name in names if name.startswith(_PLUGIN_PREFIX) and switched.get(name)), None)


def doubles_of(client: Client, place: Place, wish: Wish) -> Iterator[Double]:
    """Yield every other configuration that starts Satchel in addition to setup's own in one scope."""
    for target in client.targets(place, wish):
        if target.syntax is None:
            continue
        content = content_of(target.path, target.syntax)
        for part in target.parts:
            if isinstance(part, Server):
                for name in part.others(content):
                    text = f"the server {shortened(name, 60)!r} in {target.path} starts Satchel too: remove one"
                    yield Double("server", text)
            elif isinstance(part, Hooks):
                for command in part.others(content):
                    text = f"a hook of your own in {target.path} calls Satchel too: {shortened(command, 120)}"
                    yield Double("hooks", text, is_harmless=True)
    if client.name == "claude" and not wish.in_project:
        yield from _elsewhere_in_claude(client, place)


def _elsewhere_in_claude(client: Client, place: Place) -> Iterator[Double]:
    if place.project is None:
        return
    servers = client.targets(place, Wish(NAME))[0]
    local = at(content_of(servers.path), ("projects", str(place.project), "mcpServers"))
    for name, entry in local.items() if isinstance(local, Mapping) else ():
        if isinstance(entry, Mapping) and runs_satchel(entry):
            wins = "comes before it" if name == NAME else "starts a second one"
            remedy = shlex.join(["claude", "mcp", "remove", "-s", "local", str(name)])
            yield Double("server", f"an entry for this project alone {wins} (local scope): remove it with `{remedy}`")
    for file in (place.project / ".claude" / name for name in ("settings.json", "settings.local.json")):
        if Hooks({}).take(content_of(file)):
            yield Double("hooks", f"{file} calls them too; the second call of each puts nothing in", is_harmless=True)


def content_of(path: Path, syntax: Syntax = Syntax.JSON) -> Content:
    """Parse a file; return an empty object if it is missing or setup would refuse it."""
    try:
        file = user_files.read(path, path.parent)
        return parse(file.text, syntax)
    except SatchelError:
        return {}
