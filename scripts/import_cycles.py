"""Find import cycles between the modules of satchel; `make check` runs it.

Imports inside functions count: they only delay what a cycle breaks. Imports for type checkers alone do not count, nor
does the import of a parent package that Python adds to every import of a submodule.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def main(source: Path = SOURCE) -> int:
    """Print every cycle and return the exit code."""
    graph = import_graph(source)
    cycles = find_cycles(graph)
    for cycle in cycles:
        print(f"{len(cycle)} modules import each other:")
        for name in cycle:
            print(f"  {name} imports {', '.join(sorted(graph[name] & set(cycle)))}")
    print(f"import cycles: {len(cycles)}")
    return 1 if cycles else 0


def import_graph(source: Path) -> dict[str, set[str]]:
    """Return the modules below a folder by name, each with the names of those it imports."""
    files = {_module_name(path.relative_to(source)): path for path in sorted(source.rglob("*.py"))}
    return {name: set(_imports(name, path, files)) - {name} for name, path in files.items()}


def find_cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other (Tarjan's strongly connected components), each sorted."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for imported in sorted(graph[name]):
            if imported not in order:
                visit(imported)
            if imported in stack:
                lowest[name] = min(lowest[name], lowest[imported])
        if lowest[name] == order[name]:
            start = stack.index(name)
            group, stack[start:] = stack[start:], []
            if len(group) > 1:
                cycles.append(sorted(group))

    for name in graph:
        if name not in order:
            visit(name)
    return cycles


def _imports(name: str, path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in _without_type_checking(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            module = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = f"{module}.{alias.name}"
                if submodule in files or module in files:
                    yield submodule if submodule in files else module


def _without_type_checking(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            for other in child.orelse:
                yield other
                yield from _without_type_checking(other)
        else:
            yield child
            yield from _without_type_checking(child)


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


if __name__ == "__main__":
    sys.exit(main())
