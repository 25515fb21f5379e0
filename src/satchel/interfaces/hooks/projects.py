"""The project that an event of a client belongs to, and the other projects whose files it edits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from satchel.base.errors import Refused
from satchel.base.git_head import top_of
from satchel.interfaces.hooks import events, state
from satchel.interfaces.hooks.events import HookEvent


def working_folder(event: HookEvent, environ: Mapping[str, str], here: str) -> str:
    """Return the folder in which an event happened: the client's project where the agent has gone elsewhere.

    A clone or submodule inside the project is elsewhere too, since the session is the project's; a linked worktree of
    it is not.

    Args:
        here: the current folder.
    """
    project = environ.get("CLAUDE_PROJECT_DIR") or environ.get("GEMINI_PROJECT_DIR")
    cwd = event.cwd if event.cwd is not None and os.path.isdir(event.cwd) else here  # noqa: PTH112
    if project is None or not os.path.isdir(project):  # noqa: PTH112
        return cwd
    if not f"{cwd}{os.sep}".startswith(f"{project}{os.sep}"):
        return project
    inner = top_of(cwd)
    return cwd if inner is None or len(inner) <= len(project) or _is_worktree(inner, project) else project


def _is_worktree(inner: str, project: str) -> bool:
    from satchel.base.paths import worktree_of

    try:
        one, other = worktree_of(os.path.realpath(inner)), worktree_of(os.path.realpath(project))
    except Refused:
        return False
    return one is not None and other is not None and one.root == other.root and one.worktree != other.worktree


def edits_elsewhere(event: HookEvent, folder: str, root: str | None) -> Iterator[tuple[str, HookEvent]]:
    """Yield the edits of files that other repositories contain, each with the top of its repository.

    Args:
        folder: the one that the event happened in, and relative paths start from.
        root: the root of its project, whose worktrees and submodules are no other repositories; None without a store.
    """
    if event.tool is None or event.happening not in {events.BEFORE_EDIT, events.AFTER_EDIT}:
        return
    own, by_top = state.project_of(folder), dict[str, list[int]]()
    for number, edit in enumerate(event.tool.edits):
        path = os.path.normpath(os.path.join(event.cwd or folder, edit.path))  # noqa: PTH118 -- on the path of every edit
        top = state.project_of(os.path.dirname(path))  # noqa: PTH120 -- as above
        if top is not None and top != own:
            by_top.setdefault(top, []).append(number)
    for top, numbers in by_top.items():
        if not _is_of(top, root):
            edits = tuple(event.tool.edits[number] for number in numbers)
            yield top, event._replace(tool=event.tool._replace(edits=edits))


def _is_of(top: str, root: str | None) -> bool:
    from satchel.base.paths import worktree_of

    try:
        repository = worktree_of(top)
    except Refused:
        return True  # it has no store
    return repository is not None and str(repository.root) == root
