"""A server that speaks OpenAI's Responses, Files and Vector Stores APIs.

Format: https://developers.openai.com/api/reference
"""

from __future__ import annotations

import email
import email.policy
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from consult.providers.server import Answer, FakeProvider, Request, as_events, as_json

_ACCEPTED = set("c cpp cs css doc docx go html java js json md pdf php pptx py rb sh tex ts txt".split())
_STEPS = (
    ("POST", r"/responses", "respond"),
    ("POST", r"/files", "upload"),
    ("GET", r"/files", "list_files"),
    ("DELETE", r"/files/[^/]+", "delete_file"),
    ("POST", r"/vector_stores", "create_store"),
    ("GET", r"/vector_stores", "list_stores"),
    ("DELETE", r"/vector_stores/[^/]+", "delete_store"),
    ("POST", r"/vector_stores/[^/]+/file_batches", "add_batch"),
    ("GET", r"/vector_stores/[^/]+/file_batches/[^/]+", "poll"),
    ("GET", r"/vector_stores/[^/]+/file_batches/[^/]+/files", "list_batch"),
)


@dataclass
class Batch:
    """Files that are being taken in."""

    id: str
    files: list[str]
    polls_left: int


@dataclass
class Store:
    """A vector store."""

    id: str
    name: str
    batches: dict[str, Batch] = field(default_factory=dict)


@dataclass(frozen=True)
class Uploaded:
    """A file."""

    id: str
    name: str
    raw: bytes
    expires_seconds: int


