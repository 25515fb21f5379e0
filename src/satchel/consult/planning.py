"""Planning of a turn: gather and read its files once for all models, split them stably, and check the window.

Planning sends and records nothing.
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
    FileState,
    Gathering,
    HeldBack,
    IsCancelled,
    Media,
    PastTurn,
    SourceFile,
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
    """Files of a question, gathered, read and counted once for all models. Thread-safe."""

    def __init__(self, counter: TokenCounter) -> None:
        self.lock = RLock()
        self.gatherings: dict[tuple[tuple[str, ...], frozenset[str]], Gathering] = {}
        self.contents: dict[SourceFile, Content | HeldBack] = {}
        self._counts: dict[tuple[str, str | None], int] = {}
        self._counter = counter
        self.counter = replace(counter, _count=self._count)

    def _count(self, text: str, kind: str | None) -> int:
        key = text, kind
        if key not in self._counts:
            # an encoding restarts at a "<" after an end of line, and prompts share most of their files
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
        """Return whether a file was deleted; a file that cannot be examined does not count."""
        if self._root is None:
            return False
        try:
            Path(self._root, path).lstat()
        except OSError as error:
            return error.errno in {errno.ENOENT, errno.ENOTDIR}
        except ValueError:
            # an impossible name, such as one with a zero byte; gathering refuses it
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
            # before the files are listed, so that later changes count as changes
            now = self._clock()

            def look(paths: Sequence[str]) -> Gathering:
                key = tuple(paths), frozenset(filter(has_media_name, state.files)) if state.files else frozenset()
                if key not in shared.gatherings:
                    files = self._gather(paths, state.files, question, is_cancelled)
                    if any(map(self.is_gone, paths)):  # a missing path is skipped only if the conversation has it
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
                priority=frozenset(file.path for file in priority.files),
                attachments=look(question.attachments),
                briefing=briefing,
                is_stable=self._is_stable,
                taken=self._conversations.sessions(question.key),
                earlier=earlier,
                search_reserve=search_reserve(window),
                inline_share=ALONE_SHARE if question.key.conversation == DEFAULT_CONVERSATION else INLINE_SHARE,
            )
            done = 0

            def read(file: SourceFile) -> Content | HeldBack:
                nonlocal done
                raise_if_cancelled(is_cancelled)
                done += 1
                if done % _TOLD_EVERY_FILES == 0:
                    on_progress(f"read {done:,} files")
                if file not in shared.contents:
                    shared.contents[file] = read_content(file, force=question.force)
                content = shared.contents[file]
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
        self, paths: Sequence[str], recorded: Collection[str], question: Question, is_cancelled: IsCancelled
    ) -> Gathering:
        if not paths:
            return Gathering((), ())
        if self._root is None:
            raise Refused("there is no project here to take files from", "Call it in a project, or give no paths")
        roots = [self._root, *question.allow_roots]
        return gather(
            paths,
            roots,
            base=self._root,
            recorded=recorded,
            force=question.force,
            is_cancelled=is_cancelled,
        )

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


# Share of the room for each list of the file map.
_LIST_SHARE = 0.04

# Share of the room for turns that the provider no longer has and gets again.
_EARLIER_SHARE = 0.2

_MAX_NAMED = 5


def place_new(files: Iterable[NewFile], priority: Collection[str], room: int) -> tuple[list[NewFile], list[NewFile]]:
    """Choose which new files go into the prompt: those with priority, then the smallest, then by path.

    A file that does not fit is skipped; smaller ones may follow.
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
    """Move the last new files from the prompt to the overflow until enough tokens are free.

    Needed because the tokens of a whole prompt are not quite the sum of its parts. No file that was sent is moved.
    """
    while excess > 0 and inline:
        last = inline.pop()
        overflow.append(last)
        excess -= last.added


