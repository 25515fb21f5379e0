"""Reading of the documents that git tracks on the default branch; a stranger may have written them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from satchel.base import git_commands
from satchel.base.errors import InvalidInput, NotFound
from satchel.base.git_commands import TreeFile
from satchel.base.records import NamedTuple
from satchel.keep.documents.splitting import IS_RECORD, ONLY_IMPORTS
from satchel.keep.documents.states import INSTRUCTION_FILES
from satchel.keep.paths import check_globs
from satchel.keep.projects import Workplace
from satchel.keep.shared.folder import MAX_BYTES, place_of, size_problem
from satchel.keep.shared.repository import tip_of

# documents that show that a project has rules for agents
FIRST_DOCUMENTS = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursor/rules", ".github/copilot-instructions.md")

_OTHERS = re.compile(
    r"(?:docs/|\.github/)?CONTRIBUTING\.md|NOTES\.md|\.claude/CLAUDE\.md|\.github/copilot-instructions\.md"
    r"|(?:.*/)?\.cursor/rules/.*\.mdc|\.github/instructions/.*\.md"
)
_FOREIGN = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|testdata|fixtures|\.(?!cursor/|github/|claude/)[^/]*)/"
)
_MOST_DOCUMENTS = 300

# how deep documents that import each other are followed
_MOST_IMPORTS = 5

_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^([A-Za-z_]+)[ \t]*:[ \t]*(.*?)[ \t]*$")
_EVERYTHING = frozenset(("*", "**", "**/*", "/**"))
_IMPORT = re.compile(r"(?<![\w`@/.-])@((?:~?/)?[\w.-]+(?:/[\w.-]+)*)")
_CODE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)


class Document(NamedTuple):
    """A document as the default branch has it.

    Attributes:
        text: below the front matter, which ends before the line ``first``.
        paths: globs of the files that it is about; empty for all.
        loaded_as: the paths by which clients come to it: its own if it always counts, those of links and importers.
    """

    path: str
    text: str
    first: int
    front: str
    paths: tuple[str, ...]
    loaded_as: frozenset[str]


class Reading(NamedTuple):
    """The documents of a project, the branch they come from, and what was not read, each with the reason."""

    branch: str | None
    documents: tuple[Document, ...]
    skipped: dict[str, str]


def read_documents(workplace: Workplace, root: str, configured: str | None) -> Reading:
    """Read the documents below a folder, as the default branch has them: without a remote the one checked out."""
    place = place_of(root, configured)
    is_here = place.remote is None and configured is None
    commit = place.head if is_here else tip_of(place)
    tree = None if commit is None else git_commands.files_at(root, commit, ".")
    if tree is None:
        raise NotFound(
            "git tracks no documents here: only those that are committed are read", "Commit them, then try again"
        )
    files = {file.path: file for file in tree}
    reader = _Reader(workplace, root, files)
    documents = reader.read()
    branch = place.branch if is_here else place.default
    return Reading(branch, documents, reader.skipped)


def is_document(path: str) -> bool:
    if _OTHERS.fullmatch(path):
        return True
    is_named = posixpath.basename(path) in INSTRUCTION_FILES or bool(IS_RECORD(path))
    return is_named and _FOREIGN.search(path) is None


class _Reader:
    def __init__(self, workplace: Workplace, root: str, files: dict[str, TreeFile]) -> None:
        self._workplace = workplace
        self._root = root
        self._files = files
        self.skipped: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._importers: dict[str, set[str]] = {}

    def read(self) -> tuple[Document, ...]:
        # with those that they import; links lead to documents, and are not followed
        paths = sorted(filter(is_document, self._files), key=lambda path: (path.count("/"), path))
        for path in paths[_MOST_DOCUMENTS:]:
            self.skipped[path] = f"more than {_MOST_DOCUMENTS} documents are not read"
        links = [path for path in paths[:_MOST_DOCUMENTS] if self._files[path].mode == "120000"]
        self._load([path for path in paths[:_MOST_DOCUMENTS] if path not in links])
        depth: dict[str, int] = dict.fromkeys(self._texts, 0)
        waiting = [path for path in self._texts if posixpath.basename(path) in {"CLAUDE.md", "GEMINI.md", "QWEN.md"}]
        for path in waiting:
            for target in self._imports(path):
                if target not in self._texts and depth[path] < _MOST_IMPORTS:
                    self._load([target])
                    if target in self._texts:
                        depth[target] = depth[path] + 1
                        waiting.append(target)
                self._importers.setdefault(target, set()).add(path)
        self._follow(links)
        for path in self._texts:
            self._name_unread(path)
        return tuple(self._document(path, text) for path, text in self._texts.items())

    def _follow(self, links: list[str]) -> None:
        read = git_commands.contents(self._root, [self._files[path] for path in links])
        for path in links:
            target = read.get(self._files[path].blob, b"").decode("utf-8", "replace")
            resolved = _resolved(path, target)
            if resolved in self._texts:
                self._importers.setdefault(resolved, set()).add(path)
            else:
                self.skipped[path] = "it is a link"

    def _load(self, paths: list[str]) -> None:
        readable = []
        for path in paths:
            file = self._files[path]
            problem = size_problem(file.size) if file.is_regular else "it is a link or a submodule"
            if problem is None:
                readable.append(file)
            else:
                self.skipped[path] = problem if not file.is_regular else f"it {problem}"
        read = git_commands.contents(self._root, readable)
        for file in readable:
            data = read.get(file.blob)
            text = None if data is None or len(data) > MAX_BYTES or b"\0" in data else _decoded(data)
            if text is None:
                self.skipped[file.path] = "it is no readable text in UTF-8"
            else:
                self._texts[file.path] = text

    def _imports(self, path: str) -> Iterator[str]:
        for match in _IMPORT.finditer(_CODE.sub("", self._texts[path])):
            name = match[1].rstrip(".")
            resolved = _resolved(path, name)
            if resolved is None:
                self.skipped[f"@{name} in {path}"] = "it is outside of the repository"
            elif resolved in self._files and resolved != path:
                yield resolved

    def _name_unread(self, path: str) -> None:
        # only lines of imports: elsewhere an @ can be anything
        lines = _CODE.sub("", self._texts[path]).split("\n")
        for match in _IMPORT.finditer("\n".join(line for line in lines if ONLY_IMPORTS.fullmatch(line))):
            name = match[1].rstrip(".")
            resolved = _resolved(path, name)
            if resolved is None:
                reason = "it is outside of the repository"
            elif resolved in self._files:
                reason = "such imports are not followed"
            else:
                reason = "there is no such file"
            if resolved not in self._texts and resolved not in self.skipped:
                self.skipped[f"@{name} in {path}"] = reason

    def _document(self, path: str, text: str) -> Document:
        front = _FRONT.match(text) if path.endswith(".mdc") or text.startswith("---") else None
        fields = {} if front is None else _fields(front[1])
        below = text if front is None else text[front.end() :]
        first = 1 if front is None else 1 + text.count("\n", 0, front.end())
        always = fields.get("alwaysApply") == ["true"] or not path.endswith(".mdc")
        globs = [] if always and path.endswith(".mdc") else fields.get("globs") or fields.get("applyTo") or []
        folder = _scope(path)
        inner = [f"{folder}{glob}" for glob in globs if glob not in _EVERYTHING]
        if not inner and folder:
            inner = [folder]
        loads = {path} if always or globs else set()
        return Document(
            path, below, first, front[1] if front else "", self._checked(path, inner), self._ways(path, loads)
        )

    def _ways(self, path: str, ways: set[str]) -> frozenset[str]:
        waiting = [path]
        for one in waiting:
            more = self._importers.get(one, set()) - ways
            ways |= more
            waiting += more
        return frozenset(ways)

    def _checked(self, path: str, globs: list[str]) -> tuple[str, ...]:
        try:
            return check_globs(globs, self._workplace)
        except InvalidInput as error:
            self.skipped[f"globs of {path}"] = f"{error.problem}, so its rules bind everywhere"
            return ()


def _scope(path: str) -> str:
    # the folder that a document below the top is about, with a slash, or nothing
    above, cursor, _ = path.partition("/.cursor/rules/")
    folder = above if cursor else ""
    if posixpath.basename(path) in INSTRUCTION_FILES and path != ".claude/CLAUDE.md":
        folder = posixpath.dirname(path)
    return f"{folder}/" if folder else ""


def _resolved(path: str, target: str) -> str | None:
    # None outside of the repository
    if target.startswith(("/", "~")) or "\\" in target:
        return None
    resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return None if resolved.startswith("..") else resolved


def _fields(front: str) -> dict[str, list[str]]:
    # values are separated by commas, in brackets or on their own lines
    fields: dict[str, list[str]] = {}
    name = ""
    for line in front.split("\n"):
        match = _FIELD.match(line)
        value = match[2] if match else ""
        if match:
            name = match[1]
        elif line.lstrip().startswith("- ") and name:
            value = line.lstrip()[2:]
        parts = re.split(r",(?![^{]*\})", value.strip().removeprefix("[").removesuffix("]"))
        fields.setdefault(name, []).extend(one for part in parts if (one := part.strip().strip("\"'")))
    return fields


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return None
