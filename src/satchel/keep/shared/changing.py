"""Sharing and unsharing of items, and sync of store and files."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import Conflict, NotFound
from satchel.keep.moving.lines import lines_of
from satchel.keep.sessions.actors import reader_name
from satchel.keep.shared import choosing, listing, merging
from satchel.keep.shared.context import Context, record
from satchel.keep.shared.folder import Folder, Listing
from satchel.keep.shared.items import mask_of, secrets_in, text_of, why_not
from satchel.keep.shared.known import CHANGED, NEW
from satchel.keep.shared.looking import Place
from satchel.keep.shared.markdown import SharedText, file_name, render
from satchel.keep.shared.records import IN_STEP, UNSHARED, SharedItem, Sharing, Synced
from satchel.keep.shared.survey import KINDS, Survey
from satchel.keep.shared.world import read_world


def share(context: Context, refs: Sequence[str], rules: Sequence[str], *, dry_run: bool) -> Sharing:
    place, world = context.look()
    folder, mask = context.folder, mask_of(context.workplace.root)
    written: list[SharedItem] = []
    refused: list[tuple[str, str]] = []
    with context.surveyed(place, world, write=not dry_run) as survey:
        for kind, numbers in choosing.items_to_share(survey, refs, rules).items():
            lines = lines_of(survey.transaction, survey.project, kind, numbers)
            for number in numbers:
                ref = KINDS[kind].ref(number)
                reason = why_not(lines[number])
                text = None if reason is not None else text_of(lines[number], mask)
                name = "" if text is None else _file_of(survey, text)
                reason = reason if text is None else _hindrance(survey, text, name)
                if text is None or reason is not None:
                    refused.append((ref, reason or ""))
                    continue
                if not dry_run:
                    folder.write(name, render(text))
                    survey.look_again(text.uid)
                    survey.wrote(text.uid, text, name)
                written.append(listing.item_of(text, ref, name, IN_STEP))
        if not dry_run:
            survey.save()
    return Sharing(tuple(written), tuple(refused), _notes(folder, written=bool(written) and not dry_run), not dry_run)


def unshare(context: Context, refs: Sequence[str], *, dry_run: bool) -> Sharing:
    place, world = context.look()
    author, folder = reader_name(context.workplace, None), context.folder
    written = []
    with context.surveyed(place, world, write=not dry_run) as survey:
        for uid in choosing.uids_of(survey, refs):
            state = survey.known.get(uid)
            file = world.here.get(uid) or world.committed.get(uid)
            if (state is None or not state.is_shared) and (file is None or file.text.is_gone):
                raise NotFound(f"{survey.ref(uid) or uid[:8]} is not shared", "satchel proposals --all lists what is")
            kind = state.kind if state is not None else file.text.kind if file is not None else ""
            before = survey.text(uid) if uid in survey.ours else None if file is None else file.text
            stone = SharedText(kind, uid, author, context.workplace.clock(), is_gone=True)
            name = file.name if file is not None else state.file if state is not None else None
            name = name or file_name(stone)
            if file is None and name in world.listing.names:
                raise Conflict(
                    f"{folder.display_path(name)} cannot be read",
                    "Repair or remove it first; satchel sync shows the reason",
                )
            written.append(listing.item_of(before or stone, survey.ref(uid), name, UNSHARED))
            if not dry_run:
                folder.write(name, render(stone))
                survey.wrote_tombstone(stone, name)
        if not dry_run:
            survey.save()
    return Sharing(tuple(written), (), (), not dry_run)


def sync(context: Context, place: Place, files: Listing, resolve: str | None, *, dry_run: bool) -> Synced:
    folder = context.folder
    last = context.last_commit()
    world = read_world(place, last, files)
    resolved: tuple[str, ...] = ()
    if resolve is not None and world.conflicts:
        resolved = merging.resolve(folder, world.conflicts, resolve, dry_run=dry_run)
        world = world if dry_run else read_world(place, last)
    with context.surveyed(place, world, write=not dry_run) as survey:
        ended = [survey.ref(uid) or uid[:8] for uid in survey.settle()]
        accepted, notes = context.accept_committed(survey, dry_run=dry_run)
        waiting = listing.waiting_items(survey, context.is_person)
        written = _write(survey, folder, notes, dry_run=dry_run)
        in_step = sum(state.is_shared for state in survey.known.values()) - len(written) * dry_run
        if not dry_run:
            record(survey, changed=bool(written))
    return Synced(
        written=tuple(written),
        taken=tuple(accepted),
        waiting=waiting,
        ended=tuple(ended),
        in_step=in_step,
        problems=listing.problems_of(survey.problems, is_person=context.is_person),
        resolved=resolved,
        notes=(*notes, *_notes(folder, written=bool(written) and not dry_run)),
        done=not dry_run,
    )


def read_news(context: Context) -> None:
    place, world = context.look()
    if context.last_commit() is None and not world.committed and not world.here:
        return
    with context.surveyed(place, world, write=True) as survey:
        survey.settle()
        # nobody would notice that both sides changed
        context.accept_committed(survey, dry_run=False, whys=(NEW, CHANGED))
        record(survey, changed=False, is_whole=False)


def _write(survey: Survey, folder: Folder, notes: list[str], *, dry_run: bool) -> list[SharedItem]:
    # changed items, and tombstones for those merged into others
    written = []
    for uid, ours in survey.to_write():
        text, name, ref = survey.text(uid), survey.world.here[uid].name, KINDS[ours.kind].ref(ours.number)
        secrets = secrets_in(text)
        if secrets:
            notes.append(f"{ref} holds a secret ({secrets[0]}); its file was not changed")
            continue
        written.append(listing.item_of(text, ref, name, IN_STEP))
        if not dry_run:
            folder.write(name, render(text))
            survey.wrote(uid, text, name)
    for uid in survey.to_end():
        file = survey.world.here[uid]
        stone = SharedText(file.text.kind, uid, None, file.text.time, is_gone=True)
        written.append(listing.item_of(file.text, None, file.name, UNSHARED))
        if not dry_run:
            folder.write(file.name, render(stone))
            survey.wrote_tombstone(stone, file.name)
    return written


def _notes(folder: Folder, *, written: bool) -> tuple[str, ...]:
    note = folder.let_git_see() if written else None
    return () if note is None else (note,)


def _hindrance(survey: Survey, text: SharedText, name: str) -> str | None:
    secrets = secrets_in(text)
    if secrets:
        return f"it holds a secret ({secrets[0]}): forget it, and change the secret"
    if text.uid in survey.incoming:
        return "a text of it waits: satchel proposals --accept or --reject it first"
    here, state = survey.world.here.get(text.uid), survey.known.get(text.uid)
    if here is None and name in survey.world.listing.names:
        return f"its file {name} cannot be read: repair or remove it first; satchel sync shows the reason"
    if here is not None and not here.text.is_gone:
        digest = here.text.digest
        is_known = (text.uid, digest) in survey.seen or digest == text.digest
        if not is_known and (state is None or digest != state.in_step):
            return "its file on this branch has unseen changes: merge or remove it first"
    return None


def _file_of(survey: Survey, text: SharedText) -> str:
    file = survey.world.here.get(text.uid) or survey.world.committed.get(text.uid)
    if file is not None:
        return file.name
    name = file_name(text)
    used = {one.name for one in (*survey.world.here.values(), *survey.world.committed.values())}
    return name if name not in used else f"{name[:-3]}-{text.uid[8:]}.md"
