import json
import subprocess
import sys
from pathlib import Path
from types import NoneType

import pytest

from base.loaded_config import MOMENTS, from_toml, from_user
from satchel.base.config import RESERVED_VARIABLES, documented_toml, load_config, parse_value, read_text
from satchel.base.config_keys import KEYS, Key
from satchel.base.errors import InvalidInput
from tables import in_one_test

RATE = Key("brief.rate", float, 1.0, "A factor.", minimum=0)
SWITCH = Key("brief.switch", bool, True, "A switch.")


def test_without_any_source_every_key_has_its_default() -> None:
    config = load_config(None, {})
    assert [(setting.value, setting.source) for setting in config.settings] == [
        (key.default, "default") for key in KEYS
    ]


def test_without_any_source_there_is_nothing_to_warn_about(tmp_path: Path) -> None:
    assert from_user(tmp_path, {}).warnings == ()


def test_every_default_and_example_is_valid() -> None:
    for key, value in [(one, value) for one in KEYS for value in (one.default, one.example)]:
        assert isinstance(value, NoneType) or parse_value(key, value) == value, key.name


VALID = [
    ("store.durability", "relaxed", "relaxed"),
    ("store.lock_wait_ms", "0", 0),
    ("store.backups_keep", "1000", 1000),
    ("context.max_per_loop", "1", 1),
    ("context.max_content_kib", "10240", 10240),
    ("layers.open", "true", True),
    ("claims.minutes", "10080", 10080),
    ("retention.messages_hours", "1", 1),
    ("retention.unread_messages_hours", "87600", 87600),
    ("retention.file_changes_hours", "48", 48),
    ("retention.conversations_days", "3650", 3650),
    ("consult.blob_mib", "0", 0),
    ("retention.skip_weekends", "true", True),
    ("retention.zone", "Europe/Berlin", "Europe/Berlin"),
    ("brief.budget", "0", 0),
    ("brief.token_factor", "1.25", 1.25),
    ("brief.deadline_ms", "60000", 60_000),
    *((f"hooks.{moment}", "0", 0) for moment in MOMENTS),
    ("hooks.claims", "warn", "warn"),
    ("hooks.end", "false", False),
    ("hooks.visible", "false", False),
    ("hooks.deadline_ms", "60000", 60_000),
    ("tokens.encoding", "cl100k_base", "cl100k_base"),
    ("trust.folders", "/mnt/c:/srv/work", ("/mnt/c", "/srv/work")),
    ("project.name", "Shop front", "Shop front"),
]


def test_the_environment_sets_every_key() -> None:
    for name, text, value in VALID:
        variable = "SATCHEL_" + name.upper().replace(".", "_")
        config = load_config(None, {variable: text})
        assert getattr(config, name.replace(".", "_")) == value, name
        assert (config.setting(name).source, config.warnings) == (f"environment {variable}", ())


def test_the_file_sets_every_key(tmp_path: Path) -> None:
    for name, _, value in VALID:
        table, key = name.split(".")
        config = from_toml(tmp_path, f"[{table}]\n{key} = {json.dumps(value)}\n")
        setting = config.setting(name)
        assert (setting.value, setting.source, config.warnings) == (value, "your config.toml", ()), name


@pytest.mark.parametrize("as_text", [True, False])
def test_an_argument_sets_every_key(as_text: bool) -> None:
    for name, text, value in VALID:
        config = load_config(None, {}, {name: text if as_text else value})
        setting = config.setting(name)
        assert (setting.value, setting.source, config.warnings) == (value, "argument", ()), name


@in_one_test(("deadline_ms", "wait_ms"), [(None, 250), (50, 8), (20_000, 3_333)])
def test_a_hook_waits_longer_for_a_lock_where_it_may_take_longer(deadline_ms: int | None, wait_ms: int) -> None:
    assert load_config(None, {}, {"hooks.deadline_ms": deadline_ms}).hooks_lock_wait_ms == wait_ms


def test_an_argument_goes_before_the_environment() -> None:
    config = load_config(None, {"SATCHEL_STORE_BACKUPS_KEEP": "3"}, {"store.backups_keep": 4})
    assert config.store_backups_keep == 4


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[store]\nbackups_keep = 2\n")
    assert from_user(tmp_path, {"SATCHEL_STORE_BACKUPS_KEEP": "3"}).store_backups_keep == 3


