"""Claims of keys: of anything that has a name and is no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keep.files.claims_shown import SECRET, held
from satchel import Conflict, InvalidInput, Satchel
from tables import in_one_test

OVERLONG = "issue:" + "1" * 200


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("issue:311", "issue:311"),
        ("issue:311", " Issue:311 "),
        ("issue:ＡＢＣ", "ISSUE:abc"),
        ("port：8080", "port:8080"),
        ("branch:feature/login", "branch:feature/login"),
        ("topic:the  new login", "topic:the new login"),
    ],
)
def test_a_key_is_kept_from_another_however_it_is_written(satchel: Satchel, first: str, second: str) -> None:
    satchel.files.claim([first], agent="ann")
    with pytest.raises(Conflict, match=r"is held by ann since"):
        satchel.files.claim([second], agent="bob")


@pytest.mark.parametrize(
    "other", ["issue:31", "issue:3111", "issue:311/a", "issues:311", "issue", "311", ".", "issue/"]
)
def test_nothing_overlaps_a_key_but_the_same_key(satchel: Satchel, other: str) -> None:
    satchel.files.claim(["issue:311"], agent="ann")
    satchel.files.claim([other], agent="bob")
    assert len(held(satchel)) == 2
    satchel.files.claim(["issue:99"], agent="ann")


def test_the_whole_project_is_claimed_beside_keys(satchel: Satchel) -> None:
    satchel.files.claim(["."], agent="ann")
    (claim,) = satchel.files.claim(["issue:311"], agent="bob").claims
    assert (claim.path, claim.is_key, claim.worktree) == ("issue:311", True, None)


@pytest.mark.parametrize("path", ["src/a:b", "./a:b", "A B:c", "3a:b", "a.py:x", ":x", "a:"])
def test_what_begins_with_no_word_and_colon_is_a_path(satchel: Satchel, path: str) -> None:
    (claim,) = satchel.files.claim([path], agent="ann").claims
    assert (claim.path, claim.is_key) == (path.removeprefix("./"), False)


@pytest.mark.parametrize("name", ["issue:311", "issue:x/y"])
def test_what_exists_as_a_file_is_one(satchel: Satchel, project: Path, name: str) -> None:
    satchel.files.claim([name], agent="ann")
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).touch()
    (claim,) = satchel.files.claim([name], agent="ann").claims
    assert not claim.is_key
    assert sorted(one.is_key for one in satchel.files.claims()) == [False, True]
    with pytest.raises(Conflict):
        satchel.files.claim(["."], agent="bob")


@in_one_test(
    ("key", "problem"),
    [
        ("issue:*", "paths[0] 'issue:*' is a pattern. A key matches only itself"),
        ("issue:**", "is a pattern"),
        (f"token:{SECRET}", "paths[0] looks like a secret"),
        (OVERLONG, "paths[0] has 206 characters"),
        ("issue:{{number}}", "unresolved placeholder"),
    ],
)
def test_a_key_that_is_not_acceptable_is_refused(satchel: Satchel, key: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        satchel.files.claim([key], agent="ann")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    "place", ["Makefile:12", "src/a.py:12-20", "src/a.py:12:7", "{root}/src/a.py:12", "src/a.py#parse"]
)
def test_a_part_of_a_file_is_not_taken_for_a_key_or_a_file(satchel: Satchel, project: Path, place: str) -> None:
    (project / "src").mkdir()
    for name in ("Makefile", "src/a.py"):
        (project / name).touch()
    with pytest.raises(InvalidInput, match=r"names a part of a file\. Claim .*(Makefile|a\.py) as shared"):
        satchel.files.claim([place.format(root=project)], agent="ann")


def test_lines_of_a_file_that_is_still_to_be_written_are_refused_too(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match=r"names a part of a file\. Claim src/new\.py as shared"):
        satchel.files.claim(["src/new.py:12-20"], agent="ann")


def test_a_file_whose_name_ends_like_a_line_is_claimed(satchel: Satchel, project: Path) -> None:
    (project / "a").touch()
    (project / "a:1").touch()
    assert satchel.files.claim(["a:1"], agent="ann").claims[0].path == "a:1"


def test_keys_are_renewed_listed_and_released_like_paths(satchel: Satchel) -> None:
    (first,) = satchel.files.claim(["issue:311"], agent="ann").claims
    again = satchel.files.claim(["ISSUE:311", "a"], agent="ann")
    assert (again.renewed, again.claims[0].id) == (("issue:311",), first.id)
    assert [one.path for one in satchel.files.claims(path="Issue:311")] == ["issue:311"]
    assert [one.path for one in satchel.files.claims(path=".")] == ["a"]
    assert satchel.files.release(["Issue:311", "issue:9"], agent="ann").released == ("issue:311",)
    assert held(satchel) == [("ann", "a")]


def test_a_shared_key_is_shared(satchel: Satchel) -> None:
    first = satchel.files.claim(shared=["issue:311"], agent="ann").claims
    assert satchel.files.claim(shared=["issue:311"], agent="bob").shared == first


def test_a_key_needs_no_folder(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    home = tmp_path.resolve()
    satchel = open_in(home, db=home / "s.db", environ={"HOME": str(home)})
    assert satchel.workplace.root is None
    satchel.files.claim(["issue:311", "a"], agent="ann")
    assert satchel.files.release(agent="ann").released == ("a", "issue:311")
