"""Names, texts and times that try to pass for something else."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from satchel.base.errors import InvalidInput
from satchel.base.text import check_name, clean_content
from satchel.base.vocabulary import LAYERS

NEW_YEAR = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000

_WORDS = (
    "planner, -, a b, #, #api, @x, by, by planner, made, v2, v2.0.0, revision 3, scopes:x, for:x, "
    "11-20, 2025-12-31, 03:32, 11-20 03:32, "
    "layer:data, layer:-, worktree:/x, category:x, data, business, active, deprecated, draft, security, critical, "
    "medium, me, all, to all, from me, unread, read, sent, kept, kept 7 days, payload, inactive, because, modified, "
    "created, exclusive, shared, until, note:, note: x, unless noted, rationale:-, answers m1, thread m1, read by x, "
    "300, true, NaN, "
    'say "hi", back\\slash, d12, d12 a: b, key:, : x, 日本語, naïve—dash, non\u00a0breaking, \u200bzero, 🙂, src/a.py, '
    "src/**, **, .env, Makefile, 2fa, ²nd, a:12"
).split(", ")
_LINES = (
    "d5 key=3 11-21 00:00",
    "by planner:",
    "business:",
    "1 decision, newest first, UTC times of 2026",
    "c7 security high 11-21 00:00",
    "note: x",
    "exclusive src/** by x 11-21 00:00 until 2026-11-21 00:00",
    "revision 1: 3 11-21 00:00",
    "",
    " ",
    "\u2028d5 key=3 11-21 00:00",
    "\u2029by x:",
    '{"a":1}',
)


def _is_name(text: str) -> bool:
    try:
        return check_name(text, "name") == text
    except InvalidInput:
        return False


def _cleaned(text: str) -> str:
    return clean_content(text).text


names = st.sampled_from(_WORDS) | st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(_is_name)
agents = st.sampled_from(["planner", "builder", "me", "all", "-"]) | names
layers = st.sampled_from([None, *LAYERS]) | names
tag_lists = st.lists(names, max_size=3, unique=True).map(tuple)
contents = st.lists(st.sampled_from([*_LINES, *_WORDS]) | st.text(max_size=20).map(_cleaned), min_size=1, max_size=4)
texts = contents.map("\n".join)
phrases = contents.map(" ".join)
# whole words of a page, so that ends of values meet beginnings of fields
sentences = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(" ".join)
numbers = st.integers(1, 2**53)
minutes = st.integers(NEW_YEAR // MINUTE - 2, NEW_YEAR // MINUTE + 2) | st.integers(0, 4_102_444_800_000 // MINUTE)
moments = minutes.map(lambda minute: minute * MINUTE)
# such as words say in full
spans = st.one_of(
    st.integers(1, 119).map(lambda count: count * MINUTE),
    st.integers(2, 47).map(lambda count: count * HOUR),
    st.integers(2, 9_999).map(lambda count: count * DAY),
)
notes = st.lists(texts, max_size=2).map(tuple)
uids = st.just("0" * 32)
