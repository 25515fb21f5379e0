"""File changes as text read back by a parser, and what claiming, releasing and asking answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interfaces.ledger import hostile
from interfaces.ledger.hostile import DAY, NEW_YEAR
from interfaces.ledger.reading import (
    AGENT,
    LAYER,
    SPAN,
    VALUE,
    Format,
    Item,
    List,
    read_content,
    read_list,
    read_span,
)
from satchel.interfaces.ledger.files_text import (
    changes_text,
    claimed_text,
    lock_text,
    recorded_text,
    released_text,
)
from satchel.keep.files.records import (
    CHANGES,
    Claim,
    Claimed,
    FileChange,
    FileChangePage,
    FileLock,
    Released,
)

WORKTREE = rf"worktree:{VALUE}"
CHANGE = "|".join(CHANGES)
CHANGE_FORMAT = Format(
    noun="file change",
    start="f(?P<id>[0-9]+)",
    # whatever could be another field is quoted, so a file is what is none
    cells={
        "change": CHANGE,
        "agent": AGENT,
        "worktree": WORKTREE,
        "layer": LAYER,
        "kept": rf"kept {SPAN}",
        "file": VALUE,
    },
)
CHANGE_CELLS = ("file", "change", "agent", "worktree", "layer", "kept")
CHANGE_FORMAT_IN_ORDER = replace(
    CHANGE_FORMAT,
    cells={
        name: rf"(?!(?:(?:{CHANGE}|by|kept|{LAYER}|{WORKTREE}|[0-9:-]+)(?: |\Z))){VALUE}"
        if name == "file"
        else CHANGE_FORMAT.cells[name]
        for name in CHANGE_CELLS
    },
)


def kept(change: FileChange) -> FileChange:
    return replace(change, uid="", seq=0, score=None)


def read_change(item: Item) -> FileChange:
    return FileChange(
        id=int(item.fields["id"]),
        uid="",
        seq=0,
        file=item.said("file"),
        change=item.said("change"),
        agent=item.value("agent", "by "),
        worktree=item.value("worktree", "worktree:"),
        layer=item.value("layer", "layer:"),
        description=read_content(item.below) if item.below else None,
        created_at=item.moment,
        expires_at=item.moment + read_span(item.fields["kept"].removeprefix("kept ")),
    )


def read_changes(text: str) -> tuple[List, tuple[FileChange, ...]]:
    page = read_list(text, CHANGE_FORMAT_IN_ORDER)
    items = [read_change(item) for item in page.items]
    if page.order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=page.order == "newest")
    return page, tuple(items)


def change(number: int = 1, file: str = "src/a.py", **changes: object) -> FileChange:
    one = FileChange(
        id=number,
        uid="0" * 32,
        seq=number,
        file=file,
        change="modified",
        agent="builder",
        worktree=None,
        layer=None,
        description=None,
        created_at=NEW_YEAR,
        expires_at=NEW_YEAR + 7 * DAY,
    )
    return replace(one, **changes)  # type: ignore[arg-type] # the tests give each field its own type


def claim(path: str = "src/a.py", agent: str = "builder", **changes: object) -> Claim:
    one = Claim(
        id=1,
        uid="0" * 32,
        seq=1,
        path=path,
        exclusive=True,
        agent=agent,
        worktree=None,
        reason=None,
        created_at=NEW_YEAR,
        expires_at=NEW_YEAR + DAY,
    )
    return replace(one, **changes)  # type: ignore[arg-type] # as above


def page_of(*some: FileChange) -> FileChangePage:
    return FileChangePage(some, len(some), 0, 20, 9)


def made(number: int, file: str, created: int, lasting: int, **changes: object) -> FileChange:
    return change(number, file, created_at=created, expires_at=created + lasting, **changes)


file_changes = st.builds(
    made,
    hostile.numbers,
    st.sampled_from(["src/a.py", "modified", "by", "kept", "data", "11-20"]) | hostile.names,
    hostile.moments,
    hostile.spans,
    change=st.sampled_from(CHANGES),
    agent=st.none() | hostile.agents,
    worktree=st.sampled_from([None, "/home/x", "/a b"]),
    layer=hostile.layers,
    description=st.none() | hostile.texts,
)


@st.composite
def pages(draw: st.DrawFn) -> FileChangePage:
    items = draw(st.lists(file_changes, max_size=6, unique_by=lambda item: item.id))
    order = draw(st.sampled_from(["newest", "oldest", "relevance", "seq"]))
    if order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=order == "newest")
    return FileChangePage(tuple(items), len(items), 0, 20, 9, order, draw(hostile.notes))


@given(pages())
@example(page_of(change(2, "modified", change="deleted"), change(1, "by", change="created")))
def test_what_was_changed_can_be_read_back(page: FileChangePage) -> None:
    read, back = read_changes(changes_text(page))
    assert back == tuple(map(kept, page.changes))
    assert (read.total, read.notes) == (page.total, page.notes)


@given(pages())
def test_no_change_can_pass_for_a_line_of_ours(page: FileChangePage) -> None:
    ours = [line for line in changes_text(page).splitlines() if not line.startswith(" ")]
    headings = [line for line in ours[1:] if line.endswith(":") and not line.startswith("note:")]
    items = [line for line in ours if CHANGE_FORMAT_IN_ORDER.item.fullmatch(line)]
    assert CHANGE_FORMAT_IN_ORDER.head.fullmatch(ours[0])
    assert len(items) == len(page.changes)
    assert len(ours) == 1 + len(headings) + len(items) + len(page.notes)


def test_a_change_is_its_line_and_what_was_done() -> None:
    one = change(7, worktree="/home/x", layer="data", description="a\nb")
    assert changes_text(page_of(one)).split("\n") == [
        "1 file change, newest first, 2026 UTC",
        "f7 src/a.py modified by builder worktree:/home/x data kept 7 days 01-01 00:00",
        " a",
        " b",
    ]


def test_changes_of_one_file_stand_under_it() -> None:
    some = [change(n, f"src/a-longer-name-{n % 2}.py", agent=f"agent-{n}") for n in (4, 3, 2, 1)]
    headings = [line for line in changes_text(page_of(*some)).split("\n") if line.endswith(":")]
    assert headings == ["src/a-longer-name-0.py:", "src/a-longer-name-1.py:"]


@pytest.mark.parametrize("file", ["modified", "by", "data", "11-20", "worktree:x", "a b"])
def test_a_file_whose_name_is_another_field_is_quoted(file: str) -> None:
    assert f'f1 "{file}" modified' in changes_text(page_of(change(file=file)))


def test_the_answer_to_recording_names_file_change_and_author() -> None:
    assert recorded_text(change(7, notes=("a secret was redacted (jwt)",))) == (
        "recorded f7 src/a.py modified by builder\nnote: a secret was redacted (jwt)"
    )
    assert recorded_text(change(7, agent=None)) == "recorded f7 src/a.py modified by -"


def test_the_answer_to_claiming_says_what_was_renewed_and_who_shares_it() -> None:
    mine = (claim("src/a.py"), claim("docs/**", exclusive=False, worktree="/w"))
    other = claim("docs/x.md", "reviewer", exclusive=False, reason="typos")
    claimed = Claimed("builder", mine, ("src/a.py",), (), (other,), ("reviewer holds it in the main worktree",))
    assert claimed_text(claimed).split("\n") == [
        "renewed exclusive src/a.py until 2026-01-02 00:00 UTC",
        "claimed shared docs/** worktree:/w until 2026-01-02 00:00 UTC",
        "shared with: shared docs/x.md by reviewer 2026-01-01 00:00 until 2026-01-02 00:00 UTC",
        " typos",
        "note: reviewer holds it in the main worktree",
    ]


def test_the_answer_to_releasing_says_what_was_not_held() -> None:
    assert released_text(Released("builder", ("src/a.py", "a b"), ("x.py",))).split("\n") == [
        'released src/a.py "a b"',
        "not held by builder: x.py",
    ]


def test_releasing_nothing_says_so() -> None:
    assert released_text(Released("builder", (), ())) == "released nothing"


def test_a_free_file_says_so() -> None:
    assert lock_text(FileLock("src/a.py", "planner", False, None, (), (), (), ())) == "src/a.py is free"


def test_a_locked_file_says_who_since_when_until_when_and_why() -> None:
    lock = FileLock(
        file="src/a.py",
        agent="planner",
        locked=True,
        until=NEW_YEAR + DAY,
        claims=(claim("src/**", reason="moving\nfiles"),),
        elsewhere=(claim(agent="reviewer", worktree="/w"),),
        own=(claim(agent="planner", exclusive=False),),
        recent=(change(7, description="typo", worktree="/w"), change(6, agent=None)),
    )
    assert lock_text(lock).split("\n") == [
        "src/a.py is locked until 2026-01-02 00:00 UTC",
        "claimed: exclusive src/** by builder 2026-01-01 00:00 until 2026-01-02 00:00 UTC",
        " moving",
        " files",
        "claimed in another worktree: exclusive src/a.py by reviewer worktree:/w 2026-01-01 00:00 until "
        "2026-01-02 00:00 UTC",
        "yours: shared src/a.py by planner 2026-01-01 00:00 until 2026-01-02 00:00 UTC",
        "modified by builder worktree:/w 2026-01-01 00:00 UTC (f7)",
        " typo",
        "modified by - 2026-01-01 00:00 UTC (f6)",
    ]
