"""Three clones and real git: whatever people do in whatever order, all agree once all have synced, and nothing is lost.

Model: the team of ``sharing_clones``, which notes what every decision ever said in each clone.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from sharing_clones import Team
from state_machines import short_and_long

CLONES = st.sampled_from(["ann", "ben", "cy"])
KEYS = st.sampled_from(["x", "y", "z"])
WAYS = st.sampled_from(["ours", "theirs", "both"])
SIDES = st.sampled_from(["side-0", "side-1"])


class SharingMachine(RuleBasedStateMachine):
    """What people do with a shared text, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="satchel-sharing-"))
        self.count = 0

    @initialize(accepts=st.booleans())
    def begin(self, accepts: bool) -> None:
        self.team = Team(self.folder / "team", accepts=accepts)

    def word(self) -> str:
        self.count += 1
        return f"v{self.count}"

    @rule(name=CLONES, key=KEYS)
    def set(self, name: str, key: str) -> None:
        self.team.set(name, key, self.word())

    @rule(name=CLONES, key=KEYS)
    def set_and_share(self, name: str, key: str) -> None:
        self.team.set(name, key, self.word())
        self.team.share(name, key)

    @rule(name=CLONES, key=KEYS)
    def share(self, name: str, key: str) -> None:
        self.team.share(name, key)

    @rule(name=CLONES, key=KEYS)
    def unshare(self, name: str, key: str) -> None:
        self.team.unshare(name, key)

    @rule(name=CLONES)
    def add_rule(self, name: str) -> None:
        self.team.add_rule(name, self.word())

    @rule(name=CLONES, place=st.integers(0, 2))
    def end_rule(self, name: str, place: int) -> None:
        self.team.end_rule(name, place)

    @rule(name=CLONES, place=st.integers(0, 5))
    def edit_file(self, name: str, place: int) -> None:
        self.team.edit_file(name, place, self.word())

    @rule(name=CLONES)
    def sync(self, name: str) -> None:
        self.team.sync(name)

    @rule(name=CLONES)
    def accept(self, name: str) -> None:
        self.team.accept(name)

    @rule(name=CLONES)
    def commit_and_push(self, name: str) -> None:
        if self.team.branch(name) == "main":
            self.team.commit(name)
            self.team.push(name)

    @rule(name=CLONES, way=WAYS, rebases=st.booleans())
    def pull(self, name: str, way: str, rebases: bool) -> None:
        if self.team.branch(name) == "main":
            command = ("rebase",) if rebases else ("merge", "--no-edit")
            self.team.merge(name, way, *command, "--quiet", "origin/main")

    @rule(name=CLONES, side=SIDES)
    def work_on_branch(self, name: str, side: str) -> None:
        self.team.checkout_branch(name, side)

    @rule(name=CLONES)
    def go_to_main(self, name: str) -> None:
        self.team.checkout(name, "main")

    @rule(name=CLONES, side=SIDES, way=WAYS)
    def merge_branch(self, name: str, side: str, way: str) -> None:
        if self.team.branch(name) == "main":
            self.team.merge(name, way, "merge", "--quiet", "--no-edit", side)

    @rule(name=CLONES, back=st.integers(1, 2))
    def check_out_old(self, name: str, back: int) -> None:
        self.team.checkout(name, f"--detach HEAD~{back}")

    @precondition(lambda self: self.count > 3)
    @rule(name=CLONES, back=st.integers(0, 2))
    def sync_in_worktree(self, name: str, back: int) -> None:
        self.team.in_worktree(name, f"HEAD~{back}")

    def teardown(self) -> None:
        try:
            if hasattr(self, "team"):
                self.check()
        finally:
            if hasattr(self, "team"):
                self.team.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def check(self) -> None:
        """Everybody shares the same texts in the same files, and no state is gone."""
        team = self.team
        team.settle()
        texts = [team.shared_texts(name) for name in team.clones]
        assert texts[1:] == texts[:-1]
        files = [team.files(name) for name in team.clones]
        assert files[1:] == files[:-1]
        assert team.lost() == []


TestSharing, TestSharingLong = short_and_long(SharingMachine, examples=6, steps=40, short=(2, 12))
