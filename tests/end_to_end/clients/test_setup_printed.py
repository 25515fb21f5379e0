"""Every client as a referee of ``satchel setup --print CLIENT --url URL``: pasted, it asks the server itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from end_to_end.clients.client_programs import Workplace
from end_to_end.clients.clients_set_up import CLIENTS, NOTE
from end_to_end.clients.scripted_model import PROMPT, ScriptedModel
from satchel.interfaces.setup import clients
from satchel.interfaces.setup.clients import Place, Wish
from satchel.interfaces.setup.editing import Change, Drop, Put, edited, parse
from satchel.interfaces.setup.parts import at

pytestmark = pytest.mark.referee


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


def paste(workplace: Workplace, printed: str) -> None:
    """Write the printed entry over the one of the local program; what a client may do without asking stays."""
    about, text = printed.split("\n", 2)[1:]
    path = Path(about.partition(": in ")[2])
    client = clients.CLIENTS[about.removeprefix("# ").partition(":")[0]]
    target = client.targets(Place(workplace.home, workplace.environment), Wish("satchel"))[0]
    assert target.syntax is not None
    before, pasted = path.read_text(), parse(text, target.syntax)
    entry = (*client.place, "satchel")
    new, old = at(pasted, entry), at(parse(before, target.syntax), entry)
    assert isinstance(new, Mapping)
    assert isinstance(old, Mapping)
    changes: list[Change] = [
        Drop((*entry, key)) for key in old if key in {"command", "args", "env", "env_vars", "type"}
    ]
    changes = [change for change in changes if change.path[-1] not in new]
    changes += [Put((*entry, key), value) for key, value in new.items()]
    path.write_text(edited(before, target.syntax, changes))


@pytest.mark.parametrize("name", CLIENTS)
def test_what_its_model_writes_is_kept_by_the_server_and_no_file_holds_the_token(name: str, tmp_path: Path) -> None:
    client, workplace = CLIENTS[name], Workplace.make(tmp_path)
    program = client.program()
    script = [*([client.finds] if client.finds else []), client.writes]
    with ScriptedModel(client.dialect, {PROMPT: script}) as model, serving(workplace) as (url, with_token):
        client.configure(workplace, model.url)
        workplace.run(["satchel", "setup", name, *client.options, "--no-hooks", "--yes"])
        paste(workplace, workplace.run(["satchel", "setup", "--print", name, "--url", url]))
        environment = model.environment | client.environment(model.url) | with_token
        workplace.run([*program, *client.asks, PROMPT], environment)
        status, checked, _ = workplace.try_to_run(["satchel", "setup", name, "--check"], environment)
        workplace.run(["satchel", "setup", name, "--remove"])
    assert [note["content"] for note in workplace.satchel("read")["entries"]] == [NOTE]
    assert (status, f"it asks {url}/mcp itself" in checked) == (0, True), checked
    secret = with_token["SATCHEL_TOKEN"].split("_", 2)[2].encode()
    configured = [path for path in workplace.home.rglob("*.*") if path.is_file() and path.suffix in _CONFIGURATIONS]
    assert not [path for path in configured if secret in path.read_bytes()]
