"""Clones of one repository, each with a store of its own, that share texts through git as a team does."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from satchel import Satchel, open_satchel
from satchel.base.errors import Conflict, NotFound
from satchel.keep import projects
from satchel.keep.moving.lines import all_lines
from satchel.keep.shared.items import mask_of, text_of
from satchel.keep.shared.markdown import render
from satchel.keep.shared.states import load_states

_SETTINGS = {"store.durability": "relaxed", "brief.deadline_ms": 60_000}


_BEGIN = 1_795_000_000_000


def _git(now: int, folder: Path, *arguments: str, check: bool = True) -> str:
    name = folder.name
    identity = ("-c", f"user.name={name}", "-c", f"user.email={name}@example.org", "-c", "commit.gpgsign=false")
    moment = f"{now // 1_000} +0000"
    done = subprocess.run(
        ["git", *identity, "-c", "core.editor=true", "-c", "advice.detachedHead=false", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment},
    )
    assert not check or done.returncode == 0, f"git {arguments}: {done.stdout} {done.stderr}"
    return done.stdout.strip()


@cache
def _made_repositories(names: tuple[str, ...]) -> tuple[str, dict[str, bytes | None]]:
    """Return where a bare repository and clones of it were made, and the bytes of each file; folders have none."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        _git(_BEGIN, folder, "init", "--quiet", "--bare", "--initial-branch=main", "--template=", "hub.git")
        first = names[0]
        _git(_BEGIN, folder, "clone", "--quiet", "--template=", "hub.git", first)
        _git(_BEGIN, folder / first, "commit", "--quiet", "--allow-empty", "--message=first")
        _git(_BEGIN, folder / first, "push", "--quiet", "origin", "HEAD:main")
        for name in names[1:]:
            _git(_BEGIN, folder, "clone", "--quiet", "--template=", "hub.git", name)
        paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
        return made, {name: None if path.is_dir() else path.read_bytes() for name, path in paths.items()}


def _copy_repositories(folder: Path, names: tuple[str, ...]) -> None:
    """Make a bare repository and clones of it in a folder: git takes 40 ms, which most tests need not wait for."""
    made, files = _made_repositories(names)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content.replace(made.encode(), bytes(folder)))


