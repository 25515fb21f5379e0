"""Redaction: published tokens, private keys, URLs, headers and assignments go; everything else stays."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from redaction.named_samples import KEPT_BESIDE, SECRETISH, SPARED
from redaction.secret_samples import ADVERSARIAL, ALNUM, TOKENS, UPPER, chars
from satchel.redaction import finds_secret, redact
from satchel.redaction.formats import TOKEN_FORMATS
from satchel.redaction.values import is_plain_word
from tables import in_one_test


def test_a_published_token_goes_and_the_text_around_it_stays() -> None:
    made = [(kind, redact(f"we used {token}, then 'rotated' it").text) for kind, token in TOKENS]
    assert [one for one in made if one[1] != f"we used [redacted:{one[0]}], then 'rotated' it"] == []


def test_a_token_in_a_key_or_path_is_named() -> None:
    named = [(kind, finds_secret(f"notes/{token}")) for kind, token in TOKENS]
    assert [(kind, found) for kind, found in named if found != kind] == []


def test_every_format_of_the_table_has_an_example_here() -> None:
    shown = {kind for kind, _ in TOKENS} | {kind for kind, *_ in KEPT_BESIDE}
    assert {entry.kind for entry in TOKEN_FORMATS} <= shown


def test_a_token_after_an_escaped_line_break_is_found() -> None:
    assert redact("a\\nAK" + "IA" + chars(UPPER, 16)).kinds == ("aws-access-key",)


def test_a_token_assigned_to_a_name_is_called_by_its_provider() -> None:
    assert redact('GITHUB_TOKEN="gh' + "p_" + chars(ALNUM, 36) + '"').text == 'GITHUB_TOKEN="[redacted:github-token]"'


@in_one_test(
    ("kind", "before", "secret", "after"),
    KEPT_BESIDE,
)
def test_only_the_secret_part_goes(kind: str, before: str, secret: str, after: str) -> None:
    assert redact(before + secret + after).text == f"{before}[redacted:{kind}]{after}"


def test_what_is_no_secret_is_returned_as_the_same_object() -> None:
    assert [(text, redact(text).kinds) for text in SPARED if redact(text).text is not text] == []


@in_one_test("label", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_a_private_key_goes_whole(label: str) -> None:
    body = "\n".join(chars(ALNUM + "+/", 64) for _ in range(4))
    key = f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"
    assert redact(f"key:\n{key}\nend").text == "key:\n[redacted:private-key]\nend"


def test_a_private_key_on_one_escaped_line_goes_whole() -> None:
    key = "-----BEGIN PRIVATE KEY-----\\n" + chars(ALNUM, 64) + "\\nab==\\n-----END PRIVATE KEY-----\\n"
    assert redact(f'"k": "{key}"').text == '"k": "[redacted:private-key]\\n"'


def test_a_private_key_without_its_end_goes_as_far_as_it_looks_like_one() -> None:
    text = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + chars(ALNUM, 64) + "\nthen it broke off"
    assert redact(text).text == "[redacted:private-key]\nthen it broke off"


def test_a_private_key_cut_off_in_its_first_line_goes() -> None:
    assert redact("-----BEGIN PRIVATE KEY-----\nMIIEvQ").text == "[redacted:private-key]"


def test_a_long_unquoted_secret_goes_to_its_end() -> None:
    assert redact("token=" + chars(ALNUM, 3_000) + " end").text == "token=[redacted:secret] end"


def test_kinds_are_listed_once_per_occurrence_in_order() -> None:
    github, aws = "gh" + "p_" + chars(ALNUM, 36), "AK" + "IA" + chars(UPPER, 16)
    assert redact(f"{aws} {github} password=hunter2 {aws}").kinds == (
        "aws-access-key",
        "github-token",
        "password",
        "aws-access-key",
    )


def test_a_secret_uncovered_by_another_is_listed_in_order() -> None:
    # The access key ends at a word's end only once the token behind it is gone.
    text = "password=hunter2 AK" + "IA" + chars(UPPER, 16) + "gh" + "p_" + chars(ALNUM, 36) + " password=hunter3"
    assert redact(text).kinds == ("password", "aws-access-key", "github-token", "password")


def test_a_text_in_which_lower_case_is_longer_is_redacted_in_the_right_place() -> None:
    assert redact("\u0130\u0130 password=hunter2 \u0130").text == "\u0130\u0130 password=[redacted:password] \u0130"


def test_markers_need_no_escaping() -> None:
    marks = "".join(redact(token).text for _, token in TOKENS)
    assert not set(marks) & set("\"'\\\n")


def test_an_ordinary_name_holds_no_secret() -> None:
    assert finds_secret("src/auth/token_store.py") is None


@in_one_test("piece", ADVERSARIAL)
def test_redacting_an_adversarial_text_twice_changes_nothing_more(piece: str) -> None:
    once = redact(piece * 500).text
    assert redact(once).text is once


@given(SECRETISH)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text).text
    assert redact(once).text is once


@given(SECRETISH)
def test_a_name_is_refused_exactly_when_a_text_would_be_redacted(text: str) -> None:
    found = redact(text).kinds
    assert (finds_secret(text) is None) == (not found)


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_no_text_raises_and_what_is_not_redacted_is_the_same_object(text: str) -> None:
    result = redact(text)
    assert result.kinds or result.text is text


@given(st.text(st.characters(exclude_characters="=:-"), max_size=17))
def test_a_short_text_without_a_sign_is_returned_as_the_same_object(text: str) -> None:
    assert redact(text).text is text


def test_the_standard_library_has_less_than_one_finding_per_megabyte() -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    modules = [*sorted(library.glob("*.py")), *sorted(library.glob("[a-l]*/*.py"))]
    left_out = {"site-packages", "test", "tests", "idlelib", "dist-packages"}
    read = findings = 0
    for module in modules:
        if read < 5_000_000 and not left_out & set(module.parts):
            source = module.read_text("utf-8", errors="replace")
            read += len(source)
            findings += len(redact(source).kinds)
    assert findings < read / 1_000_000


@in_one_test("text", ["-----BEGIN PRIVATE KEY", "PRIVATE KEY -----BEGIN ", "-----BEGIN x PRIVATE KEY-"])
def test_the_beginning_of_a_key_header_alone_is_left_as_it_is(text: str) -> None:
    assert redact(text).text == text


def test_a_password_in_an_environment_file_may_be_a_word_of_6_to_64_letters() -> None:
    lengths = [length for length in range(100) if is_plain_word("a" * length)]
    assert (lengths[0], lengths[-1], len(lengths)) == (6, 64, 59)
