"""State of setup in a client's files, the steps that only its user can do, and what removal deletes and leaves."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from satchel.base import user_files
from satchel.base.errors import Conflict, Refused, SatchelError
from satchel.base.folders import config_folder, state_folder
from satchel.base.paths import FILE_NAME, FOLDER_NAME, StorePlace
from satchel.base.records import dataclass, replace
from satchel.base.text import shortened
from satchel.base.user_files import followed
from satchel.interfaces.setup.clients import CLIENTS, Client, Place, Target, Wish
from satchel.interfaces.setup.editing import Syntax, parse
from satchel.interfaces.setup.entries import Server, runs_satchel
from satchel.interfaces.setup.parts import NAME, Content, Hooks, State, at
from satchel.store.known_stores import KnownStore, KnownStores
from satchel.store.trust import tracked_below

_PLUGIN_PREFIX = f"{NAME}@"


class Verdict(StrEnum):
    """The result of checking one part of a client's setup."""

    OK = "ok"
    NOTE = "note"
    OFF = "off"
    UNKNOWN = "unknown"
    MISSING = "missing"
    STALE = "stale"
    DOUBLED = "doubled"
    BROKEN = "broken"
    UNTRUSTED = "untrusted"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: the part, the verdict, and the place or the reason."""

    part: str
    verdict: Verdict
    detail: str


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


def doubles_of(client: Client, place: Place, wish: Wish) -> Iterator[Finding]:
    """Yield every other configuration that starts Satchel in addition to setup's own in one scope."""
    for target in client.targets(place, wish):
        if target.syntax is None:
            continue
        content = content_of(target.path, target.syntax)
        for part in target.parts:
            if isinstance(part, Server):
                for name in part.others(content):
                    text = f"the server {shortened(name, 60)!r} in {target.path} starts Satchel too: remove one"
                    yield Finding("server", Verdict.DOUBLED, text)
            elif isinstance(part, Hooks):
                for command in part.others(content):
                    text = f"a hook of your own in {target.path} calls Satchel too: {shortened(command, 120)}"
                    yield Finding("hooks", Verdict.NOTE, text)
    if client.name == "claude" and not wish.in_project:
        yield from _elsewhere_in_claude(client, place)


def _elsewhere_in_claude(client: Client, place: Place) -> Iterator[Finding]:
    if place.project is None:
        return
    servers = client.targets(place, Wish(NAME))[0]
    local = at(content_of(servers.path), ("projects", str(place.project), "mcpServers"))
    for name, entry in local.items() if isinstance(local, Mapping) else ():
        if isinstance(entry, Mapping) and runs_satchel(entry):
            wins = "comes before it" if name == NAME else "starts a second one"
            remedy = shlex.join(["claude", "mcp", "remove", "-s", "local", str(name)])
            text = f"an entry for this project alone {wins} (local scope): remove it with `{remedy}`"
            yield Finding("server", Verdict.DOUBLED, text)
    for file in (place.project / ".claude" / name for name in ("settings.json", "settings.local.json")):
        if Hooks({}).take(content_of(file)):
            yield Finding("hooks", Verdict.NOTE, f"{file} calls them too; the second call of each puts nothing in")


def content_of(path: Path, syntax: Syntax = Syntax.JSON) -> Content:
    """Parse a file; return an empty object if it is missing or setup would refuse it."""
    try:
        file = user_files.read(path, path.parent)
        return parse(file.text, syntax)
    except SatchelError:
        return {}


_UNTRUSTED = "DO_NOT_TRUST"
_PARENT = "TRUST_PARENT"
_LEVELS = {"TRUST_FOLDER", _PARENT, _UNTRUSTED}

# The variable that moves the file of trusted folders, by client.
_RULES_FILE = {"gemini": "GEMINI_CLI_TRUSTED_FOLDERS_PATH", "qwen": "QWEN_CODE_TRUSTED_FOLDERS_PATH"}

# What changes the answer that a user gave once, by client.
_COMMAND = {"gemini": "/permissions trust", "qwen": "/trust"}


def trust_step(client: Client, place: Place, *, in_project: bool) -> str | None:
    """Return what the user has to do before a client starts Satchel in this project; None if nothing.

    Folders are looked at where an untrusted one keeps Satchel out without a word; whether hooks are trusted, only Codex
    itself can tell.
    """
    if place.project is None:
        return None
    if client.name in _RULES_FILE:
        return _folder_step(client, place, place.project)
    if client.name == "codex" and in_project and not trusts_folder_of_codex(client, place):
        return 'start Codex here and choose "Trust and continue"'
    if client.name == "claude" and in_project:
        return _approval_step(client, place, place.project)
    return None


