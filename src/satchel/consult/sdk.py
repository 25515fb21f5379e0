"""Base of the adapters: a client of the vendor's SDK for each call, and threads whose history is stored here."""

from __future__ import annotations

import base64
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from satchel.base.errors import AssistantFailed, Unavailable
from satchel.consult import failures
from satchel.consult.models import MAX_WINDOW, Ask, Model, Reply, ThreadLost, Timing
from satchel.consult.records import Exchange, Media
from satchel.consult.rounds import Round, converse, searches
from satchel.consult.upkeep import Sweeper
from satchel.consult.wire import Limits, Wire, public_address

if TYPE_CHECKING:
    from openai import OpenAI

OPENAI_URL = "https://api.openai.com/v1"
_LOST_CODE = "previous_response_not_found"
_MAX_ID_CHARS = 1_000


class SdkClient(ABC):
    """Base of the vendors' clients: one for each call, and one for cleaning up after it."""

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
        """Turn the SDK's errors, and those of reading an answer that is not what it should be, into ours."""
        try:
            yield
        except self._errors as error:
            self.wire.check()
            raise self.failure(error) from error
        except _transport_errors() as error:
            self.wire.check()
            raise failures.of_connection(self.name, self.wire, error) from error
        except failures.NONSENSE as error:
            self.wire.check()
            raise self.unfinished(error) from error

    def unfinished(self, error: BaseException | str, *, has_begun: bool = False) -> AssistantFailed:
        """Return the error for an answer without an end: cut, or not an answer at all."""
        if has_begun or self.wire.is_torn:
            return failures.cut(self.name)
        return failures.nonsense(self.name, error)


class StainlessClient(SdkClient):
    """A client of one of the SDKs that are generated alike: OpenAI's and Anthropic's."""

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
            return failures.of_connection(self.name, self.wire, cause or error)
        if not isinstance(error, module.APIError):
            return failures.nonsense(self.name, error)
        code, message = self.code_and_message(error)
        if isinstance(error, module.APIStatusError) and error.status_code >= 400:
            return failures.from_status(
                self.name, self.variable, error.status_code, code, message, error.response.headers
            )
        return failures.from_code(self.name, code, message)

    def code_and_message(self, error: Any) -> tuple[str, str]:
        """Return the provider's own name for an error, and its words."""
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
            # the environment's names for an account at OpenAI are nobody else's business
            self.sdk.organization = self.sdk.project = None
        if variable != "OPENAI_API_KEY":
            # so are the headers of OPENAI_CUSTOM_HEADERS, which may hold a key
            self.sdk._custom_headers = {}  # noqa: SLF001 -- the SDK reads the variable whatever it is given

    def failure(self, error: Any) -> AssistantFailed:
        """Translate one of the SDK's own errors."""
        code, message = self.code_and_message(error) if hasattr(error, "body") else ("", "")
        parameter = getattr(error, "param", None)
        if code == _LOST_CODE or (parameter == "previous_response_id" and "not found" in message):
            return ThreadLost(
                f"{self.name} has forgotten the thread: {failures.excerpt(message)}",
                "What it held is sent again",
                reason="thread_lost",
            )
        return super().failure(error)


def _transport_errors() -> tuple[type[Exception], ...]:
    loaded = [module for module in map(sys.modules.get, ("httpx", "httpx2")) if module is not None]
    return tuple(error for module in loaded for error in (module.HTTPError, module.StreamError, module.InvalidURL))


@contextmanager
def making(name: str, extra: str) -> Iterator[None]:
    """Turn what keeps a vendor's SDK from being imported, or a client of it from being made, into our words."""
    try:
        yield
    except (ImportError, OSError, ValueError, TypeError, *_transport_errors()) as error:  # type: ignore[misc]
        # httpx raises one without a name where a proxy needs more than is installed
        if isinstance(error, ImportError) and error.name:
            from satchel.base.installation import missing_extra

            raise missing_extra(f"{name} needs its vendor's SDK ({error})", extra) from error
        raise Unavailable(
            f"no connection for {name} can be prepared: {failures.excerpt(error)}",
            "Check the address, and HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR in "
            "the environment",
        ) from error


