"""The files of a folder that git does not ignore, listed by git or, where it cannot, by its ``.gitignore`` files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from satchel.base.git_commands import ask_git
from satchel.base.git_files import text_of

_SECONDS = 60
_LIST = ("ls-files", "--cached", "--others", "--exclude-standard", "-z")
_CHECK = ("check-ignore", "--no-index", "--stdin", "-z")
# how pathspec translates a star inside a step, and patterns that match everything
_STAR = "[^/]*"
_ANYTHING = {".": ".*", "(?P<ps_d>/)": ".*/"}
# a set of what must not be there would match a slash
_NEGATED = re.compile(r"\[\^(?![/\]])")
_ALL_BELOW = re.compile(r"(?:/\*\*)+(/?)\s*$")

# The rules of one ``.gitignore``: where paths relative to its folder begin, and its patterns, last one first.
_Rules = tuple[int, tuple[tuple[re.Pattern[str], bool], ...]]


def list_files(
    folder: str,
    root: str,
    *,
    is_named: bool = False,
    hold_unreadable: Callable[[str, OSError], None],
    raise_if_cancelled: Callable[[], None],
) -> Iterator[str]:
    """Yield the real paths of the files in a folder that git does not ignore.

    Tracked files are included, even if they match a pattern. A nested repository is yielded as a folder. Where git
    cannot list the folder, as outside a repository, the ``.gitignore`` files from the root down decide.
    """
    is_repository = os.path.lexists(f"{folder}/.git")
    is_ignored = is_named and folder != root and not is_repository and _is_ignored_by_git(folder)
    output = None if is_ignored else ask_git(folder, _LIST, _SECONDS)
    if output is None:
        yield from _walk(folder, root, hold_unreadable, raise_if_cancelled)
        return
    prefix = f"{folder.rstrip('/')}/"
    for name in os.fsdecode(output).split("\0"):
        # git lists no such step; a damaged index might
        if name.strip("./") and not {"..", ".git"} & set(name.split("/")):
            yield prefix + name.rstrip("/")


def _is_ignored_by_git(folder: str) -> bool:
    return bool(ask_git(os.path.dirname(folder), _CHECK, _SECONDS, os.fsencode(folder)))  # noqa: PTH120 -- of a str


def _walk(
    folder: str, root: str, hold_unreadable: Callable[[str, OSError], None], raise_if_cancelled: Callable[[], None]
) -> Iterator[str]:
    above = [root]
    for step in folder[len(root) :].strip("/").split("/")[:-1]:
        above.append(f"{above[-1].rstrip('/')}/{step}")
    waiting = [(folder, () if folder == root else tuple([_rules_in(one) for one in reversed(above)]))]
    while waiting:
        raise_if_cancelled()
        here, chain = waiting.pop()
        try:
            with os.scandir(here) as listing:
                entries = list(listing)
        except OSError as error:
            hold_unreadable(here, error)
            continue
        chain = (_rules_in(here), *chain)
        for entry in entries:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                is_folder = False
            if entry.name == ".git" or _is_ignored(chain, f"{entry.path}/" if is_folder else entry.path):
                continue
            if not is_folder or os.path.lexists(f"{entry.path}/.git"):
                yield entry.path
            else:
                waiting.append((entry.path, chain))


def _is_ignored(chain: tuple[_Rules, ...], path: str) -> bool:
    for skip, patterns in chain:
        relative = path[skip:]
        for regex, ignores in patterns:
            if regex.fullmatch(relative):
                return ignores
    return False


def _rules_in(folder: str) -> _Rules:
    text = text_of(f"{folder}/.gitignore", behind_link=False)
    return len(folder.rstrip("/")) + 1, _patterns(text) if text else ()


@lru_cache(maxsize=256)
def _patterns(text: str) -> tuple[tuple[re.Pattern[str], bool], ...]:
    from pathspec.patterns.gitignore.base import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = []
    for line in text.removeprefix("\ufeff").split("\n"):
        # paths below a match are not compared, so that the pattern has to match them itself
        glob = _ALL_BELOW.sub(r"/**/*\1", line)
        try:
            regex, ignores = GitIgnoreSpecPattern.pattern_to_regex(glob)
            if regex is not None and ignores is not None:
                regex = _without_retries(_NEGATED.sub("[^/", _ANYTHING.get(regex, regex)))
                patterns.append((re.compile(regex, re.DOTALL), ignores))
        except (GitIgnorePatternError, re.error):
            continue
    return tuple(reversed(patterns))


def _without_retries(regex: str) -> str:
    # every star but the last keeps the first place that fits: trying others finds nothing and may take for ever
    first, *between = regex.split(_STAR)
    if len(between) < 2 or any(".+" in part for part in between):
        return regex
    return first + "".join([f"(?>{_STAR}?{part})" for part in between[:-1]]) + _STAR + between[-1]