def test_an_argument_of_none_counts_as_not_given() -> None:
    config = load_config(None, {"SATCHEL_STORE_BACKUPS_KEEP": "3"}, {"store.backups_keep": None})
    assert config.store_backups_keep == 3


def test_an_empty_variable_counts_as_not_set() -> None:
    config = load_config(None, {"SATCHEL_STORE_BACKUPS_KEEP": ""})
    assert (config.store_backups_keep, config.warnings) == (10, ())


@in_one_test(
    ("name", "text"),
    [
        ("store.durability", "fast"),
        ("store.durability", ""),
        ("store.lock_wait_ms", "soon"),
        ("store.lock_wait_ms", "1.5"),
        ("store.lock_wait_ms", "-1"),
        ("store.lock_wait_ms", "600001"),
        ("store.backups_keep", "1001"),
        ("store.backups_keep", "9" * 5_000),
        ("brief.budget", "-1"),
        ("brief.budget", "1000001"),
        ("brief.budget", "4k"),
        ("brief.token_factor", "0.9"),
        ("brief.token_factor", "nan"),
        ("brief.token_factor", "10.1"),
        ("brief.deadline_ms", "0"),
        ("brief.deadline_ms", "60001"),
        ("context.max_per_loop", "0"),
        ("context.max_per_loop", "1000001"),
        ("context.max_content_kib", "0"),
        ("context.max_content_kib", "10241"),
        ("layers.open", "perhaps"),
        ("claims.minutes", "0"),
        ("claims.minutes", "10081"),
        ("retention.messages_hours", "0"),
        ("retention.messages_hours", "87601"),
        ("retention.unread_messages_hours", "0"),
        ("retention.unread_messages_hours", "87601"),
        ("retention.file_changes_hours", "-1"),
        ("retention.file_changes_hours", "1.5"),
        ("retention.file_changes_hours", "87601"),
        ("retention.conversations_days", "0"),
        ("retention.conversations_days", "3651"),
        ("consult.blob_mib", "-1"),
        ("consult.blob_mib", "65537"),
        ("retention.skip_weekends", "on"),
        ("retention.zone", "Mars/Base"),
        ("retention.zone", "Europe"),
        ("retention.zone", "../Berlin"),
        ("retention.zone", " "),
        ("retention.zone", "a\x00b"),
        ("tokens.encoding", "p50k_base"),
        ("project.name", "a\x00b"),
        ("project.name", "\udcff"),
        ("project.name", "x" * 201),
    ],
)
def test_a_bad_argument_is_warned_about_by_key_and_the_default_counts(name: str, text: str) -> None:
    config = load_config(None, {}, {name: text})
    setting = config.setting(name)
    assert (setting.value, setting.source) == (setting.key.default, "default")
    assert [warning.startswith(f"argument: {name} ") for warning in config.warnings] == [True]


def test_a_very_large_number_is_not_repeated() -> None:
    (large,) = load_config(None, {}, {"store.backups_keep": 10**18}).warnings
    (small,) = load_config(None, {}, {"store.backups_keep": 10**18 - 1}).warnings
    assert "(a very large number) is not" in large
    assert f"{10**18 - 1} is not" in small


@in_one_test(
    "line",
    [
        'lock_wait_ms = "5000"',
        "lock_wait_ms = true",
        "lock_wait_ms = 2.0",
        "lock_wait_ms = []",
        "lock_wait_ms = {}",
        "lock_wait_ms = 2026-11-21",
        f"lock_wait_ms = 0x{'f' * 20_000}",
        f"lock_wait_ms{'.x' * 3_000} = 1",
    ],
)
def test_a_value_of_the_wrong_type_in_the_file_is_warned_about(tmp_path: Path, line: str) -> None:
    config = from_toml(tmp_path, f"[store]\n{line}\n")
    assert config.store_lock_wait_ms == 10_000
    assert [warning.startswith("your config.toml: store.lock_wait_ms ") for warning in config.warnings] == [True]


