"""Every client as a referee of ``satchel setup --direct``: it asks the server itself, with the token of a variable."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from end_to_end.clients.client_programs import Workplace
from end_to_end.clients.clients_set_up import CLIENTS, NOTE
from end_to_end.clients.scripted_model import PROMPT, ScriptedModel

pytestmark = [pytest.mark.referee, pytest.mark.timeout(300)]


_CONFIGURATIONS = {".json", ".jsonc", ".toml"}


@contextmanager
def serving(workplace: Workplace) -> Iterator[tuple[str, dict[str, str]]]:
    """Serve the project; yield the address, and the environment with a token."""
    token = workplace.run(["satchel", "token", "new", "laptop"]).strip()
    server = subprocess.Popen(
        ["satchel", "serve", "--port", "0", "--json"],
        cwd=workplace.home,
        env=workplace.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["url"], {"SATCHEL_TOKEN": token}
        finally:
            server.kill()


@pytest.mark.parametrize("name", CLIENTS)
def test_what_its_model_writes_is_kept_by_the_server_and_no_file_holds_the_token(name: str, tmp_path: Path) -> None:
    client, workplace = CLIENTS[name], Workplace.make(tmp_path)
    program = client.program()
    script = [*([client.finds] if client.finds else []), client.writes]
    with ScriptedModel(client.dialect, {PROMPT: script}) as model, serving(workplace) as (url, with_token):
        client.configure(workplace, model.url)
        workplace.run(["satchel", "setup", name, *client.options, "--url", url, "--direct", "--yes"])
        environment = model.environment | client.environment(model.url) | with_token
        if client.connected is not None:
            _, listed, problems = workplace.try_to_run([*program, *client.health], environment)
            assert client.connected in listed + problems
        workplace.run([*program, *client.asks, PROMPT], environment)
        status, checked, _ = workplace.try_to_run(["satchel", "setup", name, "--check"], environment)
        workplace.run(["satchel", "setup", name, "--remove"])
    assert [note["content"] for note in workplace.satchel("read")["entries"]] == [NOTE]
    assert (status, f"it asks {url}/mcp itself" in checked) == (0, True), checked
    secret = with_token["SATCHEL_TOKEN"].rpartition("_")[2].encode()
    configured = [path for path in workplace.home.rglob("*.*") if path.is_file() and path.suffix in _CONFIGURATIONS]
    assert not [path for path in configured if secret in path.read_bytes()]
