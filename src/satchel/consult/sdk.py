"""Clients of the vendors' SDKs, one for each call, and uniform errors for failures at a provider."""

from __future__ import annotations

import base64
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.base.errors import AssistantFailed, Unavailable
from satchel.consult.models import MAX_WINDOW, Call, ThreadLost
from satchel.consult.records import Exchange, Media
from satchel.consult.wire import Connecting, Wire, retry_after, too_much
from satchel.redaction import redact

if TYPE_CHECKING:
    from openai import OpenAI

OPENAI_URL = "https://api.openai.com/v1"
_LOST_CODE = "previous_response_not_found"
_MAX_ID_CHARS = 1_000


class SdkClient(ABC):
    """Base of the vendors' clients: one for a call, and one for the clean-up after it."""

    sdk: Any

    def __init__(self, name: str, wire: Wire, variable: str, errors: tuple[type[Exception], ...]) -> None:
        self.name = name
        self.wire = wire
        self.variable = variable
        self._errors = errors

    def close(self) -> None:
        """Close the connections."""
        self.sdk.close()

    @abstractmethod
    def failure(self, error: Any) -> AssistantFailed:
        """Translate one of the SDK's own errors."""

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Translate the SDK's errors, and those of reading a malformed answer."""
        try:
            yield
        except self._errors as error:
            self.wire.check()
            raise self.failure(error) from error
        except _transport_errors() as error:
            self.wire.check()
            raise of_connection(self.name, self.wire, error) from error
        except NONSENSE as error:
            self.wire.check()
            raise self.unfinished(error) from error

    def unfinished(self, error: BaseException | str, *, has_begun: bool = False) -> AssistantFailed:
        """Return the error for an answer without an end: cut off, or malformed."""
        if has_begun or self.wire.is_torn:
            return cut(self.name)
        return nonsense(self.name, error)


class StainlessClient(SdkClient):
    """A client of OpenAI's or Anthropic's SDK, which come from one generator."""

    def __init__(self, name: str, wire: Wire, variable: str, module: Any, own_error: type[Exception]) -> None:
        super().__init__(name, wire, variable, (own_error,))
        self._module = module

    def failure(self, error: Any) -> AssistantFailed:
        """Translate one of the SDK's own errors."""
        module = self._module
        if isinstance(error, module.APIConnectionError):
            cause = error.__cause__
            if isinstance(cause, AssistantFailed):
                return cause
            return of_connection(self.name, self.wire, cause or error)
        if not isinstance(error, module.APIError):
            return nonsense(self.name, error)
        code, message = self.code_and_message(error)
        if isinstance(error, module.APIStatusError) and error.status_code >= 400:
            return from_status(self.name, self.variable, error.status_code, code, message, error.response.headers)
        return from_code(self.name, code, message)

    def code_and_message(self, error: Any) -> tuple[str, str]:
        """Return the provider's code and message of an error."""
        body = error.body
        if isinstance(body, dict) and isinstance(body.get("error"), dict):
            body = body["error"]
        if not isinstance(body, dict):
            return "", str(error.message)
        code = body.get("code") or body.get("type") or ""
        return str(code), str(body.get("message") or error.message)


class OpenAIClient(StainlessClient):
    """A client for one call."""

    def __init__(self, name: str, wire: Wire, *, base_url: str | None, key: str | None, variable: str) -> None:
        with making(name, "openai"):
            import openai

            super().__init__(name, wire, variable, openai, openai.OpenAIError)
            self.sdk: OpenAI = openai.OpenAI(
                api_key=key or "none",
                base_url=base_url or OPENAI_URL,
                max_retries=0,
                http_client=openai.DefaultHttpxClient(event_hooks=wire.event_hooks()),
            )
        if base_url is not None:
            # other providers must not learn the account names in the environment
            self.sdk.organization = self.sdk.project = None
        if variable != "OPENAI_API_KEY":
            # nor the headers of OPENAI_CUSTOM_HEADERS, which may hold a key
            self.sdk._custom_headers = {}  # noqa: SLF001 -- the SDK reads the variable whatever it is given

    def failure(self, error: Any) -> AssistantFailed:
        """Translate one of the SDK's own errors."""
        code, message = self.code_and_message(error) if hasattr(error, "body") else ("", "")
        parameter = getattr(error, "param", None)
        if code == _LOST_CODE or (parameter == "previous_response_id" and "not found" in message):
            return ThreadLost(
                f"{self.name} has forgotten the thread: {excerpt(message)}",
                "What it held is sent again",
                reason="thread_lost",
            )
        return super().failure(error)


def _transport_errors() -> tuple[type[Exception], ...]:
    loaded = [module for module in map(sys.modules.get, ("httpx", "httpx2")) if module is not None]
    return tuple(error for module in loaded for error in (module.HTTPError, module.StreamError, module.InvalidURL))


