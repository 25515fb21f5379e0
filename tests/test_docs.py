"""The documents name all there is and nothing that is not, and their links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from documents import ROOT, runnable
from satchel.base.config_keys import KEYS
from satchel.base.errors import ERROR_KINDS
from satchel.consult.providers import PROVIDERS
from satchel.interfaces.cli.group import COMMANDS, satchel_command
from satchel.interfaces.mcp.guidance import PROMPTS
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.interfaces.setup.clients import CLIENTS, Client
from satchel.keep.moving.kinds import LINE_KINDS
from tables import in_one_test

REFERENCE = ROOT / "docs" / "reference"
MOST_LINES = {
    "README.md": 160,
    "docs/benchmarks.md": 450,
}
OF_THE_PLUGIN = sorted(ROOT.glob("plugin/**/*.md"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *OF_THE_PLUGIN])
OF_TODAY = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]  # which names what there was
FOR_USERS = sorted([ROOT / "README.md", *REFERENCE.glob("*.md")])

_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_BACKTICKED = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_TOOL_LIKE = re.compile(
    r"(?:add|check|claim|clear|find|get|list|mark|read|record|release|report|reset|save|search|send|set|write)"
    r"_[a-z_]+"
)


def subcommands(name: str) -> list[str]:
    command = satchel_command.get_command(click.Context(satchel_command), name)
    return command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []


def every_command() -> list[str]:
    return [full for name in COMMANDS for full in (name, *(f"{name} {inner}" for inner in subcommands(name)))]


def prose(path: Path) -> str:
    """Return a document without its fenced blocks."""
    return _FENCED.sub("", path.read_text(encoding="utf-8"))


def backticked(paths: list[Path]) -> set[str]:
    return {name for path in paths for name in _BACKTICKED.findall(prose(path))}


def shell_words(line: str) -> list[str]:
    """Return a line as a shell splits it, with its operators as words and without its comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quotation that ends on another line
        return line.split()


def shown_commands(path: Path) -> list[list[str]]:
    """Return what follows ``satchel`` wherever a document shows it as something to type."""
    text = path.read_text(encoding="utf-8")
    lines = [line.strip() for block in _FENCED.finditer(text) for line in block["text"].splitlines()]
    lines += _BACKTICKED.findall(prose(path))
    lines += [inner for line in lines for inner in re.findall(r"\$\((satchel [^)]+)\)", line)]
    shown = []
    for words in map(shell_words, {line for line in lines if "satchel" in line}):
        ends = [place for place, word in enumerate(words) if not word.strip("();<>|&")]
        for before, end in zip([-1, *ends], [*ends, len(words)], strict=True):
            if re.fullmatch(r"(?:\S*/)?satchel", "".join(words[before + 1 : before + 2])):
                shown.append(words[before + 2 : end])
    return shown


def unknown_word(words: list[str]) -> str | None:
    """Return the first command or option of a command line that there is none of."""
    command: click.Command = satchel_command
    rest = [word.strip("[].,") for word in words]
    while isinstance(command, click.Group) and rest and rest[0].islower() and not rest[0].startswith("-"):
        found = command.get_command(click.Context(command), rest[0])
        if found is None and any(isinstance(one, click.Argument) for one in command.params):
            break
        if found is None:
            return rest[0]
        command = found
        del rest[0]
    known = {"--help", *(name for option in command.params for name in (*option.opts, *option.secondary_opts))}
    given = rest[: rest.index("--")] if "--" in rest else rest
    return next((word for word in given if word.startswith("--") and word.partition("=")[0] not in known), None)


@pytest.fixture(scope="module")
def documented() -> set[str]:
    return backticked(FOR_USERS)


def test_every_command_is_documented(documented: set[str]) -> None:
    assert {f"satchel {name}" for name in every_command()} - documented == set()


def test_every_tool_and_prompt_is_documented(documented: set[str]) -> None:
    names = {tool.name for tool in ALL_TOOLS} | {prompt.name for prompt in PROMPTS}
    assert names - documented == set()


def test_every_configuration_key_is_documented_with_its_variable(documented: set[str]) -> None:
    assert {name for key in KEYS for name in (key.name, key.variable) if name} - documented == set()


def test_every_error_code_is_documented(documented: set[str]) -> None:
    assert ERROR_KINDS.keys() - documented == set()


