"""Which engine holds a store is known in `store` and where stores are opened."""

from __future__ import annotations

import ast
from pathlib import Path

import satchel

_SOURCE = Path(satchel.__file__).parent
_ENGINES = {"SqliteEngine", "PostgresEngine"}


def _named(file: Path) -> set[str]:
    """Return the engines that a module uses, those for type checkers included, which import-linter passes over."""
    text = file.read_text()
    if not any(engine in text for engine in _ENGINES):  # reading every module as Python takes 2 s
        return set()
    nodes = list(ast.walk(ast.parse(text)))
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    return _ENGINES & (imported | {node.id for node in nodes if isinstance(node, ast.Name)})


def test_only_the_store_and_the_client_name_an_engine() -> None:
    naming = {file.relative_to(_SOURCE).as_posix() for file in _SOURCE.rglob("*.py") if _named(file)}
    assert {name for name in naming if not name.startswith("store/")} == {"client.py"}