class Team:
    """A bare repository and clones of it.

    Args:
        folder: an empty one.
        names: of the clones.
        accepts: whether what the default branch says is taken without asking.
    """

    def __init__(self, folder: Path, names: tuple[str, ...] = ("ann", "ben", "cy"), *, accepts: bool = False) -> None:
        self.folder = folder
        self.now = _BEGIN
        self.accepts = accepts
        self.said: dict[tuple[str, str], set[str]] = defaultdict(set)
        _copy_repositories(folder, names)
        self.clones = {name: self.open(folder / name) for name in names}

    def tick(self) -> int:
        """Let a second go by."""
        self.now += 1_000
        return self.now

    def open(self, folder: Path, agent: str | None = None) -> Satchel:
        """Open the store of a folder as a person at a terminal does."""
        settings = {**_SETTINGS, "share.accept": self.accepts}
        return open_satchel(cwd=folder, agent=agent, environ={}, settings=settings, clock=self.tick, caller="command")

    def close(self) -> None:
        """Close all stores."""
        for one in self.clones.values():
            one.close()

    def git(self, folder: Path, *arguments: str, check: bool = True) -> str:
        """Run git in a folder."""
        return _git(self.tick(), folder, *arguments, check=check)

    def top(self, name: str) -> Path:
        """Return a clone's folder."""
        return self.folder / name

    def files(self, name: str) -> dict[str, str]:
        """Return the shared files of a clone, by their names."""
        shared = self.top(name) / ".satchel/shared"
        return {file.name: file.read_text() for file in sorted(shared.glob("*.md"))} if shared.is_dir() else {}

    # -- what people do

    def set(self, name: str, key: str, value: str) -> None:
        """Set a decision."""
        self.clones[name].decisions.set(key, value)
        self.note(name)

    def share(self, name: str, key: str) -> None:
        """Share a decision, where there is one."""
        try:
            ref = self.clones[name].decisions.get(key).decision.ref
        except NotFound:
            return
        self.clones[name].shared.share([ref])

    def unshare(self, name: str, key: str) -> None:
        """Share a decision no longer, where it was shared."""
        try:
            ref = self.clones[name].decisions.get(key).decision.ref
            self.clones[name].shared.unshare([ref])
        except NotFound:
            return

    def add_rule(self, name: str, text: str) -> None:
        """Add a rule and share it."""
        self.clones[name].shared.share([self.clones[name].constraints.add(text).ref])

    def end_rule(self, name: str, place: int) -> None:
        """Retract one of the rules that hold."""
        rules = self.clones[name].constraints.find(limit=500).items
        if rules:
            self.clones[name].corrections.retract(rules[place % len(rules)].ref, "it holds no more")

    def edit_file(self, name: str, place: int, word: str) -> None:
        """Edit the last line of a shared file in an editor."""
        files = [*self.files(name).items()]
        if files:
            file, text = files[place % len(files)]
            if "<<<<<<<" not in text and "unshared:" not in text:
                (self.top(name) / ".satchel/shared" / file).write_text(f"{text.rstrip()} {word}\n")

    def sync(self, name: str) -> None:
        """Bring store and files in step."""
        self.clones[name].shared.sync()
        self.note(name)

    def accept(self, name: str) -> None:
        """Accept all that waits."""
        done = self.clones[name].shared.accept(all=True)
        assert not done.failed
        self.note(name)

    def commit(self, name: str) -> None:
        """Commit the shared files."""
        self.git(self.top(name), "add", "--all", "--", ".")
        self.git(self.top(name), "commit", "--quiet", "--message=more", check=False)

    def merge(self, name: str, way: str, *arguments: str) -> None:
        """Merge or rebase, as arguments say, and resolve what git cannot."""
        top = self.top(name)
        self.commit(name)
        self.git(top, "fetch", "--quiet")
        is_rebase = arguments[0] == "rebase"
        self.git(top, *arguments, check=False)
        for _ in range(50):
            if not self.git(top, "ls-files", "--unmerged"):
                break
            try:
                self.clones[name].shared.sync(resolve=way)
            except Conflict:
                self.git(top, "checkout", "--ours", "--", ".", check=False)
            self.git(top, "add", "--all", "--", ".")
            if is_rebase:
                self.git(top, "rebase", "--continue", check=False)
            else:
                self.git(top, "commit", "--quiet", "--no-edit")
        git_folder = Path(self.git(top, "rev-parse", "--absolute-git-dir"))
        if (git_folder / "rebase-merge").exists():
            self.git(top, "rebase", "--skip", check=False)
        assert not (git_folder / "rebase-merge").exists()
        assert not (git_folder / "MERGE_HEAD").exists()

    def push(self, name: str) -> None:
        """Push the main branch, where that is a step forward."""
        self.git(self.top(name), "push", "--quiet", "origin", "main", check=False)

    def branch(self, name: str) -> str:
        """Return the branch that a clone has checked out; empty for none."""
        return self.git(self.top(name), "branch", "--show-current")

    def checkout(self, name: str, what: str) -> None:
        """Check something out; what is not committed is."""
        if not self.branch(name) and self.git(self.top(name), "status", "--short"):
            self.git(self.top(name), "checkout", "--quiet", "-b", f"loose-{self.tick()}")
        self.commit(name)
        self.git(self.top(name), "checkout", "--quiet", *what.split(), check=False)

    def checkout_branch(self, name: str, branch: str) -> None:
        """Check a branch out, which is made where there is none."""
        is_there = self.git(self.top(name), "branch", "--list", branch)
        self.checkout(name, branch if is_there else f"-b {branch}")

    def in_worktree(self, name: str, what: str) -> None:
        """Sync in a linked worktree of an older commit, and remove it."""
        path = self.folder / f"{name}-tree"
        self.git(self.top(name), "worktree", "add", "--quiet", "--detach", str(path), what, check=False)
        if not path.is_dir():
            return
        with self.open(path) as other:
            other.shared.sync()
        self.git(self.top(name), "worktree", "remove", "--force", str(path))
        self.note(name)

    # -- what is to hold

    def note(self, name: str) -> None:
        """Note what each decision says in a clone, which its history may not lose from then on."""
        for decision in self.clones[name].decisions.find(limit=500).items:
            self.said[name, decision.key].add(str(decision.value))

    def lost(self) -> list[tuple[str, str, str]]:
        """Return what a decision said in a clone once, and neither says nor has in its history any more."""
        gone = []
        for (name, key), values in self.said.items():
            found = self.clones[name].decisions.get(key, limit=500)
            kept = {str(found.decision.value), *(str(state.value) for state in found.history.items)}
            gone += [(name, key, value) for value in values - kept]
        return gone

    def shared_texts(self, name: str) -> dict[str, str]:
        """Return the texts of all items that a clone shares, by their uids."""
        satchel = self.clones[name]
        work = satchel.workplace
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            known = load_states(transaction, project.id)
            mask = mask_of(work.root)
            return {
                line["uid"]: render(text_of(line, mask)).decode()
                for line in all_lines(transaction, project.id, kinds=("decision", "constraint"), damaged=[])
                if (one := known.get(line["uid"])) is not None and one.is_shared
            }

    def settle(self, way: str = "both") -> None:
        """Let everybody go to the main branch, sync, accept, merge and push until nothing changes."""
        for name in self.clones:
            self.checkout(name, "main")
            for branch in self.git(self.top(name), "branch", "--format=%(refname:short)").split():
                if branch != "main":
                    self.merge(name, way, "merge", "--quiet", "--no-edit", branch)
        before = None
        for _ in range(12):
            for name in self.clones:
                self.sync(name)
                self.accept(name)
                self.sync(name)
                self.merge(name, way, "merge", "--quiet", "--no-edit", "origin/main")
                self.sync(name)
                self.accept(name)
                self.sync(name)
                self.commit(name)
                self.push(name)
            after = [(self.shared_texts(name), self.files(name)) for name in self.clones]
            if after == before:
                return
            before = after
        raise AssertionError("they do not come to rest")
