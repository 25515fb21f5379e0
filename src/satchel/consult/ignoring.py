"""What git would leave out: the rules of ignore files, as https://git-scm.com/docs/gitignore has them.

A rule decides about a path itself. What lies below an ignored folder is left out because nobody goes in there, so a
folder that is named all the same is not emptied by the rule that ignores it. Translating a pattern is pathspec's work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from satchel.base.git_config import read_config, text_of
from satchel.base.records import dataclass

_NAME = ".gitignore"
# how pathspec translates a star inside a step
_STAR = "[^/]*"
_OF_GIT = ("HEAD", "config", "info")
_NEGATED = re.compile(r"\[\^(?![/\]])")
_CLASS = re.compile(r"\[:([a-z]+):\]")
# pathspec takes the bracket that ends a class for the end of the set: https://www.gnu.org/software/libc (fnmatch)
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": " \t\n\v\f\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One line of an ignore file.

    Attributes:
        last: what the last step of a path has to be; None is anything.
        whole: what the whole path has to be; None is anything.
        only_folders: whether it matches folders alone.
        ignores: whether it ignores, or brings back.
    """

    last: re.Pattern[str] | None
    whole: re.Pattern[str] | None
    only_folders: bool
    ignores: bool


class Rules:
    """The rules of one ignore file."""

    __slots__ = ("_patterns", "any_case")

    def __init__(self, text: str, *, any_case: bool = False) -> None:
        """Take them from the text of the file; lines that git would not understand say nothing.

        Args:
            text: what the file holds.
            any_case: whether the case of letters makes no difference.
        """
        self.any_case = any_case
        lines = [_trimmed(line.removesuffix("\r")) for line in text.removeprefix("\ufeff").split("\n")]
        patterns = [_compiled(line, any_case) for line in lines if line and not line.startswith("#")]
        # the last that matches decides
        self._patterns = tuple(pattern for pattern in reversed(patterns) if pattern is not None)

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self._patterns)

    def may_speak_of(self, name: str) -> bool:
        """Whether any rule matches some path that ends in this step."""
        return any(pattern.last is None or pattern.last.fullmatch(name) for pattern in self._patterns)

    def ignores(self, path: str, name: str, is_folder: bool) -> bool | None:
        """Return whether a path is ignored; None where no rule speaks of it.

        Args:
            path: relative to the folder of the ignore file, with forward slashes and none at the end.
            name: its last step.
            is_folder: whether it is a folder, which a link to one is not.
        """
        for pattern in self._patterns:
            if (
                (is_folder or not pattern.only_folders)
                and (pattern.last is None or pattern.last.fullmatch(name))
                and (pattern.whole is None or pattern.whole.fullmatch(path))
            ):
                return pattern.ignores
        return None


@dataclass(frozen=True, slots=True)
class RulesHere:
    """Rules that hold in a folder.

    Attributes:
        rules: what they are.
        skip: how many characters of a real path come before what they are matched against.
    """

    rules: Rules
    skip: int


Chain = tuple[RulesHere, ...]
"""The rules that hold in a folder, those that decide first in front."""


def is_ignored(chain: Chain, path: str, name: str, is_folder: bool) -> bool:
    """Whether the rules of its folder leave out a path.

    Args:
        chain: the rules of its folder.
        path: the real path.
        name, is_folder: as for :meth:`Rules.ignores`.
    """
    for here in chain:
        verdict = here.rules.ignores(path[here.skip :], name, is_folder)
        if verdict is not None:
            return verdict
    return False


def chain_in(folder: str, above: Chain, *, has_file: bool, is_repository: bool) -> Chain:
    """Return the rules that hold in a folder.

    Args:
        folder: the real path of the folder.
        above: the rules that hold in the folder above; those of another repository end here.
        has_file: whether the folder holds a ``.gitignore``.
        is_repository: whether it holds a ``.git``, so that it may be the top of a repository or worktree.
    """
    skip = len(folder.rstrip("/")) + 1
    if is_repository:
        git_folder = _git_folder(folder)
        if git_folder is not None:
            above = _for_all(folder, git_folder)
    any_case = bool(above) and above[-1].rules.any_case
    own = _rules(text_of(f"{folder}/{_NAME}", behind_link=False), any_case) if has_file else None
    return (RulesHere(own, skip), *above) if own else above


def _for_all(top: str, git_folder: str | None) -> Chain:
    """Return the rules that hold in a whole repository, or below a root in none, whatever lies in its folders.

    Args:
        top: its top folder.
        git_folder: where it keeps what all its worktrees share; None is no repository.
    """
    skip = len(top.rstrip("/")) + 1
    config = read_config(git_folder)
    texts: list[str | None] = []
    if git_folder is not None:
        texts.append(text_of(f"{git_folder}/info/exclude"))
    if config.excludes_file is not None:
        texts.append(text_of(str(Path(top, config.excludes_file))))
    rules = [found for text in texts if (found := _rules(text, config.any_case))]
    if config.any_case and not rules:
        # says to the ignore files of folders how they are meant
        rules.append(_parsed("", True))
    return tuple([RulesHere(one, skip) for one in rules])


