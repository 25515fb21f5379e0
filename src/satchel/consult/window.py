"""The limit of a conversation: its tokens are compared with the model's window before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from satchel.base.errors import InvalidInput, TooLarge
from satchel.base.records import dataclass
from satchel.base.text import MAX_NAME_CHARS
from satchel.base.tokens import TokenCounter
from satchel.consult.records import Content, KnownFile, Window

WARN_SHARE = 0.85
"""From which share of the room on each turn says how full the window is."""

ESTIMATE_MARGIN = 1.15
"""By how much estimated tokens may be too few: 12 % at p95 for whole files, as :func:`satchel.base.tokens.estimate`
was measured, and errors of files that are added up even out."""

_FRAME_TOKENS = 64
"""Kept for what a provider puts around messages."""

NUMBERED = re.compile(r"(.+)-([1-9][0-9]{0,8})")
"""The name of a conversation that continues a full one, and its number."""


class WindowFull(TooLarge):
    """The turn does not fit into the rest of the window; nothing was sent or recorded."""

    def __init__(self, problem: str, continue_as: str) -> None:
        self.continue_as = continue_as
        super().__init__(
            problem, f"Continue with conversation {continue_as!r}, which begins with all files and the last turns"
        )


def room(window: Window, counter: TokenCounter) -> int:
    """Return how many tokens prompts and answers may take before the next answer, as the counter counts."""
    left = window.tokens - window.output - _FRAME_TOKENS
    if window.output < 1 or left < 1:
        raise InvalidInput(
            f"a window of {window.tokens:,} tokens with {window.output:,} kept for the answer leaves no room",
            "Configure a larger window or a smaller output limit for this model",
        )
    return left if counter.exact else int(left / ESTIMATE_MARGIN)


def check_fits(
    held: int, added: int, least: int, most: int, conversation: str, taken: Collection[str]
) -> tuple[str, ...]:
    """Refuse a turn that does not fit, and warn of one that nearly fills the window."""
    if least > most:
        raise TooLarge(
            f"instructions and briefing take {least:,} tokens, and the model has room for {most:,}",
            "Shorten them, or ask a model with a larger window",
        )
    next_id = next_conversation(conversation, taken)
    if held + added > most:
        raise WindowFull(
            f"the conversation holds {held:,} of {most:,} tokens and this turn would add {added:,}", next_id
        )
    if held + added < WARN_SHARE * most:
        return ()
    percent = 100 * (held + added) // most
    return (
        f"the window is {percent} % full: {held + added:,} of {most:,} tokens with this question, before its answer; "
        f"when it is full, continue with conversation {next_id!r}",
    )


def next_conversation(conversation: str, taken: Collection[str]) -> str:
    """Name the session that a full one is continued under: ``auth``, ``auth-2``, ``auth-3``.

    A number at the end is counted on only if the session without it exists; else it is part of the name.
    """
    stem, number = conversation, 1
    numbered = NUMBERED.fullmatch(conversation)
    if numbered and numbered[1] in taken:
        stem, number = numbered[1], int(numbered[2])
    while True:
        number += 1
        ending = f"-{number}"
        name = stem[: MAX_NAME_CHARS - len(ending)] + ending
        if name != conversation and name not in taken:
            return name


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a conversation does not know yet."""

    path: str
    content: Content
    tokens: int
    added: int


def place_new(files: Iterable[NewFile], priority: Collection[str], left: int) -> tuple[list[NewFile], list[NewFile]]:
    """Choose which new files go into the prompt: those with priority, then the smallest, then by path.

    A file that does not fit is passed over; it does not end the filling.
    """
    inline: list[NewFile] = []
    overflow: list[NewFile] = []
    for file in sorted(files, key=lambda file: (file.path not in priority, file.tokens, file.path)):
        if file.added <= left:
            inline.append(file)
            left -= file.added
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
    asked: Iterable[str],
    searchable: Collection[str],
    held_back: Collection[str],
) -> list[KnownFile]:
    """Assert the rules of the split: nothing moved, and every path that was asked for is in exactly one part."""
    pairs = [] if after is before else [(known, after[path]) for path, known in before.items()]
    assert all((old.why is None) == (new.why is None) for old, new in pairs), "a file moved"
    elsewhere = {*held_back, *searchable}
    assert len(elsewhere) == len(held_back) + len(searchable), "a file is both held back and searchable"
    in_prompt: list[KnownFile] = []
    for path in asked:
        known = after.get(path)
        if known is not None and known.why is None and known.digest is not None:
            assert path not in elsewhere, f"{path!r} is in two parts"
            in_prompt.append(known)
        else:
            assert path in elsewhere, f"{path!r} is in no part"
    return in_prompt
