"""Install the wheel with each extra alone into an empty environment, and run there what the README promises.

    python scripts/check_installs.py [EXTRA...]

Without arguments: base, every extra of pyproject.toml, and the way to a briefed session. Prints a line for each;
leaves with status 1 if one failed. Versions are those of requirements-dev.txt.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

from flit_core import buildapi  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
BASE, BRIEFED = "base", "briefed"
MOST_SECONDS = 120
"""From the install to a briefed session."""
NOTE = "Sessions expire after 300 s"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
SEARCH = {"name": "search", "arguments": {"query": "when do sessions expire"}}
START = {"session_id": "5e55", "hook_event_name": "SessionStart", "source": "startup"}
MODELS = {"openai": "gpt-6-sol", "anthropic": "claude-opus-5-5", "gemini": "gemini-3.8-flash"}


class Failed(Exception):
    """Something that the README promises did not happen."""


class Environment:
    """An empty virtual environment with Satchel and one extra, and a new home with a repository in it."""

    def __init__(self, folder: Path, wheel: Path, extra: str, constraints: Path) -> None:
        self.extra, self.home, self.project = extra, folder / "home", folder / "home" / "project"
        self.programs = folder / "environment" / "bin"
        (self.project / ".git").mkdir(parents=True)
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        self.environ = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8"}
        self.environ["SATCHEL_PERSON"] = "checker"  # nobody is at a terminal
        self.environ["SATCHEL_HOOKS_DEADLINE_MS"] = "20000"  # on a busy machine too
        _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "environment")])
        python, spec = self.programs / "python", str(wheel) if extra in {BASE, BRIEFED} else f"{wheel}[{extra}]"
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "--no-compile"]
        uv: list[str | Path] = ["uv", "pip", "install", "--python", python]
        _run([*(uv if shutil.which("uv") else pip), "--quiet", "--constraint", constraints, spec])

    def satchel(self, *words: str, typed: str = "", status: int = 0, **variables: str) -> str:
        """Run a command in the project; return what it prints, stderr too where it is to fail."""
        done = subprocess.run(
            [self.programs / "satchel", *words],
            check=False,
            cwd=self.project,
            env=self.environ | variables,
            input=typed,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if done.returncode != status or "Traceback" in done.stderr:
            raise Failed(f"satchel {' '.join(words)}: status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def files(self) -> set[str]:
        """Return the files and folders of the home, the project's among them."""
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*")}


def _run(words: Sequence[str | Path]) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=170)
    if done.returncode:
        raise Failed(f"{words}: {done.stderr}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _expect(what: str, text: str) -> None:
    if what not in text:
        raise Failed(f"{what!r} is not in {text!r}")


def check_base(one: Environment) -> None:
    """Check what every installation does: commands, a server over stdio, a hook, and advice for a missing extra."""
    one.satchel("init")
    one.satchel("write", "discovery", NOTE)
    _expect(NOTE, one.satchel("search", "when", "do", "sessions", "expire"))
    _expect(NOTE, one.satchel("brief", "mend", "the", "login"))
    requests: tuple[tuple[str, object], ...] = (("initialize", HELLO), ("tools/list", {}), ("tools/call", SEARCH))
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests)
    ]
    printed = one.satchel("mcp", typed="".join(f"{line}\n" for line in lines))
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, printed.splitlines())}
    _expect("get_briefing", str([tool["name"] for tool in answers[1]["tools"]]))
    _expect(NOTE, answers[2]["content"][0]["text"])
    _check_hook(one, [one.programs / "satchel", "hook", "claude", "SessionStart"])
    for other, words in (("serve", ["serve", "--port", "0"]), ("postgres", ["read", "--db", "postgresql://u@h/d"])):
        if one.extra == BASE:
            _expect(f"[{other}]", one.satchel(*words, status=13))


def _check_hook(one: Environment, command: Sequence[str | Path]) -> None:
    event = json.dumps(START | {"cwd": str(one.project)})
    done = subprocess.run(
        command,
        check=False,
        cwd=one.project,
        env=one.environ,
        input=event,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode or done.stderr:
        raise Failed(f"the hook ended with {done.returncode}: {done.stderr}")
    _expect(NOTE, json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])


