"""Damage of every kind to the files of a store, at random by a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

_PAGE = 4_096


def _flip_bits(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 40)):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _truncate(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def _zero_pages(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 5)):
        start = chance.randrange(len(content) // _PAGE) * _PAGE
        content[start : start + _PAGE] = bytes(_PAGE)


def _swap_pages(content: bytearray, chance: random.Random) -> None:
    first, second = (chance.randrange(len(content) // _PAGE) * _PAGE for _ in range(2))
    one, other = content[first : first + _PAGE], content[second : second + _PAGE]
    content[first : first + _PAGE], content[second : second + _PAGE] = other, one


def _spoil_header(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 8)):
        content[chance.randrange(100)] = chance.randrange(256)


def _noise(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    content[start : start + _PAGE] = chance.randbytes(min(_PAGE, len(content) - start))


def _empty(content: bytearray, _: random.Random) -> None:
    del content[:]


def _text(content: bytearray, _: random.Random) -> None:
    content[:] = b"These are notes of my own, and no database.\n" * 50


_KINDS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(_flip_bits, _flip_bits, _truncate, _zero_pages, _zero_pages, _swap_pages, _swap_pages),
    *(_spoil_header, _spoil_header, _noise, _noise, _empty, _text),
)


def damage(file: Path, seed: int) -> str:
    """Damage a store, or its WAL where there is one, and say how."""
    chance = random.Random(seed)
    wal = file.with_name(f"{file.name}-wal")
    target = wal if wal.exists() and wal.stat().st_size > _PAGE and chance.random() < 0.25 else file
    kind = _KINDS[seed % len(_KINDS)]
    content = bytearray(target.read_bytes())
    kind(content, chance)
    target.write_bytes(content)
    return f"{kind.__name__} of {target.name}, seed {seed}"
