"""The plan of setup: all edits of all files, made before the first is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path

from satchel.base import user_files
from satchel.base.errors import Conflict, SatchelError
from satchel.base.records import dataclass, field
from satchel.base.user_files import ConfigFile
from satchel.interfaces.setup.clients import CLIENTS, Client, Place, Target, Wish
from satchel.interfaces.setup.editing import Drop, Prune, edited, parse
from satchel.interfaces.setup.entries import JsonPart
from satchel.interfaces.setup.guide import left_for_user, plugin_of, reads_hooks_of_claude
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.parts import NAME, Fixed, Hooks, State
from satchel.interfaces.setup.texts import INSTRUCTIONS, TextPart
from satchel.keep.documents.block import instructions_file, instructions_notes


class Way(Enum):
    """The kind of change of a file."""

    PUT = "put"
    TAKE = "take"
    RESTORE = "restore"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class Edit:
    """A file to write or delete.

    Attributes:
        file: its current content.
        after: its new content; None to delete it.
        way: whether parts are put in or taken out, the file becomes what it was before setup, to the byte, or it is
            for this user alone, so that no copy of it is kept.
        shown: what a diff shows in place of a secret.
    """

    file: ConfigFile
    after: str | None
    way: Way
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for one client, or for a project's instructions."""

    name: str
    files: tuple[tuple[Path, str], ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    is_there: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """All edits, and what they mean for each client; nothing is written yet."""

    edits: tuple[Edit, ...]
    outcomes: tuple[Outcome, ...]


_Step = Callable[[Target, str, JsonPart | TextPart], str]


@dataclass(slots=True)
class _Drafts:
    files: dict[Path, ConfigFile] = field(default_factory=dict)
    texts: dict[Path, str] = field(default_factory=dict)
    targets: dict[Path, Target] = field(default_factory=dict)

    def change(self, target: Target, step: _Step) -> list[str]:
        altered = []
        for part in reversed(target.parts) if step is Target.take else target.parts:
            before = self.text_of(target)
            try:
                after = step(target, before, part)
            except SatchelError as error:
                raise type(error)(f"{target.path}: {error.problem}", error.remedy) from error
            if after != before:
                self.texts[target.path] = after
                altered += [] if isinstance(part, Fixed) else [part.role]
        return altered

    def text_of(self, target: Target) -> str:
        path = target.path
        if path not in self.files:
            self.files[path], self.targets[path] = user_files.read(path, target.below), target
            self.texts[path] = self.files[path].text
        return self.texts[path]

    def changed(self) -> list[Path]:
        return [path for path, text in self.texts.items() if text != self.files[path].text]


def plan_setup(clients: Iterable[Client], place: Place, wish: Wish, *, instructions: bool = False) -> Plan:
    """Plan the edits that make clients start Satchel."""
    drafts, outcomes = _Drafts(), []
    for client in clients:
        plugin = plugin_of(client, place)
        if plugin is not None:
            outcomes.append(
                Outcome(client.name, notes=(f"the plugin {plugin} brings server and hooks; left as it is",))
            )
            continue
        files: dict[Path, str] = {}
        notes: list[str] = []
        for target in client.targets(place, wish):
            if client.name == "vscode" and _is_hooks(target) and reads_hooks_of_claude(place, wish, drafts.text_of):
                notes.append("VS Code reads the project's hooks for Claude Code: it needs none of its own")
                continue
            notes += _replaced(drafts, target)
            _add_roles(files, target, drafts.change(target, Target.put))
        outcomes.append(
            Outcome(
                client.name,
                tuple(files.items()),
                tuple(notes),
                tuple(left_for_user(client, place, wish, drafts.text_of, is_changed=bool(files))),
            )
        )
    if instructions and place.project is not None:
        outcomes.append(_instructions(drafts, place.project))
    edits = [Edit(drafts.files[path], drafts.texts[path], Way.PUT) for path in drafts.changed()]
    for edit in edits:
        user_files.check_writable(edit.file)
    return Plan(tuple(edits), tuple(outcomes))


def plan_removal(
    clients: Iterable[Client], place: Place, journal: Journal, *, in_project: bool, instructions: bool
) -> Plan:
    """Plan the edits that remove everything that setup wrote.

    A file that nobody else has changed since becomes what it was to the byte; out of others only our parts are taken.
    """
    drafts, outcomes = _Drafts(), []
    record = journal.paths()
    allowed = frozenset() if in_project else frozenset(CLIENTS)
    everything = Wish(NAME, in_project=in_project, allowed=allowed)
    for client in clients:
        files: dict[Path, str] = {}
        for target in client.targets(place, everything):
            try:
                roles = drafts.change(target, Target.take)
            except SatchelError:
                if target.path in record or NAME in drafts.texts.get(target.path, ""):
                    raise
                continue  # whatever is wrong with it, setup never wrote it
            _add_roles(files, target, roles)
        outcomes.append(Outcome(client.name, tuple(files.items()), is_there=bool(files)))
    if instructions and place.project is not None:
        target = Target(instructions_file(place.project), None, (INSTRUCTIONS,), place.project)
        is_there = bool(drafts.change(target, Target.take))
        block = ((target.path, "instructions"),) if is_there else ()
        outcomes.append(Outcome("instructions", block, is_there=is_there))
    # the file that was made first goes last: it knows which folders were made with it
    edits = [_taking(drafts, path, journal) for path in reversed(drafts.changed())]
    for edit in edits:
        user_files.check_writable(edit.file)
    return Plan(tuple(edits), tuple(outcomes))


def joined(*plans: Plan) -> Plan:
    """Return several plans as one, in their order."""
    return Plan(
        tuple(edit for plan in plans for edit in plan.edits),
        tuple(outcome for plan in plans for outcome in plan.outcomes),
    )


def carry_out(plan: Plan, journal: Journal) -> None:
    """Write every edit of a plan, each atomically."""
    done: list[Path] = []
    for edit in plan.edits:
        try:
            _carry_out(edit, journal)
        except SatchelError as error:
            if not done:
                raise
            names = ", ".join(map(str, done))
            raise type(error)(f"{error.problem} (written before that: {names})", error.remedy) from error
        done.append(edit.file.path)


def _carry_out(edit: Edit, journal: Journal) -> None:
    path = edit.file.path
    if edit.way is Way.PRIVATE:
        if edit.after is None:
            user_files.delete(edit.file, [str(path.parent)])
        else:
            user_files.overwrite(edit.file, edit.file.encoded(edit.after), is_private=True)
        return
    if edit.way is Way.RESTORE:
        if not journal.restore(path):
            raise Conflict(f"{path} changed since it was read", "Try again")
        return
    journal.write(edit.file, edit.after or "")
    if edit.way is Way.TAKE:
        journal.leave(path)
    if edit.after is None:
        path.unlink(missing_ok=True)


def _taking(drafts: _Drafts, path: Path, journal: Journal) -> Edit:
    file, text, target = drafts.files[path], drafts.texts[path], drafts.targets[path]
    original = journal.original(path)
    if original is not None:
        return Edit(file, original.text if original.existed else None, Way.RESTORE)
    is_ours = journal.made(path) or path.stem == NAME
    if is_ours and target.syntax is not None:
        fixed = [part.path for part in target.parts if isinstance(part, Fixed)]
        if set(parse(text, target.syntax)) <= {keys[0] for keys in fixed}:
            text = edited(text, target.syntax, [*map(Drop, fixed), Prune(())])
    return Edit(file, None if is_ours and not text.strip() else text, Way.TAKE)


def _replaced(drafts: _Drafts, target: Target) -> list[str]:
    try:
        result = target.found(drafts.text_of(target))
    except SatchelError:
        return []  # what follows says why it cannot be changed
    return [f"replaced the {role}: {one.detail}" for role, one in result if one.state is State.STALE]


def _instructions(drafts: _Drafts, root: Path) -> Outcome:
    target = Target(instructions_file(root), None, (INSTRUCTIONS,), root)
    is_changed = drafts.change(target, Target.put)
    return Outcome(
        "instructions",
        ((target.path, "instructions"),) if is_changed else (),
        left=tuple(instructions_notes(root, target.path)),
    )


def _add_roles(files: dict[Path, str], target: Target, roles: list[str]) -> None:
    if roles:
        files[target.path] = ", ".join([*filter(None, [files.get(target.path)]), *roles])


def _is_hooks(target: Target) -> bool:
    return any(isinstance(part, Hooks) for part in target.parts)
