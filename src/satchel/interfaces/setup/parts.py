"""Parts that setup writes into a client's files: each finds, adds and removes its own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from satchel.base.records import dataclass
from satchel.interfaces.setup.editing import Append, Change, Prune, Put, Remove, is_same

# What the server is called in every client, and the command in files that are committed.
NAME = "satchel"

Content = Mapping[str, object]
Keys = tuple[str, ...]

_GUARD = f"command -v {NAME} >/dev/null 2>&1 && "
_IN_ANY_CASE = " || true"
_RUNS_A_HOOK = re.compile(r"\bsatchel\b.*\bhook\b", re.DOTALL)


class State(StrEnum):
    """The state of a part in a client's file, or of the guard in a git hook."""

    CURRENT = "current"
    STALE = "stale"
    MISSING = "missing"


class Found(NamedTuple):
    """The state of a part in a file; the detail of a stale one describes the current content."""

    state: State
    detail: str = ""


class Hook(NamedTuple):
    """A call of ``satchel hook`` in the form that setup writes it."""

    launcher: str
    client: str
    event: str


def hook_command(launcher: str, client: str, event: str, *, is_guarded: bool) -> str:
    call = f"{shlex.quote(launcher)} hook {client} {event}"
    return f"{_GUARD}{call}{_IN_ANY_CASE}" if is_guarded else call


def hook_of(command: object) -> Hook | None:
    """Return what a command calls if setup could have written it, whatever the launcher."""
    if not isinstance(command, str):
        return None
    try:
        words = shlex.split(command.removeprefix(_GUARD).removesuffix(_IN_ANY_CASE))
    except ValueError:
        return None
    if len(words) != 4 or words[1] != "hook" or not is_launcher(words[0]):
        return None
    return Hook(words[0], words[2], words[3])


def is_launcher(word: object) -> bool:
    """Whether a word names the command ``satchel``, by its name or any path."""
    return isinstance(word, str) and re.split(r"[/\\]", word)[-1].removesuffix(".exe") == NAME


def at(content: object, path: Keys) -> object:
    for key in path:
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks that call ``satchel hook``; those of others stay, also where they share a group with ours.

    Attributes:
        handlers: the element of each event's list, by the event's name.
        grouped: whether an element of the list holds handlers in ``hooks``; else it is a handler itself.
        command_key: the key of a handler that holds its command.
    """

    handlers: Mapping[str, Mapping[str, object]]
    grouped: bool = True
    command_key: str = "command"

    role = "hooks"
    place: Keys = ("hooks",)

    def found(self, content: Content) -> Found:
        """Check that every hook is present and current, and no other one of Satchel's."""
        changes, stored = self._compared(content)
        if not changes:
            return Found(State.CURRENT)
        launchers = sorted({hook.launcher for _, _, hook in self._ours(content)})
        if not launchers:
            return Found(State.MISSING)
        outdated = ", ".join(event for event in self.handlers if event not in stored)
        reason = f"not current: {outdated}" if outdated else "more than is needed"
        return Found(State.STALE, f"they call {', '.join(launchers)}; {reason}")

    def put(self, content: Content) -> list[Change]:
        return self._compared(content)[0]

    def take(self, content: Content) -> list[Change]:
        changes: list[Change] = []
        for event, element, _ in self._ours(content):
            changes += self._without_ours(event, element)
        events = dict.fromkeys(event for event, _, _ in self._ours(content))
        return [*changes, *(Prune((*self.place, event)) for event in events), *([Prune(self.place)] if changes else [])]

    def others(self, content: Content) -> list[str]:
        """Return the commands that call ``satchel hook`` in another form than ours."""
        return [
            command
            for _, element in self._elements(content)
            for handler in self._handlers_of(element)
            if isinstance(command := handler.get(self.command_key), str)
            and _RUNS_A_HOOK.search(command)
            and hook_of(command) is None
        ]

    def is_switched_off(self, content: Content) -> bool:
        """Check whether the user has switched off all hooks of the client, or ours by their name."""
        config = at(content, ("hooksConfig",))
        config = config if isinstance(config, Mapping) else {}
        disabled = config.get("disabled")
        is_named = isinstance(disabled, list) and NAME in disabled
        return is_named or config.get("enabled") is False or at(content, ("disableAllHooks",)) is True

    def _compared(self, content: Content) -> tuple[list[Change], dict[str, Mapping[str, object]]]:
        changes: list[Change] = []
        stored: dict[str, Mapping[str, object]] = {}
        new = dict(self.handlers)
        for event, element, _ in self._ours(content):
            wanted = self.handlers.get(event)
            is_current = wanted is not None and any(
                handler.get(self.command_key) == self._command_in(wanted) for handler in self._handlers_of(element)
            )
            if is_current and event not in stored and len(self._hooks_in(element)) == 1:
                matcher = new[event].get("matcher", element.get("matcher"))
                if element.get("matcher") == matcher:
                    stored[event] = element
                    continue
                if len(self._handlers_of(element)) == 1:  # what the user added stays
                    new[event] = {**element, "matcher": matcher}
            changes += self._without_ours(event, element)
            if is_same(stored.get(event), element):
                del stored[event]  # what equals it was removed too
            if event not in self.handlers:
                changes.append(Prune((*self.place, event)))
        changes += [
            Append((*self.place, event), dict(element)) for event, element in new.items() if event not in stored
        ]
        return changes, stored

    def _without_ours(self, event: str, element: Mapping[str, object]) -> list[Change]:
        path = (*self.place, event)
        changes: list[Change] = [Remove(path, partial(is_same, element))]
        rest = [one for one in self._handlers_of(element) if hook_of(one.get(self.command_key)) is None]
        if rest:
            changes.append(Append(path, {**element, "hooks": rest}))
        return changes

    def _ours(self, content: Content) -> Iterator[tuple[str, Mapping[str, object], Hook]]:
        for event, element in self._elements(content):
            hooks = self._hooks_in(element)
            if hooks:
                yield event, element, hooks[0]

    def _hooks_in(self, element: Mapping[str, object]) -> list[Hook]:
        result = (hook_of(handler.get(self.command_key)) for handler in self._handlers_of(element))
        return [hook for hook in result if hook is not None]

    def _elements(self, content: Content) -> Iterator[tuple[str, Mapping[str, object]]]:
        hooks = at(content, self.place)
        if not isinstance(hooks, Mapping):
            return
        for event, elements in hooks.items():
            for element in elements if isinstance(elements, list) else []:
                if isinstance(element, Mapping):
                    yield str(event), element

    def _handlers_of(self, element: Mapping[str, object]) -> list[Mapping[str, object]]:
        if not self.grouped:
            return [element]
        handlers = element.get("hooks")
        return [one for one in handlers if isinstance(one, Mapping)] if isinstance(handlers, list) else []

    def _command_in(self, element: Mapping[str, object]) -> object:
        return self._handlers_of(element)[0].get(self.command_key)


