"""What binds a file: by its paths, or because its text names it."""

from __future__ import annotations

import pytest

from satchel import Satchel
from satchel.keep import binding, projects


def bound(satchel: Satchel, file: str, code: str = "") -> list[tuple[str, str]]:
    with projects.reading(satchel.workplace) as (transaction, project):
        return [
            (one.ref, one.by) for one in binding.find(transaction, satchel.workplace, project.id, [file], code).items
        ]


FILE = "src/shop/rate_limit.py"
NAMING = [
    ("see src/shop/rate_limit.py.", "src/shop/rate_limit.py"),
    ("`shop/rate_limit.py:12` is slow", "shop/rate_limit.py"),
    ("rate_limit.py's constants stay", "rate_limit.py"),
    ("./src/shop/rate_limit.py is generated", "src/shop/rate_limit.py"),
    ("all of src/shop is typed", "src/shop"),
    ("nothing in shop/ imports web/", "shop/"),
    ("src/shop/*.py have no globals", "src/shop"),
    ("import shop.rate_limit first", "shop.rate_limit"),
    ("rate_limit holds no lock", "rate_limit"),
    ("*.py is formatted", "*.py"),
    ("every .py file has a docstring", ".py file"),
]
NOT_NAMING = [
    "see other/rate_limit.py",
    "see src/shop/rate_limit.pyi",
    "my_rate_limit.py is gone",
    "src/shop/other.py is slow",
    "src/shop/*.sql are reviewed",
    "src/shopping is new",
    "the shop opens at nine",
    "rate_limit.js is gone",
    "rate_limits are set by hand",
    "the rate limit is 5",
    "no .pyc in commits",
    "docs/src/shop is old",
]


def test_a_file_without_a_suffix_is_no_module(satchel: Satchel) -> None:
    satchel.constraints.add("import shop.rate_limit first")
    assert bound(satchel, "src/shop/rate_limit") == []


def test_a_text_that_names_a_file_its_folder_or_its_module_concerns_it(satchel: Satchel) -> None:
    refs = {satchel.constraints.add(text).ref: by for text, by in NAMING}
    for text in NOT_NAMING:
        satchel.constraints.add(text)
    assert dict(bound(satchel, FILE)) == refs


@pytest.mark.parametrize("text", ["`auth` never logs", "the auth module never logs", "module auth never logs"])
def test_a_module_with_the_name_of_a_word_is_named_where_it_is_marked(satchel: Satchel, text: str) -> None:
    satchel.constraints.add("auth is hard")
    rule = satchel.constraints.add(text)
    assert [ref for ref, _ in bound(satchel, "src/auth.py")] == [rule.ref]


def test_an_identifier_in_what_is_written_concerns_it(satchel: Satchel) -> None:
    session = satchel.decisions.set("session_ttl", 300)
    path = satchel.constraints.add("never os.path, always pathlib")
    satchel.constraints.add("return early, and name things after what they do")
    printing = satchel.constraints.add("no `print()` in the library")
    code = "def load(name):\n    print(name)\n    return os.path.join(name, str(session_ttl))"
    assert dict(bound(satchel, "a.py", code)) == {
        session.ref: "session_ttl",
        path.ref: "os.path",
        printing.ref: "print",
    }


def test_only_what_holds_binds(satchel: Satchel) -> None:
    old = satchel.constraints.add("old", paths=["a.py"])
    new = satchel.constraints.add("new", paths=["a.py"], supersedes=old.ref)
    satchel.decisions.set("draft", "a.py", status="draft")
    satchel.decisions.set("over", "a.py", status="deprecated")
    assert bound(satchel, "a.py") == [(new.ref, "a.py")]


def test_critical_rules_come_first_then_what_is_about_this_file(satchel: Satchel) -> None:
    wide = satchel.constraints.add("wide", paths=["src/**"])
    decision = satchel.decisions.set("exact", "src/a.py")
    exact = satchel.constraints.add("exact", paths=["src/a.py"])
    critical = satchel.constraints.add("never", paths=["*.py"], priority="critical")
    assert [ref for ref, _ in bound(satchel, "src/a.py")] == [critical.ref, exact.ref, decision.ref, wide.ref]


def test_more_rules_than_are_compared_by_text_still_bind_by_their_paths(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "MOST_UNBOUND", 1)
    old = satchel.constraints.add("first", paths=["a.py"])
    satchel.constraints.add("a.py is old")
    newest = satchel.constraints.add("a.py is new")
    assert {ref for ref, _ in bound(satchel, "a.py")} == {old.ref, newest.ref}


def test_the_list_of_a_file_says_by_what_each_binds(satchel: Satchel) -> None:
    satchel.constraints.add("All endpoints check the token", paths=["src/api/**"], priority="high")
    satchel.decisions.set("orm", 7, rationale="see src/api/db.py")
    page = satchel.constraints.binding("src/api/db.py").bindings
    assert [(one.kind, one.key, one.text, one.priority, one.by) for one in page] == [
        ("decision", "orm", "7", None, "src/api/db.py"),
        ("rule", None, "All endpoints check the token", "high", "src/api/**"),
    ]
    assert [one.text for one in satchel.constraints.binding("src/api/db.py", limit=1, offset=1).bindings] == [
        page.items[1].text
    ]
    assert [one.kind for one in satchel.constraints.binding("src/api/").bindings] == ["rule"]


def test_out_of_time_the_critical_and_the_newest_were_compared_and_the_rest_is_counted(satchel: Satchel) -> None:
    satchel.constraints.add("critical", priority="critical", paths=["src/"])
    for number in range(5):
        satchel.constraints.add(f"rule {number}", paths=["src/"])
    looks = iter(range(100))
    with projects.reading(satchel.workplace) as (transaction, project):
        items, unchecked = binding.find(
            transaction, satchel.workplace, project.id, [FILE], is_over=lambda: next(looks) >= 3
        )
    assert ([one.ref for one in items], unchecked) == (["c1", "c6", "c5"], 3)
