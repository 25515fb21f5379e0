"""Git history of cited files that changed or disappeared: new names and branches."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from satchel.base import git_commands
from satchel.base.cited import CHANGED, ELSEWHERE, GONE, LEFT_OUT, MOVED, Comparison, Digest
from satchel.base.errors import InvalidInput
from satchel.base.git_files import has_branch, read_head, top_of
from satchel.base.git_index import UNTRACKED, is_left_out, path_of
from satchel.base.records import replace
from satchel.keep.paths import check_path

if TYPE_CHECKING:
    from satchel.keep.citations import Citation, Place

Compare = Callable[[str, Digest], Comparison | None]  # compares a file of the tree with its citation


def explain(
    root: str,
    places: Mapping[int, Place],
    citations: Mapping[int, Citation],
    compare: Compare,
    *,
    is_apart: bool = False,
) -> dict[int, Citation]:
    """Return citations with new names of renamed files and marks of unmerged branches; git runs at most once."""
    result = dict(citations)
    top = top_of(root)
    branch, head = read_head(top)
    if top is None or head is None:
        return result
    tree = _Tree(root, top, head, compare)
    for number, citation in citations.items():
        blob = places[number].cited.blob
        if citation.state == GONE and is_left_out(top, tree.in_git(places[number].path), head):
            result[number] = replace(citation, state=LEFT_OUT)
        elif citation.state == GONE and blob is not None:
            result[number] = tree.renamed(citation, places[number], path_of(top, blob))
    if is_apart:
        for number in tree.elsewhere({n: citation for n, citation in result.items() if citation.is_stale}):
            result[number] = replace(result[number], state=ELSEWHERE)
    stale = {number: places[number].cited for number, citation in result.items() if citation.is_stale}
    others = {one.branch for one in stale.values() if one.branch is not None} - {branch}
    there = others if is_apart else {other for other in others if has_branch(top, other)}
    commits = {number: one.commit for number, one in stale.items() if one.commit is not None and one.commit != head}
    foreign = {number: commit for number, commit in commits.items() if stale[number].branch in there}
    deleted = {
        number: commit
        for number, commit in commits.items()
        if result[number].state == GONE and stale[number].standing != UNTRACKED
    }
    tree.ask(deleted, foreign)
    for number, commit in deleted.items():
        names = git_commands.known_renames(top, head, commit) or {}
        result[number] = tree.renamed(result[number], places[number], names.get(tree.in_git(places[number].path)))
    for number, commit in foreign.items():
        if git_commands.known_merged(top, head, commit) is False and result[number].is_stale:
            result[number] = replace(result[number], is_unmerged=True)
    return result


class _Tree:
    def __init__(self, root: str, top: str, head: str, compare: Compare) -> None:
        self._root, self._top, self._head = root, top, head
        self._compare = compare
        self._prefix = "" if root == top else f"{os.path.relpath(root, top)}/"

    def in_git(self, path: str) -> str:
        return f"{self._prefix}{path}"

    def renamed(self, citation: Citation, place: Place, path: str | None) -> Citation:
        """Return the citation updated to the file's new path, or unchanged without one."""
        if path is None or not path.startswith(self._prefix):
            return citation
        try:
            name = check_path(path.removeprefix(self._prefix), None)
        except InvalidInput:
            return citation
        stands = self._compare(name, place.cited.digest)
        if stands is None or stands.state == GONE:
            return citation
        return replace(citation, state=CHANGED if stands.state == CHANGED else MOVED, line=stands.line, file=name)

    def elsewhere(self, stale: Mapping[int, Citation]) -> set[int]:
        """Return the entries that cite content possibly never in this clone: no commit here has it."""
        top, head = self._top, self._head
        commits = {n: one.commit for n, one in stale.items() if one.commit is not None and one.commit != head}
        unknown = {commit for commit in commits.values() if git_commands.known_existing(top, head, commit) is None}
        if unknown:
            git_commands.ask_existing(top, head, sorted(unknown))
        absent = {n for n, commit in commits.items() if git_commands.known_existing(top, head, commit) is False}
        return absent | {n for n, one in stale.items() if one.is_uncommitted}

    def ask(self, deleted: Mapping[int, str], foreign: Mapping[int, str]) -> None:
        """Ask git for renames of missing files, else for branches; ``deleted`` and ``foreign`` are commits by entry."""
        top, head = self._top, self._head
        renames = {n: commit for n, commit in deleted.items() if git_commands.known_renames(top, head, commit) is None}
        merged = {n: commit for n, commit in foreign.items() if git_commands.known_merged(top, head, commit) is None}
        if renames and (not merged or renames.keys() - foreign.keys()):
            git_commands.ask_renames(top, head, dict.fromkeys(renames.values()))
        elif merged:
            git_commands.ask_merged(top, head, dict.fromkeys(merged.values()))
