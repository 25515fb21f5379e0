"""The documents name all there is and nothing that is not, their links lead somewhere, their examples run."""

from __future__ import annotations

import getpass
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import postgres_cluster
from consult.providers.chat_completions import ChatCompletions, Said
from repositories import commit_all, make_repository
from satchel.base.config_keys import KEYS
from satchel.base.errors import ERROR_KINDS
from satchel.consult.providers import PROVIDERS
from satchel.interfaces.cli.group import COMMANDS, satchel_command
from satchel.interfaces.mcp.guidance import PROMPTS
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.interfaces.setup.clients import CLIENTS, Client
from satchel.keep.moving.kinds import LINE_KINDS

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
OF_ITS_OWN_TEST = {
    "consulting.md",
    "guard.md",
    "library.md",
    "postgresql.md",
    "postgresql-operate.md",
    "serve.md",
    "setup.md",
    "setup-server.md",
    "sharing.md",
}
MOST_LINES = {
    "README.md": 160,
    "docs/benchmarks.md": 450,
    "docs/consulting.md": 220,
    "docs/control-room.md": 160,
    "docs/source-designs.md": 400,
}
OF_THE_PLUGIN = sorted(ROOT.glob("plugin/**/*.md"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *OF_THE_PLUGIN])
OF_TODAY = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]  # which names what there was
FOR_USERS = sorted([ROOT / "README.md", *REFERENCE.glob("*.md")])

