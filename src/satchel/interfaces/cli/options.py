"""Command options, for click and for the fast path without it."""

from __future__ import annotations

from satchel.base.records import dataclass

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command."""

    flag: str
    name: str
    help: str
    metavar: str | None = None


DB = Option(
    "--db",
    "db",
    "The store's file, or a postgresql:// URL to look after a team's. Default: found as git finds its own. "
    "[env: SATCHEL_DB]",
    "PATH",
)
PROJECT = Option("--project", "project", "The project, where a store holds several. [env: SATCHEL_PROJECT]", "NAME")
RUN = Option("--run", "run_id", "The run. Default: main to write, all to read. [env: SATCHEL_RUN]", "ID")
AGENT = Option("--agent", "agent", "Who acts. [env: SATCHEL_AGENT]", "NAME")


# The options of ``satchel mcp``.
OF_SERVER = (
    DB,
    PROJECT,
    RUN,
    AGENT,
    Option(
        "--toolsets",
        "toolsets",
        "Comma-separated names, or all. Default: context,search,decisions,constraints,briefing,errors,messages,files.",
        "NAMES",
    ),
    Option("--read-only", "read_only", "Serve only the tools that change nothing."),
    Option("--json", "as_json", "Do not serve: print the tools as JSON and leave."),
)


def read(options: Sequence[Option], arguments: Sequence[str]) -> dict[str, Any] | None:
    """Parse options exactly as click does."""
    values: dict[str, Any] = {one.name: None if one.metavar else False for one in options}
    by_flag = {one.flag: one for one in options}
    rest = list(reversed(arguments))
    while rest:
        flag, equals, value = rest.pop().partition("=")
        option = by_flag.get(flag)
        if option is None:
            return None
        if option.metavar and not equals and rest:
            equals, value = "=", rest.pop()
            if value.startswith("-"):  # click treats these specially
                return None
        if bool(equals) != bool(option.metavar):
            return None
        values[option.name] = value if option.metavar else True
    return values
