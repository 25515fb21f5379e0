"""Globs of the files that rules and decisions bind."""

from __future__ import annotations

import pytest

from satchel import InvalidInput, Satchel
from satchel.keep import paths
from tables import in_one_test

MATCHES = [
    ("src/api/**", "src/api/a.py src/api/v1/a.py", "src/api src/apix/a.py lib/src/api/a.py"),
    ("src/api", "src/api src/api/v1/a.py", "src/apix/a.py lib/src/api"),
    ("src/api/", "src/api/a.py", "src/api lib/src/api/a.py"),
    ("docs/", "docs/a.md docs/x/a.md", "docs a/docs/b.md"),
    ("docs", "docs a/docs/b.md docs/b.md", "docsx/b.md"),
    ("*.py", "a.py x/y/a.py", "a.pyi py"),
    ("./*.md", "README.md", "docs/a.md"),
    ("src/**/*.py", "src/a.py src/x/y/a.py", "a.py src/a.js"),
    ("**/test_*.py", "test_a.py x/test_a.py", "x/a_test.py"),
    ("src/*/a.py", "src/x/a.py", "src/a.py src/x/y/a.py"),
    ("*.{ts,tsx}", "a.ts x/a.tsx", "a.t"),
    ("{src,lib}/**/*.{c,h}", "src/a.c lib/x/a.h", "test/a.c"),
    ("src/[ab]?.py", "src/ax.py", "src/cx.py src/a.py"),
    ("a*b*c", "abc axbxxc", "acb ab"),
    ("*a*a", "aa xaxa", "a xax"),
    ("Makefile", "Makefile x/Makefile", "makefile"),
]


def test_a_glob_matches_as_in_rule_files_of_clients() -> None:
    wrong = [
        (glob, path)
        for glob, matching, other in MATCHES
        for listed, expected in ((matching, True), (other, False))
        for path in listed.split()
        if paths.matches(glob, path) is not expected
    ]
    assert wrong == []


def test_many_stars_do_not_take_forever() -> None:
    # a matcher that tries every way would not end
    assert not paths.matches("**/a/" * 30 + "x", "a/" * 300 + "b")


@in_one_test(
    ("given", "problem"),
    [
        ("src/**", "paths is no list of globs"),
        (["/etc/passwd"], "paths[0] '/etc/passwd' is outside of the project"),
        (["a.py", "src/../../x"], "paths[1] 'src/../../x' is outside of the project"),
        (["~/notes"], "paths[0] '~/notes' is outside of the project"),
        (["C:\\x"], "paths[0] 'C:\\\\x' is outside of the project"),
        (["**"], "paths[0] '**' matches every file"),
        *(
            ([one], f"paths[0] {one!r} matches every file")
            for one in ". ./ .// * ./* ?* *** */ **/ **/* **/** **/?* */** {*,a}".split()
        ),
        (["!a.py"], "paths[0] '!a.py' is no glob"),
        (["a"] * 21, "paths has 21 globs"),
        (["x" * 201], "paths[0] has 201 characters"),
        (["{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"], "paths[0] '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}' has too many alternatives"),
        (["**/{a,b}{c,d}{e,f}{g,h}{i,j}*" + "[ab]*c?" * 20], "paths would take too long to match"),
        ([f"{{a,b}}{{c,d}}{{e,f}}*{number}" for number in range(20)], "paths would take too long to match"),
        (["**/a/" * 33 + str(number) for number in range(20)], "paths would take too long to match"),
    ],
)
def test_what_leaves_the_project_or_is_too_much_is_refused(satchel: Satchel, given: object, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        satchel.constraints.add("a rule", paths=given)  # type: ignore[arg-type]
    assert refused.value.problem == problem
    assert satchel.constraints.find(status="all").total == 0


def test_twenty_globs_as_projects_have_them_are_taken(satchel: Satchel) -> None:
    given = [f"packages/**/module{number}/**/{{a,b}}*.py" for number in range(10)] + [f"*{n}.[ch]" for n in range(10)]
    assert len(satchel.constraints.add("a rule", paths=given).paths) == 20


def test_one_glob_has_one_spelling(satchel: Satchel) -> None:
    root = satchel.workplace.files_root
    given = ["./src//api/**", "src/api/**", "src\\db\\", f"{root}/docs/*.md", "./README.md", "./lib/", "lib/"]
    added = satchel.constraints.add("a rule", paths=given)
    assert added.paths == ("src/api/**", "src/db/", "docs/*.md", "./README.md", "lib/")