class OpenAIApi(FakeProvider):
    """OpenAI, small.

    Attributes:
        stores, files: what is there now, by id.
        peak_files: how many files there were at once, at most.
        threads: what each answer's thread holds: roles with texts.
        unreadable: parts of file names that cannot be indexed.
        refused_files: parts of file names that cannot be uploaded.
        polls: how often a batch is looked at before it is done.
        pieces: what the model answers.
        output_tokens: what is counted of an answer.
        ending: how the stream ends: completed, incomplete with a reason, failed with a code, error with a code.
    """

    def __init__(self, *, key: str = "sk-test", now: int = 1_795_000_000) -> None:
        super().__init__()
        self.key = key
        self.now = now
        self.stores: dict[str, Store] = {}
        self.files: dict[str, Uploaded] = {}
        self.peak_files = 0
        self.threads: dict[str, list[tuple[str, str]]] = {}
        self.unreadable: set[str] = set()
        self.refused_files: set[str] = set()
        self.polls = 2
        self.pieces: tuple[str, ...] = ("It ", "is ", "so.")
        self.web: tuple[str, str] | None = None
        self.ending: tuple[str, str] = ("completed", "")
        self.output_tokens: int | None = 30
        self.searched: dict[str, bytes] = {}
        self._numbers = itertools.count(1)

    def step_of(self, method: str, path: str) -> str:
        for verb, pattern, step in _STEPS:
            if verb == method and re.fullmatch(pattern, path):
                return step
        return f"{method} {path}"

    def error_body(self, status: int) -> Any:
        return {"error": {"message": f"something with {status}", "type": "some_error", "code": None, "param": None}}

    def answer(self, request: Request) -> Answer:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        handle = getattr(self, f"_{request.step}", None)
        if handle is None:
            return _error(404, f"no such page: {request.step}")
        answer: Answer = handle(request)
        return answer

    def _id(self, kind: str) -> str:
        # requests are answered in threads: one step, or two files get one name
        return f"{kind}_{next(self._numbers):06d}"

    def _upload(self, request: Request) -> Answer:
        fields = _form(request)
        name, raw = fields["file"]
        assert fields["purpose"][1] == b"assistants"
        if any(part in name for part in self.refused_files):
            return _error(400, f"Invalid file {name}", "unsupported_file")
        assert name.rpartition(".")[2].lower() in _ACCEPTED, name
        assert "/" not in name
        assert raw
        assert fields["expires_after[anchor]"][1] == b"created_at"
        file = Uploaded(self._id("file"), name, raw, int(fields["expires_after[seconds]"][1]))
        assert 3_600 <= file.expires_seconds <= 2_592_000
        self.files[file.id] = file
        self.peak_files = max(self.peak_files, len(self.files))
        return as_json(self._file(file))

    def _file(self, file: Uploaded) -> dict[str, Any]:
        return {
            "id": file.id,
            "object": "file",
            "bytes": len(file.raw),
            "created_at": self.now,
            "filename": file.name,
            "purpose": "assistants",
            "status": "processed",
        }

    def _list_files(self, request: Request) -> Answer:
        assert request.query["purpose"] == "assistants"
        return _page(request, [self._file(file) for file in self.files.values()])

    def _delete_file(self, request: Request) -> Answer:
        number = request.path.rpartition("/")[2]
        if number not in self.files:
            return _error(404, f"No such File object: {number}")
        del self.files[number]
        return as_json({"id": number, "object": "file", "deleted": True})

    def _create_store(self, request: Request) -> Answer:
        body = request.json
        assert body["expires_after"] == {"anchor": "last_active_at", "days": 1}
        store = Store(self._id("vs"), body["name"])
        self.stores[store.id] = store
        return as_json(self._store(store))

    def _store(self, store: Store) -> dict[str, Any]:
        return {
            "id": store.id,
            "object": "vector_store",
            "created_at": self.now,
            "name": store.name,
            "usage_bytes": 0,
            "status": "completed",
            "file_counts": {"in_progress": 0, "completed": 0, "failed": 0, "cancelled": 0, "total": 0},
            "last_active_at": self.now,
            "metadata": {},
        }

    def _list_stores(self, request: Request) -> Answer:
        return _page(request, [self._store(store) for store in self.stores.values()])

    def _delete_store(self, request: Request) -> Answer:
        number = request.path.rpartition("/")[2]
        if number not in self.stores:
            return _error(404, f"No vector store found with id {number!r}.")
        del self.stores[number]
        return as_json({"id": number, "object": "vector_store.deleted", "deleted": True})

    def _add_batch(self, request: Request) -> Answer:
        store = self.stores[request.path.split("/")[-2]]
        files = request.json["file_ids"]
        assert 1 <= len(files) <= 2_000
        assert set(files) <= self.files.keys()
        batch = Batch(self._id("vsfb"), files, self.polls)
        store.batches[batch.id] = batch
        return as_json(self._batch(store, batch))

    def _poll(self, request: Request) -> Answer:
        *_, store_id, _, batch_id = request.path.split("/")
        store = self.stores[store_id]
        batch = store.batches[batch_id]
        # they are taken in side by side, whichever is looked at
        for other in store.batches.values():
            other.polls_left -= 1
        return as_json(self._batch(store, batch))

    def _batch(self, store: Store, batch: Batch) -> dict[str, Any]:
        total, failed = len(batch.files), sum(map(self._is_unreadable, batch.files))
        is_done = batch.polls_left <= 0
        return {
            "id": batch.id,
            "object": "vector_store.file_batch",
            "created_at": self.now,
            "vector_store_id": store.id,
            "status": "completed" if is_done else "in_progress",
            "file_counts": {
                "in_progress": 0 if is_done else total,
                "completed": total - failed if is_done else 0,
                "failed": failed if is_done else 0,
                "cancelled": 0,
                "total": total,
            },
        }

    def _is_unreadable(self, file: str) -> bool:
        return any(part in self.files[file].name for part in self.unreadable)

    def _list_batch(self, request: Request) -> Answer:
        *_, store_id, _, batch_id, _ = request.path.split("/")
        batch = self.stores[store_id].batches[batch_id]
        rows = []
        for file in batch.files:
            status = "failed" if self._is_unreadable(file) else "completed"
            error = {"code": "invalid_file", "message": "the file cannot be read"} if status == "failed" else None
            if request.query.get("filter") in {None, status}:
                rows.append(
                    {
                        "id": file,
                        "object": "vector_store.file",
                        "created_at": self.now,
                        "usage_bytes": 1,
                        "vector_store_id": store_id,
                        "status": status,
                        "last_error": error,
                    }
                )
        return _page(request, rows)

    def _respond(self, request: Request) -> Answer:
        body = request.json
        assert body["stream"] is True
        assert body["store"] is True
        held: list[tuple[str, str]] = []
        previous = body.get("previous_response_id")
        if previous is not None:
            if previous not in self.threads:
                message = f"Previous response with id '{previous}' not found."
                return _error(400, message, "previous_response_not_found", "previous_response_id")
            held = list(self.threads[previous])
        given = body["input"]
        held += [("user", given)] if isinstance(given, str) else [(one["role"], one["content"]) for one in given]
        searched: list[str] = []
        for tool in body.get("tools", ()):
            if tool["type"] == "web_search":
                assert self.web is not None
                continue
            assert tool["type"] == "file_search"
            assert 1 <= tool["max_num_results"] <= 50
            for number in tool["vector_store_ids"]:
                batches = self.stores[number].batches.values()
                assert all(batch.polls_left <= 0 for batch in batches), "searched before it was indexed"
                searched += [file for batch in batches for file in batch.files if not self._is_unreadable(file)]
        self.searched = {self.files[file].name: self.files[file].raw for file in searched}
        number = self._id("resp")
        text = "".join(self.pieces)
        kind, detail = self.ending
        if kind in {"completed", "incomplete"}:
            self.threads[number] = [*held, ("assistant", text)]
        return as_events(self._events(number, body["model"], text, searched, kind, detail), named=True)

    def _events(
        self, number: str, model: str, text: str, searched: list[str], kind: str, detail: str
    ) -> Iterable[dict[str, Any]]:
        output: list[dict[str, Any]] = []
        if searched:
            call = {"id": "fs_1", "type": "file_search_call", "status": "completed", "queries": ["how is it"]}
            output.append(call)
        citations: list[dict[str, Any]] = []
        if self.web:
            query, url = self.web
            action = {"type": "search", "query": query}
            output.append({"id": "ws_1", "type": "web_search_call", "status": "completed", "action": action})
            citations = [{"type": "url_citation", "url": url, "title": "A page", "start_index": 0, "end_index": 1}]
        part = {
            "type": "output_text",
            "text": text,
            "logprobs": [],
            "annotations": [
                {"type": "file_citation", "file_id": file, "filename": self.files[file].name, "index": 1}
                for file in searched[:1]
            ]
            + citations,
        }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        output.append(message)

        def response(status: str, **more: Any) -> dict[str, Any]:
            return {
                "id": number,
                "object": "response",
                "created_at": self.now,
                "model": model,
                "status": status,
                "error": None,
                "incomplete_details": None,
                "output": [],
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
                "usage": None,
                **more,
            }

        usage = {
            "input_tokens": 1_200,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": self.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 20},
            "total_tokens": 1_230,
        }
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": response("in_progress")},
            {"type": "response.in_progress", "response": response("in_progress")},
        ]
        if searched:
            base = {"item_id": "fs_1", "output_index": 0}
            events += [{"type": f"response.file_search_call.{step}", **base} for step in ("searching", "completed")]
        place = {"item_id": "msg_1", "output_index": len(output) - 1, "content_index": 0}
        events += [
            {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **place} for piece in self.pieces
        ]
        if text:
            events.append({"type": "response.output_text.done", "text": text, "logprobs": [], **place})
        if kind == "completed":
            events.append({"type": "response.completed", "response": response("completed", output=output, usage=usage)})
        elif kind == "incomplete":
            more = {"incomplete_details": {"reason": detail}, "output": output, "usage": usage}
            events.append({"type": "response.incomplete", "response": response("incomplete", **more)})
        elif kind == "failed":
            error = {"code": detail, "message": "the model had an accident"}
            events.append({"type": "response.failed", "response": response("failed", error=error)})
        else:
            events.append({"type": "error", "code": detail, "message": "the stream had an accident", "param": None})
        return [{**event, "sequence_number": place} for place, event in enumerate(events)]


def _error(status: int, message: str, code: str | None = None, param: str | None = None) -> Answer:
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": param}
    return as_json({"error": error}, status)


def _page(request: Request, rows: list[dict[str, Any]]) -> Answer:
    """Return a page of a list, two rows at most, so that whoever reads only the first is found out."""
    after = request.query.get("after")
    start = next((place + 1 for place, row in enumerate(rows) if row["id"] == after), 0)
    page = rows[start : start + 2]
    return as_json(
        {
            "object": "list",
            "data": page,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": start + 2 < len(rows),
        }
    )


def _form(request: Request) -> dict[str, tuple[str, bytes]]:
    """Read a form with a file: the name and the bytes of each field."""
    head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + request.body, policy=email.policy.HTTP)
    fields: dict[str, tuple[str, bytes]] = {}
    for part in message.iter_parts():
        raw = part.get_payload(decode=True)
        assert isinstance(raw, bytes)
        name = part.get_param("name", header="content-disposition")
        fields[str(name)] = (part.get_filename() or "", raw)
    return fields
