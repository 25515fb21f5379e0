"""Tokens: what each gives access to, and that nothing else does, also when the file they lie in is tampered with."""

from __future__ import annotations

import hmac
import json
import multiprocessing
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ManualClock
from satchel.base.clock import DAY_MS, system_clock
from satchel.base.errors import Conflict, InvalidInput, IoError, NotFound, Refused
from satchel.interfaces.http.access import Access
from satchel.interfaces.http.tokens import ACTIVE, EXPIRED, REVOKED, Tokens
from satchel.redaction import redact

STORE = Path("/p/.satchel/satchel.db")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The user's state folder, which is not there yet."""
    return tmp_path / "state" / "satchel"


@pytest.fixture
def tokens(folder: Path, clock: ManualClock) -> Tokens:
    return Tokens(folder, clock)


def new(tokens: Tokens, name: str = "ci", /, **options: Any) -> str:
    """Make a token; return its text."""
    given: dict[str, Any] = {"store": STORE, "project": "p"} | options
    return tokens.new(name, **given)[1]


def test_a_token_gives_the_rights_that_it_was_made_with(tokens: Tokens) -> None:
    token, text = tokens.new("ci", store=STORE, project="p", role="person", agent="ann", read_only=True)
    assert tokens.access(text) == Access(token.id, "ci", "person", STORE, "p", "ann", True)
    assert re.fullmatch(rf"satchel_{token.id}_[A-Za-z0-9_-]{{43}}", text)


def test_a_token_says_when_it_was_used_last(tokens: Tokens) -> None:
    used, text = tokens.new("ci", store=STORE, project="p")
    new(tokens, "spare")
    assert tokens.access(text.replace("satchel_", "satchel-")) is None
    assert [one.used_at for one in tokens.every()] == [None, None]
    assert tokens.access(text) is not None
    assert [one.used_at is None for one in tokens.every()] == [False, True]
    tokens.revoke(used.id)
    assert tokens.access_of(used.id) is None


def test_without_a_file_there_is_no_token(tokens: Tokens, folder: Path) -> None:
    assert tokens.every() == []
    assert tokens.access(f"satchel_{'0' * 10}_{'A' * 43}") is None
    assert not folder.exists()


def test_the_file_is_private_and_holds_no_secret(tokens: Tokens, folder: Path) -> None:
    secret = new(tokens).split("_", 2)[-1]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "tokens.json": 0o600,
        "tokens.lock": 0o600,
    }
    assert secret not in (folder / "tokens.json").read_text()


def test_a_token_is_redacted_wherever_it_is_written_down(tokens: Tokens) -> None:
    assert redact(f"use x{new(tokens)}, not another").text == "use x[redacted:satchel-token], not another"


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokens, list[str]]:
    tokens = Tokens(tmp_path_factory.mktemp("issued"), ManualClock())
    return tokens, [new(tokens, name) for name in ("one", "two")]


def _put(text: str, place: int, character: str) -> str:
    return text[:place] + character + text[place + 1 :]


CHANGES: st.SearchStrategy[Callable[[str, str], str]] = st.one_of(
    st.builds(
        lambda place, character: lambda text, _: _put(text, place % len(text), character),
        st.integers(0, 100),
        st.one_of(st.sampled_from("ABCDwxyz0189_-"), st.characters()),
    ),
    st.builds(lambda end: lambda text, _: text[:end], st.integers(0, 60)),
    st.builds(lambda start: lambda text, _: text[start:], st.integers(1, 60)),
    st.builds(lambda before, after: lambda text, _: f"{before}{text}{after}", st.text(max_size=3), st.text(max_size=3)),
    st.builds(lambda at: lambda text, other: text[:at] + other[at:], st.integers(0, 61)),
    st.sampled_from([lambda text, _: text.upper(), lambda text, _: text.lower(), lambda text, _: text.swapcase()]),
    st.just(lambda text, other: text[:18] + other[18:]),
    st.builds(lambda whole: lambda _, __: whole, st.text()),
    st.builds(lambda middle: lambda text, _: text.replace("_", middle, 1), st.sampled_from(["__", "-", "", " ", "\n"])),
)


@given(change=CHANGES, turn=st.booleans())
def test_no_text_but_an_issued_one_gives_access(
    issued: tuple[Tokens, list[str]], change: Callable[[str, str], str], turn: bool
) -> None:
    tokens, texts = issued
    text = change(*(texts[::-1] if turn else texts))
    assert (tokens.access(text) is not None) == (text in texts)


