"""Which engine holds a store is known in `store` and where stores are opened."""

from __future__ import annotations

import ast
from pathlib import Path

import satchel

_SOURCE = Path(satchel.__file__).parent
_ENGINES = {"SqliteEngine", "PostgresEngine"}


def _named(file: Path) -> set[str]:
    """Return the names that a module uses, those for type checkers included, which import-linter passes over."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    return imported | {node.id for node in nodes if isinstance(node, ast.Name)}


def test_only_the_store_and_the_client_name_an_engine() -> None:
    naming = {file.relative_to(_SOURCE).as_posix() for file in _SOURCE.rglob("*.py") if _named(file) & _ENGINES}
    assert {name for name in naming if not name.startswith("store/")} == {"client.py"}
