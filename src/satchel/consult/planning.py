"""Planning a turn: its files are gathered and read once for all models, split stably, and compared with the window.

Nothing is sent or recorded.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from threading import RLock

from satchel.base.errors import Refused
from satchel.base.records import replace
from satchel.base.tokens import TokenCounter
from satchel.consult.conversations import Conversations
from satchel.consult.gathering import gather
from satchel.consult.models import Assistant, check_fits, room
from satchel.consult.prompts import ANY_MARK, UNSEARCHABLE, Draft, NewFile, let_go, render, tokens_of_past
from satchel.consult.question import DEFAULT_CONVERSATION, Question
from satchel.consult.reading import has_media_name, media_tokens, read_content, searches_media, takes_media
from satchel.consult.records import (
    ALONE_SHARE,
    INLINE_SHARE,
    Content,
    ConversationState,
    FoundFile,
    Gathering,
    HeldBack,
    IsCancelled,
    KnownFile,
    Media,
    PastTurn,
    TurnPlan,
    TurnRequest,
    Window,
    raise_if_cancelled,
)
from satchel.consult.rounds import search_reserve
from satchel.keep.projects import Workplace

_TOLD_EVERY_FILES = 500
_FILE_BEGINS = re.compile("\n<file-")


class SharedReading:
    """The files of a question, gathered, read and counted once for all models that are asked it. Thread-safe."""

    def __init__(self, counter: TokenCounter) -> None:
        self.lock = RLock()
        self.gatherings: dict[tuple[tuple[str, ...], frozenset[str]], Gathering] = {}
        self.contents: dict[FoundFile, Content | HeldBack] = {}
        self._counts: dict[tuple[str, str | None], int] = {}
        self._counter = counter
        self.counter = replace(counter, _count=self._count)

    def _count(self, text: str, kind: str | None) -> int:
        key = text, kind
        if key not in self._counts:
            # encodings begin anew at a "<" after an end of line, and most files of a prompt are in others' as well
            starts = _FILE_BEGINS.finditer(text) if kind is None and self._counter.exact else ()
            cuts = [0, *(start.start() + 1 for start in starts), len(text)]
            parts = [text[begin:end] for begin, end in pairwise(cuts)]
            count = self._counter.count(text, kind) if len(parts) == 1 else sum(self._count(one, None) for one in parts)
            self._counts[key] = count
        return self._counts[key]


class Preparing:
    """Plans the turns of a project's conversations."""

    def __init__(self, workplace: Workplace, conversations: Conversations, *, is_stable: bool) -> None:
        self._clock = workplace.clock
        self._conversations = conversations
        self._is_stable = is_stable
        self._root = workplace.files_root

    def is_gone(self, path: str) -> bool:
        """Return whether a file was deleted; one that cannot be examined does not count as deleted."""
        if self._root is None:
            return False
        try:
            Path(self._root, path).lstat()
        except OSError as error:
            return error.errno in {errno.ENOENT, errno.ENOTDIR}
        except ValueError:
            # a name that no file can have, such as one with a zero byte; gathering refuses it
            return False
        return False

    def plan(
        self,
        state: ConversationState,
        question: Question,
        briefing: str | None,
        model: Assistant,
        on_progress: Callable[[str], None],
        is_cancelled: IsCancelled,
        shared: SharedReading,
        earlier: Sequence[PastTurn] = (),
    ) -> TurnPlan:
        """Decide what a turn sends."""
        with shared.lock:
            window = model.window
            # before the files are looked at: one that changes from now on is taken for changed
            now = self._clock()

            def look(paths: Sequence[str]) -> Gathering:
                key = tuple(paths), frozenset(filter(has_media_name, state.files)) if state.files else frozenset()
                if key not in shared.gatherings:
                    files = self._gather(paths, state.files, question, is_cancelled)
                    if any(map(self.is_gone, paths)):  # only a conversation that knows a path passes over it
                        return files
                    shared.gatherings[key] = files
                return shared.gatherings[key]

            if question.context or question.priority or question.attachments:
                on_progress("looking at the files")
            priority = look(question.priority)
            context = look((*question.context, *question.priority))
            request = TurnRequest(
                conversation=question.key.conversation,
                instructions=question.instructions,
                now=now,
                priority=frozenset(found.path for found in priority.files),
                attachments=look(question.attachments),
                briefing=briefing,
                is_stable=self._is_stable,
                taken=self._conversations.sessions(question.key),
                earlier=earlier,
                search_reserve=search_reserve(window),
                inline_share=ALONE_SHARE if question.key.conversation == DEFAULT_CONVERSATION else INLINE_SHARE,
            )
            done = 0

            def read(found: FoundFile) -> Content | HeldBack:
                nonlocal done
                raise_if_cancelled(is_cancelled)
                done += 1
                if done % _TOLD_EVERY_FILES == 0:
                    on_progress(f"read {done:,} files")
                if found not in shared.contents:
                    shared.contents[found] = read_content(found, force=question.force)
                content = shared.contents[found]
                if isinstance(content, HeldBack) or content.media is None:
                    return content
                return self._for_model(content, content.media, model.name, question)

            return plan_turn(
                state,
                context,
                read,
                shared.counter.times(window.token_factor),
                window,
                request,
                read_old=self._conversations.read_content,
                is_gone=self.is_gone,
            )

    def _gather(
        self, paths: Sequence[str], known: Collection[str], question: Question, is_cancelled: IsCancelled
    ) -> Gathering:
        if not paths:
            return Gathering((), ())
        if self._root is None:
            raise Refused("there is no project here to take files from", "Call it in a project, or give no paths")
        roots = [self._root, *question.allow_roots]
        return gather(paths, roots, base=self._root, known=known, force=question.force, is_cancelled=is_cancelled)

    @staticmethod
    def _for_model(content: Content, one: Media, model: str, question: Question) -> Content | HeldBack:
        if takes_media(model):
            tokens, is_searchable = media_tokens(model, one), searches_media(model, one)
            return replace(content, media=replace(one, tokens=tokens, is_searchable=is_searchable))
        if question.takes_over:
            return HeldBack(one.path, "media", f"{model} is sent no images and PDF")
        raise Refused(
            f"{model} is sent no images and PDF, such as {one.path}",
            "Leave them out, or ask a model of OpenAI, Anthropic or Google",
        )


