"""An analysis of a code base drawn from nothing but the paths it tracks and what its commits touch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from satchel.interfaces.cli.tour.history import MAX_TRACKED_FILES, History

LANGUAGES = {
    "c": "C",
    "cc": "C++",
    "cpp": "C++",
    "cs": "C#",
    "css": "CSS",
    "cxx": "C++",
    "clj": "Clojure",
    "dart": "Dart",
    "ex": "Elixir",
    "exs": "Elixir",
    "erl": "Erlang",
    "fs": "F#",
    "go": "Go",
    "h": "C",
    "hpp": "C++",
    "hs": "Haskell",
    "html": "HTML",
    "java": "Java",
    "jl": "Julia",
    "js": "JavaScript",
    "jsx": "JavaScript",
    "kt": "Kotlin",
    "lua": "Lua",
    "m": "Objective-C",
    "mjs": "JavaScript",
    "ml": "OCaml",
    "nix": "Nix",
    "php": "PHP",
    "pl": "Perl",
    "proto": "Protocol Buffers",
    "py": "Python",
    "pyi": "Python",
    "pyx": "Cython",
    "r": "R",
    "rb": "Ruby",
    "rs": "Rust",
    "scala": "Scala",
    "scss": "CSS",
    "sh": "Shell",
    "sql": "SQL",
    "svelte": "Svelte",
    "swift": "Swift",
    "tf": "Terraform",
    "ts": "TypeScript",
    "tsx": "TypeScript",
    "vue": "Vue",
    "zig": "Zig",
}
_SIDE_LANGUAGES = {"HTML", "CSS", "Shell", "SQL"}
_MANIFESTS = {
    "pyproject.toml": "Python",
    "setup.py": "Python",
    "setup.cfg": "Python",
    "package.json": "Node.js",
    "Cargo.toml": "Rust",
    "go.mod": "Go",
    "pom.xml": "Java",
    "build.gradle": "Java",
    "build.gradle.kts": "Kotlin",
    "Gemfile": "Ruby",
    "composer.json": "PHP",
    "mix.exs": "Elixir",
    "Package.swift": "Swift",
    "pubspec.yaml": "Dart",
    "CMakeLists.txt": "C/C++",
    "meson.build": "C/C++",
    "configure.ac": "C/C++",
    "build.zig": "Zig",
    "stack.yaml": "Haskell",
    "dune-project": "OCaml",
    "deno.json": "Deno",
}
_TOOLS = {
    "Dockerfile": "Docker",
    "compose.yaml": "Docker Compose",
    "docker-compose.yml": "Docker Compose",
    "Makefile": "make",
    "justfile": "just",
    "Justfile": "just",
    "tox.ini": "tox",
    "noxfile.py": "nox",
    "uv.lock": "uv",
    "poetry.lock": "Poetry",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "Yarn",
    "package-lock.json": "npm",
    "mkdocs.yml": "MkDocs",
    ".pre-commit-config.yaml": "pre-commit",
    "vite.config.ts": "Vite",
    "next.config.js": "Next.js",
    "tsconfig.json": "TypeScript compiler",
    ".gitlab-ci.yml": "GitLab CI",
    ".readthedocs.yaml": "Read the Docs",
    "Jenkinsfile": "Jenkins",
    "conftest.py": "pytest",
}
_TEST_FOLDERS = {"test", "tests", "spec", "specs", "__tests__", "testing"}
_TEST_NAME = re.compile(r"(?:test_.*|.*_test|.*\.(?:test|spec)|.*Tests?)\.\w+")
_ENTRY_NAMES = {"__main__.py", "main.py", "manage.py", "main.go", "main.rs", "main.c", "main.cpp"}
_ENTRY_NAMES |= {"cli.py", "cli.ts", "cli.js", "Main.java", "main.swift", "main.zig"}
_MAX_ENTRY_POINTS = 8
_MAX_FOLDERS = 8
_MAX_DEPTH = 4
_MAX_NAMED = 6


def survey(history: History) -> dict[str, object]:
    """Return the content of a codebase_analysis entry.

    Every claim follows from file names and from what the commits changed; nothing is opened.

    Args:
        history: its tracked files; with MAX_TRACKED_FILES of them, counts are of those.
    """
    files = history.tracked_files
    languages = _languages(files)
    top = {name for name in files if "/" not in name}
    manifests = [name for name in _MANIFESTS if name in top] or _deep_manifests(files)
    entries = _entry_points(files)
    tests = sum(map(_is_test, files))
    return {
        "project_type": _project_type(languages, manifests, entries),
        "tech_stack": _tech_stack(languages, files, top),
        "directory_structure": _structure(files),
        "existing_features": _features(files, tests),
        "entry_points": entries,
        "patterns": _patterns(files, tests),
        "summary": _summary(history, languages),
    }


def _languages(files: Sequence[str]) -> Counter[str]:
    suffixes = Counter(PurePosixPath(path).suffix.lower()[1:] for path in files)
    counts: Counter[str] = Counter()
    for suffix, count in suffixes.items():
        if suffix in LANGUAGES:
            counts[LANGUAGES[suffix]] += count
    return counts


def _main_language(languages: Counter[str]) -> str | None:
    ranked = [name for name, _ in languages.most_common()]
    return next((name for name in ranked if name not in _SIDE_LANGUAGES), ranked[0] if ranked else None)


def _deep_manifests(files: Iterable[str]) -> list[str]:
    return sorted(path for path in files if path.count("/") <= 2 and path.rpartition("/")[2] in _MANIFESTS)[:3]


def _entry_points(files: Iterable[str]) -> list[str]:
    def is_entry(path: str) -> bool:
        folder, _, name = path.rpartition("/")
        folders = folder.split("/")
        if _is_test(path) or "docs" in folders or "examples" in folders:
            return False
        return (
            name in _ENTRY_NAMES
            or folder == "bin"
            or path in {"src/index.ts", "src/index.js", "index.js", "src/lib.rs"}
        )

    return sorted(filter(is_entry, files), key=lambda path: (path.count("/"), path))[:_MAX_ENTRY_POINTS]


def _is_test(path: str) -> bool:
    *folders, name = path.split("/")
    return not _TEST_FOLDERS.isdisjoint(folders) or _TEST_NAME.fullmatch(name) is not None


def _project_type(languages: Counter[str], manifests: Sequence[str], entries: Sequence[str]) -> str:
    language = _main_language(languages)
    if language is None:
        return "Documents and data, no source code recognised by its file names"
    described = f"{language} project"
    if manifests:
        described += f" described by {manifests[0]}"
    names = {path.rpartition("/")[2].partition(".")[0] for path in entries}
    if names & {"cli", "__main__"}:
        described += ", with a command line"
    return described


def _tech_stack(languages: Counter[str], files: Sequence[str], top: set[str]) -> list[str]:
    stack = [f"{name} ({_count(count, 'file')})" for name, count in languages.most_common(5)]
    stack += sorted({tool for name, tool in _TOOLS.items() if name in top})
    if any(path.rpartition("/")[2] == "conftest.py" for path in files) and "pytest" not in stack:
        stack.append("pytest")
    if any(path.startswith(".github/workflows/") for path in files):
        stack.append("GitHub Actions")
    return stack


def _structure(files: Sequence[str]) -> str:
    folders = Counter(path.partition("/")[0] for path in files if "/" in path)
    top = sum("/" not in path for path in files)
    shown = [
        f"{name}/ ({_count(count, 'file')}{_inside(files, name)})" for name, count in folders.most_common(_MAX_FOLDERS)
    ]
    if len(folders) > _MAX_FOLDERS:
        shown.append(f"{_count(len(folders) - _MAX_FOLDERS, 'more folder')}")
    return "; ".join([*shown, f"{_count(top, 'file')} at the top"]) if files else "no tracked files"


def _inside(files: Sequence[str], folder: str) -> str:
    """Name the folders one level in, going down while everything lies in one of them."""
    prefix, folders = f"{folder}/", list[str]()
    for _ in range(_MAX_DEPTH):
        rests = [path[len(prefix) :] for path in files if path.startswith(prefix)]
        folders = sorted({rest.partition("/")[0] for rest in rests if "/" in rest})
        if len(folders) != 1 or not all(rest.startswith(f"{folders[0]}/") for rest in rests):
            break
        prefix += f"{folders[0]}/"
    place = "" if prefix == f"{folder}/" else prefix
    if not folders or place.endswith(f"/{folders[0]}/"):
        return f", all in {place}" if place else ""
    more = f" and {len(folders) - _MAX_NAMED} more" if len(folders) > _MAX_NAMED else ""
    return f", {place}{{{', '.join(folders[:_MAX_NAMED])}{more}}}"


def _features(files: Sequence[str], tests: int) -> list[str]:
    found: list[str] = []
    if tests:
        found.append(f"tests ({_count(tests, 'file')})")
    for label, folders in (
        ("documentation", {"docs", "doc"}),
        ("benchmarks", {"benchmarks", "bench"}),
        ("examples", {"examples"}),
    ):
        count = sum(not folders.isdisjoint(path.split("/")[:1]) for path in files)
        if count:
            found.append(f"{label} ({_count(count, 'file')})")
    if any("migrations" in path.split("/")[:-1] for path in files):
        found.append("database migrations")
    if any(path.endswith("py.typed") for path in files):
        found.append("published type hints")
    if any(path.startswith(".github/workflows/") for path in files):
        found.append("continuous integration")
    return found


def _patterns(files: Sequence[str], tests: int) -> list[str]:
    found: list[str] = []
    if any(path.startswith("src/") for path in files):
        found.append("source below src/")
    if tests:
        apart = sum(not _TEST_FOLDERS.isdisjoint(path.split("/")[:1]) for path in files)
        found.append("tests in a folder of their own" if apart * 2 > tests else "tests beside the code")
    manifests = [
        path for path in files if path.rpartition("/")[2] in {"package.json", "Cargo.toml", "go.mod", "pyproject.toml"}
    ]
    if len(manifests) > 2:
        found.append(f"several packages in one repository ({len(manifests)} manifests)")
    if any(
        path.rpartition("/")[2] in _TOOLS and path.endswith((".lock", "-lock.json", "-lock.yaml")) for path in files
    ):
        found.append("locked dependencies")
    return found


def _summary(history: History, languages: Counter[str]) -> str:
    capped = "more than " if len(history.tracked_files) >= MAX_TRACKED_FILES else ""
    language = _main_language(languages)
    mostly = f", mostly {language}" if language else ""
    text = (
        f"{history.name}: {capped}{_count(len(history.tracked_files), 'tracked file')}{mostly};"
        f" {_count(history.total_commits, 'commit')}."
    )
    touched = Counter(
        folder for commit in history.commits for folder in {path.rpartition("/")[0] for path in commit.files} if folder
    )
    if touched:
        folder, count = touched.most_common(1)[0]
        newest = _count(len(history.commits), "commit")
        text += f" Of the newest {newest}, {count} changed {folder}/, more than any other folder."
    return text


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