class Folders:
    """The rules in folders that are reached from anywhere inside the allowed roots, each worked out once.

    Rules begin at the top of the repository that a root lies in, else at the root; those for all repositories hold
    there too.
    """

    __slots__ = ("_known", "_roots", "_tops")

    def __init__(self, roots: Iterable[str]) -> None:
        """Take the roots, given by their real paths."""
        self._roots = frozenset(roots)
        self._tops = frozenset(_top(root) for root in self._roots)
        self._known: dict[str, tuple[Chain, bool]] = {}

    def chain(self, folder: str) -> Chain:
        """Return the rules that hold in a folder, given by its real path."""
        return self._rules_and_verdict(folder)[0]

    def above(self, folder: str) -> Chain:
        """Return the rules that hold above a folder inside a root, as far as they reach into it."""
        return _at_top(folder) if folder in self._tops or folder == "/" else self.chain(_above(folder))

    def leaves_out(self, path: str, is_folder: bool) -> bool:
        """Whether a real path inside a root is ignored, or a folder on the way to it."""
        if is_folder:
            return self._rules_and_verdict(path)[1]
        folder, _, name = path.rpartition("/")
        chain, is_left_out = self._rules_and_verdict(folder or "/")
        return is_left_out or is_ignored(chain, path, name, False)

    def _rules_and_verdict(self, folder: str) -> tuple[Chain, bool]:
        unknown: list[str] = []
        at = folder
        while at not in self._known:
            unknown.append(at)
            if at in self._tops or at == "/":
                break
            at = _above(at)
        chain, is_left_out = self._known[at] if at in self._known else (_at_top(at), False)
        for step in reversed(unknown):
            is_left_out = step not in self._roots and (
                is_left_out or is_ignored(chain, step, step.rpartition("/")[2], True)
            )
            chain = chain_in(step, chain, has_file=True, is_repository=_is_repository(step))
            self._known[step] = (chain, is_left_out)
        return self._known[folder]


def _at_top(top: str) -> Chain:
    """Return the rules that hold above a top folder: for one in no repository those for all, else none."""
    return _for_all(top, None) if _git_folder(top) is None else ()


def _top(root: str) -> str:
    at = root
    while _git_folder(at) is None:
        if at == "/":
            return root
        at = _above(at)
    return at


def _is_repository(folder: str) -> bool:
    return os.path.lexists(f"{folder}/.git")


def _above(folder: str) -> str:
    return folder.rpartition("/")[0] or "/"


def _rules(text: str | None, any_case: bool) -> Rules | None:
    return _parsed(text, any_case) if text else None


@lru_cache(maxsize=256)
def _parsed(text: str, any_case: bool) -> Rules:
    return Rules(text, any_case=any_case)


def _git_folder(folder: str) -> str | None:
    """Return where a repository keeps what all its worktrees share: https://git-scm.com/docs/gitrepository-layout.

    A ``.git`` that holds nothing of what git puts there makes no repository.
    """
    own = f"{folder}/.git"
    pointer = text_of(own)
    if pointer is not None:
        own = str(Path(folder, _line(pointer.removeprefix("gitdir:")).lstrip()))
        common = text_of(f"{own}/commondir")
        if common is not None:
            own = str(Path(own, _line(common)))
    return own if any(os.path.lexists(f"{own}/{name}") for name in _OF_GIT) else None


def _line(text: str) -> str:
    return text.rstrip("\r\n")


def _trimmed(line: str) -> str:
    """Return a line without the spaces at its end that no backslash keeps."""
    body = line.rstrip(" ")
    slashes = len(body) - len(body.rstrip("\\"))
    return f"{body} " if slashes % 2 and len(body) < len(line) else body


def _compiled(line: str, any_case: bool) -> _Pattern | None:
    """Return the pattern of a line, or None where it means nothing."""
    ignores = not line.startswith("!")
    glob = line if ignores else line[1:]
    only_folders = glob.endswith("/")
    steps = glob.removesuffix("/").split("/")
    steps = [step for at, step in enumerate(steps) if step != "**" or steps[at - 1 : at] != ["**"]]
    if len(steps) > 1 and steps[-1] == "**":
        steps.append("*")
    if steps == [""] or "" in steps[1:]:
        return None
    if steps in (["*"], ["**"], ["**", "*"], ["", "**", "*"]):
        return _Pattern(None, None, only_folders, ignores)
    glob = _CLASS.sub(_class, "/".join(steps))
    whole = _translated(glob, any_case)
    if whole is None:
        return None
    if len(steps) == 1:
        return _Pattern(whole, None, only_folders, ignores)
    # a set might hold a slash, so that what comes after the last is no step
    last = None if "[" in glob or steps[-1] == "*" else _translated(steps[-1], any_case)
    return _Pattern(last, whole, only_folders, ignores)


def _without_retries(regex: str) -> str:
    """Let every star but the last keep the first place that fits: trying others finds nothing and takes for ever.

    That holds where what stands between two stars has one length, as it has without two stars in a row.
    """
    first, *between = regex.split(_STAR)
    if len(between) < 2 or any(".+" in part for part in between):
        return regex
    return first + "".join([f"(?>{_STAR}?{part})" for part in between[:-1]]) + _STAR + between[-1]


def _class(found: re.Match[str]) -> str:
    return _CLASSES.get(found[1], found[0])


def _translated(glob: str, any_case: bool) -> re.Pattern[str] | None:
    """Return the regular expression that matches a whole path; None where the pattern means nothing."""
    import warnings

    from pathspec.patterns.gitignore.base import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    # what was negation or a comment is off by now: a sign that is left is meant
    plain = f"\\{glob}" if glob[0] in "!#" else glob
    try:
        regex, _ = GitIgnoreSpecPattern.pattern_to_regex(plain)
        if regex is None:
            return None
        # a set of what must not be there would take a slash for it
        regex = _without_retries(_NEGATED.sub("[^/", regex))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return re.compile(regex, re.DOTALL | (re.IGNORECASE | re.ASCII if any_case else 0))
    except (GitIgnorePatternError, re.error):
        return None