_LIST_SHARE = 0.04
"""Which share of the room each list of the file map may take."""

_EARLIER_SHARE = 0.2
"""Share of the room for the discussion that the provider has forgotten and gets again."""

_MAX_NAMED = 5


def place_new(files: Iterable[NewFile], priority: Collection[str], room: int) -> tuple[list[NewFile], list[NewFile]]:
    """Choose which new files go into the prompt: those with priority, then the smallest, then by path.

    A file that does not fit is passed over; it does not end the filling.
    """
    inline: list[NewFile] = []
    overflow: list[NewFile] = []
    for file in sorted(files, key=lambda file: (file.path not in priority, file.tokens, file.path)):
        if file.added <= room:
            inline.append(file)
            room -= file.added
        else:
            overflow.append(file)
    return inline, overflow


def give_back(inline: list[NewFile], overflow: list[NewFile], excess: int) -> None:
    """Move the files that were chosen last from the prompt to those that overflow, until enough tokens are free.

    Only for files that no turn was sent with yet: the tokens of a whole prompt are not quite the sum of its parts.
    """
    while excess > 0 and inline:
        last = inline.pop()
        overflow.append(last)
        excess -= last.added


def check_partition(
    before: Mapping[str, KnownFile],
    after: Mapping[str, KnownFile],
    paths: Iterable[str],
    searchable: Collection[str],
    held_back: Collection[str],
) -> list[KnownFile]:
    """Assert the rules of the split: nothing moved, and every path that was asked for is in exactly one part."""
    pairs = [] if after is before else [(known, after[path]) for path, known in before.items()]
    assert all((old.why is None) == (new.why is None) for old, new in pairs), "a file moved"
    elsewhere = {*held_back, *searchable}
    assert len(elsewhere) == len(held_back) + len(searchable), "a file is both held back and searchable"
    in_prompt: list[KnownFile] = []
    for path in paths:
        known = after.get(path)
        if known is not None and known.why is None and known.digest is not None:
            assert path not in elsewhere, f"{path!r} is in two parts"
            in_prompt.append(known)
        else:
            assert path in elsewhere, f"{path!r} is in no part"
    return in_prompt


