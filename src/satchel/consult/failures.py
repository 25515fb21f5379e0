"""Failures at a provider in our words, the same for every vendor, and when to try again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from satchel.base.errors import AssistantFailed
from satchel.consult.models import Timing
from satchel.consult.wire import Connecting, Wire, too_much
from satchel.redaction import redact

T = TypeVar("T")


_FIRST_PAUSE, _LONGEST_PAUSE, _LONGEST_ASKED = 0.5, 8.0, 60.0
"""Seconds to wait after the first failure, after any, and where a provider says how long."""


def pause_after(attempt: int, failure: AssistantFailed, timing: Timing) -> float | None:
    """Return how many seconds to wait after a failed attempt; None to give up."""
    if attempt >= timing.attempts or not failure.is_passing:
        return None
    half = min(_LONGEST_PAUSE, _FIRST_PAUSE * float(2 ** (attempt - 1))) / 2
    least = half if failure.retry_after is None else failure.retry_after
    return least + timing.chance() * half if least <= _LONGEST_ASKED else None


def persist(wire: Wire, work: Callable[[], T], may_repeat: Callable[[], bool] = lambda: True) -> T:
    """Do something with a provider, again if what kept it from succeeding passes."""
    attempt = 0
    while True:
        attempt += 1
        wire.check()
        try:
            return work()
        except AssistantFailed as failure:
            # a connection that we cut looks like one that the provider cut
            wire.check()
            pause = pause_after(attempt, failure, wire.timing) if may_repeat() else None
            if pause is None or pause >= wire.left():
                raise
        wire.pause(pause)


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Read how long a provider asks to wait, in seconds; None where it does not say.

    Formats: ``retry-after-ms`` in milliseconds, else https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
    """
    for name, parts in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / parts
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now())
    except (KeyError, ValueError):
        return None


NONSENSE = (ValueError, TypeError, AttributeError, LookupError, RuntimeError, ArithmeticError)
"""What an SDK, or reading what it gives, raises over an answer that is not what the provider's protocol says."""

_SHOWN_CHARS = 300
_READ_CHARS = 4_000
"""Of what a provider said, searched for secrets before its beginning is shown."""
_TOO_LONG_CODES = frozenset({"context_length_exceeded", "string_above_max_length", "request_too_large"})
_TOO_LONG_WORDS = ("context length", "context window", "prompt is too long", "input token count", "maximum context")
_PASSING_CODES = frozenset(
    {"server_error", "rate_limit_exceeded", "overloaded_error", "api_error", "rate_limit_error", "vector_store_timeout"}
)
_NO_CREDIT_CODES = frozenset({"insufficient_quota", "billing_error"})


def excerpt(message: object) -> str:
    """Return what a provider said, on one line, without secrets and not too long."""
    text = " ".join(redact(str(message)[:_READ_CHARS]).text.split()).removesuffix(".")
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def from_status(
    name: str, variable: str, status: int, code: str, message: str, headers: Mapping[str, str]
) -> AssistantFailed:
    """Return the error for an answer with an HTTP status that says no."""
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
    """Return the error for a failure that is reported inside an answer that began well."""
    problem = f"{name} failed: {excerpt(message)}"
    if is_too_long(code, str(message)):
        return too_long(problem)
    return AssistantFailed(problem, "Ask again later", reason="failing", is_passing=code in _PASSING_CODES)


def is_too_long(code: str, message: str) -> bool:
    """Whether a provider says that the input does not fit."""
    lowered = message.lower()
    return code in _TOO_LONG_CODES or any(words in lowered for words in _TOO_LONG_WORDS)


def too_long(problem: str) -> AssistantFailed:
    """Return the error for input that is too long for the provider."""
    return AssistantFailed(
        problem, "Continue with another conversation, or configure the model's true window", reason="too_long"
    )


def of_connection(name: str, wire: Wire, error: BaseException) -> AssistantFailed:
    """Translate an error of httpx, whichever httpx an SDK uses."""
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
        # h11 takes 100 KiB of headers, or of what stands around a chunk
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
        # what a proxy answers begins with its status; of those only its own faults pass
        is_passing=type(error).__name__ != "ProxyError" or str(error).startswith("5"),
    )


def _proxy_of(error: Any) -> str | None:
    try:
        connecting = error.request.extensions.get("trace")
    except (RuntimeError, AttributeError):
        # httpx knows of no request
        return None
    return connecting.proxy if isinstance(connecting, Connecting) else None


def cut(name: str) -> AssistantFailed:
    """Return the error for an answer that ended before it was whole."""
    return AssistantFailed(
        f"{name} cut the connection before its answer was whole", "Ask again", reason="cut", is_passing=True
    )


def nonsense(name: str, error: BaseException | str) -> AssistantFailed:
    """Return the error for an answer that is not what the provider's protocol says."""
    return AssistantFailed(
        f"{name} answered what its protocol does not know: {excerpt(error)}",
        "Check that the address is one of this kind of provider",
        reason="nonsense",
    )


def empty(name: str, *, is_cut: bool, notes: tuple[str, ...] = ()) -> AssistantFailed:
    """Return the error for an answer without a word in it."""
    if is_cut:
        return AssistantFailed(
            f"{name} used up its output limit before it said a word", "Configure a higher output limit", reason="empty"
        )
    why = f": {'; '.join(notes)}" if notes else ""
    return AssistantFailed(f"{name} answered without a word{why}", "Ask again, or ask differently", reason="empty")