def check_partition(
    before: Mapping[str, FileState],
    after: Mapping[str, FileState],
    paths: Iterable[str],
    searchable: Collection[str],
    held_back: Collection[str],
) -> list[FileState]:
    """Assert the rules of the split: no file moved, and every requested path is in exactly one part."""
    pairs = [] if after is before else [(file, after[path]) for path, file in before.items()]
    assert all((old.why is None) == (new.why is None) for old, new in pairs), "a file moved"
    elsewhere = {*held_back, *searchable}
    assert len(elsewhere) == len(held_back) + len(searchable), "a file is both held back and searchable"
    in_prompt: list[FileState] = []
    for path in paths:
        file = after.get(path)
        if file is not None and file.why is None and file.digest is not None:
            assert path not in elsewhere, f"{path!r} is in two parts"
            in_prompt.append(file)
        else:
            assert path in elsewhere, f"{path!r} is in no part"
    return in_prompt


def plan_turn(
    state: ConversationState,
    gathering: Gathering,
    read: Callable[[SourceFile], Content | HeldBack],
    counter: TokenCounter,
    window: Window,
    request: TurnRequest,
    *,
    read_old: Callable[[bytes], str | None],
    is_gone: Callable[[str], bool],
) -> TurnPlan:
    """Plan a turn, without sending or recording anything.

    A file is placed in its first turn and never moves. The prompt takes files with priority, then the smallest, while
    they fit into the inline share of the window and nothing has overflowed before; the others overflow. For files in
    the prompt only changes are sent. An attachment that the conversation has counts as context.
    """
    most = room(window, counter)
    draft = Draft(state, counter, read, read_old, request)
    past_tokens = sum(tokens_of_past(turn, counter) for turn in request.earlier)
    draft.drop_earlier(past_tokens - int(_EARLIER_SHARE * most))
    draft.held.update((one.path, one) for one in gathering.held_back)
    context = list(gathering.files)
    paths = {file.path for file in context}
    attached: list[SourceFile] = []
    for file in request.attachments.files:
        if file.path not in paths and file.path not in draft.held:
            (context if file.path in state.files else attached).append(file)
    paths.update(file.path for file in context)
    for one in request.attachments.held_back:
        if one.path not in paths:
            draft.held.setdefault(one.path, one)
    for file in context:
        old = state.files.get(file.path)
        if old is None or not (request.is_stable and is_surely_held(old, file)):
            draft.take(file, old)
    for file in attached:
        draft.attach(file)
    draft.miss(state.files.keys() - paths, is_gone)

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
    in_prompt = check_partition(state.files, files, paths, draft.overflow, draft.held)
    whole = sum([old.tokens for old in in_prompt])
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
    """Return the state after the provider has lost the thread: only the place of each file.

    A turn planned from it opens the conversation again and sends every file of its context whole, in its place.
    """
    files = {path: let_go(file) for path, file in state.files.items()}
    return replace(state, files=files, held_tokens=0, provider_ref=None)


def is_surely_held(old: FileState, file: SourceFile) -> bool:
    """Return whether the prompt has a file's current content, judged by size and time alone."""
    return old.why is None and file.mtime_ns == old.mtime_ns and file.size == old.size


def _place(
    draft: Draft, state: ConversationState, request: TurnRequest, counter: TokenCounter, most: int
) -> tuple[list[NewFile], list[NewFile]]:
    """Split the new files by their tokens into prompt and overflow."""
    # files that cannot be searched have no other place
    unsearchable = [new for new in draft.new if not new.content.is_searchable]
    new = unsearchable if state.has_overflowed else draft.new
    if not new:
        return [], list(draft.new)
    without = render(draft.parts([], draft.new), counter, int(_LIST_SHARE * most), ANY_MARK)
    free = int(request.inline_share * most) - state.held_tokens - counter.count(without)
    inline, overflow = place_new(new, {*request.priority, *(one.path for one in unsearchable)}, free)
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
    names = ", ".join(paths[:_MAX_NAMED])
    return names if len(paths) <= _MAX_NAMED else f"{names} and {len(paths) - _MAX_NAMED} more"
