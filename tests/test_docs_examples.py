"""The examples in the documents run, each page in a new repository and home."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import postgres_cluster
from consult.providers.chat_completions import ChatCompletions, Said
from documents import ROOT, run_example, runnable
from repositories import commit_all, make_repository
from satchel.interfaces.setup.clients import CLIENTS

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
