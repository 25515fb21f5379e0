"""OpenAI's SDK as both adapters use it: how a client is made, and what its errors mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base.errors import AssistantFailed
from satchel.consult.assistants import failing
from satchel.consult.assistants.protocol import ThreadLost
from satchel.consult.assistants.sdk_client import StainlessClient, making
from satchel.consult.assistants.wire import Wire

if TYPE_CHECKING:
    from openai import OpenAI

KEY_VARIABLE = "OPENAI_API_KEY"
OWN_URL = "https://api.openai.com/v1"
_LOST_CODE = "previous_response_not_found"
_NO_KEY = "none"


class OpenAIClient(StainlessClient):
    """A client for one call."""

    def __init__(self, name: str, wire: Wire, *, base_url: str | None, key: str | None, variable: str) -> None:
        """Make a client.

        Args:
            name: the assistant with its address, for errors.
            base_url: of an endpoint that is not OpenAI's own; None is OpenAI's, whatever the environment says.
            key: None where the endpoint needs none.
            variable: the environment variable that holds the key, for errors.

        Raises:
            Unavailable: the SDK is missing, or what the environment says of connections is of no use.
        """
        try:
            import openai
        except ImportError as error:
            raise failing.missing_sdk(name, "openai", error) from error
        super().__init__(name, wire, variable, openai, openai.OpenAIError)
        with making(name):
            self.sdk: OpenAI = openai.OpenAI(
                api_key=key or _NO_KEY,
                base_url=base_url or OWN_URL,
                max_retries=0,
                http_client=openai.DefaultHttpxClient(event_hooks=wire.event_hooks()),
            )
        if base_url is not None:
            # the environment's names for an account at OpenAI are nobody else's business
            self.sdk.organization = self.sdk.project = None
        if variable != KEY_VARIABLE:
            # so are the headers of OPENAI_CUSTOM_HEADERS, which may hold a key
            self.sdk._custom_headers = {}  # noqa: SLF001 -- the SDK reads the variable whatever it is given

    def failure(self, error: Any) -> AssistantFailed:
        """Tell what one of the SDK's own errors means.

        Returns:
            A :class:`ThreadLost` where the thread is what the provider does not know.
        """
        code, message = self.said(error) if hasattr(error, "body") else ("", "")
        if code == _LOST_CODE or (getattr(error, "param", None) == "previous_response_id" and "not found" in message):
            return ThreadLost(
                f"{self.name} has forgotten the thread: {failing.shown(message)}",
                "What it held is sent again",
                reason="thread_lost",
            )
        return super().failure(error)