@contextmanager
def making(name: str, extra: str) -> Iterator[None]:
    """Translate failures to import a vendor's SDK or to make its client."""
    try:
        yield
    except (ImportError, OSError, ValueError, TypeError, *_transport_errors()) as error:  # type: ignore[misc]
        # httpx raises one without a name if a proxy needs a missing package
        if isinstance(error, ImportError) and error.name:
            from satchel.base.installation import missing_extra

            raise missing_extra(f"{name} needs its vendor's SDK ({error})", extra) from error
        raise Unavailable(
            f"no connection for {name} can be prepared: {excerpt(error)}",
            "Check the address, and HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR in "
            "the environment",
        ) from error


def count_of(value: Any, field: str) -> int | None:
    """Return a count from a provider's usage report; None if it is missing, 0 or impossibly large."""
    count = getattr(value, field, None)
    return count if isinstance(count, int) and 0 < count <= MAX_WINDOW else None


def sum_of(value: Any, *fields: str) -> int | None:
    """Return the sum of counts, or None if the provider reports none of them."""
    return sum(count_of(value, field) or 0 for field in fields) or None


def id_of(number: object) -> str:
    """Return a provider's id, which an SDK does not check."""
    if not isinstance(number, str) or not 0 < len(number) <= _MAX_ID_CHARS:
        raise TypeError(f"{str(number)[:40]!r} is no id")
    return number


ClientT = TypeVar("ClientT", bound=SdkClient)


def without_nones(**options: Any) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def messages_of(history: Sequence[Exchange], part: Callable[[Media], Any] | None = None) -> list[Any]:
    """Return past turns in the format of most protocols, images and PDF before the text of their turn."""
    messages: list[Any] = []
    for past in history:
        text = {"type": "text", "text": past.prompt}
        content = [*map(part, past.media), text] if part and past.media else past.prompt
        messages += [{"role": "user", "content": content}, {"role": "assistant", "content": past.answer}]
    return messages


def shape_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer in the format of OpenAI's protocols."""
    return {"name": "answer", "schema": dict(schema)}


class CallsInPieces:
    """Tool calls that arrive in pieces. Endpoints differ: some omit the index or the id, some send whole calls."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._calls: list[Call] = []
        self._at: dict[int, int] = {}
        self.chars = 0

    def gather(self, deltas: Sequence[Any]) -> None:
        """Append a piece to its call."""
        for delta in deltas:
            name = (delta.function.name if delta.function else None) or ""
            place = self._place(delta.index, delta.id, name)
            one = self._calls[place]
            more = (delta.function.arguments if delta.function else None) or ""
            self.chars += len(more)
            self._calls[place] = Call(one.id or delta.id or "", one.tool or name, one.arguments + more)

    def __len__(self) -> int:
        return len(self._calls)

    def whole(self) -> tuple[Call, ...]:
        """Return the calls, each with an id."""
        return tuple(
            Call(call.id or f"{self._prefix}_{place}", call.tool, call.arguments)
            for place, call in enumerate(self._calls)
        )

    def _place(self, index: int | None, number: str | None, name: str) -> int:
        place = self._at.get(index, -1) if index is not None else len(self._calls) - 1
        if place >= 0:
            is_same = self._calls[place].id == number if number else index is not None
            if is_same or not name:
                return place
        self._calls.append(Call("", "", ""))
        if index is not None:
            self._at[index] = len(self._calls) - 1
        return len(self._calls) - 1


def base64_of(media: Media) -> str:
    """Return an image or PDF in base64, for JSON."""
    return base64.b64encode(media.data).decode("ascii")


# Exceptions of an SDK, or of reading its results, over an answer that violates the protocol.
NONSENSE = (ValueError, TypeError, AttributeError, LookupError, RuntimeError, ArithmeticError)

_SHOWN_CHARS = 300
# Characters of a provider's message that are searched for secrets before its beginning is shown.
_READ_CHARS = 4_000
_TOO_LONG_CODES = frozenset({"context_length_exceeded", "string_above_max_length", "request_too_large"})
_TOO_LONG_WORDS = ("context length", "context window", "prompt is too long", "input token count", "maximum context")
_PASSING_CODES = frozenset(
    {"server_error", "rate_limit_exceeded", "overloaded_error", "api_error", "rate_limit_error", "vector_store_timeout"}
)
_NO_CREDIT_CODES = frozenset({"insufficient_quota", "billing_error"})


def excerpt(message: object) -> str:
    """Return a provider's message on one line, shortened and without secrets."""
    text = " ".join(redact(str(message)[:_READ_CHARS]).text.split()).removesuffix(".")
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def from_status(
    name: str, variable: str, status: int, code: str, message: str, headers: Mapping[str, str]
) -> AssistantFailed:
    """Return the error for an HTTP error status."""
    problem = f"{name} answered {status}: {excerpt(message)}"
    if status in {401, 403}:
        reason = "unauthorized" if status == 401 else "forbidden"
        return AssistantFailed(problem, f"Check that {variable} is a valid key that may use this model", reason=reason)
    if is_too_long(code, message) or status == 413:
        return too_long(problem)
    if code in _NO_CREDIT_CODES:
        return AssistantFailed(problem, "Check the plan and the budget at the provider", reason="no_credit")
    if status in {408, 409, 429} or status >= 500:
        is_limited = status == 429
        return AssistantFailed(
            problem,
            "Wait a little, then ask again" if is_limited else "The fault is the provider's: ask again later",
            reason="rate_limited" if is_limited else "failing",
            is_passing=True,
            retry_after=retry_after(headers),
        )
    if status == 404:
        return AssistantFailed(problem, "Check the model's name and the endpoint's address", reason="not_found")
    return AssistantFailed(problem, reason="refused")


