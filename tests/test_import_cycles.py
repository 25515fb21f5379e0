"""The script that finds import cycles."""

from __future__ import annotations

from pathlib import Path

import pytest

from import_cycles import find_cycles, import_graph, main


def _modules(folder: Path, **texts: str) -> Path:
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").touch()
    for name, text in texts.items():
        (folder / "shop" / f"{name}.py").write_text(text)
    return folder


def test_a_cycle_through_an_import_inside_a_function_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = _modules(
        tmp_path,
        cart="from shop import price",
        price="def total():\n    from shop.tax import rate",
        tax="import shop.cart",
        till="from shop.cart import Cart",
    )

    assert find_cycles(import_graph(source)) == [["shop.cart", "shop.price", "shop.tax"]]
    assert main(source) == 1
    assert "shop.price imports shop.tax" in capsys.readouterr().out


def test_relative_imports_count(tmp_path: Path) -> None:
    source = _modules(tmp_path, cart="from . import price", price="from .cart import Cart")

    assert find_cycles(import_graph(source)) == [["shop.cart", "shop.price"]]


def test_imports_for_type_checkers_do_not_count(tmp_path: Path) -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop.price import Price"
    source = _modules(tmp_path, cart=typed, price="from shop.cart import Cart")

    assert main(source) == 0
