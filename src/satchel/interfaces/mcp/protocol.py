"""The Model Context Protocol, server side, in every revision from 2024-11-05 to 2026-07-28.

Two eras share one process. A request of the stateless era (2026-07-28) carries its revision and the client's
capabilities in ``params._meta``, and nothing else affects it; a client of the handshake era (up to 2025-11-25)
first agrees on a revision with ``initialize``. Each request is judged separately, as the 2026-07-28 revision
requires (Versioning and Compatibility): earlier requests do not tie a connection to an era.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from satchel.base.errors import SatchelError, unknown_name
from satchel.interfaces.mcp import jsonrpc
from satchel.interfaces.mcp.call import INTERNAL_TEXT, Call, log_fault
from satchel.interfaces.mcp.jsonrpc import Request, RpcError
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.mcp.schema import MAX_SHOWN_CHARS, excerpt

if TYPE_CHECKING:
    from satchel.interfaces.mcp.guidance import Prompt, Resource

ServiceT = TypeVar("ServiceT")
Params = Mapping[str, Any]
Result = dict[str, Any]

HANDSHAKE_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISIONS: Final = ("2026-07-28",)
# The only revision with JSON-RPC batches; 2025-06-18 took them out again.
BATCH_REVISION: Final = "2025-03-26"

# Unknown resource in the handshake era; 2026-07-28 forbids the number and says invalid params.
RESOURCE_NOT_FOUND: Final = -32002
UNSUPPORTED_REVISION: Final = -32022

_META = "io.modelcontextprotocol/"
REVISION_KEY: Final = _META + "protocolVersion"
CAPABILITIES_KEY: Final = _META + "clientCapabilities"
SERVER_INFO_KEY: Final = _META + "serverInfo"
CLIENT_INFO_KEY: Final = _META + "clientInfo"

# Results that the 2026-07-28 schema requires to say how long they may be kept (SEP-2549).
_CACHEABLE = frozenset(
    {"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}
)

# Methods that run the application's code and may take their time; all others answer at once.
APPLICATION_METHODS: Final = frozenset({"tools/call", "resources/list", "resources/read", "prompts/get"})


class Server(Generic[ServiceT]):
    """The protocol server for all transports and clients."""

    def __init__(
        self,
        name: str,
        version: str,
        opened: Callable[[], ServiceT],
        registry: Registry[ServiceT],
        *,
        instructions: str | None = None,
        resources: Sequence[Resource] = (),
        prompts: Sequence[Prompt] = (),
        on_client: Callable[[str | None, str | None], object] | None = None,
        on_meta: Callable[[Params], object] | None = None,
    ) -> None:
        self.opened = opened
        self._on_client = on_client
        self._on_meta = on_meta
        self._info = {"name": name, "version": version}
        self._registry = registry
        self._instructions = {} if instructions is None else {"instructions": instructions}
        self._resources = resources
        self._prompts = {prompt.name: prompt for prompt in prompts}
        self._capabilities: dict[str, dict[str, Any]] = {"tools": {}}
        self._methods: dict[str, Callable[[Params, str, Call[ServiceT]], Result]] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
        }
        if resources:
            self._capabilities["resources"] = {}
            self._methods["resources/list"] = partial(self._list_resources, "resources")
            self._methods["resources/templates/list"] = partial(self._list_resources, "resourceTemplates")
            self._methods["resources/read"] = self._read_resource
        if prompts:
            self._capabilities["prompts"] = {}
            self._methods["prompts/list"] = self._list_prompts
            self._methods["prompts/get"] = self._get_prompt
        self._handshake_methods = self._methods | {"initialize": self._initialize, "ping": self._ping}
        self._stateless_methods = self._methods | {"server/discover": self._discover}

    def serves(self, method: str) -> bool:
        """Return whether a method exists in any revision."""
        return method in self._handshake_methods or method in self._stateless_methods

    def reply(self, request: Request, revision: str, call: Call[ServiceT]) -> tuple[bytes, RpcError | None]:
        """Return the encoded answer to a request, and the error if it is one; never raise."""
        try:
            return jsonrpc.encode_result(request.id, self.answer(request, revision, call)), None
        except RpcError as error:
            return jsonrpc.encode_error(request.id, error), error
        except BaseException:  # noqa: BLE001 -- a result that is no JSON, or a handler that exits, costs only its own call
            log_fault(request.method)
            internal = RpcError(jsonrpc.INTERNAL_ERROR, INTERNAL_TEXT)
            return jsonrpc.encode_error(request.id, internal), internal
        finally:
            call.finish()

    def answer(self, request: Request, revision: str, call: Call[ServiceT]) -> Result:
        stateless = revision in STATELESS_REVISIONS
        if stateless:
            self._note_client(meta_of(request).get(CLIENT_INFO_KEY))
        if self._on_meta is not None:
            self._on_meta(call.meta)
        methods = self._stateless_methods if stateless else self._handshake_methods
        method = methods.get(request.method)
        if method is None:
            raise RpcError(jsonrpc.METHOD_NOT_FOUND, f"unknown method {excerpt(request.method)}")
        try:
            result = method(request.params, revision, call)
        except RpcError:
            raise
        except SatchelError as error:
            raise RpcError(jsonrpc.INVALID_PARAMS, call.hide(str(error), error.code), {"code": error.code}) from None
        except Exception:  # noqa: BLE001 - the edge between a client and our faults
            log_fault(request.method)
            raise RpcError(jsonrpc.INTERNAL_ERROR, INTERNAL_TEXT) from None
        if revision not in STATELESS_REVISIONS:
            return result
        if request.method in _CACHEABLE:
            result = {"ttlMs": 0, "cacheScope": "private", **result}
        return {"resultType": "complete", **result, "_meta": {SERVER_INFO_KEY: self._info}}

    def _initialize(self, params: Params, revision: str, _call: Call[ServiceT]) -> Result:
        self._note_client(params.get("clientInfo"))
        return {
            "protocolVersion": revision,
            "capabilities": self._capabilities,
            "serverInfo": self._info,
            **self._instructions,
        }

    def _note_client(self, info: object) -> None:
        if self._on_client is not None and isinstance(info, dict):
            name, version = info.get("name"), info.get("version")
            self._on_client(name if isinstance(name, str) else None, version if isinstance(version, str) else None)

    def _ping(self, _params: Params, _revision: str, _call: Call[ServiceT]) -> Result:
        return {}

    def _discover(self, _params: Params, _revision: str, _call: Call[ServiceT]) -> Result:
        return {
            "supportedVersions": list(STATELESS_REVISIONS),
            "capabilities": self._capabilities,
            **self._instructions,
        }

    def _list_tools(self, params: Params, _revision: str, _call: Call[ServiceT]) -> Result:
        _check_cursor(params)
        return {"tools": self._registry.listing()}

    def _call_tool(self, params: Params, _revision: str, call: Call[ServiceT]) -> Result:
        tool = self._registry.tool(_text(params, "name"))
        outcome = self._registry.run(tool, _arguments(params), call)
        result: Result = {"content": [{"type": "text", "text": outcome.text}]}
        if outcome.is_error:
            result["isError"] = True
        return result

    def _list_resources(self, kind: str, params: Params, _revision: str, _call: Call[ServiceT]) -> Result:
        _check_cursor(params)
        is_wanted = kind == "resourceTemplates"
        return {kind: [resource.listing() for resource in self._resources if resource.is_template is is_wanted]}

    def _read_resource(self, params: Params, revision: str, _call: Call[ServiceT]) -> Result:
        uri = _text(params, "uri")
        for resource in self._resources:
            contents = resource.contents(uri)
            if contents is not None:
                return {"contents": [contents]}
        code = jsonrpc.INVALID_PARAMS if revision in STATELESS_REVISIONS else RESOURCE_NOT_FOUND
        raise RpcError(code, f"no resource has the address {excerpt(uri)}", {"uri": uri})

    def _list_prompts(self, params: Params, _revision: str, _call: Call[ServiceT]) -> Result:
        _check_cursor(params)
        return {"prompts": [prompt.listing() for prompt in self._prompts.values()]}

    def _get_prompt(self, params: Params, _revision: str, _call: Call[ServiceT]) -> Result:
        name = _text(params, "name")
        prompt = self._prompts.get(name)
        if prompt is None:
            raise unknown_name("prompt", name[:MAX_SHOWN_CHARS], self._prompts)
        content = {"type": "text", "text": prompt.fill(_arguments(params))}
        return {"description": prompt.description, "messages": [{"role": "user", "content": content}]}


class Connection:
    """The revision agreed with a client of the handshake era; used only by the thread that reads its messages."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self.revision: str | None = None

    def admit(self, request: Request) -> str:
        """Return the revision for a request."""
        if request.method == "initialize":
            return self._negotiate(request.params)
        meta = meta_of(request)
        if REVISION_KEY in meta:
            return _stateless_revision(meta)
        if self.revision is not None:
            return self.revision
        if request.method == "ping":
            return HANDSHAKE_REVISIONS[-1]
        if not self._server.serves(request.method):
            raise RpcError(jsonrpc.METHOD_NOT_FOUND, f"unknown method {excerpt(request.method)}")
        raise RpcError(
            jsonrpc.INVALID_PARAMS,
            f"params._meta lacks {REVISION_KEY} (since 2026-07-28) and no initialize came before (until 2025-11-25)",
        )

    def _negotiate(self, params: Params) -> str:
        wanted = _text(params, "protocolVersion")
        self.revision = wanted if wanted in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]
        return self.revision


