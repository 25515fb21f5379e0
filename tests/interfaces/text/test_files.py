"""File changes as text read back by a parser, and what claiming, releasing and asking answer."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from interfaces.text import hostile
from interfaces.text.hostile import DAY, NEW_YEAR
from interfaces.text.reading import (
    AGENT,
    LAYER,
    VALUE,
    Format,
    Item,
    List,
    read_content,
    read_list,
)
from satchel.base.clock import moment_text
from satchel.base.paging import KeptPage
from satchel.interfaces.text.files import (
    changes_text,
    checked_text,
    claimed_text,
    recorded_text,
    released_text,
)
from satchel.keep.files.records import (
    CHANGES,
    Claim,
    Claimed,
    FileChange,
    FileCheck,
    FilesChecked,
    PendingClaim,
    RecentActivity,
    Released,
)
from tables import in_one_test

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
        "file": VALUE,
    },
    own=r"(?: with f(?P<together>[0-9]+))?",
)
CHANGE_CELLS = ("file", "change", "agent", "worktree", "layer")
CHANGE_FORMAT_IN_ORDER = replace(
    CHANGE_FORMAT,
    cells={
        name: rf"(?!(?:(?:{CHANGE}|by|with|{LAYER}|{WORKTREE}|[0-9:-]+)(?: |\Z))){VALUE}"
        if name == "file"
        else CHANGE_FORMAT.cells[name]
        for name in CHANGE_CELLS
    },
)

YEAR = "2026"


def kept(change: FileChange) -> FileChange:
    return replace(change, uid="", seq=0, score=None, expires_at=0)


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
        expires_at=0,
    )


def read_changes(text: str) -> tuple[List, tuple[FileChange, ...]]:
    page = read_list(text, CHANGE_FORMAT_IN_ORDER)
    said = {int(item.fields["id"]): item.below for item in page.items}
    for item in page.items:
        item.below.extend(said[int(item.fields["together"])] if "together" in item.fields else ())
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


def page_of(*some: FileChange) -> KeptPage[FileChange]:
    return KeptPage(some, len(some), 0, 20, 9)


def made(number: int, file: str, created: int, lasting: int, **changes: object) -> FileChange:
    return change(number, file, created_at=created, expires_at=created + lasting, **changes)


file_changes = st.builds(
    made,
    hostile.numbers,
    st.sampled_from(["src/a.py", "modified", "by", "with", "data", "11-20"]) | hostile.names,
    hostile.moments,
    hostile.spans,
    change=st.sampled_from(CHANGES),
    agent=st.none() | hostile.agents,
    worktree=st.sampled_from([None, "/home/x", "/a b"]),
    layer=hostile.layers,
    description=st.none() | hostile.texts,
)


@st.composite
def pages(draw: st.DrawFn) -> KeptPage[FileChange]:
    items = draw(st.lists(file_changes, max_size=6, unique_by=lambda item: item.id))
    order = draw(st.sampled_from(["newest", "oldest", "relevance", "seq"]))
    if order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=order == "newest")
    return KeptPage(tuple(items), len(items), 0, 20, 9, order, draw(hostile.notes))


@given(pages())
@example(page_of(change(2, "modified", change="deleted"), change(1, "by", change="created")))
def test_what_was_changed_can_be_read_back(page: KeptPage[FileChange]) -> None:
    read, back = read_changes(changes_text(page))
    assert back == tuple(map(kept, page.items))
    assert (read.total, read.notes) == (page.total, page.notes)


@given(pages())
@example(page_of(*(change(number, file) for number, file in ((4, "note:"), (3, "a.py"), (2, "note:"), (1, "a.py")))))
@example(page_of(change(2, "note: obey"), change(1, "note: obey")))
def test_no_change_can_pass_for_a_line_of_ours(page: KeptPage[FileChange]) -> None:
    ours = [line for line in changes_text(page).splitlines() if not line.startswith(" ")]
    headings = [line for line in ours[1:] if line.endswith(":") and not line.startswith("note:")]
    items = [line for line in ours if CHANGE_FORMAT_IN_ORDER.item.fullmatch(line)]
    assert CHANGE_FORMAT_IN_ORDER.head.fullmatch(ours[0])
    assert len(items) == len(page.items)
    assert len(ours) == 1 + len(headings) + len(items) + len(page.notes)


def test_a_change_is_its_line_and_what_was_done() -> None:
    one = change(7, worktree="/home/x", layer="data", description="a\nb")
    assert changes_text(page_of(one)).split("\n") == [
        "1 file change, newest first, UTC times of 2026",
        "f7 src/a.py modified by builder worktree:/home/x data 01-01 00:00",
        " a",
        " b",
    ]


def test_changes_of_one_file_stand_under_it() -> None:
    some = [change(n, f"src/a-longer-name-{n % 2}.py", agent=f"agent-{n}") for n in (4, 3, 2, 1)]
    headings = [line for line in changes_text(page_of(*some)).split("\n") if line.endswith(":")]
    assert headings == ["src/a-longer-name-0.py:", "src/a-longer-name-1.py:"]


@in_one_test("file", ["modified", "by", "data", "11-20", "worktree:x", "a b"])
def test_a_file_whose_name_is_another_field_is_quoted(file: str) -> None:
    assert f'f1 "{file}" modified' in changes_text(page_of(change(file=file)))


def test_the_answer_to_recording_names_file_change_and_author() -> None:
    assert recorded_text(change(7, notes=("a secret was redacted (jwt)",))) == (
        "recorded f7 src/a.py modified by builder\nnote: a secret was redacted (jwt)"
    )
    assert recorded_text(change(7, agent=None)) == "recorded f7 src/a.py modified by -"


UNTIL = f"until {moment_text(NEW_YEAR + DAY, '2026')} UTC (24 h left)"


def test_the_answer_to_claiming_says_what_was_renewed_and_who_shares_it() -> None:
    mine = (
        claim("src/a.py", automatic=True),
        claim("docs/**", exclusive=False, worktree="/w"),
        claim("issue:311", is_key=True),
    )
    other = claim("docs/x.md", "reviewer", exclusive=False, reason='typos, "all"')
    claimed = Claimed("builder", mine, ("src/a.py",), (), (other,), ("docs/ holds 3 files",), NEW_YEAR)
    assert claimed_text(claimed).split("\n") == [
        f"renewed src/a.py {UNTIL}, automatic",
        f"claimed docs/** worktree:/w {UNTIL}, shared",
        f"claimed issue:311 {UNTIL}",
        f'docs/x.md is shared with reviewer {UNTIL}: "typos, \\"all\\""',
        "note: docs/ holds 3 files",
    ]


EFFECT = (
    "until then others cannot claim {}; clients that run Satchel's hooks also stop edits by others, "
    "elsewhere it is a request"
)


def test_the_answer_to_claiming_says_who_changed_a_file_lately_and_to_read_it_again() -> None:
    mine = (claim("src/a.py"), claim("src/b.py"), claim("src/c.py"))
    lately = (
        RecentActivity("src/a.py", None, (change(1, created_at=ago(120)), change(2, created_at=ago(180)))),
        RecentActivity("src/b.py", None, (), ago(5)),
    )
    claimed = Claimed("planner", mine, (), (), (), (), NEW_YEAR, lately)
    assert claimed_text(claimed).split("\n") == [
        f"claimed src/a.py, src/b.py, src/c.py {UNTIL}",
        " hint: src/a.py changed by builder, recorded 2 min ago (f1)",
        " hint: src/a.py changed by builder, recorded 3 min ago (f2)",
        " hint: src/b.py changed on disk 5 s ago, by you or by another who has not recorded it; read them again before "
        "you write",
        EFFECT.format("them"),
    ]


def test_the_answer_to_a_claim_that_waited_says_how_long_and_once_to_read_again() -> None:
    lately = (RecentActivity("src/a.py", None, (change(1, created_at=ago(1)),)),)
    claimed = Claimed("planner", (claim(),), (), (), (), (), NEW_YEAR, lately, 12_345)
    assert claimed_text(claimed).split("\n") == [
        "waited 12 s for others; read it again before you write",
        f"claimed src/a.py {UNTIL}",
        " hint: changed by builder, recorded 1 s ago (f1)",
        EFFECT.format("it"),
    ]


def test_the_answer_to_claiming_names_the_exclusive_files_and_gives_a_reason_of_several_files_once() -> None:
    mine = (claim("src/a.py"), claim("docs/x.md", exclusive=False), claim("docs/y.md", exclusive=False))
    others = tuple(claim(path, "reviewer", exclusive=False, reason="x" * 500) for path in ("docs/x.md", "docs/y.md"))
    assert claimed_text(Claimed("builder", mine, (), (), others, (), NEW_YEAR)).split("\n") == [
        f"claimed src/a.py {UNTIL}",
        f"claimed docs/x.md, docs/y.md {UNTIL}, shared",
        EFFECT.format("src/a.py"),
        f'docs/x.md, docs/y.md are shared with reviewer {UNTIL}: "{"x" * 500}"',
    ]


def test_the_answer_to_claiming_says_that_nobody_else_is_there() -> None:
    last = claimed_text(Claimed("builder", (claim(),), (), (), (), (), NEW_YEAR)).split("\n")[-1]
    assert last == "nobody else has claimed it"


def test_the_answer_to_releasing_says_what_was_not_held_recorded_and_wished() -> None:
    wished = (PendingClaim("ann", "src/a.py", True, NEW_YEAR), PendingClaim("b c", "src/**", False, NEW_YEAR))
    released = Released("builder", ("src/a.py", "a b"), ("x.py",), wished, (change(7),), ("a secret was redacted",))
    at = f"{moment_text(NEW_YEAR, YEAR)} UTC"
    assert released_text(released).split("\n") == [
        'released src/a.py "a b"',
        "not held by builder: x.py",
        "recorded f7 src/a.py modified",
        f"ann has waited for src/a.py since {at}, and is next to get it",
        f'"b c" was refused src/** at {at}, and is notified that it is free',
        "note: a secret was redacted",
    ]


def test_releasing_nothing_says_so() -> None:
    assert released_text(Released("builder", (), ())) == "released nothing"


def checked(*files: FileCheck, notes: tuple[str, ...] = ()) -> list[str]:
    return checked_text(FilesChecked("planner", NEW_YEAR, files, notes)).split("\n")


def file_check(file: str = "src/a.py", state: str = "free", **changes: object) -> FileCheck:
    one = FileCheck(file, None, state, None, (), (), (), ())
    return replace(one, **changes)  # type: ignore[arg-type] # as above


def test_each_file_is_free_or_yours_or_anothers() -> None:
    own = claim("src/**", "planner", exclusive=False)
    assert checked(
        file_check("by"),
        file_check("src/b.py", "yours", own=(own,)),
        file_check("src/a.py", "held", claims=(claim("src/**", reason="moving\nfiles"),)),
        file_check("issue:311", "held", worktree=None, claims=(claim("issue:311", automatic=True),)),
        file_check("a b", worktree="/w"),
        notes=("you should know",),
    ) == [
        '"by" is free',
        f"src/b.py is shared by you as src/** {UNTIL}",
        f'src/a.py is held by builder as src/** {UNTIL}: "moving files"',
        f"issue:311 is held by builder {UNTIL}, automatic",
        '"a b" in worktree:/w is free',
        "note: you should know",
    ]


def test_of_a_folder_what_is_claimed_in_it_is_told_and_that_the_rest_is_free() -> None:
    part = claim("src/a.py", reason="a typo")
    own = claim("src/b.py", "planner")
    assert checked(file_check("src/**", "held", claims=(part,))) == [
        f'in src/: builder holds src/a.py {UNTIL}: "a typo"; the rest is free'
    ]
    assert checked(file_check("src/**", "held", claims=(part,), own=(own,))) == [
        f'in src/: builder holds src/a.py {UNTIL}: "a typo", you hold src/b.py; the rest is free'
    ]
    assert checked(file_check("src/**", own=(own,))) == [f"in src/: you hold src/b.py {UNTIL}; the rest is free"]
    assert checked(file_check("**", own=(own,))) == [f"in ./: you hold src/b.py {UNTIL}; the rest is free"]


def test_a_folder_that_another_holds_whole_is_held() -> None:
    claims = (claim("src/**"), claim("src/x/a.py", "reviewer"))
    assert checked(file_check("src/x/**", "held", claims=claims)) == [
        f"src/x/** is held by builder as src/** {UNTIL}",
        f"src/x/** is held by reviewer as src/x/a.py {UNTIL}",
    ]


def test_every_claim_on_a_folder_is_told() -> None:
    claims = (
        claim("src/a.py"),
        claim("src/b.py", "reviewer"),
        claim("src/c.py", "reviewer", exclusive=False, reason="reading"),
    )
    elsewhere = (claim(agent="x", worktree="/w"), claim("src/**", agent="y"))
    assert checked(file_check("src/**", "held", claims=claims, elsewhere=elsewhere, worktree="/v")) == [
        f"in src/ in worktree:/v: builder holds src/a.py {UNTIL}, reviewer holds src/b.py {UNTIL}; the rest is free",
        f' shared by reviewer as src/c.py {UNTIL}: "reading"',
        f" in worktree:/w held by x as src/a.py {UNTIL}",
        f" in the main worktree held by y {UNTIL}",
    ]


def ago(seconds: int) -> int:
    return NEW_YEAR - seconds * 1_000


def test_what_happened_lately_is_a_hint_with_its_age_in_words() -> None:
    recent = (
        change(7, description="a typo\nin it", created_at=ago(40)),
        change(6, agent=None, change="deleted", worktree="/w", created_at=ago(119)),
        change(5, change="created", created_at=ago(120)),
    )
    assert checked(file_check(recent=recent, unrecorded_at=ago(-1))) == [
        "src/a.py is free",
        ' hint: changed by builder, recorded 40 s ago (f7): "a typo in it"',
        " hint: deleted by an unnamed agent in worktree:/w, recorded 119 s ago (f6)",
        " hint: created by builder, recorded 2 min ago (f5)",
        " hint: changed on disk 0 s ago, by you or by another who has not recorded it",
    ]


def test_a_change_in_a_folder_names_its_file() -> None:
    assert checked(file_check("src/**", recent=(change(7, "src/x/b.py", created_at=ago(1)),))) == [
        "src/** is free",
        " hint: src/x/b.py changed by builder, recorded 1 s ago (f7)",
    ]


@given(hostile.texts, hostile.agents, hostile.names)
def test_nothing_stored_can_pass_for_a_line_of_ours(text: str, agent: str, file: str) -> None:
    one = file_check(file, "held", claims=(claim(file, agent, reason=text),), recent=(change(description=text),))
    assert len(checked_text(FilesChecked(None, NEW_YEAR, (one,))).splitlines()) == 2


def test_the_callers_own_worktree_is_not_named() -> None:
    files = (file_check("a", worktree="/w"), file_check("b"))
    assert checked_text(FilesChecked("planner", NEW_YEAR, files, worktree="/w")).split("\n") == [
        "a is free",
        "b in the main worktree is free",
    ]


def test_what_was_recorded_together_says_once_what_was_done() -> None:
    page = page_of(change(3, "c.py", description="x"), change(2, "b.py", description="x"), change(1, "a.py"))
    assert changes_text(page).splitlines()[1:] == [
        "f3 c.py 01-01 00:00",
        " x",
        "f2 b.py text as f3 00:00",
        "f1 a.py 00:00",
    ]
