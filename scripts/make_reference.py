"""Write docs/reference from the program itself, so that it cannot say anything else. A test compares the two.

python scripts/make_reference.py
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import click

from satchel.base.config import RESERVED_VARIABLES
from satchel.base.config_keys import KEYS
from satchel.base.errors import ERROR_KINDS
from satchel.base.tokens import TokenCounter, token_counter
from satchel.interfaces.cli.common import setting_text
from satchel.interfaces.cli.group import OF_THE_STORE, satchel_command
from satchel.interfaces.http.public import operations
from satchel.interfaces.mcp.guidance import PROMPTS, instructions
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.keep.fields import Field
from satchel.keep.kind import Part
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.lines import SCHEMA

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
_MADE = "<!-- made by scripts/make_reference.py: change the program, then run it -->\n"


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    return {
        "cli.md": _cli(),
        "agents.md": _agents(),
        "tools.md": _tools(),
        "api.md": _api(),
        "configuration.md": _configuration(),
        "errors.md": _errors(),
        "lines.md": _lines(),
    }


def _cli() -> str:
    lines = [_MADE, "# Command line\n"]
    context = click.Context(satchel_command, info_name="satchel", terminal_width=100, max_content_width=100)
    for name in satchel_command.list_commands(context):
        command = satchel_command.get_command(context, name)
        assert command is not None
        lines += _help(command, context, f"satchel {name}", 2)
        if isinstance(command, click.Group):
            outer = click.Context(command, info_name=name, parent=context)
            for inner in command.list_commands(outer):
                part = command.get_command(outer, inner)
                assert part is not None
                lines += _help(part, outer, f"satchel {name} {inner}", 3)
    return "\n".join(lines)


def _help(command: click.Command, parent: click.Context, title: str, level: int) -> list[str]:
    name = title.rsplit(" ", 1)[1]
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100, max_content_width=100)
    return [f"{'#' * level} `{title}`\n", "```text", command.get_help(context), "```\n"]


def _lines() -> str:
    said = (
        f"`satchel export` writes a JSON object a line, in UTF-8, of schema {SCHEMA}. The first line is "
        '`{"kind": "satchel", "schema": ..., "project": {"name": ..., "uid": ...}, "exported_at": ..., "lines": ..., '
        '"seq": ..., "kinds": [...]}`, the last `{"kind": "end", "lines": ..., "kinds": {KIND: [LINES, DIGEST]}}`: a '
        "file without it was cut. Every other line is an item: `kind`, "
        "`uid` (32 hexadecimal digits, the same in every store), `id` (its short id where it comes from, for people), "
        "`seq` (the project's number of its last change) and the fields of its kind. Only `satchel import "
        "--as-written` takes `seq`, `pinned` and the kinds `seen`, `shared_text` and `document_text`. What is not "
        "there is left out. A "
        "link is the uid of the item that it leads to. A "
        "program refuses a newer schema, reports fields that it does not know, and leaves out kinds that it does not "
        "know. [How to move and merge](../moving.md)."
    )
    wrapped = textwrap.wrap(said, 120, break_long_words=False, break_on_hyphens=False)
    lines = [_MADE, "# Lines of an export\n", *wrapped, ""]
    for kind in LINE_KINDS.values():
        lines += [f"## `{kind.name}`\n", f"{kind.about[0].upper()}{kind.about[1:]}.\n", *_fields_of_line(kind.fields)]
        for part in kind.parts:
            lines += _part_of_line(part, part.name)
        lines.append("")
    return "\n".join(lines)


_MERGED = {
    "max": "the larger of both sides",
    "min": "the smaller of both sides",
    "fill": "kept where the other side has none",
    "soft": "from the later side, never a conflict",
}


def _fields_of_line(fields: tuple[Field, ...]) -> list[str]:
    return [
        f"- `{field.name}`{'' if field.required else ' (optional)'}: {field.codec.what}"
        + (f"; {_MERGED[field.merge]}" if field.merge else "")
        for field in fields
    ]


def _part_of_line(part: Part, name: str) -> list[str]:
    how = "an object" if part.is_single else "a list of values" if len(part.fields) == 1 else "a list of objects"
    merged = "" if part.is_own else "; brought together from both sides"
    if len(part.fields) == 1:
        return [f"- `{name}` (optional): {how}, each {part.fields[0].codec.what}{merged}"]
    lines = [f"- `{name}` (optional): {how}{merged}", *(f"  {line}" for line in _fields_of_line(part.fields))]
    for inner in part.parts:
        lines += [f"  {line}" for line in _part_of_line(inner, inner.name)]
    return lines


def _agents() -> str:
    counter = token_counter()
    if not counter.exact:
        sys.exit("tokens are counted exactly only with the extra `tokens`")
    served, every = Registry(ALL_TOOLS, DEFAULT_TOOLSETS), Registry(ALL_TOOLS)
    told = instructions(served.tools)
    lines = [
        _MADE,
        "# What agents see, and what it costs\n",
        "Tokens are those of o200k_base; a listing is counted as what a model sees of `tools/list`: names, "
        "descriptions and input schemas, as compact JSON. Satchel adds no other text to a model's context than what "
        "this page lists, and asks no model itself.\n",
        "## The server\n",
        "| what the client gets from `satchel mcp` | tokens |",
        "|---|---|",
        f"| instructions | {counter.count(told)} |",
        f"| the {len(served.tools)} tools that are served by default | {_listing_tokens(served, counter):,} |",
        f"| all {len(every.tools)} tools, with `satchel mcp --toolsets all` | {_listing_tokens(every, counter):,} |",
        "",
        "Claude Code, Codex and Qwen Code do not give these listings to the model at the start: it sees names or less, "
        "and loads a tool when it searches for it ([clients](../clients/README.md)). `satchel mcp --toolsets "
        "context,search` serves only the sets that you name.\n",
        "| set | default | tools | tokens |",
        "|---|---|---|---|",
    ]
    for toolset in dict.fromkeys(tool.toolset for tool in ALL_TOOLS):
        registry = Registry(ALL_TOOLS, (toolset,))
        names = ", ".join(f"`{name}`" for name in registry.tools)
        default = "yes" if toolset in DEFAULT_TOOLSETS else ""
        lines.append(f"| `{toolset}` | {default} | {names} | {_listing_tokens(registry, counter):,} |")
    lines += [
        "\n[What each tool takes](tools.md). The instructions:\n",
        *(f"> {line}" for line in told.splitlines()),
        "\n## Hooks\n",
        "Limits in tokens; usually there is less to say, and nothing is repeated in a window until it changes. All "
        "texts of one session together take at most 4,000, but for critical items and a second compaction "
        "([at which moments](../hooks.md)).\n",
        "| key | limit | |",
        "|---|---|---|",
        *(
            f"| `{key.name}` | {key.default:,} | {key.help} |"
            for key in KEYS
            if key.name.startswith("hooks.") and key.help.startswith("Tokens at most")
        ),
        "\nA briefing that an agent asks for (`get_briefing`) has at most the "
        f"{_BUDGET:,} tokens of `brief.budget`, or as many as it names. What a first request then holds: [the "
        "README](../../README.md). What lists cost as text and as JSON: "
        "[many agents](../many-agents.md#finding-conflicts). `satchel stats --memory` counts what was added to the "
        "contexts of your agents, and what of it helped.",
        "",
    ]
    return "\n".join(lines)


_BUDGET = next(key.default for key in KEYS if key.name == "brief.budget")


def _listing_tokens(registry: Registry[Any], counter: TokenCounter) -> int:
    shown = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in registry.listing()]
    return counter.count(json.dumps(shown, separators=(",", ":"), ensure_ascii=False), "json")


def _tools() -> str:
    lines = [_MADE, "# Tools for agents\n", f"Served without `--toolsets`: {', '.join(DEFAULT_TOOLSETS)}.\n"]
    for toolset in dict.fromkeys(tool.toolset for tool in ALL_TOOLS):
        lines.append(f"## Toolset `{toolset}`\n")
        for tool in ALL_TOOLS:
            if tool.toolset == toolset:
                lines += [f"### `{tool.name}`\n", f"{tool.description}\n", "| argument | takes | |", "|---|---|---|"]
                required = tool.parameters.get("required", ())
                lines += [
                    f"| `{name}`{' (required)' if name in required else ''} | {_takes(schema)} "
                    f"| {schema.get('description', '')} |"
                    for name, schema in tool.parameters["properties"].items()
                ]
                lines.append("")
    lines += ["## Prompts\n", "| prompt | for | arguments |", "|---|---|---|"]
    for prompt in PROMPTS:
        arguments = ", ".join(
            f"`{argument.name}`{'' if argument.required else ' (optional)'}" for argument in prompt.arguments
        )
        lines.append(f"| `{prompt.name}` | {prompt.description} | {arguments} |")
    lines += [
        "\n## Resources\n",
        "| address | what it is |",
        "|---|---|",
        "| `satchel://state` | what is known in the active run |",
        "| `satchel://runs/{run_id}/state` | what is known in one run |",
        "| `satchel://briefing` | what the server's agent needs most and did not get yet; reading it records nothing |",
        "| `satchel://briefing/{role}` | the same for a role |",
        "\n## What agents are told\n",
        *(f"> {line}" for line in instructions(Registry(ALL_TOOLS, DEFAULT_TOOLSETS).tools).splitlines()),
        "",
    ]
    return "\n".join(lines)


def _api() -> str:
    """Return the page of the operations, with the names that each interface has for them."""
    lines = [
        _MADE,
        "# The JSON API, and what works over a server\n",
        "`satchel serve` answers `POST /api/NAME` with the arguments as one JSON object, and `GET` with them in the "
        "address where an operation only reads. `GET /api/openapi.json` describes them. Each request needs "
        '`Authorization: Bearer TOKEN`; errors are `{"error": {"code", "problem", "remedy"}}` with the status of '
        "[errors.md](errors.md). What removes something takes `dry_run`, which is true unless it is given.\n",
        "| operation | tool | command | by GET | over a server |",
        "|---|---|---|---|---|",
    ]
    for name, one in operations().items():
        tool = f"`{one.tool}`" if one.tool else ""
        command = f"`satchel {' '.join(one.command)}`" if one.command else ""
        reads = "" if one.writes or one.only_here else "yes"
        lines.append(f"| `{name}` | {tool} | {command} | {reads} | {one.only_here or 'yes'} |")
    kept = ", ".join(f"`satchel {name}`" for name in OF_THE_STORE)
    lines.append(f"\nWhere the store is, and not over a server: {kept}. They look after the file itself.\n")
    return "\n".join(lines)


def _takes(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "items" in schema:
        return " or ".join([f"list of {_takes(schema['items'])}", *(kind for kind in kinds if kind != "array")])
    bounds = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return " ".join([" or ".join(kinds), *bounds])


def _configuration() -> str:
    lines = [
        _MADE,
        "# Configuration\n",
        "From the strongest to the weakest: an argument, the environment variable, your own `config.toml`, the "
        "project's `.satchel/config.toml`, the default. A project's file may come with a clone, so it sets only what "
        "neither sends nor deletes anything. Your own lies in the platform's configuration folder (on Linux "
        '`~/.config/satchel`); in it, tables such as `[projects."/path/of/project".consult]` count for one project. '
        "A value that is not valid is warned about by name and passed over. `satchel config` shows what is "
        "in force and why; `satchel config --template` prints a project's file that explains its keys, with `--user` "
        "yours.\n",
        "| key | takes | default | project's file | |",
        "|---|---|---|---|---|",
    ]
    for key in KEYS:
        default = "not set" if key.default is None else f"`{setting_text(key.default)}`"
        stricter = f"only {key.strict_enough}"
        project = {"yes": "yes", "lower": "only to lower it", "stricter": stricter, "no": "no"}[key.project]
        names = f"`{key.name}`" + (f"<br>`{key.variable}`" if key.variable is not None else "")
        lines.append(f"| {names} | {key.allowed} | {default} | {project} | {key.help} |")
    lines += [
        "\nVariables that are no keys:\n",
        "| variable | what it says |",
        "|---|---|",
        *(f"| `{variable}` | {meaning} |" for variable, meaning in RESERVED_VARIABLES.items()),
    ]
    return "\n".join(lines)


def _errors() -> str:
    lines = [
        _MADE,
        "# Errors\n",
        "An error has a stable code, says what was wrong and what would be right. A tool answers "
        "`error [code]: ...`, the command line prints the same to stderr (one JSON object with `--json`) and leaves "
        "with the exit status.\n",
        "| code | exit status | HTTP | meaning |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{kind.code}` | {kind.exit_status} | {kind.http_status} | {kind.meaning} |" for kind in ERROR_KINDS.values()
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