def meta_of(request: Request) -> dict[str, Any]:
    """Return the ``_meta`` of a request, empty if it has none."""
    meta = request.params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def unsupported_revision(requested: str) -> RpcError:
    """Return the error for an unsupported revision."""
    # The handshake revisions are listed too: a newer client may fall back on one.
    supported = [*STATELESS_REVISIONS, *reversed(HANDSHAKE_REVISIONS)]
    data = {"supported": supported, "requested": requested[:MAX_SHOWN_CHARS]}
    return RpcError(UNSUPPORTED_REVISION, "Unsupported protocol version", data)


def _stateless_revision(meta: Params) -> str:
    if not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise RpcError(jsonrpc.INVALID_PARAMS, f"params._meta lacks the object {CAPABILITIES_KEY}")
    revision = meta[REVISION_KEY]
    if not isinstance(revision, str):
        raise RpcError(jsonrpc.INVALID_PARAMS, f"{REVISION_KEY} must be a string")
    if revision not in STATELESS_REVISIONS:
        raise unsupported_revision(revision)
    return revision


def _text(params: Params, field: str) -> str:
    value = params.get(field)
    if not isinstance(value, str):
        raise RpcError(jsonrpc.INVALID_PARAMS, f"params.{field} must be a string")
    return value


def _arguments(params: Params) -> dict[str, object]:
    arguments = params.get("arguments")
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise RpcError(jsonrpc.INVALID_PARAMS, "params.arguments must be an object")
    return arguments


def _check_cursor(params: Params) -> None:
    if params.get("cursor") is not None:
        raise RpcError(jsonrpc.INVALID_PARAMS, "unknown cursor: every list here is one page")