def test_the_reference_is_what_the_program_says() -> None:
    # in a process of its own, because click remembers how a command's help was first asked for
    script = "import json, make_reference; print(json.dumps(make_reference.pages()))"
    made = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "scripts", capture_output=True, text=True, check=True, timeout=60
    )
    written = {path.name: path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md")}
    assert written == json.loads(made.stdout), "run: python scripts/make_reference.py"


def test_no_document_names_a_command_or_option_that_does_not_exist() -> None:
    shown = [(str(path), words) for path in OF_TODAY for words in shown_commands(path)]
    assert [(path, words, unknown_word(words)) for path, words in shown if unknown_word(words)] == []


def quoted_errors() -> list[tuple[str, str]]:
    text = "\n".join((ROOT / "docs" / name).read_text() for name in ("troubleshooting.md", "serve-problems.md"))
    return re.findall(r"`\[(\w+)\] ?([^`]*)`", text)


def test_the_errors_that_are_quoted_are_those_of_the_program() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    texts = re.sub(r"\"\s*\n\s*f?\"", "", source)  # strings that are written on several lines
    quoted = quoted_errors()
    parts = {part.strip(" '") for _, said in quoted for part in re.split(r"\.\.\.|, |[A-Z]{4,}", said)}
    assert {code for code, _ in quoted} - ERROR_KINDS.keys() == set()
    assert [part for part in sorted(parts) if part not in texts] == []
    assert len(quoted) > 20


_OF_LINES = {field.name for kind in LINE_KINDS.values() for part in kind.parts for field in part.fields}


def test_no_document_names_a_tool_that_does_not_exist() -> None:
    named = {name for name in backticked([*FOR_USERS, *OF_THE_PLUGIN]) if _TOOL_LIKE.fullmatch(name)}
    assert named - {tool.name for tool in ALL_TOOLS} - ERROR_KINDS.keys() - _OF_LINES == set()


def anchors(path: Path) -> set[str]:
    """Return the anchors that a host of repositories gives to a document's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_leads_somewhere() -> None:
    broken = []
    for path, link in [(document, link) for document in DOCUMENTS for link in _LINK.findall(prose(document))]:
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if not re.match(r"[a-z]+:", link) and not (file.exists() and (not anchor or anchor in anchors(file))):
            broken.append((str(path), link))
    assert broken == []


def test_the_readme_and_the_page_of_the_library_have_an_example_that_runs() -> None:
    assert [language for language, _ in runnable()] == ["sh"]
    assert [language for language, _ in runnable("docs/library.md")] == ["python"]


def test_the_readme_names_the_tools_and_about_the_tokens_of_their_listing() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    quote = re.search(r"lists (\d+) tools in about ([\d,]+) tokens", text)
    listing = re.search(
        r"\| the (\d+) tools that are served by default \| ([\d,]+) \|", (REFERENCE / "agents.md").read_text()
    )
    assert quote is not None
    assert listing is not None
    assert quote[1] == listing[1]
    quoted_tokens, tokens = (int(match[2].replace(",", "")) for match in (quote, listing))
    assert quoted_tokens == pytest.approx(tokens, rel=0.03)


def test_decisions_are_few_short_and_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    pages = sorted(folder.glob("0*.md"))
    assert len(pages) <= 30
    assert [page.name for page in pages if len(page.read_text(encoding="utf-8").splitlines()) > 40] == []
    index = re.findall(r"^\| \[\d{4}\]\((.+?)\) \| (.+) \|$", (folder / "README.md").read_text(), re.MULTILINE)
    titles = [(page.name, page.read_text(encoding="utf-8").splitlines()[0].split(" ", 2)[2]) for page in pages]
    assert index == titles


@in_one_test("page", ["README.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))])
def test_a_page_is_short(page: str) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= MOST_LINES.get(page, 120)


def test_what_is_enforced_names_tests_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    rows = [line for line in text.splitlines() if "| enforced |" in line]
    assert rows
    assert [row for row in rows if not re.search(r"`tests/[^`]+::[^`]+`", row)] == []
    for named in re.findall(r"`(tests/[^`]+)`", text):
        file, _, test = named.partition("::")
        assert f"def {test}" in (ROOT / file).read_text(), named


def test_the_variables_of_all_providers_are_documented() -> None:
    variables = {name for one in PROVIDERS.values() for name in (one.key, one.url_variable) if name}
    assert variables <= backticked([ROOT / "docs" / "consulting.md"])


@in_one_test("client", CLIENTS.values())
def test_every_client_has_a_page_that_names_its_files_and_version(client: Client) -> None:
    page = (ROOT / "docs" / "clients" / f"{client.name}.md").read_text(encoding="utf-8")
    table = (ROOT / "docs" / "setup.md").read_text(encoding="utf-8")
    assert f"# {client.title}\n\n`satchel setup {client.name}`" in page
    for name in (*client.server, *filter(None, client.hooks)):
        assert name in page, name
        assert name in table, name
    assert client.known is None or client.known in page
    assert client.variable is None or client.variable in page


def test_the_versions_of_the_clients_that_were_seen_are_those_that_the_referees_run() -> None:
    wanted = json.loads((ROOT / "referees" / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    table = (ROOT / "docs" / "clients" / "README.md").read_text(encoding="utf-8")
    versions = dict(re.findall(r"^\| \[[\w ]+\]\((\w+)\.md\) \| ([\d.]+) \|", table, re.MULTILINE))
    packages = {
        "claude": "@anthropic-ai/claude-code",
        "codex": "@openai/codex",
        "gemini": "@google/gemini-cli",
        "qwen": "@qwen-code/qwen-code",
        "copilot": "@github/copilot",
        "opencode": "opencode-ai",
    }
    assert versions == {client: wanted[package] for client, package in packages.items()}
