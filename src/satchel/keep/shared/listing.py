"""Views of shared texts for people: items and their state, differences, and problems of files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from satchel.base.text import shortened
from satchel.keep.shared.folder import MAX_BYTES, Folder, Skipped
from satchel.keep.shared.front_matter import BrokenText
from satchel.keep.shared.items import cleaned, secrets_in
from satchel.keep.shared.known import BOTH, CHANGED, NEW, SAME_KEY
from satchel.keep.shared.looking import BELOW
from satchel.keep.shared.markdown import SharedText, parse, render
from satchel.keep.shared.records import (
    AHEAD,
    ELSEWHERE,
    IN_STEP,
    NO_FILE,
    WAITS,
    Checked,
    Difference,
    Problem,
    SharedItem,
)
from satchel.keep.shared.survey import Survey
from satchel.keep.shared.world import RepositoryText

_WHY = {
    NEW: "new",
    CHANGED: "changed",
    BOTH: "changed on both sides: accept takes theirs and keeps the local state in the history, reject keeps it",
    SAME_KEY: "another item has this key: accept merges them, and the later text wins",
}


def item_of(text: SharedText, ref: str | None, name: str | None, state: str, why: str | None = None) -> SharedItem:
    return SharedItem(
        ref=ref,
        uid=text.uid,
        kind=text.kind,
        file=None if name is None else f"{BELOW}/{name}",
        title=shortened(cleaned(text)[0].title, 80) or None,
        author=text.author,
        changed_at=text.time,
        state=state,
        why=why,
    )


def waiting_item(survey: Survey, uid: str, *, is_person: bool) -> SharedItem:
    """Return a waiting text; an agent gets no words of a stranger."""
    news = survey.incoming[uid]
    text, name = news.found.text, news.found.name
    why = _WHY[news.why] + ("" if news.is_committed else ", edited here and not committed")
    if is_person:
        return item_of(text, survey.ref(uid), name, WAITS, why)
    return SharedItem(survey.ref(uid), uid, text.kind, None, None, None, text.time, WAITS, why)


def waiting_items(survey: Survey, is_person: bool) -> tuple[SharedItem, ...]:
    """Return the waiting texts, oldest first."""
    items = [waiting_item(survey, uid, is_person=is_person) for uid, news in survey.incoming.items() if news.why]
    return tuple(sorted(items, key=lambda one: (one.changed_at or 0, one.uid)))


def listed(survey: Survey, is_person: bool, *, is_all: bool) -> list[SharedItem]:
    """Return the states of items: waiting ones, then differing ones, then with ``is_all`` the others."""
    items = [*waiting_items(survey, is_person)]
    others: list[SharedItem] = []
    unwritten = {uid for uid, _ in survey.to_write()}
    for uid in survey.uids:
        text_state, ours = survey.known.get(uid), survey.ours.get(uid)
        if uid in survey.incoming:
            continue
        committed, here = survey.world.committed.get(uid), survey.world.here.get(uid)
        elsewhere = _elsewhere(survey, uid, committed, here, None if ours is None else ours.digest)
        if elsewhere is not None:
            why = "not on the default branch"
            if is_person:
                why = f"on branch {survey.place.branch}" if survey.place.branch else why
                others.append(item_of(elsewhere.text, survey.ref(uid), elsewhere.name, ELSEWHERE, why))
            else:
                text = elsewhere.text
                others.append(SharedItem(survey.ref(uid), uid, text.kind, None, None, None, text.time, ELSEWHERE, why))
        elif text_state is not None and text_state.is_shared and ours is not None:
            agreed = here if survey.place.default is None else committed
            state, reason = _standing(agreed, here, ours.digest, text_state.taken)
            reason = "changed here: satchel sync writes it" if uid in unwritten else reason
            if is_all or state == AHEAD:
                others.append(item_of(survey.text(uid), survey.ref(uid), text_state.file, state, reason))
    return items + sorted(others, key=lambda one: (one.state == IN_STEP, one.kind, one.title or "", one.uid))


def _elsewhere(
    survey: Survey, uid: str, committed: RepositoryText | None, here: RepositoryText | None, ours: bytes | None
) -> RepositoryText | None:
    # this worktree has another branch's version, which is neither local nor seen
    if here is None or survey.place.is_on_default or here.text.is_gone:
        return None
    digest = here.text.digest
    is_known = digest == ours or (uid, digest) in survey.seen
    return None if is_known or (committed is not None and committed.text.digest == digest) else here


def _standing(
    agreed: RepositoryText | None, here: RepositoryText | None, ours: bytes, accepted: bytes | None
) -> tuple[str, str | None]:
    if agreed is not None and agreed.text.digest in {ours, accepted}:
        return IN_STEP, None
    if here is not None and here.text.digest in {ours, accepted}:
        return AHEAD, "in its file, but not on the default branch yet"
    if agreed is not None:
        return AHEAD, "the local item differs from the default branch: satchel share writes it here"
    if here is None:
        return NO_FILE, "no file here or on the default branch: satchel share writes it again"
    return AHEAD, "the local item differs from its file: satchel share writes it"


def difference(survey: Survey, uid: str) -> Difference:
    """Return a waiting text with its difference to the local one."""
    incoming_text = survey.incoming[uid].found.text
    text, _ = cleaned(incoming_text)
    ours = render(survey.text(uid)).decode() if uid in survey.ours else ""
    item = waiting_item(survey, uid, is_person=True)
    before, after = ours.split("\n")[:-1], render(text).decode().split("\n")[:-1]
    lines = difflib.unified_diff(before, after, "here" if before else "/dev/null", item.file or "", lineterm="")
    return Difference(item, tuple(lines), incoming_text.digest.hex())


def checked(folder: Folder) -> Checked:
    """Check that a folder's files are as the program would write them."""
    files = folder.list()
    problems = [*files.skipped]
    uids: dict[str, str] = {}
    keys: dict[tuple[str, str], str] = {}
    for name in files.names:
        problems += [
            Skipped(folder.display_path(name), problem, line)
            for line, problem in _faults(name, folder.read(name), uids, keys)
        ]
    return Checked(len(files.names), problems_of(problems, is_person=True))


