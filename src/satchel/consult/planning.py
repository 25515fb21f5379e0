"""Plan of one turn of a conversation: the stable split, changes since, and whether it fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from satchel.base.records import dataclass, replace
from satchel.base.tokens import TokenCounter
from satchel.consult.models import check_fits, room
from satchel.consult.prompts import (
    ANY_MARK,
    Parts,
    Piece,
    frame_of,
    is_surely_held,
    render,
    telling_time,
    tokens_of_past,
)
from satchel.consult.records import (
    Content,
    ConversationState,
    FoundFile,
    Gathering,
    HeldBack,
    KnownFile,
    Overflow,
    TurnPlan,
    TurnRequest,
    Window,
    digest_of_text,
)

CLEARLY_SHORTER = 0.6
"""Which share of a file's tokens its diff may take; above it the whole file is sent, which is easier to read."""

_LIST_SHARE = 0.04
"""Which share of the room each list of the file map may take."""

_EARLIER_SHARE = 0.2
"""Share of the room for the discussion that the provider has forgotten and gets again."""

_UNSEARCHABLE = "the model's provider cannot search it"
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a conversation does not know yet."""

    path: str
    content: Content
    tokens: int
    added: int


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
    draft = _Draft(state, counter, read, read_old, request)
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
    inline, overflow = draft.place(for_files)
    while True:
        if reserve and (overflow or draft.overflow):
            for_files, reserve = room(replace(window, tokens=window.tokens - reserve), counter), 0
            inline, overflow = draft.place(for_files)
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

    overflow = draft.hold_unsearchable(overflow)
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
        notes=(*draft.notes(overflow), *warnings),
        has_overflowed=state.has_overflowed or bool(overflow),
        media=tuple(media),
        parts=tuple(piece.text for piece in parts.pieces),
    )


def forgotten(state: ConversationState) -> ConversationState:
    """Return what a conversation still knows once the provider has lost its thread: where each file belongs.

    A turn planned from it opens the conversation again and sends every file of its context whole, each in its place.
    """
    files = {path: _let_go(known) for path, known in state.files.items()}
    return replace(state, files=files, held_tokens=0, provider_ref=None)


class _Draft:
    """A turn under way: what it does with each file."""

    def __init__(
        self,
        state: ConversationState,
        counter: TokenCounter,
        read: Callable[[FoundFile], Content | HeldBack],
        read_old: Callable[[bytes], str | None],
        request: TurnRequest,
    ) -> None:
        self._state = state
        self._earlier = list(request.earlier) if state.held_tokens == 0 else []
        self._counter = counter
        self._read = read
        self._read_old = read_old
        self._request = request
        self._new: list[NewFile] = []
        self._removed: list[str] = []
        self._withheld: list[str] = []
        self._announced: set[str] = set()
        self._seeds: dict[str, bytes] = {}
        self.changed: dict[str, KnownFile] = {}
        self.held: dict[str, HeldBack] = {}
        self.overflow: dict[str, Content] = {}
        self.contents: dict[bytes, str | bytes] = {}
        self.pieces: list[Piece] = []

    def take(self, found: FoundFile, known: KnownFile | None) -> None:
        """Take a file of the context that has to be read."""
        content = self._content(found)
        if isinstance(content, HeldBack):
            self.held[found.path] = content
            if known is not None:
                self._withhold(known)
        elif known is None:
            self._meet(found.path, content)
        elif known.why is None:
            self._refresh(known, content)
        else:
            self._search(known, content)

    def _content(self, file: FoundFile) -> Content | HeldBack:
        content = self._read(file)
        if isinstance(content, Content):
            # of all that is read, wherever it goes: models with other windows get the same mark
            self._seeds[file.path] = content.digest
        return content

    def attach(self, found: FoundFile) -> None:
        """Take a file that is searched in this turn only."""
        content = self._content(found)
        if isinstance(content, HeldBack):
            self.held[found.path] = content
        elif not content.is_searchable:
            self.held[found.path] = HeldBack(found.path, "media", f"{_UNSEARCHABLE}; name it as a file of the context")
        else:
            self.overflow[found.path] = content
            self._announced.add(found.path)

    def miss(self, paths: Iterable[str], is_gone: Callable[[str], bool]) -> None:
        """Report removed and withheld files once; other files that were not gathered stay."""
        for path in paths:
            known = self._state.files[path]
            if known.digest is None:
                continue
            if path in self.held:
                self._withhold(known)
            elif is_gone(path):
                self._removed.append(path)
                self.changed[path] = _let_go(known)

    def place(self, most: int) -> tuple[list[NewFile], list[NewFile]]:
        """Split the new files, by their own tokens, into those in the prompt and those that overflow."""
        # what cannot be searched has no other place
        media = [new for new in self._new if not new.content.is_searchable]
        new = media if self._state.has_overflowed else self._new
        if not new:
            return [], list(self._new)
        without = render(self.parts([], self._new), self._counter, int(_LIST_SHARE * most), ANY_MARK)
        left = int(self._request.inline_share * most) - self._state.held_tokens - self._counter.count(without)
        inline, overflow = place_new(new, {*self._request.priority, *(one.path for one in media)}, left)
        if self._state.has_overflowed:
            overflow += [one for one in self._new if one.content.is_searchable]
        return inline, overflow

    def parts(self, inline: Iterable[NewFile], overflow: Iterable[NewFile]) -> Parts:
        """Return what the turn says if its new files are split like this."""
        is_opening = self._state.held_tokens == 0
        new_pieces = [_piece(new) for new in inline]
        more = {new.path: new.content for new in overflow if new.content.is_searchable}
        searched = self.overflow | more
        announced = searched.keys() if is_opening else self._announced | more.keys()
        return Parts(
            is_opening=is_opening,
            instructions=self._request.instructions,
            briefing=self._request.briefing,
            pieces=sorted((*self.pieces, *new_pieces), key=lambda piece: piece.path),
            searchable=sorted(announced),
            searched_texts=[content.text for content in searched.values()],
            removed=sorted(self._removed),
            withheld=sorted(self._withheld),
            earlier=self._earlier,
            seeds=[digest for _, digest in sorted(self._seeds.items())],
        )

    def drop_earlier(self, excess: int) -> bool:
        """Drop the oldest repeated turns until enough tokens are free; return whether there were any."""
        had_any = bool(self._earlier)
        while excess > 0 and self._earlier:
            excess -= tokens_of_past(self._earlier.pop(0), self._counter)
        return had_any

    def hold_unsearchable(self, overflow: Iterable[NewFile]) -> list[NewFile]:
        """Hold back files that neither fit into the prompt nor can be searched, and return the rest."""
        rest: list[NewFile] = []
        for new in overflow:
            if new.content.is_searchable:
                rest.append(new)
            else:
                detail = f"its {new.tokens:,} tokens do not fit with the other files, and {_UNSEARCHABLE}"
                self.held[new.path] = HeldBack(new.path, "no_room", detail)
        return rest

    def settle(self, inline: Iterable[NewFile], overflow: Iterable[NewFile], most: int) -> None:
        """Make the split of the new files final."""
        turn = self._state.turns + 1
        for new in inline:
            self.pieces.append(_piece(new))
            self._store(new.content)
            self.changed[new.path] = self._known(new.path, new.content, new.tokens, turn, None)
        for new in overflow:
            self.overflow[new.path] = new.content
            if self._state.has_overflowed:
                why = Overflow.LATE
            else:
                why = Overflow.TOO_LARGE if new.added > self._request.inline_share * most else Overflow.NO_ROOM
            self.changed[new.path] = self._known(new.path, new.content, new.tokens, turn, why)

    def notes(self, overflow: Collection[NewFile]) -> list[str]:
        """Return notes on files that are not in the prompt."""
        notes: list[str] = []
        if overflow:
            why = "the part of the window that files may take is full"
            if self._state.has_overflowed:
                why = "files overflowed before, so that no room is left to promise"
            notes.append(f"{_shortened_list([new.path for new in overflow])} can be searched, not read whole: {why}")
        placed = self.changed.keys() | self._state.files.keys()
        outside = sorted(placed & self.overflow.keys() & set(self._request.priority))
        if outside:
            names = _shortened_list(outside)
            notes.append(f"{names} has priority but is not in the prompt: it did not fit when it was placed")
        return notes

    def _meet(self, path: str, content: Content) -> None:
        tokens = self._size(path, content)
        around = self._counter.count(frame_of(path))
        self._new.append(NewFile(path, content, tokens, tokens + around))

    def _refresh(self, known: KnownFile, content: Content) -> None:
        path = known.path
        if content.digest == known.digest and self._request.is_stable:
            self.changed[path] = known._replace(mtime_ns=self._telling_time(content))
            return
        tokens = self._size(path, content)
        is_diffed = self._request.is_stable and content.media is None
        text = self._diff(known, content, tokens) if is_diffed else None
        is_diff = text is not None
        sent = content.text if text is None else text
        self.pieces.append(
            Piece(
                path,
                sent,
                is_diff,
                replaces=known.digest is not None,
                tokens=self._count(path, sent) if is_diff else tokens,
                media=content.media,
            )
        )
        self._store(content)
        self.changed[path] = self._known(path, content, tokens, known.first_turn, None)

    def _diff(self, known: KnownFile, content: Content, tokens: int) -> str | None:
        old = None if known.digest is None else self._read_old(known.digest)
        if old is None or digest_of_text(old) != known.digest:
            return None
        from satchel.base.line_diff import unified_diff  # most turns need none

        diff = unified_diff(old, content.text)
        return diff if self._count(known.path, diff) <= CLEARLY_SHORTER * tokens else None

    def _search(self, known: KnownFile, content: Content) -> None:
        self.overflow[known.path] = content
        if known.digest is None:
            self._announced.add(known.path)
        if content.digest != known.digest:
            tokens = self._size(known.path, content)
            self.changed[known.path] = self._known(known.path, content, tokens, known.first_turn, known.why)
        elif self._telling_time(content) != known.mtime_ns:
            self.changed[known.path] = known._replace(mtime_ns=self._telling_time(content))

    def _withhold(self, known: KnownFile) -> None:
        if known.digest is not None:
            self._withheld.append(known.path)
            self.changed[known.path] = _let_go(known)

    def _known(self, path: str, content: Content, tokens: int, first_turn: int, why: Overflow | None) -> KnownFile:
        size, mtime_ns = content.stat.size, self._telling_time(content)
        return KnownFile(path, size, mtime_ns, content.digest, tokens, first_turn, why)

    def _telling_time(self, content: Content) -> int | None:
        return telling_time(content.stat.mtime_ns, self._request.now)

    def _store(self, content: Content) -> None:
        self.contents[content.digest] = content.text if content.media is None else content.media.data

    def _size(self, path: str, content: Content) -> int:
        return self._count(path, content.text) if content.media is None else content.media.tokens

    def _count(self, path: str, text: str) -> int:
        name = path.rpartition("/")[2]
        return self._counter.count(text, name.rpartition(".")[2] if "." in name else None)


def _let_go(known: KnownFile) -> KnownFile:
    return known._replace(mtime_ns=None, digest=None)


def _piece(new: NewFile) -> Piece:
    content = new.content
    return Piece(new.path, content.text, False, False, new.tokens, content.media)


def _shortened_list(paths: list[str]) -> str:
    shown = ", ".join(paths[:_MAX_NAMED])
    return shown if len(paths) <= _MAX_NAMED else f"{shown} and {len(paths) - _MAX_NAMED} more"