def test_every_character_of_the_text_counts(tokens: Tokens) -> None:
    text = new(tokens)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
    others = {_put(text, place, one) for place in (*range(8, 18), *range(19, len(text))) for one in alphabet} - {text}
    assert [other for other in others if tokens.access(other)] == []


def test_an_unknown_id_is_compared_as_a_known_one_is(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    text = new(tokens)
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def noted(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    wrong = _put(text, len(text) - 1, "A" if text[-1] != "A" else "B")
    unknown = f"satchel_{'0' * 10}{text[18:]}"
    assert [tokens.access(one) is None for one in (text, wrong, unknown)] == [False, True, True]
    assert compared == [(32, 32)] * 3


def test_a_token_that_another_process_revokes_gives_no_access_at_once(
    tokens: Tokens, folder: Path, clock: ManualClock
) -> None:
    text = new(tokens)
    assert tokens.access(text) is not None
    revoked = Tokens(folder, clock).revoke("ci")
    assert (tokens.access(text), revoked.state, revoked.revoked_at) == (None, REVOKED, clock.now)


def test_no_two_states_of_the_file_look_alike(tokens: Tokens, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.base.private_file.time.time_ns", lambda: 1_795_000_000_000_000_000)
    seen = set()
    for number in range(5):
        new(tokens, f"n{number}")
        seen.add((folder / "tokens.json").stat().st_mtime_ns)
    assert len(seen) == 5


def test_a_token_expires(tokens: Tokens, clock: ManualClock) -> None:
    text = new(tokens, expires_at=clock.now + 1_000)
    clock.advance(999)
    assert tokens.access(text) is not None
    clock.advance(1)
    assert (tokens.access(text), tokens.every()[0].state) == (None, EXPIRED)


@pytest.mark.parametrize("ahead", [0, -1, 36_500 * DAY_MS + 1])
def test_a_time_that_makes_no_sense_is_refused(tokens: Tokens, clock: ManualClock, ahead: int) -> None:
    with pytest.raises(InvalidInput, match="would expire"):
        new(tokens, expires_at=clock.now + ahead)
    assert tokens.every() == []


def test_a_name_is_free_again_when_its_token_is_over(tokens: Tokens, clock: ManualClock) -> None:
    new(tokens)
    with pytest.raises(Conflict, match=r"active token 'ci' already.*token revoke ci"):
        new(tokens)
    tokens.revoke("ci")
    new(tokens, expires_at=clock.now + 1)
    clock.advance(1)
    text = new(tokens)
    assert [token.state for token in tokens.every()] == [REVOKED, EXPIRED, ACTIVE]
    tokens.revoke("ci")
    assert tokens.access(text) is None


def test_a_token_is_revoked_by_its_id_or_its_text_and_only_once(tokens: Tokens, clock: ManualClock) -> None:
    for means in (0, 1):
        token, text = tokens.new(f"n{means}", store=STORE, project="p")
        first = tokens.revoke((token.id, text)[means])
        clock.advance(5)
        assert tokens.revoke(token.id) == first
        assert tokens.access(text) is None


def test_a_name_may_not_be_the_id_of_another(tokens: Tokens) -> None:
    token, _ = tokens.new("ci", store=STORE, project="p")
    with pytest.raises(Conflict, match="is the id of a token"):
        new(tokens, token.id)


def test_what_is_unknown_cannot_be_revoked(tokens: Tokens) -> None:
    with pytest.raises(NotFound, match="no token 'nobody'"):
        tokens.revoke("nobody")


@pytest.mark.parametrize(
    ("name", "options"),
    [("", {}), ("a\nb", {}), ("x", {"role": "root"}), ("x", {"agent": ""}), ("x", {"project": " "})],
    ids=str,
)
def test_bad_input_is_refused_before_anything_is_written(tokens: Tokens, name: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        new(tokens, name, **options)
    assert tokens.every() == []


def test_what_is_long_over_is_listed_no_more(tokens: Tokens, clock: ManualClock) -> None:
    new(tokens, "revoked")
    tokens.revoke("revoked")
    new(tokens, "expired", expires_at=clock.now + 1)
    new(tokens, "active")
    clock.advance(90 * DAY_MS)
    assert len(tokens.every()) == 3
    clock.advance(2)
    assert [token.name for token in tokens.every()] == ["active"]


def _spoil(file: Path, spoil: Callable[[Any], object]) -> None:
    book = json.loads(file.read_text())
    spoil(book)
    file.write_text(json.dumps(book))


SPOILT: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-20]),
    "no text": lambda file: file.write_bytes(b"\xff\x00"),
    "nested without end": lambda file: file.write_bytes(b"[" * 100_000),
    "something else": lambda file: file.write_text("[]"),
    "of another version": lambda file: _spoil(file, lambda book: book.update(schema=3)),
    "an unknown limit": lambda file: _spoil(file, lambda book: book["tokens"][0].update(hosts=["a"])),
    "without its revocation": lambda file: _spoil(file, lambda book: book["tokens"][0].pop("revoked_at")),
    "a time that is none": lambda file: _spoil(file, lambda book: book["tokens"][0].update(revoked_at=True)),
    "an unknown role": lambda file: _spoil(file, lambda book: book["tokens"][0].update(role="root")),
    "a short digest": lambda file: _spoil(file, lambda book: book["tokens"][0].update(sha256="00")),
    "a relative store": lambda file: _spoil(file, lambda book: book["tokens"][0].update(store="s.db")),
    "one token twice": lambda file: _spoil(file, lambda book: book["tokens"].append(book["tokens"][0])),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_damaged_file_is_an_error_and_stays_as_it_is(
    tokens: Tokens, folder: Path, spoil: Callable[[Path], object]
) -> None:
    text = new(tokens)
    assert tokens.access(text) is not None
    spoil(folder / "tokens.json")
    spoilt = (folder / "tokens.json").read_bytes()
    for asks in (lambda: tokens.access(text), tokens.every, lambda: new(tokens, "x"), lambda: tokens.revoke("ci")):
        with pytest.raises(Refused, match=r"tokens\.json cannot be read \(.*make new tokens"):
            asks()
    assert (folder / "tokens.json").read_bytes() == spoilt


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_others_can_read_or_write_is_an_error_at_once(tokens: Tokens, folder: Path, mode: int) -> None:
    text = new(tokens)
    assert tokens.access(text) is not None
    (folder / "tokens.json").chmod(mode)
    with pytest.raises(Refused, match=rf"has the mode {mode:o}.*chmod 600"):
        tokens.access(text)
    (folder / "tokens.json").chmod(0o600)
    assert tokens.access(text) is not None


def test_a_folder_in_which_others_can_write_is_an_error(folder: Path, clock: ManualClock) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o770)
    with pytest.raises(Refused, match=r"has the mode 770.*chmod 700"):
        new(Tokens(folder, clock))
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_an_error(tokens: Tokens, folder: Path) -> None:
    text = new(tokens)
    os.chown(folder / "tokens.json", 65_534, 65_534)
    with pytest.raises(Refused, match=r"belongs to user .*, not to you"):
        tokens.access(text)


def test_a_link_in_the_place_of_the_file_is_an_error(tokens: Tokens, folder: Path) -> None:
    text = new(tokens)
    (folder / "tokens.json").rename(folder / "elsewhere.json")
    (folder / "tokens.json").symlink_to(folder / "elsewhere.json")
    with pytest.raises(Refused, match="is a link, not a file"):
        tokens.access(text)


def test_a_write_that_fails_leaves_the_tokens_as_they_were(
    tokens: Tokens, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = new(tokens)

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(IoError, match=r"tokens\.json failed"):
        tokens.revoke("ci")
    monkeypatch.undo()
    assert tokens.access(text) is not None
    assert sorted(path.name for path in folder.iterdir()) == ["tokens.json", "tokens.lock"]


def _make_five(folder: Path, worker: int) -> None:
    tokens = Tokens(folder, system_clock)
    for number in range(5):
        assert tokens.access(new(tokens, f"{worker}-{number}")) is not None


@pytest.mark.slow
def test_processes_that_make_tokens_at_the_same_time_lose_none(tokens: Tokens, folder: Path) -> None:
    fresh = multiprocessing.get_context("spawn")
    workers = [fresh.Process(target=_make_five, args=(folder, worker)) for worker in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert {token.name for token in tokens.every()} == {f"{worker}-{n}" for worker in range(8) for n in range(5)}
