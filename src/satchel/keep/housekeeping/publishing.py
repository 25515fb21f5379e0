"""Build tools of a project that would publish its store, by their configuration.

The ``.gitignore`` in the store's folder stops git, npm and setuptools, but not tools that read only the top one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from satchel.base.errors import SatchelError
from satchel.base.file_checks import read_toml
from satchel.base.git_files import text_of
from satchel.base.paths import FILE_NAME, FOLDER_NAME
from satchel.base.records import NamedTuple
from satchel.store.upkeep import Check

_STORE = f"{FOLDER_NAME}/{FILE_NAME}"
_EVERYTHING = frozenset({"", ".", "*"})
_DOCKERFILES = ("Dockerfile", "Containerfile")
_COPIES_ALL = r"(?im)^[ \t]*(?:COPY|ADD)(?:[ \t]+--\S+)*[ \t]+(?:\[[ \t]*\"\.?/?\"[ \t]*,|\.?/?(?:[ \t]|$))"


class Publisher(NamedTuple):
    """A build tool that would publish the store, and the line that prevents it."""

    tool: str
    remedy: str


def check_publishing(folder: Path) -> Check:
    """Return whether a build tool would publish a ``.satchel`` folder, with the line to add in that case."""
    publishers = find_publishers(folder.parent)
    if not publishers:
        return Check("publishing", "ok", f"no build tool is configured to publish {FOLDER_NAME}")
    detail = "; ".join(f"{publisher.tool} would contain {FOLDER_NAME}: {publisher.remedy}" for publisher in publishers)
    return Check("publishing", "warning", detail)


def find_publishers(root: Path) -> tuple[Publisher, ...]:
    """Return the build tools, configured at the top of a project, that would publish its store."""
    try:
        tables = read_toml(root / "pyproject.toml", links=False)
    except SatchelError:
        tables = {}
    backend = str(_table(tables, "build-system").get("build-backend", "setuptools"))
    tools = _table(tables, "tool")
    every = (*_python_tools(root, backend.partition(".")[0], tools), *_docker(root))
    return tuple(publisher for publisher in every if publisher is not None)


def _python_tools(root: Path, backend: str, tools: Mapping[str, Any]) -> Iterator[Publisher | None]:
    if backend == "hatchling":
        yield _hatch(root, _table(tools, "hatch", "build"))
    elif backend == "setuptools":
        yield _setuptools(root)
    elif backend == "flit_core":
        yield _explicit("flit's sdist", "tool.flit.sdist", _table(tools, "flit", "sdist"), ("include",), "exclude")
    elif backend == "pdm":
        keys = ("includes", "source-includes")
        yield _explicit("pdm's build", "tool.pdm.build", _table(tools, "pdm", "build"), keys, "excludes")
    elif backend in {"poetry", "maturin"}:
        # their exclude does not apply to what include names
        included = [_glob(one) for one in _texts(_table(tools, backend).get("include"))]
        if any(_is_everything(one) or fnmatch(_STORE, one) for one in included):
            remedy = f"name the folders that tool.{backend}.include means: its globs match {FOLDER_NAME} too"
            yield Publisher(f"{backend}'s sdist", remedy)


def _hatch(root: Path, build: Mapping[str, Any]) -> Publisher | None:
    sdist = _table(build, "targets", "sdist")
    values = {**build, **sdist}
    only = [*_texts(values.get("only-include")), *_texts(sdist.get("packages"))]
    if only:
        is_included = any(_is_everything(_glob(one)) or _glob(one).startswith(FOLDER_NAME) for one in only)
    else:
        included = _texts(values.get("include"))
        is_included = not included or _is_matched(included)
    excluded = _texts(values.get("exclude"))
    ignored = [] if values.get("ignore-vcs") else (text_of(f"{root}/.gitignore") or "").splitlines()
    if not is_included or _is_matched(excluded) or _is_matched(ignored):
        return None
    table = "tool.hatch.build.targets.sdist" if "exclude" in sdist else "tool.hatch.build"
    return Publisher("hatch's sdist", _addition(table, "exclude", excluded, f"/{FOLDER_NAME}"))


def _explicit(
    tool: str, table: str, values: Mapping[str, Any], include: tuple[str, ...], exclude: str
) -> Publisher | None:
    # their globs match no hidden folder
    included = [one.removeprefix("./").rstrip("/") for key in include for one in _texts(values.get(key))]
    excluded = _texts(values.get(exclude))
    if not any(one in {"", "."} or one.startswith(FOLDER_NAME) for one in included) or _is_matched(excluded):
        return None
    return Publisher(tool, _addition(table, exclude, excluded, FOLDER_NAME))


def _setuptools(root: Path) -> Publisher | None:
    is_included = False
    for line in (text_of(f"{root}/MANIFEST.in") or "").splitlines():
        command, *words = line.split("#")[0].split()[:100] or [""]
        folder, names = _glob(words[0]) if words else "", words[1:]
        is_met = {
            "graft": _is_everything(folder) or fnmatch(FOLDER_NAME, folder),
            "recursive": (_is_everything(folder) or fnmatch(FOLDER_NAME, folder)) and _has_name(names),
            "global": _has_name(words),
            "": any(fnmatch(_STORE, _glob(word)) and "/" in word for word in words),
        }
        match command:
            case "graft" | "recursive-include" | "global-include" | "include":
                is_included = is_included or is_met[command.removesuffix("include").rstrip("-")]
            case "prune":
                is_included = is_included and not is_met["graft"]
            case "recursive-exclude" | "global-exclude" | "exclude":
                is_included = is_included and not is_met[command.removesuffix("exclude").rstrip("-")]
    remedy = f"add `prune {FOLDER_NAME}` at the end of MANIFEST.in"
    return Publisher("setuptools' sdist", remedy) if is_included else None


def _docker(root: Path) -> Iterator[Publisher]:
    for name in _DOCKERFILES:
        if re.search(_COPIES_ALL, text_of(f"{root}/{name}") or ""):
            ignored = text_of(f"{root}/{name}.dockerignore") or text_of(f"{root}/.dockerignore") or ""
            if not _is_matched(ignored.splitlines()):
                yield Publisher(f"the image of {name}", f"add `{FOLDER_NAME}` to .dockerignore")


def _addition(table: str, key: str, values: list[str], value: str) -> str:
    listed = ", ".join(f'"{one}"' for one in (*values, value))
    return f"set `{key} = [{listed}]` in [{table}] of pyproject.toml"


def _is_matched(lines: Iterable[str]) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines).match_file(_STORE)
    except ValueError:
        return False


def _has_name(patterns: Iterable[str]) -> bool:
    return any(fnmatch(FILE_NAME, pattern) for pattern in patterns)


def _is_everything(glob: str) -> bool:
    return glob in _EVERYTHING


def _glob(text: str) -> str:
    return re.sub(r"^(?:\./|/)+|(?:/?\*\*(?:/\*)?|/)$", "", text.strip())


def _texts(value: object) -> list[str]:
    # some tools make tables with a path
    items = value if isinstance(value, list) else []
    paths = (item.get("path") if isinstance(item, dict) else item for item in items)
    return [path for path in paths if isinstance(path, str)]


def _table(tables: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        value = tables.get(name)
        tables = value if isinstance(value, dict) else {}
    return tables