def check_serve(one: Environment) -> None:
    """Check the server: health, a login as ``satchel open`` gives it, a page, and a call under ``/mcp``."""
    token = re.findall(r"satchel_\S+", one.satchel("token", "new", "laptop"))[0]
    words: list[str | Path] = [one.programs / "satchel", "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        words, cwd=one.project, env=one.environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline() or "{}").get("url")
            if url is None:
                raise Failed("satchel serve ended before it served")
            browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
            _expect("ok", _read(browser.open(f"{url}/health", timeout=20)))
            # browsers resolve every name below localhost by themselves, this program does not
            browser.open(json.loads(one.satchel("open", "--print", "--json"))["fallback"], timeout=20)
            page = _read(browser.open(url, timeout=20))
            _expect("project", page)
            if 'name="token"' in page:
                raise Failed("the link of satchel open logged nobody in")
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            headers |= {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
            for number, (method, params) in enumerate((("initialize", HELLO), ("tools/call", SEARCH))):
                body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
                answer = browser.open(Request(f"{url}/mcp", body, headers), timeout=20)  # noqa: S310 -- our own server
                headers |= {"Mcp-Session-Id": given} if (given := answer.headers.get("Mcp-Session-Id")) else {}
                text = _read(answer)
            _expect(NOTE, text)
        finally:
            server.terminate()


def _read(answer: object) -> str:
    with answer:  # type: ignore[attr-defined]
        return str(answer.read(), "utf-8")  # type: ignore[attr-defined]


def check_postgres(one: Environment) -> None:
    """Check that the engine loads, and says in one line that no database answers."""
    said = one.satchel("read", "--db", "postgresql://nobody@127.0.0.1:1/none", status=19)
    _expect("cannot be reached", said)
    if len(said.splitlines()) != 1:
        raise Failed(f"more than a line: {said}")


class _Refusing(BaseHTTPRequestHandler):
    """A provider on this machine that takes no key."""

    def do_POST(self) -> None:
        """Refuse."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(401)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def check_provider(one: Environment) -> None:
    """Check that the vendor's SDK asks: a provider of our own refuses the key, and the error says so."""
    with HTTPServer(("127.0.0.1", 0), _Refusing) as provider:
        Thread(target=provider.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{provider.server_port}"
        names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
        keys = {f"{name}_API_KEY": "none" for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
        said = one.satchel("consult", MODELS[one.extra], "why?", status=14, **dict.fromkeys(names, url), **keys)
        provider.shutdown()
    _expect("_API_KEY", said)


def check_tokens(one: Environment) -> None:
    """Check that tokens are counted exactly."""
    _expect("tokens: exact", one.satchel("doctor", "--verbose"))


def check_meaning(one: Environment) -> None:
    """Check that a search ranks by meaning without the network, and says how much that counts."""
    one.satchel("write", "discovery", "The search for a physician takes a while")
    one.satchel("write", "discovery", "The search for a parking space takes a while")
    words = "search for a doctor while ill".split()
    model = "minilm" if one.extra == "minilm" else "wordllama"
    _expect("meaning: ", one.satchel("search", *words, "--explain", SATCHEL_SEARCH_MEANING=model))


def check_briefed(one: Environment, began: float) -> None:
    """Check the way from nothing to a briefed session of a client, and that setup takes back what it wrote."""
    before = one.files()
    one.satchel("setup", "claude", "--yes")
    one.satchel("write", "discovery", NOTE)
    settings = json.loads((one.home / ".claude" / "settings.json").read_text("utf-8"))
    _check_hook(one, shlex.split(settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]))
    seconds = time.monotonic() - began
    if seconds > MOST_SECONDS:
        raise Failed(f"{seconds:.0f} s from the install to a briefed session")
    one.satchel("setup", "--remove", "--all-data", "--yes")
    if before != one.files():
        raise Failed(f"setup --remove --all-data left {one.files() ^ before}")
    _say(f"{BRIEFED:<12}3 commands (install, setup, write), {seconds:.1f} s until a session is briefed")


CHECKS: Mapping[str, Callable[[Environment], None]] = {
    "serve": check_serve,
    "postgres": check_postgres,
    "tokens": check_tokens,
    **dict.fromkeys(("meaning", "minilm"), check_meaning),
    **dict.fromkeys(MODELS, check_provider),
}
"""What an extra brings, beside what every installation does."""


def main(chosen: Sequence[str]) -> int:
    """Check the extras that are named, or all."""
    with tempfile.TemporaryDirectory(prefix="satchel-installs-") as named:
        folder = Path(named)
        os.chdir(ROOT)
        wheel = folder / buildapi.build_wheel(named)
        constraints = folder / "constraints.txt"
        pins = re.findall(
            r"^([\w.-]+)(?:\[[^\]]*\])?(==\S+(?: *;[^\\\n]*)?)",
            Path("requirements-dev.txt").read_text("utf-8"),
            re.MULTILINE,
        )
        constraints.write_text("".join(f"{name}{version}\n" for name, version in pins))
        extras = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

        def check(extra: str) -> bool:
            began = time.monotonic()
            try:
                one = Environment(folder / extra, wheel, extra, constraints)
                installed = time.monotonic()
                if extra == BRIEFED:
                    check_briefed(one, began)
                    return True
                check_base(one)
                if extra in CHECKS:
                    CHECKS[extra](one)
            except (Failed, OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
                _say(f"{extra:<12}FAILED: {type(error).__name__}: {error}")
                return False
            _say(f"{extra:<12}ok, installed in {installed - began:.1f} s, ran in {time.monotonic() - installed:.1f} s")
            return True

        with ThreadPoolExecutor(2) as pool:
            return 0 if all(list(pool.map(check, chosen or [BASE, BRIEFED, *extras]))) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
