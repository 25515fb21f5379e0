"""Packages and what they hold as text read back by a parser, and what saving and changing answer."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interfaces.text import hostile
from interfaces.text.hostile import MINUTE, NEW_YEAR
from interfaces.text.reading import (
    AGENT,
    LATER,
    NAMES,
    VALUE,
    Format,
    Item,
    List,
    read_content,
    read_list,
    read_value,
    read_when,
)
from satchel.base.vocabulary import PRIORITIES
from satchel.interfaces.text.items import contents_text
from satchel.interfaces.text.packages import changed_text, packages_text, saved_text
from satchel.keep.packages.records import TYPES, Package, PackageContent, PackagePage

pytestmark = pytest.mark.slow

CELLS = {"type": "|".join(TYPES), "priority": "|".join(PRIORITIES), "task": rf"task:{VALUE}", "agent": AGENT}
OWN = rf" (?P<where>file:{VALUE}|bytes:[0-9]+)(?: for:(?P<consumers>{NAMES}))?"
AFTER = rf"(?: changed (?P<changed>{LATER}))?(?: superseded-by:p(?P<successor>[0-9]+))?"
FORMAT = Format(
    noun="package",
    more=rf"(?: of run (?P<run>{VALUE}))?(?: \((?P<counts>[^)]*)\))?",
    start="p(?P<id>[0-9]+)",
    cells=CELLS,
    own=OWN,
    after=AFTER,
)
CONTENTS = Format(
    noun="item",
    start="p(?P<id>[0-9]+)",
    cells={"run": rf"run:{VALUE}", **CELLS},
    own=OWN,
    after=AFTER,
)


def kept(package: Package) -> Package:
    return replace(package, uid="", seq=0, score=None)


def read_package(item: Item, year: str, run: str) -> Package:
    is_file = item.fields["where"].startswith("file:")
    return Package(
        id=int(item.fields["id"]),
        uid="",
        seq=0,
        run_id=run,
        type=item.said("type"),
        priority=item.said("priority"),
        summary=read_content(item.below[:1]),
        path=item.said("where", "file:") if is_file else None,
        content_bytes=None if is_file else int(item.said("where", "bytes:")),
        consumers=item.names("consumers"),
        task_id=item.value("task", "task:"),
        agent=item.value("agent", "by "),
        superseded_by=int(item.fields["successor"]) if "successor" in item.fields else None,
        created_at=item.moment,
        updated_at=read_when(item.fields["changed"], year, item.moment) if "changed" in item.fields else item.moment,
    )


def order_of(package: Package) -> tuple[int, int, int]:
    return PRIORITIES.index(package.priority), package.created_at, package.id


def read_packages(text: str) -> tuple[List, tuple[Package, ...]]:
    page = read_list(text, FORMAT)
    items = [read_package(item, page.year, read_value(page.head["run"] or "-") or "") for item in page.items]
    if page.order == "priority":
        items.sort(key=order_of, reverse=True)
    elif page.order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=page.order == "newest")
    return page, tuple(items)


def read_contents(text: str) -> dict[str, PackageContent]:
    """Return what each package holds by its id; its first note is the reason where it has no text."""
    head, *lines = text.split("\n")
    said = [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]
    read = read_list("\n".join([head, *(line for line in lines if not line.startswith("note: "))]), CONTENTS)
    notes: dict[str, list[str]] = {}
    for note in said:
        ref, _, rest = note.partition(": ")
        notes.setdefault(ref, []).append(rest)
    found: dict[str, PackageContent] = {}
    for item in read.items:
        package = read_package(item, read.year, item.said("run", "run:"))
        held = read_content(item.below[1:]) if len(item.below) > 1 else None
        told = notes.pop(package.ref, [])
        reason = told.pop(0) if held is None else None
        found[package.ref] = PackageContent(package.ref, package, held, reason, tuple(told))
    return found | {ref: PackageContent(ref, None, None, told[0], tuple(told[1:])) for ref, told in notes.items()}


def package(number: int = 7, summary: str = "tokens", **changes: object) -> Package:
    one = Package(
        id=number,
        uid="0" * 32,
        seq=number,
        run_id="r1",
        type="research",
        priority="medium",
        summary=summary,
        path=None,
        content_bytes=12,
        consumers=(),
        task_id=None,
        agent=None,
        superseded_by=None,
        created_at=NEW_YEAR,
        updated_at=NEW_YEAR,
    )
    return replace(one, **changes)  # type: ignore[arg-type] # the tests give each field its own type


def page_of(*some: Package, by_priority: tuple[tuple[str, int], ...] = ()) -> PackagePage:
    return PackagePage(some, len(some), 0, 20, 9, "priority", run_id="r1", by_priority=by_priority)


texts = st.builds(
    package,
    hostile.numbers,
    hostile.phrases.map(lambda text: text.replace("\n", " ")),
    type=st.sampled_from(TYPES),
    priority=st.sampled_from(PRIORITIES),
    content_bytes=st.integers(1, 10**6),
    consumers=hostile.tag_lists,
    task_id=st.none() | hostile.names,
    agent=st.none() | hostile.agents,
    superseded_by=st.none() | hostile.numbers,
    created_at=hostile.moments,
    updated_at=hostile.moments,
)
packages = texts | st.builds(lambda one, path: replace(one, path=path, content_bytes=None), texts, hostile.names)


@st.composite
def pages(draw: st.DrawFn) -> PackagePage:
    run = draw(hostile.names)
    items = draw(st.lists(packages.map(lambda one: replace(one, run_id=run)), max_size=6, unique_by=lambda one: one.id))
    order = draw(st.sampled_from(["priority", "newest", "oldest", "relevance", "seq"]))
    if order == "priority":
        items.sort(key=order_of, reverse=True)
    elif order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=order == "newest")
    counts = tuple((name, 3) for name in draw(st.lists(st.sampled_from(PRIORITIES), unique=True)))
    return PackagePage(tuple(items), len(items), 0, 20, 9, order, draw(hostile.notes), run_id=run, by_priority=counts)


@st.composite
def contents(draw: st.DrawFn) -> tuple[PackageContent, ...]:
    said = st.sampled_from(["it is gone", "a secret was redacted (jwt)", "p7: x", "note: x"])
    found = []
    for one in draw(st.lists(packages, max_size=4, unique_by=lambda one: one.id)):
        held = draw(st.none() | st.just("") | hostile.texts)
        reason = draw(said) if held is None else None
        found.append(PackageContent(one.ref, one, held, reason, tuple(draw(st.lists(said, max_size=2)))))
    if draw(st.booleans()):
        found.append(PackageContent("p0", None, None, "there is no package p0 in this project"))
    return tuple(draw(st.permutations(found)))


@given(pages())
@example(
    page_of(
        package(2, "p9 research medium bytes:1 01-01 00:00", path="a:12", content_bytes=None),
        package(1, "-", agent="-"),
    )
)
def test_packages_can_be_read_back(page: PackagePage) -> None:
    read, back = read_packages(packages_text(page))
    assert back == tuple(map(kept, page.items))
    assert (read.total, read.notes) == (page.total, page.notes)
    assert read_value(read.head["run"] or "-") == page.run_id
    assert read.head["counts"] == (", ".join(f"{count} {name}" for name, count in page.by_priority) or None)


@given(pages())
def test_no_package_can_pass_for_a_line_of_ours(page: PackagePage) -> None:
    ours = [line for line in packages_text(page).splitlines() if not line.startswith(" ")]
    headings = [line for line in ours[1:] if line.endswith(":") and not line.startswith("note:")]
    items = [line for line in ours if FORMAT.item.fullmatch(line)]
    assert FORMAT.head.fullmatch(ours[0])
    assert len(items) == len(page.items)
    assert len(ours) == 1 + len(headings) + len(items) + len(page.notes)


@given(contents())
@example((PackageContent("p7", package(), "note: p7: x\nby ann:\np8 research medium", None, ("was redacted",)),))
def test_what_packages_hold_can_be_read_back(some: tuple[PackageContent, ...]) -> None:
    expected = {one.ref: replace(one, package=None if one.package is None else kept(one.package)) for one in some}
    assert read_contents(contents_text(some)) == expected


@given(contents())
def test_nothing_that_a_package_holds_can_pass_for_a_line_of_ours(some: tuple[PackageContent, ...]) -> None:
    ours = [line for line in contents_text(some).splitlines() if not re.match(" |note: ", line)]
    assert len(ours) == 1 + sum(one.package is not None for one in some)


def test_a_package_is_its_line_and_its_summary() -> None:
    one = package(
        path="docs/a.md",
        content_bytes=None,
        consumers=("developer", "tech_lead"),
        task_id="T1",
        agent="ann",
        superseded_by=9,
        updated_at=NEW_YEAR + MINUTE,
    )
    assert packages_text(page_of(one, by_priority=(("medium", 1),))).split("\n") == [
        "1 package of run r1 (1 medium), most urgent first, UTC times of 2026",
        "p7 research medium task:T1 by ann file:docs/a.md for:developer tech_lead 01-01 00:00 "
        "changed 00:01 superseded-by:p9",
        " tokens",
    ]


def test_without_a_run_there_are_no_packages() -> None:
    page = PackagePage((), 0, 0, 20, 9, "priority", ("there is no active run",))
    assert packages_text(page) == "0 packages\nnote: there is no active run"


def test_what_a_package_holds_stands_below_its_summary() -> None:
    some = (
        PackageContent("p7", package(agent="ann"), "one\ntwo", None, ("a secret was redacted (jwt)",)),
        PackageContent("p8", package(8, path="gone.md", content_bytes=None), None, "gone.md is not there"),
    )
    assert contents_text(some).split("\n") == [
        "2 items, UTC times of 2026",
        "p7 run:r1 research medium by ann bytes:12 01-01 00:00",
        " tokens",
        " one",
        " two",
        "note: p7: a secret was redacted (jwt)",
        "p8 run:r1 research medium file:gone.md 01-01 00:00",
        " tokens",
        "note: p8: gone.md is not there",
    ]


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (package(), "saved p7 research medium bytes:12 run:r1"),
        (
            package(path="a b.md", content_bytes=None, consumers=("developer",), task_id="T1", agent="ann"),
            'saved p7 research medium task:T1 by ann file:"a b.md" for:developer run:r1',
        ),
        (package(notes=("shortened",)), "saved p7 research medium bytes:12 run:r1\nnote: shortened"),
    ],
)
def test_the_answer_to_saving_names_the_package_and_its_run(one: Package, told: str) -> None:
    assert saved_text(one) == told


def test_the_answer_to_changing_says_how_urgent_it_is() -> None:
    assert changed_text(package(priority="low", notes=("a note",))) == "p7 is low\nnote: a note"