def trusts_folder_of_codex(client: Client, place: Place) -> bool:
    """Whether the configuration of Codex says that the project's folder is trusted."""
    content = _own(client.folder_in(place) / "config.toml", place, Syntax.TOML)
    return at(content, ("projects", str(place.project), "trust_level")) == "trusted"


def _folder_step(client: Client, place: Place, project: Path) -> str | None:
    if client.name == "gemini":
        variable = "GEMINI_CLI_TRUST_WORKSPACE"
        if place.environ.get(variable) == "true":
            return None
        if place.environ.get(variable) == "false":
            return f"unset {variable} in your environment: it makes Gemini CLI trust no folder"
    folder = client.folder_in(place)
    is_on = at(_own(folder / "settings.json", place, client.syntax), ("security", "folderTrust", "enabled"))
    if is_on is False or (client.name == "qwen" and is_on is not True):
        return None
    rules = _own(place.named(_RULES_FILE[client.name], folder / "trustedFolders.json"), place, client.syntax)
    level = _level(client, rules, project)
    if level == _UNTRUSTED:
        return f"start {client.title} here, enter `{_COMMAND[client.name]}` and trust this folder: it was told not to"
    return None if level is not None else f'start {client.title} here once and choose "Trust folder"'


def _level(client: Client, rules: Mapping[str, object], project: Path) -> object:
    here = os.path.realpath(project)
    best: tuple[tuple[int, bool], object] | None = None
    for rule, level in rules.items():
        folder = os.path.realpath(Path(rule).parent if level == _PARENT else rule)
        if level not in _LEVELS or not Path(here).is_relative_to(folder):
            continue
        # Gemini CLI takes the longest rule as it is written, Qwen Code the deepest folder and of two the refusal
        rank = (len(rule), False) if client.name == "gemini" else (len(Path(folder).parts), level == _UNTRUSTED)
        if best is None or rank > best[0]:
            best = rank, level
    return best and best[1]


def _approval_step(client: Client, place: Place, project: Path) -> str | None:
    of_project = at(_own(place.home / ".claude.json", place), ("projects", str(project)))
    sources = [content_of(project / ".claude" / name) for name in ("settings.json", "settings.local.json")]
    sources += [_own(client.folder_in(place) / "settings.json", place)]
    sources += [of_project] if isinstance(of_project, Mapping) else []
    if any(_names_server(source, "disabledMcpjsonServers") for source in sources):
        return (
            f"take {NAME} out of disabledMcpjsonServers in .claude/settings.local.json: Claude Code does not start it"
        )
    if any(
        _names_server(source, "enabledMcpjsonServers") or source.get("enableAllProjectMcpServers") is True
        for source in sources
    ):
        return None
    return 'start Claude Code here once and choose "Use this MCP server"'


def require_no_server(action: str) -> None:
    """Refuse an action while a server of this user runs, which uses the stores."""
    from satchel.interfaces.http.running import Servers

    for one in Servers(state_folder()).alive():
        raise Conflict(
            f"`satchel serve` runs at {one.url} (process {one.pid}) and uses the stores; nothing was changed",
            f"Stop it with Ctrl-C or `kill {one.pid}`, then {action} again",
        )


def left_by_clients(place: Place) -> Iterator[str]:
    """Yield what clients themselves recorded of Satchel and removal leaves to them, with the reason."""
    folder = CLIENTS["codex"].folder_in(place)
    states = at(_own(folder / "config.toml", place, Syntax.TOML), ("hooks", "state"))
    hooks = followed(folder / "hooks.json", place.home)
    if isinstance(states, Mapping) and not hooks.exists() and any(name.startswith(f"{hooks}:") for name in states):
        yield f"{folder / 'config.toml'}: [hooks.state] is Codex's own record of the hooks that you trusted"
    logs = place.named("XDG_CACHE_HOME", place.home / ".cache") / "claude-cli-nodejs"
    yield from (f"{path}: Claude Code's own logs of the server" for path in sorted(logs.glob(f"*/mcp-logs-{NAME}")))


def store_left(store: StorePlace | None) -> Iterator[str]:
    """Yield the store that removal leaves, with what deletes it."""
    if store is not None and store.exists:
        yield f"the store {store.file}: `satchel setup --remove --all-data` deletes it with all other data"


def _own(file: Path, place: Place, syntax: Syntax = Syntax.JSON) -> Content:
    return content_of(followed(file, place.home), syntax)


def _names_server(source: Mapping[str, object], key: str) -> bool:
    names = source.get(key)
    return isinstance(names, list) and NAME in names


