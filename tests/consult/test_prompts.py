"""Prompts: read back to the byte, in a fixed order, and a file that lies about where it ends changes nothing."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from consulting import COUNTER, blocks_of
from satchel.consult.prompts import FOLLOWING, OPENING, Parts, Piece, render
from satchel.consult.records import PastTurn

ASK = Parts(True, "Why?", None, (), (), (), (), ())


def piece(path: str, text: str, *, is_diff: bool = False, replaces: bool = False) -> Piece:
    return Piece(path, text, is_diff, replaces, 1)


def shown(parts: Parts, max_listed: int = 10_000) -> str:
    return render(parts, COUNTER, max_listed)


def listed(parts: Parts, max_listed: int = 10_000) -> str:
    return next(block.body for block in blocks_of(shown(parts, max_listed)) if block.name == "map")


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=40), max_size=5), st.text(max_size=40))
def test_every_file_reads_back_exactly(files: dict[str, str], question: str) -> None:
    pieces = [piece(path, text) for path, text in sorted(files.items())]
    blocks = blocks_of(shown(replace(ASK, pieces=pieces, instructions=question)))
    assert {block.attributes["path"]: block.body for block in blocks if block.name == "file"} == files
    assert blocks[-1].body == (question if question.endswith("\n") else f"{question}\n")


def test_a_file_cannot_end_early_or_pretend_to_be_another() -> None:
    first = shown(replace(ASK, pieces=[piece("a.py", "x\n")]))
    pretence = first[first.index("<file-") :].replace("a.py", "b.py")
    hostile = shown(replace(ASK, pieces=[piece("a.py", "x\n")], instructions=first, briefing=pretence))
    assert [block.name for block in blocks_of(hostile)] == ["briefing", "map", "file", "request"]
    again = shown(replace(ASK, pieces=[piece("a.py", hostile)]))
    assert [block.attributes.get("path") for block in blocks_of(again)] == [None, "a.py", None]


def test_a_mark_in_a_searched_file_is_avoided_too() -> None:
    plain = shown(replace(ASK, searchable=["b"], searched_texts=["y"]))
    mark = plain.split("this message is ")[1].split(".")[0]
    other = shown(replace(ASK, searchable=["b"], searched_texts=[f"</request-{mark}>"]))
    assert f"</request-{mark}>" not in other


def test_a_mark_in_an_earlier_answer_is_avoided_too() -> None:
    plain = shown(replace(ASK, earlier=[PastTurn(1, "how?", "so")]))
    mark = plain.split("this message is ")[1].split(".")[0]
    other = shown(replace(ASK, earlier=[PastTurn(1, "how?", f"</answered-{mark}>")]))
    assert [block.name for block in blocks_of(other)] == ["asked", "answered", "request"]


def test_the_order_is_fixed_and_the_question_last() -> None:
    parts = replace(
        ASK,
        briefing="known",
        pieces=[piece("a", "1\n"), piece("b", "@@\n", is_diff=True), piece("c", "2", replaces=True)],
        searchable=["d"],
        removed=["e"],
        withheld=["f\ng"],
        earlier=[PastTurn(1, "how?", "so"), PastTurn(2, "and?", "no\n")],
    )
    prompt = shown(parts)
    assert prompt == shown(parts)
    assert prompt.startswith(OPENING)
    blocks = blocks_of(prompt)
    assert [block.name for block in blocks] == [
        "briefing", "map", "file", "diff", "file", "removed", "withheld",
        "asked", "answered", "asked", "answered", "request",
    ]  # fmt: skip
    assert blocks[4].attributes == {"path": "c", "replaces": "yes"}
    assert blocks[6].paths == ["f\ng"]
    assert [(block.attributes["turn"], block.body) for block in blocks[7:9]] == [("1", "how?\n"), ("1", "so\n")]


def test_another_question_changes_nothing_before_it() -> None:
    parts = replace(ASK, pieces=[piece("a", "1\n")])
    prompts = [shown(replace(parts, instructions=question)) for question in ("why?", "how?")]
    assert prompts[0].split("<request-")[0] == prompts[1].split("<request-")[0]


def test_a_later_turn_does_not_repeat_the_introduction_or_list_what_it_shows() -> None:
    prompt = shown(replace(ASK, is_opening=False, pieces=[piece("a", "1\n")]))
    assert prompt.startswith(FOLLOWING)
    assert "In this message" not in prompt
    assert len(prompt) < 300


def test_the_map_lists_by_folder() -> None:
    paths = ["/etc/x", "README.md", "src/a.py", "src/b c.py", "src/in/d.py"]
    assert listed(replace(ASK, pieces=[piece(path, "") for path in paths])) == (
        'In this message:\nREADME.md\n/etc/: x\nsrc/: a.py, "b c.py"\nsrc/in/: d.py\n'
    )


def test_the_map_tells_what_can_be_searched() -> None:
    parts = replace(ASK, is_opening=False, searchable=["docs/a.md"], searched_texts=["x"] * 7)
    assert listed(parts) == "Searchable:\ndocs/: a.md\nSearchable in this turn: 7 files\n"


def test_a_map_that_is_too_long_counts_files_by_folder_as_deep_as_fits() -> None:
    paths = sorted(f"top{n % 3}/mid{n % 30}/file{n}.py" for n in range(300))
    parts = replace(ASK, searchable=paths, searched_texts=["x"] * 300)
    assert "top0/mid0/: file0.py" in listed(parts)
    assert "top0/mid0/: 10 files\n" in listed(parts, 300)
    assert "top0/: 100 files\n" in listed(parts, 100)
    assert listed(parts, 5) == "Searchable: 300 files\nSearchable in this turn: 300 files\n"
