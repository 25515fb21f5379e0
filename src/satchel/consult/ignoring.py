"""What git would leave out: the rules of ignore files, as https://git-scm.com/docs/gitignore has them.

A rule decides about a path itself. What lies below an ignored folder is left out because nobody goes in there, so a
folder that is named all the same is not emptied by the rule that ignores it. Translating a pattern is pathspec's work.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_NAME = ".gitignore"
_MOST_BYTES = 1_048_576
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# how pathspec translates a star inside a step
_STAR = "[^/]*"
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

    __slots__ = ("_patterns",)

    def __init__(self, text: str) -> None:
        """Take them from the text of the file; lines that git would not understand say nothing."""
        lines = [_trimmed(line.removesuffix("\r")) for line in text.removeprefix("\ufeff").split("\n")]
        patterns = [_compiled(line) for line in lines if line and not line.startswith("#")]
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
        is_repository: whether it holds a ``.git``, so that it is the top of a repository or worktree.
    """
    skip = len(folder.rstrip("/")) + 1
    if is_repository:
        excluded = _rules(f"{_git_folder(folder)}/info/exclude")
        above = (RulesHere(excluded, skip),) if excluded else ()
    own = _rules(f"{folder}/{_NAME}") if has_file else None
    return (RulesHere(own, skip), *above) if own else above


class Folders:
    """The rules in folders that are reached from anywhere inside the allowed roots, each worked out once.

    Rules begin at the top of the repository that a root lies in, else at the root.
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
        return () if folder in self._tops or folder == "/" else self.chain(_above(folder))

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
        chain, is_left_out = self._known.get(at, ((), False))
        for step in reversed(unknown):
            is_left_out = step not in self._roots and (
                is_left_out or is_ignored(chain, step, step.rpartition("/")[2], True)
            )
            chain = chain_in(step, chain, has_file=True, is_repository=_is_repository(step))
            self._known[step] = (chain, is_left_out)
        return self._known[folder]


def _top(root: str) -> str:
    at = root
    while not _is_repository(at):
        if at == "/":
            return root
        at = _above(at)
    return at


def _is_repository(folder: str) -> bool:
    return os.path.lexists(f"{folder}/.git")


def _above(folder: str) -> str:
    return folder.rpartition("/")[0] or "/"


def _rules(file: str) -> Rules | None:
    text = _text(file)
    return _parsed(text) if text else None


@lru_cache(maxsize=256)
def _parsed(text: str) -> Rules:
    return Rules(text)


def _text(file: str) -> str | None:
    """Return the text of an ignore file; like git, one behind a link is none."""
    try:
        descriptor = os.open(file, _OPEN)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
    finally:
        os.close(descriptor)


def _git_folder(folder: str) -> str:
    """Return where a repository keeps what all its worktrees share: https://git-scm.com/docs/gitrepository-layout."""
    dot_git = f"{folder}/.git"
    pointer = _text(dot_git)
    if pointer is None:
        return dot_git
    own = Path(folder, pointer.strip().removeprefix("gitdir:").strip())
    common = _text(f"{own}/commondir")
    return str(own if common is None else own / common.strip())


def _trimmed(line: str) -> str:
    """Return a line without the spaces at its end that no backslash keeps."""
    body = line.rstrip(" ")
    slashes = len(body) - len(body.rstrip("\\"))
    return f"{body} " if slashes % 2 and len(body) < len(line) else body


def _compiled(line: str) -> _Pattern | None:
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
    whole = _translated(glob)
    if whole is None:
        return None
    if len(steps) == 1:
        return _Pattern(whole, None, only_folders, ignores)
    # a set might hold a slash, so that what comes after the last is no step
    last = None if "[" in glob or steps[-1] == "*" else _translated(steps[-1])
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


def _translated(glob: str) -> re.Pattern[str] | None:
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
            return re.compile(regex, re.DOTALL)
    except (GitIgnorePatternError, re.error):
        return None
