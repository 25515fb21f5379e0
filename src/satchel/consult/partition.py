"""The stable split: where a new file goes, once and for good; every path in exactly one part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from satchel.base.records import dataclass
from satchel.consult.records import Content, KnownFile


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a conversation does not know yet.

    Attributes:
        tokens: of the content alone.
        added: what it adds to a prompt, with the lines around it.
    """

    path: str
    content: Content
    tokens: int
    added: int


def place_new(files: Iterable[NewFile], priority: Collection[str], left: int) -> tuple[list[NewFile], list[NewFile]]:
    """Choose which new files go into the prompt: those with priority, then the smallest, then by path.

    A file that does not fit is passed over; it does not end the filling.

    Args:
        files: in any order.
        priority: paths of those that come first.
        left: the tokens that they may add in all.

    Returns:
        Those in the prompt, in the order in which they were chosen, and those that overflow.
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
    held_back: Sequence[str],
) -> list[KnownFile]:
    """Assert the rules of the split: nothing moved, and every path that was asked for is in exactly one part.

    Args:
        before, after: what the conversation knows before and after the turn.
        asked: paths of the turn's context.
        searchable: paths in the turn's vector store.
        held_back: paths that are not sent.

    Returns:
        Those that were asked for and are in the prompt, sent now or before.
    """
    assert after is before or all((after[path].why is None) == (known.why is None) for path, known in before.items()), (
        "a file moved"
    )
    held = set(held_back)
    assert len(held) == len(held_back), "a file is held back twice"
    assert held.isdisjoint(searchable), "a file is both held back and searchable"
    elsewhere = held.union(searchable)
    in_prompt: list[KnownFile] = []
    for path in asked:
        known = after.get(path)
        if known is not None and known.why is None and known.digest is not None:
            assert path not in elsewhere, f"{path!r} is in two parts"
            in_prompt.append(known)
        else:
            assert path in elsewhere, f"{path!r} is in no part"
    return in_prompt
