"""What the guard calls Satchel's own."""

from __future__ import annotations

from satchel.interfaces.guard import is_ours
from tables import in_one_test


@in_one_test(
    ("name", "ours"),
    [
        (".satchel/satchel.db", True),
        ("sub/.satchel/config.toml", True),
        (".satchel", True),
        (".SATCHEL/satchel.db", True),
        (".satchel/shared", True),
        (".satchel/shared/d1.md", False),
        (".satchel/shared.md", True),
        ("docs/satchel/shared/a.md", False),
        (".satchelrc", False),
    ],
)
def test_only_what_is_shared_is_to_be_committed(name: str, ours: bool) -> None:
    assert is_ours(name) is ours
