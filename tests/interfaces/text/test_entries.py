"""Compact text read back by a parser: nothing that was written is lost, and no stored text can forge an entry.

The parser knows nothing but the format. What it brings back is what an agent reads an entry for; the uid, the entry's
own seq and the score of a search stand only in ``format="json"``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from satchel.base.errors import InvalidInput
from satchel.base.text import check_name, clean_content
from satchel.base.tokens import token_counter
from satchel.interfaces.text.entries import page_text, written_text
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.parts import value_text
from satchel.keep.entries import ENTRY_TYPES, Entry, EntryPage

VALUE = r'(?:"(?:[^"\\]|\\.)*"|[^\s"]+?)'
TYPE = "|".join(ENTRY_TYPES)
FIELDS = (
    rf"(?: (?P<type>{TYPE}))?(?: by (?P<agent>{VALUE}))?(?: run:(?P<run>{VALUE}))?"
    rf"(?: task:(?P<task>{VALUE}))?(?: loop:(?P<loop>{VALUE}))?"
    rf"(?: file:(?P<file>{VALUE})(?P<line>:[0-9]+)?)?"
    r"(?: superseded-by:e(?P<superseded>[0-9]+)|(?P<retracted> retracted))?"
    r"(?: (?P<day>(?:[0-9]{4}-)?[0-9]{2}-[0-9]{2}))?"
)
ENTRY_LINE = re.compile(rf"e(?P<id>[0-9]+){FIELDS} (?P<time>[0-9]{{2}}:[0-9]{{2}})")
COMMON_LINE = re.compile(rf"each{FIELDS} unless noted")
HEAD_LINE = re.compile(
    rf"(?P<count>[0-9]+)(?: of (?P<total>[0-9]+))? (?:entry|entries)(?: of run (?P<run>{VALUE}))?"
    r"(?:, (?P<order>newest first|oldest first|best first|in order of change), UTC times of (?P<year>[0-9]{4}))?"
    r"(?:, from offset (?P<offset>[0-9]+))?(?:, next: offset=(?P<next>[0-9]+))?"
)
ORDERS = {"newest first": "newest", "oldest first": "oldest", "best first": "relevance", "in order of change": "seq"}


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


def read_value(text: str) -> str | None:
    if text.startswith('"'):
        value = json.loads(text)
        assert isinstance(value, str)
        return value
    return None if text == "-" else text


def read_page(text: str) -> ReadPage:
    head_line, *lines = text.split("\n")
    head = HEAD_LINE.fullmatch(head_line)
    assert head is not None, head_line
    common: dict[str, str] = {}
    usual = {"run": head["run"] or "main"}
    if lines and (found := COMMON_LINE.fullmatch(lines[0])):
        common = {name: value for name, value in found.groupdict().items() if value is not None}
        lines = lines[1:]
    blocks: list[tuple[re.Match[str], list[str]]] = []
    for line in lines:
        if line.startswith(" "):
            blocks[-1][1].append(line[1:])
        else:
            entry_line = ENTRY_LINE.fullmatch(line)
            assert entry_line is not None, line
            blocks.append((entry_line, []))
    return ReadPage(
        run_id=read_value(head["run"]) if head["run"] else None,
        total=int(head["total"] or head["count"]),
        order=ORDERS[head["order"]] if head["order"] else None,
        next_offset=int(head["next"]) if head["next"] else None,
        entries=tuple(read_entry(match, content, usual | common, head["year"]) for match, content in blocks),
    )


def heir_of(fields: dict[str, str]) -> str | None:
    return fields["id"] if "retracted" in fields else fields.get("superseded")


def read_entry(match: re.Match[str], content: Sequence[str], common: dict[str, str], year: str) -> Read:
    fields = common | {name: value for name, value in match.groupdict().items() if value is not None}

    def value(name: str) -> str | None:
        return read_value(fields[name]) if name in fields else None

    day = fields["day"] if len(fields["day"]) == 10 else f"{year}-{fields['day']}"
    moment = datetime.strptime(f"{day} {fields['time']}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    text = "\n".join(content).replace("\u2028 ", "\u2028").replace("\u2029 ", "\u2029")
    return Read(
        id=int(fields["id"]),
        run_id=value("run") or "",
        type=fields["type"],
        content=text,
        agent=value("agent"),
        task_id=value("task"),
        loop_id=value("loop"),
        file=value("file"),
        line=int(fields["line"][1:]) if "line" in fields else None,
        superseded_by=None if (heir := heir_of(fields)) is None else int(heir),
        created_at=(moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1),
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
    agent=st.none() | names,
    superseded_by=st.none() | numbers,
    created_at=moments,
)
pages = st.builds(
    EntryPage,
    items=st.lists(entries, max_size=6).map(tuple),
    total=st.integers(0, 20),
    offset=st.integers(0, 10),
    limit=st.just(20),
    run_id=st.none() | names,
    seq=st.integers(0, 2**53),
    order=st.sampled_from(["newest", "oldest", "relevance", "seq"]),
)


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
    back = read_page(page_text(page))
    assert back.entries == tuple(map(kept, page.entries))
    assert (back.run_id, back.total, back.next_offset) == (page.run_id, page.total, page.next_offset)
    assert back.order == (page.order if page.entries else None)


@given(pages)
@example(page_of(entry(1, "a\u2028e5 00:00"), entry(2, "a\u2029each by x unless noted")))
def test_no_content_can_pass_for_a_line_of_ours(page: EntryPage) -> None:
    # splitlines, because a reader may break lines where we do not
    ours = [line for line in page_text(page).splitlines() if not line.startswith(" ")]
    heads = [line for line in ours if HEAD_LINE.fullmatch(line) or COMMON_LINE.fullmatch(line)]
    assert len(heads) <= 2
    assert [int(found["id"]) for line in ours if (found := ENTRY_LINE.fullmatch(line))] == [
        written.id for written in page.entries
    ]
    assert len(ours) == len(heads) + len(page.entries)


def test_what_most_entries_share_is_said_once() -> None:
    some = [entry(n, agent="planner", loop_id="loop-1", created_at=NEW_YEAR + n * MINUTE) for n in range(1, 4)]
    assert page_text(page_of(*some, entry(4, agent="builder", type="error"))).split("\n")[:3] == [
        "4 entries of run r, newest first, UTC times of 2026",
        "each discovery by planner loop:loop-1 01-01 unless noted",
        "e1 00:01",
    ]


def test_an_entry_of_another_year_says_so() -> None:
    assert page_text(page_of(entry(1), entry(2, created_at=NEW_YEAR - MINUTE))).split("\n")[4] == "e2 2025-12-31 23:59"


def test_a_file_that_ends_like_a_line_number_is_quoted() -> None:
    text = page_text(page_of(entry(1, file="src/a:12", line=3)))
    assert 'file:"src/a:12":3 ' in text


def test_an_empty_page_names_the_run_and_the_total() -> None:
    assert page_text(page_of(total=7, offset=7)) == "0 of 7 entries of run r, from offset 7"


def test_a_page_without_a_run_says_why() -> None:
    assert page_text(page_of(run_id=None, notes=("nothing yet",))) == "0 entries\nnote: nothing yet"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), ("-", '"-"'), ("a", "a"), ("a b", '"a b"'), ('a"b', '"a\\"b"'), ("日本", "日本")],
)
def test_a_value_is_quoted_only_where_it_could_be_misread(value: str | None, text: str) -> None:
    assert value_text(value) == text


def test_the_answer_to_a_write_names_ids_types_run_and_author() -> None:
    some = [entry(1, agent="planner"), entry(2, type="error", agent="planner")]
    assert written_text(some) == "kept e1 discovery, e2 error in run r by planner"


def test_the_answer_to_a_write_says_when_nobody_is_named() -> None:
    assert written_text([entry(1)]) == "kept e1 discovery in run r, author unnamed"


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
    assert counter.count(page_text(typical_page())) < 0.5 * pretty
