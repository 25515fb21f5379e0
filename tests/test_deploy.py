"""The files for operators: their form, the names in them, and that what they start is what the program has."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from functools import reduce
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest

from satchel.interfaces.cli.group import satchel_command
from satchel.store.postgres import parse
from satchel.store.schema import MIGRATIONS
from tables import in_one_test

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = sorted([*DEPLOY.glob("*.service"), *DEPLOY.glob("*.timer")])

KNOWN = {
    "Unit": "Description Wants After",
    "Install": "WantedBy",
    "Timer": "OnCalendar RandomizedDelaySec Persistent",
    "Service": (
        "Type User Group StateDirectory StateDirectoryMode WorkingDirectory UMask ExecStart Restart RestartSec "
        "TimeoutStopSec LimitNOFILE MemoryMax TasksMax NoNewPrivileges CapabilityBoundingSet ProtectSystem ProtectHome "
        "PrivateTmp PrivateDevices PrivateNetwork ProtectClock ProtectControlGroups ProtectHostname ProtectKernelLogs "
        "ProtectKernelModules ProtectKernelTunables ProtectProc RemoveIPC RestrictNamespaces RestrictRealtime "
        "RestrictSUIDSGID LockPersonality MemoryDenyWriteExecute RestrictAddressFamilies IPAddressDeny IPAddressAllow "
        "SystemCallArchitectures SystemCallFilter"
    ),
}
"""Directives of systemd.unit(5), systemd.exec(5), systemd.service(5), systemd.timer(5), systemd.resource-control(5)."""

COMPOSED = [["compose.yaml"], ["compose.yaml", "compose.postgresql.yaml"]]
"""The files of containers that are used together."""

Value = str | list[str] | dict[str, "Value"]


def unit(path: Path) -> dict[str, dict[str, str]]:
    parser = ConfigParser(strict=False, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(path, encoding="utf-8")
    return {name: dict(parser[name]) for name in parser.sections()}


def yaml(text: str) -> dict[str, Value]:
    """Read the part of YAML that compose.yaml is written in: nested mappings, texts, and lists as in JSON."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]

    def block(indent: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while lines and (len(lines[0]) - len(lines[0].lstrip())) == indent:
            match = re.fullmatch(r" *([\w.-]+):(?: (.+))?", lines.pop(0))
            assert match is not None
            key, value = match.groups()
            assert key not in found, key
            if value is None:
                found[key] = block(indent + 2)
            else:
                found[key] = json.loads(value) if value[0] in '["{' else value
        assert not lines or (len(lines[0]) - len(lines[0].lstrip())) < indent, lines[0]
        return found

    read = block(0)
    assert not lines, lines
    return read


def merged(first: dict[str, Value], second: dict[str, Value]) -> dict[str, Value]:
    """Return what two files are together, as Compose has it: mappings are merged, lists appended, the rest replaced."""
    both = dict(first)
    for key, value in second.items():
        before = both.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            both[key] = merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            both[key] = [*before, *value]
        else:
            both[key] = value
    return both


def composed(*names: str) -> dict[str, Value]:
    """Return what files of containers are together."""
    return reduce(merged, (yaml((DEPLOY / name).read_text(encoding="utf-8")) for name in names))


def at(value: Value, *keys: str) -> Value:
    for key in keys:
        assert isinstance(value, dict)
        value = value[key]
    return value


def commands() -> Iterator[list[str]]:
    """Yield every call of the program in the files for operators, without the program itself."""
    for path in UNITS:
        started = unit(path).get("Service", {}).get("ExecStart")
        if started is not None:
            program, *rest = shlex.split(started)
            assert program.endswith("/satchel")
            yield rest
    container = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    yield json.loads(re.findall(r"^CMD (\[.+\])$", container, re.MULTILINE)[-1])
    in_container = at(composed("compose.yaml"), "services", "satchel", "command")
    assert isinstance(in_container, list)
    yield in_container


@in_one_test("path", UNITS)
def test_every_directive_of_a_unit_is_known(path: Path) -> None:
    for section, directives in unit(path).items():
        assert set(directives) <= set(KNOWN[section].split()), section


@pytest.mark.referee
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_takes_a_unit(path: Path, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed")
    for one in UNITS:
        text = one.read_text(encoding="utf-8").replace("/opt/satchel/bin/satchel", sys.executable)
        (tmp_path / one.name).write_text(
            text.replace("User=satchel", "User=root").replace("Group=satchel", "Group=root")
        )
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / path.name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )
    said = [line for line in done.stderr.splitlines() if path.name.partition(".")[0] in line]
    assert (done.returncode, said) == (0, [])


def test_what_is_started_has_the_commands_and_options_of_the_program() -> None:
    for name, *arguments in commands():
        command = satchel_command.get_command(click.Context(satchel_command), name)
        assert command is not None, name
        values = [argument.replace("${DOMAIN:?the name that callers use}", "x.example") for argument in arguments]
        command.make_context(name, values)  # refuses an unknown option


def test_the_port_is_the_programs_own() -> None:
    from satchel.interfaces.cli.commands.serve import DEFAULT_PORT

    for path in (DEPLOY / "Containerfile", DEPLOY / "Caddyfile", ROOT / "docs" / "serve-operate.md"):
        ports = set(re.findall(r"\b7\d{3}\b", path.read_text(encoding="utf-8")))
        assert ports == {str(DEFAULT_PORT)}, path


@pytest.mark.parametrize("names", COMPOSED, ids=len)
def test_the_containers_can_write_only_what_they_keep_and_gain_no_rights(names: list[str]) -> None:
    services = at(composed(*names), "services")
    assert isinstance(services, dict)
    for service in services.values():
        assert at(service, "cap_drop") == ["ALL"]
        assert at(service, "security_opt") == ["no-new-privileges:true"]
    assert at(services, "satchel", "read_only") == "true"
    assert [name for name in services if "ports" in at(services, name)] == ["caddy"]
    assert re.search(r"^USER satchel$", (DEPLOY / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("names", COMPOSED, ids=len)
def test_every_volume_network_secret_and_file_of_the_containers_is_there(names: list[str]) -> None:
    all_of_it = composed(*names)
    services = at(all_of_it, "services")
    assert isinstance(services, dict)
    for service in services.values():
        assert isinstance(service, dict)
        for volume in at(service, "volumes"):
            source = volume.partition(":")[0]
            assert (DEPLOY / source).is_file() if source.startswith("./") else source in at(all_of_it, "volumes")
        assert set(at(service, "networks")) <= set(at(all_of_it, "networks"))
        assert {*service.get("depends_on", ())} <= services.keys()
        assert {*service.get("secrets", ())} <= {*all_of_it.get("secrets", ())}
    build = at(services, "satchel", "build")
    folder = (DEPLOY / str(at(build, "context"))).resolve()
    container = (folder / str(at(build, "dockerfile"))).read_text(encoding="utf-8")
    copied = [
        line.split()[1:-1] for line in container.splitlines() if line.startswith("COPY ") and "--from" not in line
    ]
    assert all((folder / name).exists() for names in copied for name in names)


def test_the_container_of_postgresql_keeps_what_it_confirms_and_is_ready_when_it_takes_connections() -> None:
    services = at(composed(*COMPOSED[1]), "services")
    settings = at(services, "postgresql", "command")
    assert isinstance(settings, list)
    assert {"fsync=on", "full_page_writes=on", "synchronous_commit=on"} <= set(settings)
    assert "postgresql:/var/lib/postgresql" in at(services, "postgresql", "volumes")
    check = at(services, "postgresql", "healthcheck", "test")
    assert "--host" in check  # the server that makes the database listens at its socket alone
    assert at(services, "satchel", "depends_on", "postgresql", "condition") == "service_healthy"
    extras = at(services, "satchel", "build", "args", "EXTRAS")
    projects = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*str(extras).split(",")} <= projects["optional-dependencies"].keys()


def test_the_secrets_of_the_containers_are_files_that_nobody_commits() -> None:
    files = composed(*COMPOSED[1])["secrets"]
    assert isinstance(files, dict)
    assert {str(at(file, "file")).rpartition("/")[0] for file in files.values()} == {"./secrets"}
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_configuration_in_the_container_names_what_is_there() -> None:
    teams = tomllib.loads((DEPLOY / "postgresql" / "config.toml").read_text(encoding="utf-8"))["databases"]
    services = at(composed(*COMPOSED[1]), "services")
    assert isinstance(services, dict)
    for team in teams.values():
        address = parse(team["url"], team["schema"])
        assert urlsplit(address.url).hostname in services
        assert urlsplit(address.url).path == f"/{at(services, 'postgresql', 'environment', 'POSTGRES_DB')}"
        assert urlsplit(address.url).username == f"{team['schema']}_server"  # as roles.sql names it
        folder, _, secret = team["password_file"].rpartition("/")
        assert folder == "/run/secrets"
        assert secret in at(services, "satchel", "secrets")


def test_the_page_names_the_limits_of_the_program() -> None:
    from satchel.interfaces.http.settings import Settings

    page, limits = (ROOT / "docs" / "serve-operate.md").read_text(encoding="utf-8"), Settings()
    table = page[page.index("## Limits") : page.index("## What is logged")]
    mib = 1024 * 1024
    for said in (
        f"{limits.body_bytes // mib} MiB, of all that are being read together {limits.bodies_bytes // mib} MiB",
        f"it has {limits.body_seconds:.0f} s to arrive",
        f"{limits.head_bytes // 1024} KiB, more if it arrives in one piece; it has {limits.head_seconds:.0f} s",
        f"| {limits.connections:,}, ",
        f"| {limits.write_seconds:.0f} s |",
        f"| {limits.requests_per_minute:,} a minute |",
        f"| {limits.failures_per_minute} a minute of one address",
    ):
        assert said in table, said
    assert f"at most every {limits.health_seconds:.0f} s" in page
    assert f"it waits longer than {limits.streams.heartbeat_seconds:.0f} s between two pieces" in page
    assert f"have {limits.grace_seconds} s to end" in page
    sizes = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    assert f"max_size {limits.body_bytes // mib}MiB" in sizes


def test_the_page_of_postgresql_names_what_the_engine_holds_to() -> None:
    from satchel.store.postgres import database, engine
    from satchel.store.running import DEADLINE_SECONDS

    pages = (ROOT / "docs" / name for name in ("postgresql.md", "postgresql-operate.md"))
    page = "\n".join(one.read_text(encoding="utf-8") for one in pages)
    for said in (
        f"at most {database.MOST_CONNECTIONS} for each server process and team",
        f"up to {engine.MOST_TOGETHER} or for {engine.LONGEST_SECONDS * 1_000:.0f} ms",
        f"| {DEADLINE_SECONDS:.0f} s, the owner's upkeep excepted |",
        f"ends it after {database._IDLE_SECONDS} s",
        f"can tell within {engine._LOST_SECONDS:.0f} s",
        f"PostgreSQL {database._OLDEST_VERSION} or newer",
        f"PostgreSQL before {database._OLDEST_VERSION}",
    ):
        assert " ".join(said.split()) in " ".join(page.split()), said


def test_the_page_of_postgresql_names_the_views_for_reports() -> None:
    page = (ROOT / "docs" / "postgresql-operate.md").read_text(encoding="utf-8")
    views = set(re.findall(r"`shop\.(\w+)`", page))
    statements = [statement for migration in MIGRATIONS for statement in migration.statements]
    assert views == {found for one in statements for found in re.findall(r"CREATE VIEW (\w+)", one)}
