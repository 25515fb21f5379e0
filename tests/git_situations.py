"""Situations of git: where a process can stand, and the folder whose store is the one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from repositories import commit_all, git, make_repository

LOST, DELETED = r"\.git leads to .*git worktree repair", "the current folder was deleted"


class Situation(NamedTuple):
    """A situation.

    Attributes:
        make: makes it below an empty folder, with a function that makes a repository with ``a.py``; returns where the
            process stands.
        home: the folder of the store, from that folder; None if there is none to use.
        problem: the error in that case, a pattern.
        environ: variables of the process; ``{base}`` stands for the folder.
        has_files: whether the process stands in a tree with ``a.py`` at its top.
    """

    make: Callable[[Path, Callable[[Path], Path]], Path]
    home: str | None
    problem: str = ""
    environ: Mapping[str, str] = {}
    has_files: bool = True


Repository = Callable[[Path], Path]


def make_template(folder: Path) -> Repository:
    """Return a function that makes a repository by copying one."""
    template = make_repository(folder)
    (template / "a.py").write_text("a = 1\n")
    commit_all(template)

    def copy(target: Path) -> Path:
        return Path(shutil.copytree(template, target))

    return copy


def _top(base: Path, repository: Repository) -> Path:
    return repository(base / "app")


def _below(base: Path, repository: Repository) -> Path:
    folder = repository(base / "app") / "src" / "deep"
    folder.mkdir(parents=True)
    return folder


def _in_git_folder(base: Path, repository: Repository) -> Path:
    return repository(base / "app") / ".git" / "refs"


def _worktree(main: Path, where: Path) -> Path:
    git(main, "worktree", "add", "--quiet", str(where))
    return where


def _linked(base: Path, repository: Repository) -> Path:
    return _worktree(repository(base / "app"), base / "elsewhere" / "side")


def _linked_inside(base: Path, repository: Repository) -> Path:
    return _worktree(repository(base / "app"), base / "app" / "trees" / "side")


def _bare(source: Path, where: Path) -> Path:
    where.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source / ".git", where)
    shutil.rmtree(source)
    git(where, "config", "core.bare", "true")
    return where


def _beside_bare(base: Path, repository: Repository) -> Path:
    return _worktree(_bare(repository(base / "source"), base / "hub" / "app.git"), base / "hub" / "side")


def _inside_bare(base: Path, repository: Repository) -> Path:
    return _worktree(_bare(repository(base / "source"), base / "app"), base / "app" / "side")


def _in_bare(base: Path, repository: Repository) -> Path:
    return _bare(repository(base / "source"), base / "app.git")


def _beside_hidden_bare(base: Path, repository: Repository) -> Path:
    bare = _bare(repository(base / "source"), base / "app" / ".bare")
    (base / "app" / ".git").write_text("gitdir: ./.bare\n")
    return _worktree(bare, base / "app" / "side")


def _around_hidden_bare(base: Path, repository: Repository) -> Path:
    return _beside_hidden_bare(base, repository).parent


def _second_bare(base: Path, repository: Repository) -> Path:
    _bare(repository(base / "source"), base / "a.git")
    return _worktree(_bare(repository(base / "source"), base / "b.git"), base / "side")


def _add_submodule(app: Path, library: Path) -> Path:
    git(app, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    commit_all(app)
    return app / "lib"


def _submodule(base: Path, repository: Repository) -> Path:
    return _add_submodule(repository(base / "app"), repository(base / "library"))


def _nested_submodule(base: Path, repository: Repository) -> Path:
    library = repository(base / "library")
    _add_submodule(library, repository(base / "inner"))
    lib = _add_submodule(repository(base / "app"), library)
    git(lib, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    return lib / "lib"


def _submodule_of_linked(base: Path, repository: Repository) -> Path:
    side = _worktree(_submodule(base, repository).parent, base / "side")
    git(side, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    return side / "lib"


def _submodule_with_folder(base: Path, repository: Repository) -> Path:
    app = repository(base / "app")
    repository(app / "lib")
    git(app, "submodule", "--quiet", "add", "./lib", "lib")
    return app / "lib"


def _linked_submodule(base: Path, repository: Repository) -> Path:
    return _worktree(_submodule(base, repository), base / "side")


def _nested_clone(base: Path, repository: Repository) -> Path:
    return repository(repository(base / "app") / "vendor" / "inner")


def _sparse(base: Path, repository: Repository) -> Path:
    app = repository(base / "app")
    (app / "docs").mkdir()
    (app / "docs" / "b.md").write_text("b\n")
    commit_all(app)
    git(app, "sparse-checkout", "set", "--cone", "src")
    return app


def _lost(base: Path, repository: Repository) -> Path:
    side = _linked(base, repository)
    (base / "app").rename(base / "moved")
    return side


def _unknown(base: Path, repository: Repository) -> Path:
    side = _linked(base, repository)
    return Path(shutil.copytree(side, base / "copied"))


def _deleted(base: Path, repository: Repository) -> Path:
    folder = repository(base / "app") / "src"
    folder.mkdir()
    return folder


def _separate(base: Path, repository: Repository) -> Path:
    app = repository(base / "app")
    git(app, "init", "--quiet", "--separate-git-dir", str(base / "gits.git"))
    return app


def _another_named(base: Path, repository: Repository) -> Path:
    repository(base / "other")
    return repository(base / "app")


SITUATIONS = {
    "the top of a repository": Situation(_top, "app"),
    "a folder below": Situation(_below, "app", has_files=False),
    "git's own folder": Situation(_in_git_folder, "app", has_files=False),
    "a linked worktree": Situation(_linked, "app"),
    "a linked worktree inside": Situation(_linked_inside, "app"),
    "beside a bare repository": Situation(_beside_bare, "hub/app.git"),
    "inside a bare repository": Situation(_inside_bare, "app"),
    "a bare repository": Situation(_in_bare, "app.git", has_files=False),
    "beside a hidden bare repository": Situation(_beside_hidden_bare, "app"),
    "around a hidden bare repository": Situation(_around_hidden_bare, "app", has_files=False),
    "the second of two bare repositories": Situation(_second_bare, "b.git"),
    "a submodule": Situation(_submodule, "app"),
    "a submodule of a submodule": Situation(_nested_submodule, "app"),
    "a submodule of a linked worktree": Situation(_submodule_of_linked, "app"),
    "a submodule with its own git folder": Situation(_submodule_with_folder, "app"),
    "a linked worktree of a submodule": Situation(_linked_submodule, "app"),
    "a nested clone": Situation(_nested_clone, "app/vendor/inner"),
    "a sparse checkout": Situation(_sparse, "app"),
    "a separate git folder": Situation(_separate, "app"),
    "another repository in GIT_DIR": Situation(_another_named, "app", environ={"GIT_DIR": "{base}/other/.git"}),
    "a worktree whose repository was moved": Situation(_lost, None, LOST),
    "a copy of a worktree": Situation(_unknown, None, LOST),
    "a deleted folder": Situation(_deleted, None, DELETED),
}
