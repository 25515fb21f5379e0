"""Preparing a turn: the project's files are read, and what the turn sends is planned; nothing is recorded."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path
from threading import RLock

from satchel.base.errors import Refused
from satchel.base.file_checks import open_inside, why_unreadable
from satchel.base.records import replace
from satchel.base.tokens import TokenCounter
from satchel.consult import gathering, media
from satchel.consult.conversations import Conversations
from satchel.consult.gathering import gather, too_large
from satchel.consult.models import Assistant
from satchel.consult.planning import plan_turn
from satchel.consult.question import DEFAULT_CONVERSATION, Question
from satchel.consult.records import (
    ALONE_SHARE,
    INLINE_SHARE,
    Content,
    ConversationState,
    FoundFile,
    Gathering,
    HeldBack,
    IsCancelled,
    Media,
    PastTurn,
    Stat,
    TurnPlan,
    TurnRequest,
    digest_of,
    raise_if_cancelled,
)
from satchel.consult.rounds import search_reserve
from satchel.keep.projects import Workplace
from satchel.redaction import first_secret

_ATTEMPTS = 3
_LOOKED_AT = 8_192
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_content(found: FoundFile, *, force: bool = False) -> Content | HeldBack:
    """Read a file once, inside its root, whatever links say by now.

    The text is what the file holds, its line ends and byte order mark included. A file that changes while it is read
    is read again; what is recorded of it belongs to the read that is returned.
    """
    max_bytes = media.MAX_BYTES if found.is_media else gathering.MAX_FILE_BYTES
    for _ in range(_ATTEMPTS):
        try:
            read = _read(found, max_bytes)
        except OSError as error:
            gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
            return HeldBack(found.path, "vanished" if gone else "unreadable", f"it {why_unreadable(error)}")
        if isinstance(read, HeldBack):
            return read
        if read is not None and found.is_media:
            return _examined(found.path, *read)
        if read is not None:
            return _judged(found.path, *read, force=force)
    return HeldBack(found.path, "changing", "it changed each time it was read; ask again once it rests")


def _read(found: FoundFile, max_bytes: int) -> tuple[bytes, Stat] | HeldBack | None:
    descriptor = open_inside(found.root, found.real_path)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            return HeldBack(found.path, "special", "it is no ordinary file")
        if before.st_size > max_bytes:
            return HeldBack(found.path, "too_large", too_large(before.st_size, max_bytes))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(_LOOKED_AT)
            if b"\0" in data and not found.is_media:
                return _binary(found.path, data)
            # one byte more than it had tells that it grew, and nothing grows without bound in memory
            data += file.read(max(0, before.st_size - len(data) + 1))
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(data) != before.st_size or _moment(before) != _moment(after):
        return None
    return data, Stat(after.st_size, after.st_mtime_ns)


def _moment(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _judged(path: str, data: bytes, status: Stat, *, force: bool) -> Content | HeldBack:
    if b"\0" in data:
        return _binary(path, data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return HeldBack(path, "undecodable", f"it is no text in UTF-8, from byte {error.start:,} on; send it converted")
    if not force:
        secret = first_secret(text)
        if secret is not None:
            start, _, kind = secret
            line = text.count("\n", 0, start) + 1
            detail = f"line {line:,} holds what looks like a secret ({kind}); it is sent only with force"
            return HeldBack(path, "secret", detail)
    return Content(text, digest_of(data), status)


def _examined(path: str, data: bytes, status: Stat) -> Content | HeldBack:
    try:
        media.measure(data)
    except media.Damaged as error:
        return HeldBack(path, "damaged", str(error))
    return Content("", digest_of(data), status, Media(path, media.type_of(data), data))


def _binary(path: str, data: bytes) -> HeldBack:
    if data.startswith(_UTF_16):
        return HeldBack(path, "undecodable", "it is text in UTF-16 or UTF-32, not in UTF-8; send it converted")
    hint = "; name it itself to send it" if media.has_media_name(path) else ""
    return HeldBack(path, "binary", f"it is no text: it holds zero bytes{hint}")


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
                key = tuple(paths), frozenset(filter(media.has_media_name, state.files)) if state.files else frozenset()
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
                read_old=self._conversations.reader(),
                is_gone=self.is_gone,
            )

    def _gather(
        self, paths: Sequence[str], known: Collection[str], question: Question, is_cancelled: IsCancelled
    ) -> Gathering:
        if not paths:
            return Gathering((), ())
        if self._root is None:
            raise Refused("there is no project here to take files from", "Call it in a project, or give no paths")
        # one that the conversation knows and that is gone is a removal, not an error
        there = [path for path in paths if not (self.is_gone(path) and _knows(known, self._name_of(path)))]
        roots = [self._root, *question.allow_roots]
        return gather(there, roots, base=self._root, known=known, force=question.force, is_cancelled=is_cancelled)

    def _name_of(self, path: str) -> str:
        root = self._root or "/"
        # a link to the folder itself is resolved in the names that gathering gives
        for base in (root, os.path.realpath(root)):
            name = os.path.relpath(os.path.join(base, path), base)  # noqa: PTH118 -- a Path keeps `..`
            if not name.startswith(".."):
                return name
        return path

    @staticmethod
    def _for_model(content: Content, one: Media, model: str, question: Question) -> Content | HeldBack:
        if media.takes_media(model):
            tokens, is_searchable = media.media_tokens(model, one), media.searches_media(model, one)
            return replace(content, media=replace(one, tokens=tokens, is_searchable=is_searchable))
        if question.takes_over:
            return HeldBack(one.path, "media", f"{model} is sent no images and PDF")
        raise Refused(
            f"{model} is sent no images and PDF, such as {one.path}",
            "Leave them out, or ask a model of OpenAI, Anthropic or Google",
        )


def _knows(paths: Collection[str], path: str) -> bool:
    return path in paths or any(one.startswith(f"{path}/") for one in paths)
