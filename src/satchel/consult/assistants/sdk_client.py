"""A vendor's SDK as the adapters use it: whatever it raises is told in our words."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from satchel.base.errors import AssistantFailed
from satchel.consult.assistants import failing
from satchel.consult.assistants.limits import too_much
from satchel.consult.assistants.models import MAX_WINDOW
from satchel.consult.assistants.wire import Connecting, Wire

_MAX_ID_CHARS = 1_000


class SdkClient(ABC):
    """What the clients of all vendors have in common: one for each call, and for what is cleaned up after it.

    Attributes:
        sdk: the vendor's own client.
    """

    sdk: Any

    def __init__(self, name: str, wire: Wire, variable: str, errors: tuple[type[Exception], ...]) -> None:
        """Remember what errors are explained with.

        Args:
            name: the assistant with its address.
            variable: the environment variable that holds its key.
            errors: what the SDK raises of its own.
        """
        self.name = name
        self.wire = wire
        self.variable = variable
        self._errors = errors

    def close(self) -> None:
        """Close the connections."""
        self.sdk.close()

    @abstractmethod
    def failure(self, error: Any) -> AssistantFailed:
        """Tell what one of the SDK's own errors means."""

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the SDK's errors, and those of reading an answer that is not what it should be, into ours.

        Raises:
            AssistantFailed: as the provider failed.
            Interrupted: the call was cancelled, which looks like a failure of the provider.
        """
        try:
            yield
        except self._errors as error:
            self.wire.check()
            raise self.failure(error) from error
        except _transport_errors() as error:
            self.wire.check()
            raise self.transport_failure(error) from error
        except failing.NONSENSE as error:
            self.wire.check()
            raise self.unfinished(error) from error

    def unfinished(self, error: BaseException | str, *, has_begun: bool = False) -> AssistantFailed:
        """Tell what an answer means that has no end: it was cut, or is none.

        Args:
            error: why it is none.
            has_begun: whether there was a part of an answer.
        """
        if has_begun or self.wire.is_torn:
            return failing.cut(self.name)
        return failing.nonsense(self.name, error)

    def transport_failure(self, error: BaseException) -> AssistantFailed:
        """Tell what an error of httpx means, whichever httpx the SDK uses."""
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if kinds & {"ConnectError", "ConnectTimeout", "ProxyError"}:
            return self._not_connected(error)
        if kinds & {"UnsupportedProtocol", "TooManyRedirects"}:
            return failing.misdirected(self.name, error)
        if "DecodingError" in kinds:
            return failing.nonsense(self.name, error)
        if "RemoteProtocolError" in kinds and "too long" in str(error):
            # h11 takes 100 KiB of headers, or of what stands around a chunk
            return too_much(self.name, "more than 102,400 bytes of headers")
        if "TimeoutException" in kinds:
            return failing.silent(self.name, self.wire.timing.silence)
        return failing.cut(self.name)

    def _not_connected(self, error: BaseException) -> AssistantFailed:
        import ssl

        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return failing.untrusted(self.name, cause.verify_message or str(cause))
            cause = cause.__cause__ or cause.__context__
        proxy = _proxy_of(error)
        if proxy is not None:
            # what a proxy answers begins with its status; of those only its own faults pass
            is_passing = type(error).__name__ != "ProxyError" or str(error).startswith("5")
            return failing.behind_proxy(self.name, proxy, error, is_passing=is_passing)
        return failing.unreachable(self.name, error)


class StainlessClient(SdkClient):
    """A client of one of the SDKs that are generated alike: OpenAI's and Anthropic's."""

    def __init__(self, name: str, wire: Wire, variable: str, module: Any, own_error: type[Exception]) -> None:
        """Take the SDK.

        Args:
            module: the SDK.
            own_error: the base of everything it raises.
        """
        super().__init__(name, wire, variable, (own_error,))
        self._module = module

    def failure(self, error: Any) -> AssistantFailed:
        """Tell what one of the SDK's own errors means."""
        module = self._module
        if isinstance(error, module.APIConnectionError):
            cause = error.__cause__
            return cause if isinstance(cause, AssistantFailed) else self.transport_failure(cause or error)
        if not isinstance(error, module.APIError):
            return failing.nonsense(self.name, error)
        code, message = self.said(error)
        if isinstance(error, module.APIStatusError) and error.status_code >= 400:
            return failing.from_status(
                self.name, self.variable, error.status_code, code, message, error.response.headers
            )
        return failing.from_code(self.name, code, message)

    def said(self, error: Any) -> tuple[str, str]:
        """Return the provider's own name for an error, and its words."""
        body = error.body
        if isinstance(body, dict) and isinstance(body.get("error"), dict):
            body = body["error"]
        if not isinstance(body, dict):
            return "", str(error.message)
        code = body.get("code") or body.get("type") or ""
        return str(code), str(body.get("message") or error.message)


def _transport_errors() -> tuple[type[Exception], ...]:
    """Return what httpx raises, in each of its two distributions that an SDK has loaded."""
    loaded = [module for module in map(sys.modules.get, ("httpx", "httpx2")) if module is not None]
    return tuple(error for module in loaded for error in (module.HTTPError, module.StreamError, module.InvalidURL))


def _proxy_of(error: Any) -> str | None:
    """Return the proxy that a request went to, if one did."""
    try:
        connecting = error.request.extensions.get("trace")
    except (RuntimeError, AttributeError):
        # httpx knows of no request
        return None
    return connecting.proxy if isinstance(connecting, Connecting) else None


@contextmanager
def making(name: str) -> Iterator[None]:
    """Turn what keeps a client from being made into our words.

    Raises:
        Unavailable: the environment names a proxy or certificates that cannot be used, or the address is none.
    """
    try:
        yield
    except (ImportError, OSError, ValueError, TypeError) as error:
        raise failing.unusable(name, error) from error
    except _transport_errors() as error:
        raise failing.unusable(name, error) from error


def count_of(value: Any, field: str) -> int | None:
    """Return a count from what a provider says of usage; None where it says none, as 0 or what no model can take."""
    count = getattr(value, field, None)
    return count if isinstance(count, int) and 0 < count <= MAX_WINDOW else None


def id_of(number: object) -> str:
    """Return a provider's name for something, which an SDK does not check.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(number, str) or not 0 < len(number) <= _MAX_ID_CHARS:
        raise TypeError(f"{str(number)[:40]!r} is no id")
    return number