_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_BACKTICKED = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_RUN = re.compile(
    r"^<!-- the tests run this block -->\n```(?P<language>sh|python)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
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
    assert {name for key in KEYS for name in (key.name, key.variable)} - documented == set()


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


def runnable(document: str = "README.md") -> list[tuple[str, str]]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return [(found["language"], found["text"]) for found in _RUN.finditer(text)]


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
    assert f"Agents use {listing[1]} tools" in text
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


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))])
def test_a_page_is_short(page: str) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= MOST_LINES.get(page, 120)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "text"),
    [*runnable(), *runnable("docs/library.md")],
    ids=lambda value: value if len(value) < 10 else "block",
)
def test_an_example_of_the_readme_and_of_the_library_runs(language: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    done = run_example(language, text, tmp_path)
    # lists say on stderr how much of them was shown, and a started run what to do with it
    complaints = [line for line in done.stderr.splitlines() if not re.match(r"\d+ of \d+ |started run ", line)]
    assert (done.returncode, complaints) == (0, [])
    assert done.stdout


def pages_that_run() -> list[str]:
    pages = [page.name for page in sorted(ROOT.glob("docs/*.md")) if page.name not in OF_ITS_OWN_TEST]
    return [page for page in pages if runnable(f"docs/{page}")]


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_that_run())
def test_the_examples_of_a_page_run_one_after_the_other(page: str, tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    (project / "src").mkdir()
    (project / "src" / "auth.py").write_text("TTL = 300\n")
    commit_all(project)
    moved = {client.variable: "" for client in CLIENTS.values() if client.variable}
    variables = moved | {"XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""}
    blocks = "\n".join(text for _, text in runnable(f"docs/{page}"))
    done = run_example("sh", blocks, tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    # a page says so where a command is refused on purpose
    assert [said for said in re.findall(r'\|\| echo "(.+)"', blocks) if f"{said}\n" not in done.stdout] == []


def test_what_is_enforced_names_tests_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    rows = [line for line in text.splitlines() if "| enforced |" in line]
    assert rows
    assert [row for row in rows if not re.search(r"`tests/[^`]+::[^`]+`", row)] == []
    for named in re.findall(r"`(tests/[^`]+)`", text):
        file, _, test = named.partition("::")
        assert f"def {test}" in (ROOT / file).read_text(), named


def run_example(language: str, text: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run what a document shows, in the folder ``project`` of somebody's home."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    if language == "sh":
        own["SATCHEL_PERSON"] = getpass.getuser()
    path = os.pathsep.join([str(Path(sys.executable).parent), own.get("PATH", "")])
    return subprocess.run(
        ["sh", "-eu", "-c", text] if language == "sh" else [sys.executable, "-W", "error", "-c", text],
        check=False,
        cwd=home / "project",
        env=own | {"PATH": path, "HOME": str(home), **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.slow
def test_the_example_of_the_guard_runs(tmp_path: Path) -> None:
    ((language, text),) = runnable("docs/guard.md")
    make_repository(tmp_path / "project")
    done = run_example(language, text, tmp_path)
    assert done.returncode == 0
    assert not (tmp_path / "project" / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.slow
def test_the_examples_of_a_second_opinion_run(tmp_path: Path) -> None:
    (_, in_shell), (_, in_python) = runnable("docs/consulting.md")
    source = tmp_path / "project" / "src"
    source.mkdir(parents=True)
    (source.parent / ".git").mkdir()
    (source / "auth.py").write_text("def refresh(token):\n    return token\n")
    with ChatCompletions(Said(("It is ", "safe."))) as ollama:
        to_ollama = {"NO_PROXY": "*", "SATCHEL_CONSULT_BASE_URL": ollama.url}
        shell = run_example("sh", in_shell, tmp_path, **to_ollama)
        python = run_example("python", in_python, tmp_path, **to_ollama, SATCHEL_CONSULT_WINDOW_TOKENS="32768")
        asked = [request.json for request in ollama.seen("chat")]
    assert (shell.returncode, python.returncode, python.stderr) == (0, 0, ""), shell.stderr + python.stderr
    assert shell.stdout.startswith("nothing was sent; ollama:qwen3:8b auth turn 1 would send ")
    assert shell.stdout.count("It is safe.\n") == 2
    assert [body["model"] for body in asked] == ["qwen3:8b"] * 3
    assert [body["messages"][-1]["content"].count("def refresh") for body in asked] == [1, 0, 0]
    assert "kept as decision d1 clock" in shell.stderr
    assert re.search(r"src/auth.py +inline", shell.stdout)
    assert "kept as decision d2 token-refresh" in python.stdout


def test_the_variables_of_all_providers_are_documented() -> None:
    variables = {name for one in PROVIDERS.values() for name in (one.key, one.url_variable) if name}
    assert variables <= backticked([ROOT / "docs" / "consulting.md"])


@pytest.mark.slow
def test_the_examples_of_setup_run(tmp_path: Path) -> None:
    ((language, text),) = runnable("docs/setup.md")
    (tmp_path / "project" / ".git").mkdir(parents=True)
    moved = {client.variable: "" for client in CLIENTS.values() if client.variable}
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = run_example(language, text, tmp_path, **{**moved, **state})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" set up already\n") == 2
    assert "claude    set up: there is no `claude` on your path\n" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project", "state"]


@pytest.mark.slow
def test_the_examples_of_setup_with_a_server_run(tmp_path: Path) -> None:
    ((language, text),) = runnable("docs/setup-server.md")
    (tmp_path / "project" / ".git").mkdir(parents=True)
    moved = {client.variable: "" for client in CLIENTS.values() if client.variable}
    folders = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = run_example(language, text, tmp_path, **{**moved, **folders})
    assert done.returncode == 0, done.stderr
    assert "(server https://satchel.example.org for " in done.stdout
    assert "(token 0123456789)" in done.stdout
    assert done.stdout.count(" set up already\n") == 2
    assert '"url": "https://satchel.example.org/mcp"' in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project", "state"]


@pytest.mark.slow
def test_the_examples_of_a_server_run(tmp_path: Path) -> None:
    (_, of_operator), (_, of_user) = runnable("docs/serve.md")
    operator, user = tmp_path / "operator", tmp_path / "user"
    for home in (operator, user):
        (home / "project").mkdir(parents=True)
    (user / "project" / ".git").mkdir()
    moved = {client.variable: "" for client in CLIENTS.values() if client.variable}
    variables = moved | {
        "XDG_STATE_HOME": "",
        "XDG_CONFIG_HOME": "",
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    made = run_example("sh", of_operator, operator, **variables)
    assert made.returncode == 0, made.stderr
    assert re.search(r"\blaptop\b", made.stdout)
    token = (operator / "token").read_text()
    (user / "token").write_text(token)
    serving = subprocess.Popen(
        [sys.executable, "-m", "satchel", "serve", "--port", "0", "--json"],
        cwd=operator / "project",
        env={name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
        | {"HOME": str(operator), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with serving:
        try:
            assert serving.stdout is not None
            url = json.loads(serving.stdout.readline())["url"]
            used = run_example("sh", of_user.replace("https://satchel.example.org", url), user, **variables)
        finally:
            serving.kill()
    assert used.returncode == 0, used.stderr
    assert "the server takes the token, for project project" in used.stdout
    assert f"# the server: {url} with token {token.split('_')[1]} (your config.toml, for {user}/project)" in used.stdout


@pytest.mark.slow
def test_the_examples_of_postgresql_run(tmp_path: Path) -> None:
    (_, roles), (_, tables), (_, configuration), (_, token) = runnable("docs/postgresql.md")
    (_, dump), (_, move) = runnable("docs/postgresql-operate.md")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "deploy").symlink_to(ROOT / "deploy")
    cluster = conninfo_to_dict(postgres_cluster.url())
    variables = {
        "PATH": f"{postgres_cluster.programs()}:{Path(sys.executable).parent}:/usr/bin:/bin",
        "PGHOST": str(cluster["host"]),
        "PGUSER": str(cluster["user"]),
        "XDG_STATE_HOME": "",
        "XDG_CONFIG_HOME": "",
    }
    try:
        for block in (roles, tables, configuration.replace("@db.example.org/", "@/"), token, dump, move):
            done = run_example("sh", block, tmp_path, **variables)
            assert done.returncode == 0, done.stderr
        environ = {"HOME": str(tmp_path), **variables}
        serving = subprocess.Popen(
            [sys.executable, "-m", "satchel", "serve", "--port", "0", "--json"],
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")} | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with serving:
            try:
                assert serving.stdout is not None
                url = json.loads(serving.stdout.readline())["url"]
                to_server = {"SATCHEL_URL": url, "SATCHEL_TOKEN": (tmp_path / "token").read_text().strip()}
                write_and_read = "satchel write discovery 'The gateway caches sessions'; satchel search gateway"
                used = run_example("sh", write_and_read, tmp_path, **variables, **to_server)
            finally:
                serving.kill()
        assert "The gateway caches sessions" in used.stdout, used.stderr
    finally:
        with psycopg.connect(postgres_cluster.url(), autocommit=True) as connection:
            connection.execute("DROP DATABASE satchel WITH (FORCE)")
            for team in ("shop", "bank"):
                connection.execute(f"DROP ROLE {team}_owner, {team}_server, {team}_reader")


@pytest.mark.slow
def test_the_examples_of_sharing_run(tmp_path: Path) -> None:
    ((language, text),) = runnable("docs/sharing.md")
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(tmp_path / "project")], check=True)
    done = run_example(language, text, tmp_path, XDG_STATE_HOME=str(tmp_path / "state"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "wrote, for you to commit:\n  d1 decision db.engine by " in done.stdout
    assert "human" not in done.stdout
    assert done.stdout.endswith("2 files, 0 problems\n")


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)
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