def left_for_user(
    client: Client, place: Place, wish: Wish, text_of: Callable[[Target], str], *, is_changed: bool
) -> Iterator[str]:
    """Yield what only the user can do, or what setup does only when it is asked to."""
    name, title = client.name, client.title
    if wish.in_project:
        if name == "claude":
            yield 'Claude Code asks once whether it may start this project\'s server: choose "Use this MCP server"'
        elif name == "codex":
            yield f'{title} reads a project\'s files once its folder is trusted: start it, choose "Trust and continue"'
    elif _is_asked(client, place, wish, text_of):
        if name == "claude":
            yield f"{title} asks before each tool of Satchel; `satchel setup claude --allow` allows them all"
        else:
            without = " and leaves them out of `gemini -p`" if name == "gemini" else ""
            yield f"{title} asks before each tool of Satchel{without}; `satchel setup {name} --trust` trusts them all"
    if name in {"gemini", "qwen"} and is_changed:
        step = trust_step(client, place, in_project=wish.in_project)
        if step is not None:
            yield f"{title} starts neither server nor hooks in a folder that it does not trust: {step}"
    if name == "codex" and wish.hooks and is_changed:
        yield (
            'Codex asks at its next start whether it may run the hooks: choose "Trust all and continue"; '
            "until then it skips them, `codex exec` without a word"
        )
    if name == "vscode" and wish.hooks and not wish.in_project and not reads_hooks_of_claude(place, wish, text_of):
        yield "VS Code has no file for your own hooks; it reads Claude Code's: `satchel setup claude` writes them"
    if name == "copilot" and is_changed:
        yield f"`copilot -p` lets tools write only with --allow-tool={NAME}"


def reads_hooks_of_claude(place: Place, wish: Wish, text_of: Callable[[Target], str]) -> bool:
    """Whether VS Code finds hooks in the settings of Claude Code, which it reads too."""
    claude = CLIENTS["claude"]
    for target in claude.targets(place, wish):
        try:
            content = parse(text_of(target), claude.syntax)
        except SatchelError:
            continue
        if any(isinstance(part, Hooks) and part.take(content) for part in target.parts):
            return True
    return False


def _is_asked(client: Client, place: Place, wish: Wish, text_of: Callable[[Target], str]) -> bool:
    for target in client.targets(place, replace(wish, allowed=frozenset(CLIENTS))):
        try:
            result = target.found(text_of(target))
        except SatchelError:
            continue
        if any(role == "permission" and one.state is State.MISSING for role, one in result):
            return True
    return False


# Other files that Satchel creates in a ``.satchel`` folder; the shared text, which stays, is not among them.
_BESIDE_A_STORE = frozenset({".gitignore", "config.toml", "backups"})


@dataclass(frozen=True, slots=True)
class AllData:
    """The files to delete when the user removes all data."""

    paths: tuple[Path, ...]
    left: tuple[str, ...]


def find_all_data() -> AllData:
    """Return the files of every store registered for this user, and the user's own folders."""
    paths: list[Path] = []
    remaining: list[str] = []
    for store in KnownStores(state_folder()).every():
        if not store.file.exists():
            continue
        reason = _reason_to_leave(store)
        if reason is not None:
            remaining.append(f"{store.file}: {reason}")
            continue
        folder = store.file.parent
        tracked = {name.partition("/")[0] for name in tracked_below(folder)}
        others: list[Path] = []
        for path in sorted(folder.iterdir()):
            is_ours = path.name.startswith(FILE_NAME) or path.name in _BESIDE_A_STORE
            (paths if is_ours and path.name not in tracked else others).append(path)
        remaining += [f"{path}: it is not Satchel's own, or git carries it" for path in others]
    for own in (state_folder(), config_folder()):
        if own.is_symlink():
            remaining.append(f"{own}: it is a link to {own.resolve()}")
        elif own.is_dir():
            paths.append(own)
    return AllData(tuple(paths), tuple(remaining))


def _reason_to_leave(store: KnownStore) -> str | None:
    # a registered path may by now lead to somebody else's files
    file = store.file
    if store.owner is not None:
        return "it belongs to another user"
    if file.parent.name != FOLDER_NAME:
        return f"it lies outside a {FOLDER_NAME} folder"
    status = file.lstat()
    if (status.st_dev, status.st_ino) != store.identity or file.resolve() != file:
        return "another file is there by now"
    return None


def delete(paths: Sequence[Path], home: Path) -> None:
    """Delete files and folders, then the parent folders left empty, up to the home folder."""
    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise Refused(f"{path} cannot be deleted: {error.strerror}", "Check its permissions, and repeat") from error
    for path in paths:
        for folder in path.parents if path.is_relative_to(home) else path.parents[:1]:
            if folder == home or folder.name not in {FOLDER_NAME, ".local", "state", ".config", "share"}:
                break
            with suppress(OSError):
                folder.rmdir()
