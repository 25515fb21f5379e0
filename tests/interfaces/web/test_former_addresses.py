"""Addresses of former pages, which lead to those that replace them."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from room_browsing import Browser
from satchel import Satchel
from satchel.interfaces.web import pages
from tables import in_one_test


@pytest.mark.parametrize("address", ["{", "{ref}", "{project.__class__}", "{project:>99}", "a?b=c", "a#b", "%2e%2e"])
def test_the_former_address_of_a_project_is_no_format(ann: Browser, address: str) -> None:
    here = f"/p/{quote(address, '')}"
    assert ann.get(f"{here}/search").headers["location"] == f"{here}/memory"
    assert ann.get(f"{here}/decisions/{quote(address, '')}").headers["location"] == f"{here}/items/{quote(address, '')}"
    assert ann.get(here).headers["location"] == f"{here}/"


@in_one_test("former", pages.MOVED)
def test_addresses_of_former_pages_lead_to_what_replaces_them(ann: Browser, satchel: Satchel, former: str) -> None:
    one = satchel.decisions.set("former", "address", agent="builder")
    path = former.replace("{ref}", one.ref).replace("{number}", "1").replace("{name}", "needs")
    for ending in ("", ".json"):
        moved = ann.get(f"/p/project{path}{ending}?q=address")
        assert moved.status == 308
        assert ann.get(moved.headers["location"]).status == 200