def from_code(name: str, code: str, message: object) -> AssistantFailed:
    """Return the error for a failure that is reported inside a successful response."""
    problem = f"{name} failed: {excerpt(message)}"
    if is_too_long(code, str(message)):
        return too_long(problem)
    return AssistantFailed(problem, "Ask again later", reason="failing", is_passing=code in _PASSING_CODES)


def is_too_long(code: str, message: str) -> bool:
    """Return whether a provider reports that the input does not fit."""
    lowered = message.lower()
    return code in _TOO_LONG_CODES or any(words in lowered for words in _TOO_LONG_WORDS)


def too_long(problem: str) -> AssistantFailed:
    """Return the error for too much input."""
    return AssistantFailed(
        problem, "Continue with another conversation, or configure the model's true window", reason="too_long"
    )


def of_connection(name: str, wire: Wire, error: BaseException) -> AssistantFailed:
    """Translate an error of httpx, whichever copy of it an SDK uses."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"ConnectError", "ConnectTimeout", "ProxyError"}:
        return _not_connected(name, error)
    if kinds & {"UnsupportedProtocol", "TooManyRedirects"}:
        return AssistantFailed(
            f"{name} cannot be reached: {excerpt(error)}",
            "Check the address: it begins with http:// or https://, and is the one that answers",
            reason="unreachable",
        )
    if "DecodingError" in kinds:
        return nonsense(name, error)
    if "RemoteProtocolError" in kinds and "too long" in str(error):
        # h11 accepts 100 KiB of headers or of chunk framing
        return too_much(name, "more than 102,400 bytes of headers")
    if "TimeoutException" in kinds:
        return AssistantFailed(
            f"{name} did not send anything for {wire.timing.silence:g} seconds",
            "Ask again later, or configure a higher consult.idle_seconds",
            reason="timed_out",
        )
    return cut(name)


def _not_connected(name: str, error: BaseException) -> AssistantFailed:
    import ssl

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return AssistantFailed(
                f"the certificate of {name} is not trusted: {excerpt(cause.verify_message or cause)}",
                "Set SSL_CERT_FILE to a file with the certificates of its signer, if that is known to be right",
                reason="untrusted",
            )
        cause = cause.__cause__ or cause.__context__
    proxy = _proxy_of(error)
    if proxy is None:
        where, hint = "", "Check the network and the address; a local model's server has to be running"
    else:
        where = f" through the proxy {proxy}"
        hint = "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY in the environment; NO_PROXY names what needs no proxy"
    return AssistantFailed(
        f"{name} cannot be reached{where}: {excerpt(error)}",
        hint,
        reason="unreachable",
        # a proxy's answer begins with its status; only its own faults (5xx) are passing
        is_passing=type(error).__name__ != "ProxyError" or str(error).startswith("5"),
    )


def _proxy_of(error: Any) -> str | None:
    try:
        connecting = error.request.extensions.get("trace")
    except (RuntimeError, AttributeError):
        # raised by httpx without a request
        return None
    return connecting.proxy if isinstance(connecting, Connecting) else None


def cut(name: str) -> AssistantFailed:
    """Return the error for an incomplete answer."""
    return AssistantFailed(
        f"{name} cut the connection before its answer was whole", "Ask again", reason="cut", is_passing=True
    )


def nonsense(name: str, error: BaseException | str) -> AssistantFailed:
    """Return the error for an answer that violates the provider's protocol."""
    return AssistantFailed(
        f"{name} answered what its protocol does not know: {excerpt(error)}",
        "Check that the address is one of this kind of provider",
        reason="nonsense",
    )


def empty(name: str, *, is_cut: bool, notes: tuple[str, ...] = ()) -> AssistantFailed:
    """Return the error for an empty answer."""
    if is_cut:
        return AssistantFailed(
            f"{name} used up its output limit before it said a word", "Configure a higher output limit", reason="empty"
        )
    why = f": {'; '.join(notes)}" if notes else ""
    return AssistantFailed(f"{name} answered without a word{why}", "Ask again, or ask differently", reason="empty")