def test_a_warning_says_what_is_allowed_and_what_counts_instead(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[store]\nlock_wait_ms = 250\n")
    config = from_user(tmp_path, {"SATCHEL_STORE_LOCK_WAIT_MS": "long"})
    assert config.warnings == (
        "environment SATCHEL_STORE_LOCK_WAIT_MS: store.lock_wait_ms 'long' is not a whole number from 0 to "
        "600000; store.lock_wait_ms is 250 (your config.toml)",
    )


def test_a_zone_that_is_unknown_is_warned_about_and_the_next_source_counts(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[retention]\nzone = "Europe/Berlin"\n')
    config = from_user(tmp_path, {"SATCHEL_RETENTION_ZONE": "Mars/Base"})
    assert config.retention_zone == "Europe/Berlin"
    assert config.warnings == (
        "environment SATCHEL_RETENTION_ZONE: retention.zone 'Mars/Base' is not a time zone known on this machine; "
        'retention.zone is "Europe/Berlin" (your config.toml)',
    )


@pytest.mark.parametrize("value", ["5", "true", "[]"])
def test_a_zone_that_is_no_text_is_warned_about(tmp_path: Path, value: str) -> None:
    config = from_toml(tmp_path, f"[retention]\nzone = {value}\n")
    assert config.retention_zone == "UTC"
    assert [
        warning.endswith('is not the IANA name of a time zone; retention.zone is "UTC" (default)')
        for warning in config.warnings
    ] == [True]


def test_a_bad_value_is_warned_about_even_where_a_better_source_counts(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[store]\ndurability = 'fast'\n")
    config = from_user(tmp_path, {}, {"store.durability": "relaxed"})
    assert config.store_durability == "relaxed"
    assert config.warnings == (
        'your config.toml: store.durability \'fast\' is not "full" or "relaxed"; '
        'store.durability is "relaxed" (argument)',
    )


def test_each_bad_source_has_a_warning_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[store]\nbackups_keep = -1\n")
    config = from_user(tmp_path, {"SATCHEL_STORE_BACKUPS_KEEP": "-2"}, {"store.backups_keep": -3})
    assert [warning.split(" is not ")[0] for warning in config.warnings] == [
        "argument: store.backups_keep -3",
        "environment SATCHEL_STORE_BACKUPS_KEEP: store.backups_keep -2",
        "your config.toml: store.backups_keep -1",
    ]


@pytest.mark.parametrize(
    ("text", "shown", "meant"),
    [
        ("[store]\ndurabilty = 'full'\n", "store.durabilty", "store.durability"),
        ("[stroe]\ndurability = 'full'\n", "stroe.durability", "store.durability"),
        ("durability = 'full'\n", "durability", "store.durability"),
        ("[context]\nmax_content_kb = 1\n", "context.max_content_kb", "context.max_content_kib"),
    ],
)
def test_an_unknown_key_in_the_file_gets_the_nearest_name(tmp_path: Path, text: str, shown: str, meant: str) -> None:
    assert from_toml(tmp_path, text).warnings == (
        f"your config.toml: {shown!r} is not a key of Satchel; did you mean {meant!r}?",
    )


def test_an_unknown_key_like_no_other_gets_the_list(tmp_path: Path) -> None:
    (warning,) = from_toml(tmp_path, "[zzz]\nq = 1\n").warnings
    assert warning.endswith("; valid: " + ", ".join(key.name for key in KEYS))


def test_an_unknown_argument_gets_the_nearest_name() -> None:
    assert load_config(None, {}, {"store.backup_keep": 3}).warnings == (
        "argument: 'store.backup_keep' is not a key of Satchel; did you mean 'store.backups_keep'?",
    )


def test_an_unknown_variable_gets_the_nearest_name_without_its_value() -> None:
    assert load_config(None, {"SATCHEL_PROJEKT": "secret"}).warnings == (
        "environment: 'SATCHEL_PROJEKT' is not a key of Satchel; did you mean 'SATCHEL_PROJECT'?",
    )


def test_variables_that_are_no_keys_but_satchels_are_not_warned_about() -> None:
    assert load_config(None, dict.fromkeys(RESERVED_VARIABLES, "x")).warnings == ()


def test_variables_of_others_are_not_warned_about() -> None:
    assert load_config(None, {"PATH": "x", "SATCHELS": "x", "MY_SATCHEL_DB": "x"}).warnings == ()


@pytest.mark.parametrize(
    "raw",
    [
        b"[store\n",
        b"[store]\nbackups_keep = 1\nbackups_keep = 2\n",
        b"\xff\xfe",
        b"[store]\nbackups_keep = " + b"9" * 5_000,
        b"x = " + b"[" * 50_000,
    ],
    ids=["syntax", "twice", "encoding", "digits", "nesting"],
)
def test_a_file_that_is_no_toml_is_warned_about_and_none_of_it_counts(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(raw)
    config = from_user(tmp_path, {})
    assert config.store_backups_keep == 10
    assert [warning.startswith("your config.toml: is not valid TOML (") for warning in config.warnings] == [True]


def test_a_file_that_cannot_be_read_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    (warning,) = from_user(tmp_path, {}).warnings
    assert warning.startswith("your config.toml: ")
    assert "is not a regular file" in warning


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    assert from_toml(tmp_path, "\ufeff[store]\nbackups_keep = 3\n").store_backups_keep == 3


def test_asking_for_an_unknown_key_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match=r"Did you mean 'store\.durability'"):
        load_config(None, {}).setting("store.durabilty")


@in_one_test(
    ("key", "given", "value"),
    [(RATE, 1.5, 1.5), (RATE, 2, 2.0), (SWITCH, False, False), (SWITCH, True, True)],
)
def test_numbers_and_switches_are_accepted_in_their_type(key: Key, given: object, value: object) -> None:
    parsed = parse_value(key, given)
    assert (parsed, type(parsed)) == (value, key.type)


@in_one_test(
    ("key", "given"),
    [
        (RATE, True),
        (RATE, -0.5),
        (RATE, float("nan")),
        (RATE, float("inf")),
        (RATE, 10**400),
        (SWITCH, 1),
        (SWITCH, "yes"),
    ],
)
def test_what_is_no_number_or_switch_is_refused(key: Key, given: object) -> None:
    with pytest.raises(InvalidInput, match=rf"^{key.name} .* is not {key.allowed}\."):
        parse_value(key, given)


@in_one_test(
    ("key", "text", "value"),
    [
        (SWITCH, "true", True),
        (SWITCH, " False ", False),
        (SWITCH, "1", True),
        (SWITCH, "0", False),
        (SWITCH, "perhaps", "perhaps"),
        (RATE, "0.5", 0.5),
        (RATE, "half", "half"),
    ],
)
def test_a_text_is_read_as_the_value_it_spells(key: Key, text: str, value: object) -> None:
    read = read_text(key, text)
    assert (read, type(read)) == (value, type(value))


def test_the_documented_file_sets_nothing(tmp_path: Path) -> None:
    config = from_toml(tmp_path, documented_toml(of_user=True))
    assert {setting.source for setting in config.settings} == {"default"}


def test_the_documented_file_with_every_line_uncommented_sets_every_key(tmp_path: Path) -> None:
    lines = documented_toml(of_user=True).splitlines()
    config = from_toml(tmp_path, "\n".join(line if line[:2] == "# " else line.lstrip("#") for line in lines))
    assert config.warnings == ()
    assert [setting.value for setting in config.settings] == [
        key.default if key.example is None else key.example for key in KEYS
    ]
    assert {setting.source for setting in config.settings} == {"your config.toml"}


def test_the_documented_file_explains_every_key() -> None:
    text = documented_toml(of_user=True)
    for key in KEYS:
        default = "not set" if key.default is None else json.dumps(key.default)
        assert f"# {key.help}\n# {key.allowed}; default: {default}\n#" in text


def test_the_toml_parser_is_loaded_only_where_there_is_a_file(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, satchel.base.config as c; c.load_config(pathlib.Path(sys.argv[1]), {}); "
        "sys.exit('tomllib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program, tmp_path], check=False).returncode == 0


def test_a_link_in_the_place_of_the_users_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").write_text("[claims]\nminutes = 5\n")
    (tmp_path / "config.toml").symlink_to("dotfiles")
    assert from_user(tmp_path).claims_minutes == 5
