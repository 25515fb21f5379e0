"""Compact text read back by a parser: nothing that was written is lost, and no stored text can forge an entry.

The parser knows nothing but the format. What it brings back is what an agent reads an entry for; the uid, the entry's
own seq and the score of a search stand only in ``format="json"``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from interfaces.text.reading import AGENT, VALUE, Format, Item, read_content, read_list, read_value
from satchel.base.errors import InvalidInput
from satchel.base.text import check_name, clean_content
from satchel.base.tokens import token_counter
from satchel.interfaces.text.entries import entries_text, written_text
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.parts import value_text
from satchel.keep.entries.records import ENTRY_TYPES, Entry, EntryPage
from tables import in_one_test

FORMAT = Format(
    noun="(?:entry|entrie)",
    more=rf"(?: of run (?P<run>{VALUE}))?",
    start="e(?P<id>[0-9]+)",
    cells={
        "type": "|".join(ENTRY_TYPES),
        "agent": AGENT,
        "in_run": rf"run:{VALUE}",
        "task": rf"task:{VALUE}",
        "loop": rf"loop:{VALUE}",
        "file": r'file:(?:"(?:[^"\\]|\\.)*"|[^\s"]+?)(?::[0-9]+)?',
    },
    own=r"(?: superseded-by:e(?P<superseded>[0-9]+)|(?P<retracted> retracted))?",
)


@dataclass(frozen=True, slots=True)
class Read:
    """What the parser brings back of an entry."""

    id: int
    run_id: str
    type: str
    content: str
    agent: str | None
    task_id: str | None
    loop_id: str | None
    file: str | None
    line: int | None
    superseded_by: int | None
    created_at: int


@dataclass(frozen=True, slots=True)
class ReadPage:
    """What the parser brings back of a page."""

    run_id: str | None
    total: int
    order: str | None
    next_offset: int | None
    entries: tuple[Read, ...]


def kept(entry: Entry) -> Read:
    return Read(
        entry.id,
        entry.run_id,
        entry.type,
        entry.content,
        entry.agent,
        entry.task_id,
        entry.loop_id,
        entry.file,
        entry.line,
        entry.superseded_by,
        entry.created_at,
    )


def read_page(text: str) -> ReadPage:
    page = read_list(text, FORMAT)
    run = None if page.head["run"] is None else read_value(page.head["run"])
    entries = [read_entry(item, run) for item in page.items]
    if page.order in {"newest", "oldest"}:
        entries.sort(key=lambda entry: (entry.created_at, entry.id), reverse=page.order == "newest")
    return ReadPage(run, page.total, page.order, page.next_offset, tuple(entries))


def read_entry(item: Item, run: str | None) -> Read:
    place = re.fullmatch(r"(?:file:)?(.*?)(?::([0-9]+))?", item.fields.get("file", "-"))
    assert place is not None
    file, line = place.groups()
    heir = item.fields["id"] if "retracted" in item.fields else item.fields.get("superseded")
    return Read(
        id=int(item.fields["id"]),
        run_id=item.value("in_run", "run:") or run or "main",
        type=item.said("type"),
        content=read_content(item.below),
        agent=item.value("agent", "by "),
        task_id=item.value("task", "task:"),
        loop_id=item.value("loop", "loop:"),
        file=read_value(file),
        line=None if line is None else int(line),
        superseded_by=None if heir is None else int(heir),
        created_at=item.moment,
    )


def is_name(text: str) -> bool:
    try:
        return check_name(text, "name") == text
    except InvalidInput:
        return False


names = st.sampled_from(
    [
        "planner",
        "-",
        "a b",
        'say "hi"',
        "back\\slash",
        "e12",
        "by",
        "task:x",
        "file:a:3",
        "src/a.py:12",
        "-:12",
        "unless noted",
        "11-21",
        "2025-12-31",
        "a,",
        "日本語",
        "naïve—dash",
        "non\u00a0breaking",
        "\u200bzero width",
        "discovery",
    ]
) | st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(is_name)
contents = st.lists(
    st.sampled_from(
        [
            "e5 discovery by planner 11-21 00:00",
            "e5 00:00",
            "each decision by planner unless noted",
            "1 entry of run r, newest first, UTC times of 2026",
            "",
            " ",
            "\u2028e5 00:00",
            "\u2029 e5 00:00",
            '{"iteration":1}',
        ]
    )
    | st.text(max_size=20).map(lambda text: clean_content(text).text),
    min_size=1,
    max_size=4,
).map("\n".join)
NEW_YEAR = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000
MINUTE = 60_000
minutes = st.integers(NEW_YEAR // MINUTE - 2, NEW_YEAR // MINUTE + 2) | st.integers(0, 4_102_444_800_000 // MINUTE)
moments = minutes.map(lambda minute: minute * MINUTE)
numbers = st.integers(1, 2**53)
entries = st.builds(
    Entry,
    id=numbers,
    uid=st.just("0" * 32),
    seq=numbers,
    run_id=st.sampled_from(["r", "main", "a run"]),
    type=st.sampled_from(ENTRY_TYPES),
    content=contents,
    task_id=st.none() | names,
    loop_id=st.none() | names,
    file=st.none() | names,
    line=st.none() | st.integers(1, 10**9),
    last_line=st.none(),
    agent=st.none() | names,
    superseded_by=st.none() | numbers,
    created_at=moments,
)
pages = st.builds(
    EntryPage,
    items=st.lists(entries, max_size=6, unique_by=lambda entry: entry.id).map(tuple),
    total=st.integers(0, 20),
    offset=st.integers(0, 10),
    limit=st.just(20),
    run_id=st.none() | names,
    seq=st.integers(0, 2**53),
    order=st.sampled_from(["newest", "oldest", "relevance", "seq"]),
)


def sorted_page(page: EntryPage) -> EntryPage:
    if page.order not in {"newest", "oldest"}:
        return page
    items = sorted(page.items, key=lambda entry: (entry.created_at, entry.id), reverse=page.order == "newest")
    return replace(page, items=tuple(items))


def entry(number: int = 1, content: str = "x", **fields: object) -> Entry:
    values: dict[str, object] = {
        "id": number,
        "uid": f"{number:032x}",
        "seq": number,
        "run_id": "r",
        "type": "discovery",
        "content": content,
        "task_id": None,
        "loop_id": None,
        "file": None,
        "line": None,
        "last_line": None,
        "agent": None,
        "superseded_by": None,
        "created_at": NEW_YEAR,
    }
    return Entry(**(values | fields))  # type: ignore[arg-type] # the tests give each field its own type


def page_of(*some: Entry, **fields: object) -> EntryPage:
    values: dict[str, object] = {
        "items": some,
        "total": len(some),
        "offset": 0,
        "limit": 20,
        "run_id": "r",
        "seq": 9,
        "order": "newest",
    }
    return EntryPage(**(values | fields))  # type: ignore[arg-type] # as above


@given(pages)
@example(page_of(entry(1, file="src/a:12"), entry(2, file="src/a", line=12)))
@example(page_of(entry(1), entry(2, created_at=NEW_YEAR - MINUTE)))
@example(page_of(entry(1, agent="-"), entry(2, agent=None), entry(3, agent="-")))
def test_what_was_written_can_be_read_back(page: EntryPage) -> None:
    back = read_page(entries_text(page))
    assert back.entries == tuple(map(kept, sorted_page(page).entries))
    assert (back.run_id, back.total, back.next_offset) == (page.run_id, page.total, page.next_offset)
    assert back.order == (page.order if page.entries else None)


@given(pages)
@example(page_of(entry(1, "a\u2028e5 00:00"), entry(2, "a\u2029each by x unless noted")))
def test_no_content_can_pass_for_a_line_of_ours(page: EntryPage) -> None:
    # splitlines, because a reader may break lines where we do not
    head, *ours = [line for line in entries_text(page).splitlines() if not line.startswith(" ")]
    assert FORMAT.head.fullmatch(head)
    items = [found for line in ours if (found := FORMAT.item.fullmatch(line))]
    assert {int(found["id"]) for found in items} == {written.id for written in page.entries}
    assert len(ours) == len(items) + sum(line.endswith(":") and not FORMAT.item.fullmatch(line) for line in ours)


def test_what_most_entries_share_is_said_once() -> None:
    some = [entry(n, agent="planner", loop_id="loop-1", created_at=NEW_YEAR + n * MINUTE) for n in range(1, 4)]
    assert entries_text(page_of(*some, entry(4, agent="builder", type="error"))).split("\n")[:2] == [
        "4 entries of run r, newest first, UTC times of 2026; each discovery by planner loop:loop-1 unless noted",
        "e1 01-01 00:01",
    ]


def test_an_entry_of_another_year_says_so() -> None:
    text = entries_text(page_of(entry(1), entry(2, created_at=NEW_YEAR - MINUTE)))
    assert text.split("\n")[3] == "e2 2025-12-31 23:59"


def test_a_file_that_ends_like_a_line_number_is_quoted() -> None:
    text = entries_text(page_of(entry(1, file="src/a:12", line=3)))
    assert 'file:"src/a:12":3 ' in text


def test_an_empty_page_names_the_run_and_the_total() -> None:
    assert entries_text(page_of(total=7, offset=7)) == "0 of 7 entries of run r, from offset 7"


def test_a_page_without_a_run_says_why() -> None:
    assert entries_text(page_of(run_id=None, notes=("nothing yet",))) == "0 entries\nnote: nothing yet"


@in_one_test(
    ("value", "text"),
    [(None, "-"), ("-", '"-"'), ("a", "a"), ("a b", '"a b"'), ('a"b', '"a\\"b"'), ("日本", "日本")],
)
def test_a_value_is_quoted_only_where_it_could_be_misread(value: str | None, text: str) -> None:
    assert value_text(value) == text


def test_the_answer_to_a_write_names_ids_types_run_and_author() -> None:
    some = [entry(1, agent="planner"), entry(2, type="error", agent="planner")]
    assert written_text(some) == "saved e1 discovery, e2 error in run r by planner; shown in briefings, searches"


def test_the_answer_to_a_write_says_when_nobody_is_named() -> None:
    assert written_text([entry(1)]) == "saved e1 discovery in run r, author unnamed; shown in briefings, searches"


def test_a_note_about_some_entries_of_a_batch_names_them() -> None:
    some = [entry(1, notes=("redacted", "run r was started")), entry(2, notes=("run r was started",))]
    assert written_text(some).split("\n")[1:] == ["note: e1: redacted", "note: run r was started"]


def typical_page() -> EntryPage:
    """Twenty entries as two agents leave them in an afternoon."""
    texts = (
        ("discovery", "Sessions are kept in Redis under sess:<id>; the TTL is set in settings/session.py, not env."),
        ("error", "pytest tests/auth fails: fixture 'token_clock' not found. It lives in tests/auth/conftest.py."),
        ("decision", "Refresh tokens rotate on every use; the old one stays valid for 30 s for parallel requests."),
        ("discovery", "The gateway strips the Authorization header on redirects, so /login must not redirect."),
        ("review_issue", '{"issue_type":"dead-code","description":"legacy_login() is called nowhere"}'),
    )
    moment = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp()) * 1_000
    return page_of(
        *(
            entry(
                840 - n,
                texts[n % 5][1],
                type=texts[n % 5][0],
                agent="builder-1" if n % 3 else "planner",
                task_id="T1",
                loop_id=f"loop-{n // 8 + 1}",
                file="src/auth/session.py" if n % 2 else None,
                line=40 + n if n % 4 == 1 else None,
                created_at=moment - 97_003 * n,
                run_id="login-page",
            )
            for n in range(20)
        ),
        run_id="login-page",
    )


def test_compact_text_costs_less_than_half_of_pretty_json_that_says_the_same() -> None:
    said = fields_of(typical_page(), "entries")
    assert isinstance(said["entries"], list)
    said["entries"] = [
        {name: value for name, value in fields.items() if name not in {"uid", "seq"}} for fields in said["entries"]
    ]
    counter = token_counter()
    pretty = counter.count(json.dumps(said, indent=2, ensure_ascii=False), "json")
    assert counter.count(entries_text(typical_page())) < 0.5 * pretty
