"""Bands of likeness that projects share, as where hashes collide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from satchel.find import likeness
from satchel.keep.entries import repeats


@contextmanager
def same_marks() -> Iterator[None]:
    """Let every project give a text the same marks."""
    repeats._bands.cache_clear()
    try:
        with patch.object(likeness, "_seed", lambda what, _project: likeness._hash(what)):
            yield
    finally:
        repeats._bands.cache_clear()