def count_of(value: Any, field: str) -> int | None:
    """Return a count from what a provider says of usage; None where it says none, as 0 or what no model can take."""
    count = getattr(value, field, None)
    return count if isinstance(count, int) and 0 < count <= MAX_WINDOW else None


def sum_of(value: Any, *fields: str) -> int | None:
    """Return the sum of counts, or None where the provider says none of them."""
    return sum(count_of(value, field) or 0 for field in fields) or None


def id_of(number: object) -> str:
    """Return a provider's name for something, which an SDK does not check."""
    if not isinstance(number, str) or not 0 < len(number) <= _MAX_ID_CHARS:
        raise TypeError(f"{str(number)[:40]!r} is no id")
    return number


ClientT = TypeVar("ClientT", bound=SdkClient)


class SdkAssistant(ABC, Generic[ClientT]):
    """An assistant that is asked through its vendor's SDK."""

    own_url: ClassVar[str]
    keeps_history: ClassVar[bool]
    unsupported: frozenset[str] = frozenset()
    client: ClassVar[type[Any]]

    def __init__(
        self,
        model: Model,
        variable: str,
        *,
        key: str | None = None,
        base_url: str | None = None,
        timing: Timing | None = None,
    ) -> None:
        self.model = model.name
        self._variable = variable
        self.window = model.window
        self.name = model.full_name
        self.address = public_address(base_url or self.own_url)
        self.label = f"{self.name} at {self.address}"
        self._key = key
        self._base_url = base_url
        self._timing = timing or Timing()

    @property
    def sweeper(self) -> Sweeper | None:
        """Deleter of stores that earlier calls left; see :class:`satchel.consult.models.Assistant`."""
        return None

    @abstractmethod
    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.models.Assistant`."""

    def _open(self, wire: Wire) -> ClientT:
        opened: ClientT = self.client(self.label, wire, base_url=self._base_url, key=self._key, variable=self._variable)
        return opened

    @contextmanager
    def _calling(self, ask: Ask) -> Iterator[ClientT]:
        limits = Limits.of(self.window.output)
        with (
            Wire(self._timing, ask.is_cancelled, name=self.label, limits=limits) as wire,
            closing(self._open(wire)) as client,
        ):
            yield client


def without_nones(**options: Any) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def messages_of(history: Sequence[Exchange], part: Callable[[Media], Any] | None = None) -> list[Any]:
    """Return past turns in the form that most protocols share, images and PDF before the text of their turn."""
    messages: list[Any] = []
    for past in history:
        text = {"type": "text", "text": past.prompt}
        content = [*map(part, past.media), text] if part and past.media else past.prompt
        messages += [{"role": "user", "content": content}, {"role": "assistant", "content": past.answer}]
    return messages


def base64_of(media: Media) -> str:
    """Return an image or PDF as the text that JSON carries."""
    return base64.b64encode(media.data).decode("ascii")


class OwnHistoryAssistant(SdkAssistant[ClientT]):
    """An assistant whose provider keeps nothing: every request holds the whole thread, and searches are ours."""

    keeps_history = False

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.models.Assistant`."""
        with self._calling(ask) as client, searches(ask, self.window, client.wire.check) as search:
            messages = self._messages(ask)

            def send(may_search: bool) -> Generator[str, None, Round]:
                return self._send(client, messages, None if search is None else may_search, ask)

            def remember(one: Round, results: Sequence[str]) -> None:
                messages.extend(self._with_results(one, results))

            ask.on_progress(f"asking {self.name}")
            return converse(self.label, ask, client.wire, send, search, remember)

    @abstractmethod
    def _messages(self, ask: Ask) -> list[Any]:
        """Return the thread in the provider's form, the new prompt last."""

    @abstractmethod
    def _send(
        self, client: ClientT, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        """Make one request; yield the text as it arrives, nothing where what arrives is none, and return the rest."""

    @abstractmethod
    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        """Return the messages that a round with calls adds to the thread: the calls, and their results in order."""
