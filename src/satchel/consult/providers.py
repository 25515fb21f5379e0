"""Providers: vendors, chat completions endpoints and locally installed clients, and the assistant for a model's name.

A client answers with its own account, within a time limit, and only reads. It works without Satchel's hooks and servers
in a new folder whose subfolder holds the files to search: there a client ignores their configuration, which could name
programs to start.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from satchel.base.errors import AssistantFailed, InvalidInput, Unavailable
from satchel.base.records import dataclass
from satchel.consult import FOLDER_PREFIX, MARK, rounds
from satchel.consult.models import Ask, Assistant, Model, Reply, Round, Timing, find_model
from satchel.consult.prompts import choose_mark, fenced
from satchel.consult.records import Exchange, Settings, raise_if_cancelled
from satchel.consult.rounds import OwnHistoryAssistant, SdkAssistant
from satchel.consult.sdk import (
    CallsInPieces,
    OpenAIClient,
    count_of,
    empty,
    excerpt,
    messages_of,
    nonsense,
    shape_of,
    without_nones,
)
from satchel.consult.vendors import AnthropicMessages, GeminiContents, OpenAIResponses
from satchel.consult.wire import Limits

_SEARCH_TOOL = {
    "type": "function",
    "function": {"name": rounds.TOOL, "description": rounds.DESCRIPTION, "parameters": rounds.SCHEMA},
}


class OpenAICompatible(OwnHistoryAssistant[OpenAIClient]):
    """An assistant behind a chat completions endpoint. Overflow is searched in a local index."""

    own_url = ""
    client = OpenAIClient
    unsupported = frozenset({"web_search"})

    def _messages(self, ask: Ask) -> list[Any]:
        return [*messages_of(ask.history), {"role": "user", "content": ask.prompt}]

    def _send(
        self, client: OpenAIClient, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        limit = "max_completion_tokens" if self.name.startswith("azure:") else "max_tokens"
        settings = ask.settings
        options = without_nones(
            **{limit: self.window.output},
            reasoning_effort=settings.effort,
            temperature=settings.temperature,
            response_format=settings.schema and {"type": "json_schema", "json_schema": shape_of(settings.schema)},
            extra_body={"plugins": [{"id": "web"}]} if settings.web_search else None,
        )
        if may_search is not None:
            options |= {"tools": [_SEARCH_TOOL], "tool_choice": "auto" if may_search else "none"}
        calls = CallsInPieces(f"call_{len(messages)}")
        finish: str | None = None
        usage: Any = None
        has_begun = False
        try:
            with (
                client.explained(),
                client.sdk.chat.completions.create(
                    model=self.model,
                    messages=messages,
                    stream=True,
                    stream_options={"include_usage": True},
                    **options,
                ) as stream,
            ):
                for chunk in stream:
                    has_begun = True
                    yield ""
                    usage = chunk.usage or usage
                    for choice in chunk.choices:
                        finish = choice.finish_reason or finish
                        calls.gather(choice.delta.tool_calls or ())
                        client.wire.check_content(parts=len(calls), arguments=calls.chars)
                        piece = choice.delta.content or choice.delta.refusal
                        if piece:
                            yield piece
        except AssistantFailed:
            # after the stop reason only the token counts are missing
            if finish is None:
                raise
        if finish is None:
            raise client.unfinished("no event of a stream", has_begun=has_begun)
        return Round(
            calls=calls.whole(),
            is_cut=finish == "length",
            input_tokens=count_of(usage, "prompt_tokens"),
            output_tokens=count_of(usage, "completion_tokens"),
            notes=("the provider's content filter ended the answer",) if finish == "content_filter" else (),
        )

    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        called = [
            {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in one.calls
        ]
        return [
            {"role": "assistant", "content": one.text or None, "tool_calls": called},
            *(
                {"role": "tool", "tool_call_id": call.id, "content": result}
                for call, result in zip(one.calls, results, strict=True)
            ),
        ]


class OpenRouter(OpenAICompatible):
    """An assistant at OpenRouter, where a plugin searches the web for any model."""

    unsupported = frozenset()


_LOOK_SECONDS = 0.1
_LIST_SECONDS = 30
_FILES, _OUTSIDE = "files", "outside"
_SEARCHABLE = (
    f"Files that are listed as searchable lie below the folder {_FILES} of the current one, those with absolute paths "
    f"below {_OUTSIDE}: read and search them there, and name them as they are listed.\n"
)
_THREAD = "The messages of a conversation with you follow, and your answers to them. Answer the last message.\n"
# variables by which a client would detect that another client started it, and refuse
_OF_PARENTS = ("SATCHEL_", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION")


@dataclass(frozen=True, slots=True)
class Client:
    """Command of a client in non-interactive mode: it reads the prompt from standard input."""

    arguments: Sequence[str]
    effort: Sequence[str] = ()
    answer: str | None = None


CLIENTS: Mapping[str, Client] = {
    "claude": Client(
        (
            *("--print", "--output-format", "json", "--safe-mode", "--restricted", "--strict-mcp-config"),
            *("--no-session-persistence", "--tools", "Read,Grep,Glob"),
        ),
        ("--effort", "{effort}"),
        "result",
    ),
    "codex": Client(
        (
            *("exec", "--sandbox", "read-only", "--ephemeral", "--skip-git-repo-check", "--color", "never"),
            *("--disable", "hooks", "--disable", "plugins", "-o", "{answer}"),
        ),
        ("-c", 'model_reasoning_effort="{effort}"'),
    ),
    "gemini": Client(
        (
            *("--output-format", "json", "--approval-mode", "default", "--skip-trust"),
            *("--extensions", "none", "--allowed-mcp-server-names", "none"),
        ),
        answer="response",
    ),
}


class CommandLineAssistant:
    """A coding client installed on this machine."""

    keeps_history = False
    sweeper = None

    def __init__(self, model: Model, environ: Mapping[str, str], timing: Timing | None = None) -> None:
        program = find_program(model.name, environ)
        if program is None:
            raise Unavailable(f"{model.name} is not installed, or not in PATH", "Install it, or ask another model")
        self.name, self.window = model.full_name, model.window
        self.address = program
        self._client = CLIENTS[model.name]
        self.unsupported = frozenset({"temperature", "web_search", *(() if self._client.effort else ("effort",))})
        self._environ = {name: value for name, value in environ.items() if not name.startswith(_OF_PARENTS)}
        self._timing = timing or Timing()

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.models.Assistant`."""
        ask.on_progress(f"asking {self.name}")
        with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as name:
            folder = Path(name).resolve()
            (folder / "work").mkdir()
            for path, content in ask.searchable.items():
                file = folder / "work" / (_OUTSIDE if path.startswith("/") else _FILES) / path.lstrip("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.text.encode("utf-8", "surrogatepass"))
            (folder / "prompt").write_bytes(_prompt(ask).encode("utf-8", "replace"))
            text, usage = self._answer(folder, self._run(folder, ask))
        if not text.strip():
            raise empty(self.name, is_cut=False)
        ask.on_text(text)
        return Reply(text, input_tokens=usage[0], output_tokens=usage[1])

    def _run(self, folder: Path, ask: Ask) -> bytes:
        limit = Limits.of(self.window.output).event
        out, err, answer = folder / "out", folder / "err", folder / "answer"
        command = [self.address, *_arguments(self._client, ask.settings, str(answer)), *self._without_servers(folder)]
        deadline = self._timing.clock() + self._timing.total
        with (folder / "prompt").open("rb") as prompt, out.open("wb") as stdout, err.open("wb") as stderr:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder / "work",
                    env=self._environ | {MARK: str(folder)},
                    stdin=prompt,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                )
            except OSError as error:
                raise Unavailable(f"{self.address} cannot be started: {error.strerror}", "Check the program") from None
            try:
                while True:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_LOOK_SECONDS)
                        break
                    ask.on_sign()
                    raise_if_cancelled(ask.is_cancelled)
                    if self._timing.clock() > deadline:
                        raise AssistantFailed(
                            f"{self.name} was not done within {self._timing.total:g} seconds",
                            "It may have waited for an answer; ask for less, or configure a higher "
                            "consult.total_seconds",
                            reason="timed_out",
                        )
                    if any(one.exists() and one.stat().st_size > limit for one in (out, err, answer)):
                        raise AssistantFailed(f"{self.name} printed more than {limit:,} bytes", reason="too_much")
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode:
            output = excerpt(_last(err, limit) or _last(out, limit))
            raise AssistantFailed(
                f"{self.name} ended with status {process.returncode}: {output}",
                f"Run `{Path(self.address).name}` yourself: it may have to be signed in or updated",
                reason="failing",
            )
        return out.read_bytes()[: limit + 1]

    def _without_servers(self, folder: Path) -> list[str]:
        if self._client.answer is not None:
            return []
        command = [self.address, "mcp", "list", "--json"]
        try:
            listing = subprocess.run(
                command,
                cwd=folder / "work",
                env=self._environ | {MARK: str(folder)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIST_SECONDS,
                check=True,
            )
            names = [server["name"] for server in json.loads(listing.stdout)]
        except (OSError, subprocess.SubprocessError, ValueError, TypeError, LookupError) as error:
            problem = f"{self.name} does not list its MCP servers, so none can be kept out: {excerpt(error)}"
            raise Unavailable(problem, f"Run `{' '.join(['codex', *command[1:]])}` yourself") from None
        if odd := [name for name in names if not re.fullmatch(r"[\w-]+", name)]:
            raise Unavailable(f"{self.name} has an MCP server {odd[0]!r}, which cannot be kept out", "Rename it")
        return [part for name in names for part in ("-c", f"mcp_servers.{name}.enabled=false")]

    def _answer(self, folder: Path, printed: bytes) -> tuple[str, tuple[int | None, int | None]]:
        if self._client.answer is None:
            file = folder / "answer"
            return file.read_text("utf-8", "replace") if file.exists() else "", (None, None)
        try:
            answer = json.loads(printed[printed.index(b"{") :])
            text = answer[self._client.answer]
            if not isinstance(text, str) or answer.get("is_error"):
                raise ValueError(text)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise nonsense(self.name, error) from error
        usage = answer.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        input_tokens = sum(_count(counts, f"{way}input_tokens") for way in ("", "cache_read_", "cache_creation_"))
        return text, (input_tokens or None, _count(counts, "output_tokens") or None)


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of a client's program, ignoring relative folders of PATH."""
    path = os.pathsep.join(one for one in environ.get("PATH", "").split(os.pathsep) if Path(one).is_absolute())
    return shutil.which(name, path=path) if path else None


def _arguments(client: Client, settings: Settings, answer: str) -> list[str]:
    more = [one.format(effort=settings.effort) for one in client.effort] if settings.effort else []
    return [answer if one == "{answer}" else one for one in client.arguments] + more


def _prompt(ask: Ask) -> str:
    after = _SEARCHABLE if ask.searchable else ""
    if not ask.history:
        return ask.prompt + after
    turns = [*ask.history, Exchange(ask.prompt, "")]
    mark = choose_mark((), [text for turn in turns for text in (turn.prompt, turn.answer)])
    parts = [fenced("message", mark, turn.prompt) + fenced("answer", mark, turn.answer) for turn in ask.history]
    return "".join([_THREAD, *parts, fenced("message", mark, ask.prompt), after])


def _last(file: Path, most: int) -> str:
    return file.read_bytes()[-min(most, 2_000) :].decode("utf-8", "replace").strip()


def _count(counts: Mapping[str, Any], name: str) -> int:
    count = counts.get(name)
    return count if isinstance(count, int) and count > 0 else 0


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models. Its key is sent to its own address only.

    Attributes:
        key: the environment variable of its key.
        url: its default address; None if it has none, or the adapter has it.
        url_variable: the environment variable that overrides the address; with None, ``consult.base_url`` does.
        adapter: the client for its protocol, mostly OpenAI's chat completions.
        needs_key: whether it refuses calls without a key.
    """

    key: str
    url: str | None
    url_variable: str | None
    adapter: type[SdkAssistant[Any]] = OpenAICompatible
    needs_key: bool = True


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("OPENAI_API_KEY", None, "OPENAI_BASE_URL", OpenAIResponses),
    "anthropic": Provider("ANTHROPIC_API_KEY", None, "ANTHROPIC_BASE_URL", AnthropicMessages),
    "gemini": Provider("GEMINI_API_KEY", None, "GOOGLE_GEMINI_BASE_URL", GeminiContents),
    "openrouter": Provider("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", OpenRouter),
    "grok": Provider("XAI_API_KEY", "https://api.x.ai/v1", "XAI_BASE_URL"),
    "azure": Provider("AZURE_OPENAI_API_KEY", None, "AZURE_OPENAI_BASE_URL"),
    "mistral": Provider("MISTRAL_API_KEY", "https://api.mistral.ai/v1", "MISTRAL_BASE_URL"),
    "deepseek": Provider("DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "DEEPSEEK_BASE_URL"),
    "groq": Provider("GROQ_API_KEY", "https://api.groq.com/openai/v1", "GROQ_BASE_URL"),
    "ollama": Provider("SATCHEL_CONSULT_KEY", "http://127.0.0.1:11434/v1", None, needs_key=False),
    "lmstudio": Provider("LMSTUDIO_API_KEY", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL", needs_key=False),
    "vllm": Provider("VLLM_API_KEY", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL", needs_key=False),
    "compatible": Provider("SATCHEL_CONSULT_KEY", None, None, needs_key=False),
}


@dataclass(frozen=True, slots=True)
class AssistantSettings:
    """Configuration of assistants; None where unset."""

    base_url: str | None = None
    window: int | None = None
    output: int | None = None


DEFAULT_SETTINGS = AssistantSettings()


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Whether a provider is available: its name, and the missing variables and keys, or None."""

    provider: str
    missing: str | None


def open_assistant(
    name: str,
    environ: Mapping[str, str],
    settings: AssistantSettings = DEFAULT_SETTINGS,
    *,
    timing: Timing | None = None,
) -> Assistant:
    """Return the assistant of a model; nothing is sent and no SDK is imported yet."""
    model = find_model(name, window=settings.window, output=settings.output)
    if model.provider == "cli":
        return CommandLineAssistant(model, environ, timing)
    provider = PROVIDERS[model.provider]
    key, url = _read_key(environ, provider.key), _url(environ, provider, settings)
    if url is None and provider.adapter is OpenAICompatible:
        raise InvalidInput(
            f"the address of {name} is not configured",
            f"Set {provider.url_variable or 'consult.base_url'} to the endpoint, up to and with /v1",
        )
    if provider.needs_key and not key:
        raise Unavailable(
            f"there is no key for {model.full_name}",
            f"Set {provider.key} in the environment, or ask a local model such as ollama:NAME, which needs none",
        )
    return provider.adapter(model, provider.key, key=key or None, base_url=url, timing=timing)


def _url(environ: Mapping[str, str], provider: Provider, settings: AssistantSettings) -> str | None:
    url = settings.base_url if provider.url_variable is None else environ.get(provider.url_variable, "").strip()
    return url or provider.url


def _read_key(environ: Mapping[str, str], variable: str) -> str:
    key = environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput(f"{variable} holds characters that no key has", "Set it again, to one line of ASCII")
    return key


def providers(environ: Mapping[str, str], settings: AssistantSettings = DEFAULT_SETTINGS) -> tuple[ProviderState, ...]:
    """Return the available providers, and what the others lack."""
    states = []
    for name, provider in PROVIDERS.items():
        missing = [provider.key] if provider.needs_key and not environ.get(provider.key, "").strip() else []
        if provider.adapter is OpenAICompatible and _url(environ, provider, settings) is None:
            missing.append(provider.url_variable or "consult.base_url")
        states.append(ProviderState(name, ", ".join(missing) or None))
    clients = [
        ProviderState(f"cli:{name}", None if find_program(name, environ) else "not installed") for name in CLIENTS
    ]
    return (*states, *clients)
