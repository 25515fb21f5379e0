"""A model that the clients of coding agents talk to: it calls the tools of its scripts, and keeps what it was asked."""

from __future__ import annotations

import gzip
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from end_to_end.clients.dialects import Answer, Call, Dialect, Given, Json, Turn

LAST_WORDS = "The script is done."
PROMPT = "Do the work."
"""What a person asks of the client."""
GO_ON = "Go on with the work."
"""What a person asks of it in a session that is resumed."""
FAREWELL = "Say goodbye."
"""What a person asks of it once Satchel is removed."""
ERRAND = "Run the errand."
"""What an agent asks of its subagent."""

SUMMARY = f"<analysis>None.</analysis><state_snapshot>I was asked: {PROMPT}</state_snapshot>"
"""What the model says of a conversation that is compacted, in the form that Qwen Code refuses anything but."""
SUMMARY_REQUESTS = ("CONTEXT CHECKPOINT COMPACTION", "create a detailed summary of", "produce the <state_snapshot> XML")
"""What clients say to a model that is to sum a conversation up; each has words of its own."""


class ScriptedModel:
    """The server of the model, on this machine only; its requests are kept in their order.

    A script is what the model does about a prompt. Which call comes next is told by the results that a request holds
    since the last prompt, so that one that is repeated is answered alike; after a compaction it is the next one.
    A request without tools (a title, say), or without a known prompt, gets the last words.

    Args:
        dialect: how it is asked, and answers.
        scripts: by their prompts.
        after_summary: waits for what is to have happened before the model goes on after a compaction.
    """

    def __init__(
        self,
        dialect: Dialect,
        scripts: Mapping[str, Sequence[Call]],
        after_summary: Callable[[], None] = lambda: None,
    ) -> None:
        self.requests: list[Json] = []
        self.strangers: list[str] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            """Answers one request."""

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
                """Write nothing."""

            def refuse(self) -> None:
                """Refuse what no model answers, such as a way to another server."""
                model.strangers.append(self.requestline)
                self.send_error(404)

            do_GET = do_HEAD = do_CONNECT = refuse  # noqa: N815 - the names they have there

            def do_POST(self) -> None:
                """Answer with the next call."""
                path = self.path.partition("?")[0]
                if not dialect.is_asked(path):
                    self.refuse()
                    return
                content = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    content = gzip.decompress(content)
                answer = model.answer(path, json.loads(content))
                self.send_response(200)
                self.send_header("content-type", answer.content_type)
                self.end_headers()
                self.wfile.write(answer.body.encode())

        self._dialect, self._scripts, self._after_summary = dialect, scripts, after_summary
        self._made: Counter[str] = Counter()
        self._is_compacted, self._window = False, 10
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a program asks this server whatever it would ask another one, and is refused."""
        return {"HTTPS_PROXY": self.url, "HTTP_PROXY": self.url, "NO_PROXY": "127.0.0.1"}

    def answer(self, path: str, body: Json) -> Answer:
        """Keep a request, and return what answers it."""
        self.requests.append(body)
        prompt, given = self._conversation(body)
        if self._sums_up(body):
            self._is_compacted = True
            return self._dialect.answer(Turn(path, body, SUMMARY, len(self.requests), self._window))
        if prompt is not None and self._dialect.has_tools(body):
            number = self._made[prompt] if self._is_compacted else len(given)
            script = self._scripts[prompt]
            if self._is_compacted:
                self._after_summary()
            if number < len(script):
                self._made[prompt] = number + 1
                self._window = script[number].window
                return self._dialect.answer(Turn(path, body, script[number], number, self._window))
        return self._dialect.answer(Turn(path, body, LAST_WORDS, len(self.requests)))

    def _conversation(self, body: Json) -> tuple[str | None, list[Given]]:
        """Return the last known prompt of a request, and what it was given since."""
        prompt, given = None, []
        for one in self._dialect.said(body):
            if isinstance(one, Given):
                given.append(one)
            elif known := [text for text in self._scripts if text in one]:
                prompt, given = known[-1], []
        return prompt, given

    def _sums_up(self, body: Json) -> bool:
        words = [text for text in self._dialect.said(body) if isinstance(text, str)]
        return any(request in text for request in SUMMARY_REQUESTS for text in words[-1:])

    def asked_for(self, prompt: str) -> list[Json]:
        """Return the requests with tools of which this is the last prompt."""
        return [body for body in self.asked if self._conversation(body)[0] == prompt]

    def first_with(self, text: str, prompt: str = PROMPT) -> int | None:
        """Return how many calls were answered when a text first reached the model; None if it never did.

        Args:
            text: without a quotation mark, backslash or line break.
        """
        first = next((body for body in self.asked_for(prompt) if text in json.dumps(body, ensure_ascii=False)), None)
        return None if first is None else len(self._conversation(first)[1])

    @property
    def asked(self) -> list[Json]:
        """The requests of conversations: those that offer tools."""
        return [body for body in self.requests if self._dialect.has_tools(body)]

    def given(self, prompt: str = PROMPT) -> list[Given]:
        """Return what the model was given for each call of a script."""
        return self._conversation(self.asked_for(prompt)[-1])[1]
