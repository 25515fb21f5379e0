"""What a consultation refuses, and what it holds back and says so."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from consult.answered_turns import stored
from consult.consulted import ENVIRON, HUGE, LONG, SMALL, Consulted, names, split_of
from satchel import Satchel
from satchel.base.errors import (
    InvalidInput,
    NotFound,
    Refused,
    SatchelError,
    TooLarge,
    Unavailable,
)
from tables import in_one_test

if TYPE_CHECKING:
    pass

COMPATIBLE = pytest.mark.parametrize("consulted", ["compatible"], indirect=True)


class TestRefusals:
    def refused(self, consulted: Consulted, kind: type[SatchelError], match: str, **options: Any) -> SatchelError:
        """Ask something that is refused, and check that nothing came of it."""
        before = stored(consulted.satchel)
        with pytest.raises(kind, match=match) as error:
            consulted.ask(**options)
        assert consulted.provider.requests == []
        assert stored(consulted.satchel) == before
        assert consulted.leases() == []
        return error.value

    @in_one_test(
        ("model", "kind", "match"),
        [
            ("gpt-7-imaginary", InvalidInput, "Did you mean|Known:"),
            ("nobody:tiny", InvalidInput, "nobody"),
            ("", InvalidInput, "model"),
            ("openai:", InvalidInput, "model"),
        ],
    )
    def test_an_unknown_model(self, consulted: Consulted, model: str, kind: type[SatchelError], match: str) -> None:
        consulted.model = model
        self.refused(consulted, kind, match)

    @in_one_test(
        ("model", "variable"),
        [
            ("openai:gpt-test", "OPENAI_API_KEY"),
            ("anthropic:claude-opus-5", "ANTHROPIC_API_KEY"),
            ("gemini:gemini-3-flash", "GEMINI_API_KEY"),
        ],
    )
    @COMPATIBLE
    def test_no_key(self, consulted: Consulted, open_in: Callable[..., Satchel], model: str, variable: str) -> None:
        settings = {"consult.base_url": consulted.provider.url, "consult.window_tokens": 16_000}
        consulted.satchel = open_in(consulted.root, environ={variable: " "}, settings=settings)
        consulted.model = model
        self.refused(consulted, Unavailable, variable)

    @COMPATIBLE
    def test_no_address(self, consulted: Consulted, open_in: Callable[..., Satchel]) -> None:
        consulted.satchel = open_in(consulted.root, settings={"consult.window_tokens": 16_000})
        self.refused(consulted, InvalidInput, r"consult\.base_url")

    def test_a_path_outside_the_project(self, consulted: Consulted, tmp_path: Path) -> None:
        (tmp_path / "other.py").write_text(SMALL)
        for path in (str(tmp_path / "other.py"), "../other.py", "/etc/hostname"):
            for field in ("context", "priority", "attachments"):
                self.refused(consulted, Refused, "outside the folders", **{field: [path]})

    def test_a_path_that_is_not_there(self, consulted: Consulted) -> None:
        consulted.write("src/service.py", SMALL)
        self.refused(consulted, NotFound, r"Did you mean 'src/service\.py'", context=["src/servise.py"])

    @in_one_test("value", ["src", [1], [None]])
    def test_what_is_no_list_of_paths(self, consulted: Consulted, value: object) -> None:
        for field in ("context", "priority", "attachments"):
            self.refused(consulted, InvalidInput, f"{field} is no list of paths", **{field: value})

    @in_one_test("path", ["", " ", "a\0b", "a\nb"])
    def test_what_is_no_path(self, consulted: Consulted, path: str) -> None:
        self.refused(consulted, InvalidInput, "path", context=[path])

    @in_one_test(
        ("options", "match"),
        [
            ({"question": ""}, "instructions"),
            ({"question": 7}, "instructions"),
            ({"question": "x" * 3_000_000}, "instructions"),
            ({"conversation": ""}, "conversation"),
            ({"conversation": "a\nb"}, "conversation"),
        ],
    )
    def test_what_is_no_question(self, consulted: Consulted, options: dict[str, object], match: str) -> None:
        self.refused(consulted, SatchelError, match, **options)

    def test_a_question_larger_than_the_window(self, consulted: Consulted) -> None:
        self.refused(consulted, TooLarge, "Shorten them", question="word " * 30_000)

    @in_one_test(
        ("options", "match"),
        [
            ({"role": "developer"}, "role was given without briefing"),
            ({"task_id": "T1"}, "task_id was given without briefing"),
            ({"run_id": "r1"}, "run_id was given without briefing or a note"),
            ({"run_id": "r1", "keep_as": "decision:k"}, "run_id was given without briefing or a note"),
            ({"run_id": "a\nb", "briefing": True}, "run_id"),
            ({"agent": ""}, "agent"),
            ({"keep_as": "scratchpad"}, "unknown keep_as"),
            ({"keep_as": "decision:"}, "key"),
            ({"keep_as": "discovery", "dry_run": True}, "a dry run has no answer to keep"),
        ],
    )
    def test_what_is_for_nothing(self, consulted: Consulted, options: dict[str, object], match: str) -> None:
        self.refused(consulted, SatchelError, match, **options)

    def test_files_without_a_project(
        self, consulted: Consulted, open_in: Callable[..., Satchel], tmp_path: Path
    ) -> None:
        (tmp_path / "x.py").write_text(SMALL)
        settings = {"consult.base_url": consulted.provider.url, "consult.window_tokens": 16_000}
        consulted.satchel = open_in(
            Path("/"),
            db=tmp_path / "s.db",
            project="p",
            environ={**ENVIRON, "OPENAI_BASE_URL": consulted.provider.url},
            settings=settings,
        )
        self.refused(consulted, Refused, "no project here", context=[str(tmp_path / "x.py")])
        assert consulted.ask().answer


class TestHeldBack:
    def test_what_is_not_sent_is_named_with_the_reason(self, consulted: Consulted, tmp_path: Path) -> None:
        (tmp_path / "other.py").write_text(SMALL)
        consulted.write("a.py", SMALL)
        (consulted.root / "link.py").symlink_to(tmp_path / "other.py")
        consulted.write(".env", "KEY=1\n")
        consulted.write("binary.bin", b"\0\1\2")
        consulted.write("latin.txt", b"caf\xe9\n")
        consulted.write("secret.py", f'TOKEN = "ghp_{"a1B2" * 9}"\n')
        os.truncate(consulted.write("large.log", b""), 100_000_000)
        os.mkfifo(consulted.root / "pipe")
        done = consulted.ask(context=["."])
        assert {held.path: held.reason for held in done.held_back} == {
            ".env": "secret_name",
            "binary.bin": "binary",
            "large.log": "too_large",
            "latin.txt": "undecodable",
            "link.py": "outside",
            "pipe": "special",
            "secret.py": "secret",
        }
        assert consulted.heard().files == {"a.py": SMALL}
        assert split_of(done)[0] == ("a.py",)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
    def test_a_file_that_may_not_be_read_is_named(self, consulted: Consulted) -> None:
        consulted.write("a.py", SMALL).chmod(0)
        assert [held.reason for held in consulted.ask(context=["."]).held_back] == ["unreadable"]

    def test_a_file_that_comes_to_hold_a_secret_is_withheld_and_comes_back_whole(self, consulted: Consulted) -> None:
        consulted.write("a.py", LONG)
        consulted.ask(context=["."])
        consulted.write("a.py", f'{LONG}TOKEN = "ghp_{"a1B2" * 9}"\n')
        done = consulted.ask(context=["."])
        consulted.write("a.py", LONG)
        consulted.ask(context=["."])
        assert [held.reason for held in done.held_back] == ["secret"]
        assert names(consulted)[1:] == [["withheld", "request"], ["file", "request"]]

    def test_a_file_with_priority_that_is_too_large_for_the_prompt_is_searched_and_said(
        self, consulted: Consulted
    ) -> None:
        consulted.write("huge.py", HUGE)
        consulted.write("small.py", SMALL)
        done = consulted.ask(context=["."], priority=["huge.py"])
        assert split_of(done) == (("small.py",), ("huge.py",))
        assert [note for note in done.notes if "huge.py has priority but is not in the prompt" in note]

    def test_a_file_with_priority_goes_before_smaller_ones(self, consulted: Consulted) -> None:
        for name in "abcdefgh":
            consulted.write(f"{name}.py", LONG * 3)
        consulted.write("z.py", LONG * 4)
        done = consulted.ask(context=["."], priority=["z.py"])
        assert "z.py" in split_of(done)[0]
        assert done.overflow


def test_a_folder_outside_the_project_is_sent_only_where_it_is_allowed(consulted: Consulted, tmp_path: Path) -> None:
    outside = (tmp_path / "elsewhere").resolve()
    outside.mkdir()
    (outside / "b.py").write_text("print('outside')\n")
    with pytest.raises(Refused):
        consulted.ask(context=[str(outside / "b.py")])
    done = consulted.ask(context=[str(outside / "b.py")], allow_roots=[str(outside)])
    assert [file.path for file in done.inline] == [str(outside / "b.py")]
    with pytest.raises(InvalidInput, match="not an absolute path of a folder"):
        consulted.ask(allow_roots=["elsewhere"])
