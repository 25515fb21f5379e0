"""Texts of nearly the same words that say different things are no near-duplicates: a labelled set of pairs."""

from __future__ import annotations

from itertools import combinations, product

from satchel.find.near import most_similar, share_of_both, share_of_shorter

_SUBJECTS = ("retry a failed payment", "commit generated files", "log the access token", "edit a released migration")
_RULES = [
    pair
    for what in _SUBJECTS
    for pair in (
        (f"Always {what} in the billing service", f"Never {what} in the billing service"),
        (f"{what.capitalize()} in the nightly job of billing", f"Do not {what} in the nightly job of billing"),
        (f"The worker may {what} while the queue drains", f"The worker must not {what} while the queue drains"),
        (f"Releases {what} with a review by two people", f"Releases {what} without a review by two people"),
        (f"Run the checks before you {what} on the main branch", f"Run the checks after you {what} on the main branch"),
    )
]
_TYPES = ("`&str`", "`String`", "`u32`", "`usize`", "`Option<u8>`", "`Vec<u8>`", "`Box<str>`")
_E0308 = [
    f"error[E0308]: mismatched types in the request handler: expected {one}, found {other}"
    for one, other in product(_TYPES, _TYPES)
    if one < other
]
_FRAMES = [
    f"thread 'main' panicked at src/{module}.rs:{line}: called `Option::unwrap()` on a `None` value"
    for module in ("parse", "store", "serve", "index", "main")
    for line in (12, 48, 97)
]
_VERSIONS = [f"The build image needs Python {version} and the matching wheels" for version in ("3.11", "3.12", "3.13")]
_FILES = [f"The handler in src/api/{name}.py ignores the timeout of its client" for name in ("login", "users", "carts")]
_LIMITS = [f"The gateway closes idle connections after {seconds} seconds" for seconds in (5, 30, 60, 300)]
_SWITCHES = [
    (f"{verb} the cache of the {where} when tests run", f"{other} the cache of the {where} when tests run")
    for verb, other in (("Enable", "Disable"), ("Lock", "Unlock"), ("Encrypt", "Decrypt"))
    for where in ("importer", "mailer", "indexer")
]
_REMOVED = [
    (f"{verb} support for {what} in the importer", f"{other} support for {what} in the importer")
    for verb, other in (("Add", "Drop"), ("Keep", "Remove"), ("Announce", "Deprecate"))
    for what in ("Python 3.9", "old archives", "SSH keys")
]
_NAMES = [f"call {name} once the worker has started its loop" for name in ("flush_queue", "drain_queue", "parseConfig")]

DIFFERENT = [
    *_RULES,
    *_SWITCHES,
    *_REMOVED,
    *(pair for group in (_E0308, _FRAMES, _VERSIONS, _FILES, _LIMITS, _NAMES) for pair in combinations(group, 2)),
]
SAME = [
    (
        "The gateway closes idle connections after 30 seconds",
        "Idle connections are closed by the gateway after 30 seconds",
    ),
    ("Never commit generated files to the main branch", "Generated files are never committed to the main branch"),
    ("src/api/login.py ignores the timeout of its client", "The timeout of its client is ignored in src/api/login.py"),
    ("flush_queue waits until the queue is empty", "flush_queue waits until the whole queue is empty"),
    ("`table.enable_fts()` accepts columns with spaces", "enable_fts accepts columns with spaces in their names"),
    ("Tokens expire at midnight UTC on Sundays", "Tokens expire on Sundays at midnight UTC"),
    ("Run the checks before every commit of a migration", "Before every commit of a migration run the checks"),
]


def _are_merged(one: str, other: str) -> bool:
    return any(most_similar(one, [(1, other)], likeness) for likeness in (share_of_both, share_of_shorter))


def test_no_pair_that_differs_is_merged() -> None:
    assert len(DIFFERENT) >= 300
    assert [pair for pair in DIFFERENT if _are_merged(*pair)] == []


def test_pairs_that_say_the_same_are_merged() -> None:
    assert [pair for pair in SAME if not _are_merged(*pair)] == []