def problems_of(skipped: Sequence[Skipped], *, is_person: bool) -> tuple[Problem, ...]:
    """Return the skipped files for callers; an agent gets no names and words of a stranger."""
    if skipped and not is_person:
        return (Problem(BELOW, None, f"{_files(len(skipped))} skipped; only people see which and why"),)
    return tuple(Problem(one.path, one.line, one.problem) for one in skipped)


def _files(number: int) -> str:
    return "1 file was" if number == 1 else f"{number:,} files were"


def _faults(
    name: str, data: bytes | None, uids: dict[str, str], keys: dict[tuple[str, str], str]
) -> Iterator[tuple[int | None, str]]:
    if data is None:
        yield None, f"cannot be read as a regular file of at most {MAX_BYTES // 1024**2} MiB"
        return
    try:
        text = parse(data)
    except BrokenText as error:
        yield error.line, error.problem
        return
    other = uids.setdefault(text.uid, name)
    if other != name:
        yield None, f"has the uid of {other}; one of them is a copy"
    if not name.endswith(f"-{text.uid[:8]}.md") and not name.endswith(f"-{text.uid[8:]}.md"):
        yield None, f"its name does not end with -{text.uid[:8]}.md, the beginning of its uid"
    key = text.fields.get("key") or text.fields.get("hash")
    if isinstance(key, str) and not text.is_gone:
        other = keys.setdefault((text.kind, key), name)
        if other != name:
            yield None, f"has the key of {other}: satchel sync and satchel proposals --accept merge them"
    secrets = secrets_in(text)
    if secrets:
        yield None, f"holds a secret ({secrets[0]})"
    notes = [note for note in cleaned(text)[1] if "secret" not in note]
    if notes:
        yield None, "; ".join(notes)
    written = render(text)
    if written != data.replace(b"\r\n", b"\n"):
        yield _first_difference(data.replace(b"\r\n", b"\n"), written), "is not formatted as satchel sync writes it"


def _first_difference(data: bytes, written: bytes) -> int:
    pairs = zip(data.split(b"\n"), written.split(b"\n"), strict=False)
    return next((number for number, (one, other) in enumerate(pairs, start=1) if one != other), data.count(b"\n") + 1)
