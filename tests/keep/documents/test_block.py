"""The block in AGENTS.md: what it holds, that it is stable, and merge conflicts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keep.documents.conftest import Commit
from satchel import Satchel
from satchel.base.errors import Conflict, InvalidInput, Refused
from satchel.base.tokens import estimate
from satchel.keep.documents.block import INSTRUCTIONS, MAX_TOKENS, RULES, with_block
from satchel.keep.documents.splitting import BEGIN, END
from tables import in_one_test

_BLOCK = f"{BEGIN}\nnew\n{END}\n"
_OLD = f"{BEGIN}\nold\n{END}\n"


def items(file: Path) -> list[str]:
    text = file.read_text()
    return [line for line in text[text.index(RULES) :].split("\n") if line.startswith("- ")]


def test_it_holds_what_a_person_wrote_or_confirmed_sorted(satchel: Satchel, top: Path) -> None:
    satchel.decisions.set("db", "postgres", rationale="many writers", paths=["src/**"])
    satchel.constraints.add("b rule")
    satchel.constraints.add("a rule")
    satchel.constraints.add("urgent", priority="critical")
    satchel.constraints.add("of an agent", agent="builder")
    satchel.constraints.add("one person's preference", only_for="me")
    satchel.corrections.confirm(satchel.constraints.add("confirmed", agent="builder").ref)
    satchel.constraints.add("a preference of mine", only_for="me")
    (top / "AGENTS.md").write_text("# Shop\n")
    assert satchel.documents.write_block().items == 5
    text = (top / "AGENTS.md").read_text()
    assert text.startswith(f"# Shop\n\n{BEGIN}\n{INSTRUCTIONS}\n")
    assert items(top / "AGENTS.md") == [
        *("- urgent", "- a rule", "- b rule", "- confirmed"),
        "- `db`: postgres (because many writers) (for `src/**`)",
    ]
    again = satchel.documents.write_block()
    assert (again.changed, (top / "AGENTS.md").read_text()) == (False, text)
    assert satchel.documents.write_block(remove=True).changed
    assert (top / "AGENTS.md").read_text() == "# Shop\n"


def test_the_check_tells_when_it_is_out_of_date_and_writes_nothing(satchel: Satchel, top: Path) -> None:
    satchel.constraints.add("a rule")
    assert satchel.documents.write_block(check=True).changed
    assert not (top / "AGENTS.md").exists()
    satchel.documents.write_block()
    assert not satchel.documents.write_block(check=True).changed


@pytest.mark.no_store
def test_without_a_store_the_check_looks_at_the_form_alone(satchel: Satchel, top: Path) -> None:
    (top / "AGENTS.md").write_text(f"x\n\n{_OLD}")
    assert not satchel.documents.write_block(check=True).changed
    (top / "AGENTS.md").write_text(f"x\n\n{BEGIN}\n<<<<<<< a\nold\n=======\nnew\n>>>>>>> b\n{END}\n")
    assert satchel.documents.write_block(check=True).changed


def test_what_does_not_fit_is_counted(satchel: Satchel, top: Path) -> None:
    for number in range(40):
        satchel.constraints.add(f"{number} " + "many different words about nothing " * 20)
    block = satchel.documents.write_block()
    assert block.left_out == 40 - block.items > 0
    assert estimate(block.text) <= MAX_TOKENS


def test_a_round_trip_doubles_nothing(satchel: Satchel, commit: Commit, top: Path) -> None:
    commit({"AGENTS.md": "- Always use tabs.\n", "CLAUDE.md": "- Never use goto.\n"})
    satchel.documents.accept()
    satchel.constraints.add("Be brief.")
    satchel.documents.write_block()
    assert sorted(items(top / "AGENTS.md")) == ["- Be brief.", "- Never use goto."]
    commit({})
    review = satchel.documents.review()
    assert (review.proposals, review.in_step) == ((), 2)
    assert not satchel.documents.write_block().changed


def test_a_marker_in_a_rule_does_not_end_the_block(satchel: Satchel, top: Path) -> None:
    satchel.constraints.add(f"first\n{END}\n<<<<<<< x\n# not ours")
    satchel.documents.write_block()
    assert (top / "AGENTS.md").read_text().count(END) == 1
    assert not satchel.documents.write_block().changed


@in_one_test(
    ("text", "result"),
    [
        (f"a\n\n{BEGIN}\n<<<<<<< x\none\n=======\ntwo\n>>>>>>> y\n{END}\nz\n", f"a\n\n{_BLOCK}z\n"),
        (f"a\n<<<<<<< x\n{_OLD}=======\n{_BLOCK}>>>>>>> y\nz\n", f"a\n{_BLOCK}z\n"),
        (f"a\n<<<<<<< x\n{_OLD}||||||| o\n=======\n>>>>>>> y\nz\n", f"a\n{_BLOCK}z\n"),
        (
            f"<<<<<<< x\nmine\n{_OLD}=======\ntheirs\n{_OLD}>>>>>>> y\n",
            f"{_BLOCK}<<<<<<< x\nmine\n=======\ntheirs\n>>>>>>> y\n",
        ),
        (
            f"<<<<<<< x\nMine\n========\n{_OLD}=======\nTheirs\n--\n{_OLD}>>>>>>> y\n",
            f"{_BLOCK}<<<<<<< x\nMine\n========\n=======\nTheirs\n--\n>>>>>>> y\n",
        ),
        (f"<<<<<<< x\n1\n=======\n2\n>>>>>>> y\n{_OLD}", f"<<<<<<< x\n1\n=======\n2\n>>>>>>> y\n{_BLOCK}"),
        (f"a\r\n\r\n{BEGIN}\r\nold\r\n{END}\r\n", f"a\r\n\r\n{_BLOCK}".replace("\r\n", "\n").replace("\n", "\r\n")),
        (f"{_OLD}a\n{_OLD}", f"{_BLOCK}a\n"),
    ],
)
def test_markers_of_a_merge_go_with_the_block_and_those_of_other_lines_stay(text: str, result: str) -> None:
    assert with_block(text, _BLOCK) == result


def test_a_conflict_that_cuts_through_the_block_and_a_half_block_are_refused() -> None:
    with pytest.raises(Conflict, match="cut through"):
        with_block(f"<<<<<<< x\n{BEGIN}\n=======\nother\n>>>>>>> y\nold\n{END}\n", _BLOCK)
    for text, problem in (
        (f"a\n{BEGIN}\nold\n", "line 2 is .*begin"),
        (f"old\n{END}\n", "line 2 is .*end"),
        (f"a\n{BEGIN}\nmine\n{_OLD}", "line 2 is .*begin"),
        (f"{_OLD}<<<<<<< x\n", "no end line"),
    ):
        for block in (_BLOCK, ""):
            with pytest.raises(InvalidInput, match=problem):
                with_block(text, block)


@in_one_test(
    "text",
    [
        f"```\n{_OLD}```\n",
        f"~~~~ md\n```\n{_OLD}~~~\n~~~~~\n",
        f"  ```\n{BEGIN}\n  ```\n",
        f"- item\n\ntext\n  ```\n{_OLD}  ```\n",
    ],
)
def test_an_example_of_the_block_in_a_fence_is_text(text: str) -> None:
    written = with_block(text, _BLOCK)
    assert written == f"{text}\n{_BLOCK}"
    assert with_block(written, _BLOCK) == written
    assert with_block(written, "") == text


@in_one_test("before", ["```\n", "- ```\n  x\n  ```\n", "- x\n  ```\n", "```x``` y\n", "````\n```\n"])
def test_a_fence_that_does_not_enclose_the_block_does_not_hide_it(before: str) -> None:
    assert with_block(f"{before}{_OLD}", _BLOCK) == f"{before}{_BLOCK}"


@in_one_test("text", ["", "\n", "# T\n", "# T\n\n", "# T\n\ntext", "a\r\nb", "a\r\n"])
def test_the_block_comes_and_goes_without_a_trace(text: str) -> None:
    written = with_block(text, _BLOCK)
    assert with_block(written, _BLOCK) == written
    assert with_block(written, "") == text


def test_what_was_written_below_the_block_stays_apart_from_what_is_above_it() -> None:
    assert with_block(f"a\n\n{_OLD}b\n", "") == "a\n\nb\n"
    assert with_block(f"a\n\n{_OLD}\nb\n", "") == "a\n\nb\n"


def test_a_marker_without_its_other_is_named_and_nothing_is_written(satchel: Satchel, top: Path) -> None:
    satchel.constraints.add("a rule")
    text = f"# T\n\n{BEGIN}\n- Mine.\n\n{_OLD}"
    (top / "AGENTS.md").write_text(text)
    for remove in (False, True):
        with pytest.raises(InvalidInput, match=r"AGENTS\.md: line 3 is"):
            satchel.documents.write_block(remove=remove)
    assert (top / "AGENTS.md").read_text() == text


def test_a_pipe_in_place_of_the_file_is_refused(satchel: Satchel, top: Path) -> None:
    os.mkfifo(top / "AGENTS.md")
    with pytest.raises(Refused, match="no regular file"):
        satchel.documents.write_block()