@dataclass(frozen=True, slots=True)
class Listed:
    """A value in a list, such as a permission."""

    role: str
    path: Keys
    value: object

    def found(self, content: Content) -> Found:
        there = at(content, self.path)
        return Found(
            State.CURRENT
            if isinstance(there, list) and any(is_same(self.value, one) for one in there)
            else State.MISSING
        )

    def put(self, content: Content) -> list[Change]:
        return [] if self.found(content).state is State.CURRENT else [Append(self.path, self.value)]

    def take(self, content: Content) -> list[Change]:
        """Return the changes that remove the value, and the list where it was alone in it."""
        if self.found(content).state is State.MISSING:
            return []
        parents = [Prune(self.path[:length]) for length in range(len(self.path), 0, -1)]
        return [Remove(self.path, partial(is_same, self.value)), *parents]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A value that the user asked for in the entry of the server, with which it also goes."""

    role: str
    path: Keys
    value: object

    def found(self, content: Content) -> Found:
        return Found(State.CURRENT if is_same(at(content, self.path), self.value) else State.MISSING)

    def put(self, content: Content) -> list[Change]:
        return [] if self.found(content).state is State.CURRENT else [Put(self.path, self.value)]

    def take(self, content: Content) -> list[Change]:  # noqa: ARG002 -- what every part takes
        return []


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that a client's file must have, such as the version of its format; it is no reason to keep the file.

    Attributes:
        only_new: it is put only into a file that holds nothing yet.
    """

    path: Keys
    value: object
    only_new: bool = False

    role = "format"

    def found(self, content: Content) -> Found:
        """Check whether there is any value; a different one is left to the client."""
        is_there = at(content, self.path) is not None or (self.only_new and bool(content))
        return Found(State.CURRENT if is_there else State.MISSING)

    def put(self, content: Content) -> list[Change]:
        return [] if self.found(content).state is State.CURRENT else [Put(self.path, self.value)]

    def take(self, content: Content) -> list[Change]:  # noqa: ARG002 -- what every part takes
        return []
