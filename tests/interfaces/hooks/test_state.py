"""What hooks keep in the user's state folder."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from satchel.base.folders import state_folder
from satchel.interfaces.hooks import state


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A state folder of the test's own, which does not exist yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return state_folder()


class TestHearing:
    def test_an_event_is_first_once(self) -> None:
        assert [state.is_first("s1 start", 1_000), state.is_first("s1 start", 1_001)] == [True, False]

    def test_another_is_first_beside_it(self) -> None:
        assert [state.is_first(key, 1_000) for key in ("s1 start", "s1 star", "1 start", "s2 start", "")] == [True] * 5
        assert [state.is_first(key, 1_000) for key in ("s1 start", "s1 star", "1 start", "s2 start", "")] == [False] * 5

    def test_it_may_happen_again_later(self) -> None:
        assert [state.is_first("s1 resume", at) for at in (1_000, 1_001.9, 1_002.1)] == [True, False, True]

    def test_of_those_who_hear_it_at_once_one_is_first(self) -> None:
        said: list[bool] = []
        threads = [threading.Thread(target=lambda: said.append(state.is_first("s1 start", 1_000))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(said) == [False] * 7 + [True]

    def test_the_file_stays_small_and_knows_the_latest(self, folder: Path) -> None:
        for number in range(3_000):
            state.is_first(f"session-{number} start of a rather long name", 1_000)
        assert (folder / "hooks-heard").stat().st_size <= 64 * 1024
        assert not state.is_first("session-2999 start of a rather long name", 1_000)

    def test_where_nothing_can_be_kept_every_event_is_first(self, folder: Path) -> None:
        folder.parent.mkdir()
        folder.write_text("no folder")
        assert [state.is_first("s1", 1_000), state.is_first("s1", 1_000)] == [True, True]

    def test_a_link_in_its_place_is_not_followed(self, folder: Path, tmp_path: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "hooks-heard").symlink_to(tmp_path / "elsewhere")
        assert state.is_first("s1", 1_000)
        assert not (tmp_path / "elsewhere").exists()


class TestOwed:
    def test_is_remembered_for_each_agent_of_a_session_until_it_is_settled(self) -> None:
        state.owe("s1", "", "/p", "start")
        state.owe("s1", "", "/p", "start")
        state.owe("s1", "a1", "/p", "subagent")
        state.owe("s1", "", "/p", "rest")
        state.owe("s2", "", "/p", "start")
        state.settle("s1", "", "/p", ["start"])
        assert state.owed("s1", "", "/p") == ["rest"]
        state.settle("s1", "", "/p")
        left = [state.owed(*who, "/p") for who in (("s1", ""), ("s1", "a1"), ("s2", ""))]
        assert left == [[], ["subagent"], ["start"]]

    def test_is_of_one_project_and_found_from_each_folder_of_it(self, tmp_path: Path) -> None:
        a, inner, b = tmp_path / "a\tb", tmp_path / "a\tb" / "src", tmp_path / "ab"
        for folder in (a / ".git", b / ".git", inner):
            folder.mkdir(parents=True)
        state.owe("s1", "", str(a), "start")
        state.settle("s1", "", str(b))
        assert [state.owed("s1", "", str(one)) for one in (a, inner, b)] == [["start"], ["start"], []]
        state.settle("s1", "", str(inner))
        assert state.owed("s1", "", str(a)) == []

    def test_what_is_absurdly_long_pushes_out_nothing(self) -> None:
        state.owe("s2", "", "/p", "start")
        state.owe("s1", "", "/p", "edit:" + "x" * 200_000)
        state.settle("s1", "", "/p")
        assert [state.owed("s1", "", "/p"), state.owed("s2", "", "/p")] == [[], ["start"]]

    def test_what_a_process_that_still_runs_will_do_is_not_owed(self, folder: Path) -> None:
        state.owe("s1", "", "/p", "start")
        owed = (folder / "hooks-owed").read_text()
        (folder / "hooks-owed").write_text(owed.replace(f"\t{os.getpid()}\t", f"\t{os.getppid()}\t"))
        assert state.owed("s1", "", "/p") == []

    def test_a_session_without_an_id_owes_nothing(self) -> None:
        state.owe("", "", "/p", "start")
        assert state.owed("", "", "/p") == []

    def test_nothing_is_made_where_none_was(self, folder: Path) -> None:
        assert state.owed("s1", "", "/p") == []
        state.settle("s1", "", "/p")
        assert not folder.exists()


class TestFaults:
    def test_are_kept_in_one_line_each_the_last_first(self) -> None:
        state.record_fault("claude SessionStart", "no\nluck", "/p")
        state.record_fault("codex SessionEnd", "x" * 1_000, "/q")
        found = state.faults(0)
        assert [(one.hook, one.problem, one.folder) for one in found] == [
            ("codex SessionEnd", "x" * 400, "/q"),
            ("claude SessionStart", "no luck", "/p"),
        ]
        assert state.faults(found[0].at) == []

    def test_a_damaged_line_is_passed_over(self, folder: Path) -> None:
        state.record_fault("claude SessionStart", "no luck", "/p")
        with (folder / "hooks-faults.jsonl").open("a") as file:
            file.write('{"at": "x"}\nnothing\n[]\n')
        assert len(state.faults(0)) == 1

    def test_are_examined_by_doctor(self) -> None:
        assert state.check_hooks().status == "ok"
        state.record_fault("claude SessionStart", "no luck", "/p")
        check = state.check_hooks(state.faults(0)[0].at + 120)
        assert (check.status, check.detail) == (
            "warning",
            "1 fault in the last 7 days, the last 2 min ago: claude SessionStart in /p: no luck",
        )
        assert state.check_hooks(state.faults(0)[0].at + 8 * 86_400).status == "ok"


class TestPausing:
    def test_silences_all(self) -> None:
        assert not state.is_paused("/p")
        assert state.pause(None, on=True) == ["*"]
        assert state.is_paused("/p")
        assert state.pause(None, on=False) == []
        assert not state.is_paused("/p")

    def test_silences_one_folder_and_what_is_in_it(self, tmp_path: Path) -> None:
        (tmp_path / "p" / "src").mkdir(parents=True)
        (tmp_path / "pq").mkdir()
        state.pause(str(tmp_path / "p"), on=True)
        assert [state.is_paused(str(tmp_path / one)) for one in ("p", "p/src", "pq", ".")] == [True, True, False, False]
        state.pause(str(tmp_path / "p"), on=False)
        assert not state.is_paused(str(tmp_path / "p"))

    def test_switching_all_off_ends_those_of_single_folders(self, tmp_path: Path) -> None:
        state.pause(str(tmp_path), on=True)
        assert state.pause(None, on=False) == []

    def test_what_cannot_be_read_counts_as_a_pause(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "hooks-paused.json").write_text("{")
        assert state.is_paused("/p")

    def test_a_link_in_its_place_is_not_followed(self, folder: Path, tmp_path: Path) -> None:
        folder.mkdir(parents=True)
        (tmp_path / "elsewhere").write_text('["*"]')
        (folder / "hooks-paused.json").symlink_to(tmp_path / "elsewhere")
        assert not state.is_paused("/p")

    def test_a_link_in_the_place_of_its_draft_is_not_followed(self, folder: Path, tmp_path: Path) -> None:
        folder.mkdir(parents=True)
        (tmp_path / "elsewhere").write_text("kept")
        (folder / f"hooks-paused.json.{os.getpid()}").symlink_to(tmp_path / "elsewhere")
        state.pause("/p", on=True)
        assert ((tmp_path / "elsewhere").read_text(), state.paused_folders()) == ("kept", ["/p"])


class TestTheLastEvent:
    def test_is_kept_for_each_hook(self) -> None:
        state.keep_last("claude-SessionStart", {"client": "claude"})
        state.keep_last("claude-SessionStart", {"client": "x"})
        assert state.last("claude-SessionStart") == {"client": "x"}
        assert state.last("codex-SessionStart") is None

    def test_a_link_in_its_place_is_not_followed(self, folder: Path, tmp_path: Path) -> None:
        (folder / "hooks-last").mkdir(parents=True)
        (tmp_path / "elsewhere").write_text("{}")
        (folder / "hooks-last" / "claude-SessionStart.json").symlink_to(tmp_path / "elsewhere")
        state.keep_last("claude-SessionStart", {"client": "claude"})
        assert (tmp_path / "elsewhere").read_text() == "{}"
        assert state.last("claude-SessionStart") is None

    def test_a_pipe_in_its_place_is_not_waited_for(self, folder: Path) -> None:
        (folder / "hooks-last").mkdir(parents=True)
        os.mkfifo(folder / "hooks-last" / "claude-SessionStart.json")
        state.keep_last("claude-SessionStart", {"client": "claude"})
        assert state.last("claude-SessionStart") is None

    def test_of_a_strange_name_is_not_kept_elsewhere(self, folder: Path) -> None:
        state.keep_last("claude-../../x", {"client": "claude"})
        assert sorted(os.listdir(folder.parent)) == ["satchel"]  # noqa: PTH208