def plan_turn(
    state: ConversationState,
    gathering: Gathering,
    read: Callable[[FoundFile], Content | HeldBack],
    counter: TokenCounter,
    window: Window,
    request: TurnRequest,
    *,
    read_old: Callable[[bytes], str | None],
    is_gone: Callable[[str], bool],
) -> TurnPlan:
    """Decide what a turn sends, without sending or recording anything.

    A file is placed in the first turn that it is in and never moves. In the prompt are the files with priority, then
    the smallest, while they fit into the inline share of the window and nothing ever overflowed; the others overflow.
    Of files in the prompt only changes are sent; an attachment that the conversation knows counts as context.
    """
    most = room(window, counter)
    draft = Draft(state, counter, read, read_old, request)
    past_tokens = sum(tokens_of_past(turn, counter) for turn in request.earlier)
    draft.drop_earlier(past_tokens - int(_EARLIER_SHARE * most))
    draft.held.update((one.path, one) for one in gathering.held_back)
    context = list(gathering.files)
    asked = {found.path for found in context}
    attached: list[FoundFile] = []
    for found in request.attachments.files:
        if found.path not in asked and found.path not in draft.held:
            (context if found.path in state.files else attached).append(found)
    asked.update(found.path for found in context)
    for one in request.attachments.held_back:
        if one.path not in asked:
            draft.held.setdefault(one.path, one)
    for found in context:
        known = state.files.get(found.path)
        if known is None or not (request.is_stable and is_surely_held(known, found)):
            draft.take(found, known)
    for found in attached:
        draft.attach(found)
    draft.miss(state.files.keys() - asked, is_gone)

    for_files, reserve = most, request.search_reserve if state.turns == 0 else 0
    inline, overflow = _place(draft, state, request, counter, for_files)
    while True:
        if reserve and (overflow or draft.overflow):
            for_files, reserve = room(replace(window, tokens=window.tokens - reserve), counter), 0
            inline, overflow = _place(draft, state, request, counter, for_files)
        parts = draft.parts(inline, overflow)
        prompt = render(parts, counter, int(_LIST_SHARE * for_files))
        media = [piece.media for piece in parts.pieces if piece.media is not None]
        tokens = counter.count(prompt) + sum(one.tokens for one in media)
        full = state.held_tokens + tokens
        excess = full - int(request.inline_share * for_files)
        if inline and excess > 0:
            give_back(inline, overflow, excess)
        elif full <= most or not draft.drop_earlier(full - most):
            break
    least = tokens if state.turns == 0 else counter.count(request.instructions) + counter.count(request.briefing or "")
    warnings = check_fits(state.held_tokens, tokens, least, most, request.conversation, request.taken)

    overflow = _hold_unsearchable(draft, overflow)
    draft.settle(inline, overflow, for_files)
    files = {**state.files, **draft.changed} if draft.changed else state.files
    in_prompt = check_partition(state.files, files, asked, draft.overflow, draft.held)
    whole = sum([known.tokens for known in in_prompt])
    return TurnPlan(
        question=request.instructions,
        prompt=prompt,
        tokens=tokens,
        overflow=dict(sorted(draft.overflow.items())),
        attachments=tuple(sorted(path for path in draft.overflow if path not in files)),
        files=files,
        new_contents=draft.contents,
        held_back=tuple(one for _, one in sorted(draft.held.items())),
        resent_tokens=tokens + whole - sum(piece.tokens for piece in draft.pieces),
        notes=(*_notes(draft, state, overflow, request.priority), *warnings),
        has_overflowed=state.has_overflowed or bool(overflow),
        media=tuple(media),
        parts=tuple(piece.text for piece in parts.pieces),
    )


def forgotten(state: ConversationState) -> ConversationState:
    """Return what a conversation still knows once the provider has lost its thread: where each file belongs.

    A turn planned from it opens the conversation again and sends every file of its context whole, each in its place.
    """
    files = {path: let_go(known) for path, known in state.files.items()}
    return replace(state, files=files, held_tokens=0, provider_ref=None)


def is_surely_held(known: KnownFile, found: FoundFile) -> bool:
    """Check by size and time alone whether the prompt has a file's current content."""
    return known.why is None and found.mtime_ns == known.mtime_ns and found.size == known.size


def _place(
    draft: Draft, state: ConversationState, request: TurnRequest, counter: TokenCounter, most: int
) -> tuple[list[NewFile], list[NewFile]]:
    """Split the new files, by their own tokens, into those in the prompt and those that overflow."""
    # what cannot be searched has no other place
    media = [new for new in draft.new if not new.content.is_searchable]
    new = media if state.has_overflowed else draft.new
    if not new:
        return [], list(draft.new)
    without = render(draft.parts([], draft.new), counter, int(_LIST_SHARE * most), ANY_MARK)
    left = int(request.inline_share * most) - state.held_tokens - counter.count(without)
    inline, overflow = place_new(new, {*request.priority, *(one.path for one in media)}, left)
    if state.has_overflowed:
        overflow += [one for one in draft.new if one.content.is_searchable]
    return inline, overflow


def _hold_unsearchable(draft: Draft, overflow: Iterable[NewFile]) -> list[NewFile]:
    rest: list[NewFile] = []
    for new in overflow:
        if new.content.is_searchable:
            rest.append(new)
        else:
            detail = f"its {new.tokens:,} tokens do not fit with the other files, and {UNSEARCHABLE}"
            draft.held[new.path] = HeldBack(new.path, "no_room", detail)
    return rest


def _notes(
    draft: Draft, state: ConversationState, overflow: Collection[NewFile], priority: Collection[str]
) -> list[str]:
    notes: list[str] = []
    if overflow:
        why = "the part of the window that files may take is full"
        if state.has_overflowed:
            why = "files overflowed before, so that no room is left to promise"
        notes.append(f"{_shortened_list([new.path for new in overflow])} can be searched, not read whole: {why}")
    placed = draft.changed.keys() | state.files.keys()
    outside = sorted(placed & draft.overflow.keys() & set(priority))
    if outside:
        names = _shortened_list(outside)
        notes.append(f"{names} has priority but is not in the prompt: it did not fit when it was placed")
    return notes


def _shortened_list(paths: list[str]) -> str:
    shown = ", ".join(paths[:_MAX_NAMED])
    return shown if len(paths) <= _MAX_NAMED else f"{shown} and {len(paths) - _MAX_NAMED} more"
