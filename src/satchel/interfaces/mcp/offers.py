"""Resources that a host can attach, and prompts that a person can choose."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.interfaces.mcp.schema import check_arguments, excerpt


@dataclass(frozen=True, slots=True)
class Resource:
    """A text with a URI; ``read`` renders it on each request."""

    uri: str
    name: str
    description: str
    mime_type: str
    read: Callable[[], str]

    def listing(self) -> dict[str, Any]:
        """Return the resource as in ``resources/list``."""
        return {"uri": self.uri, "name": self.name, "description": self.description, "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """Texts with a URI template, as in ``satchel://runs/{run_id}/state``.

    A ``{name}`` matches one or more characters up to the next ``/``, ``?`` or ``#`` (RFC 6570, level 1);
    ``read`` gets the values percent-decoded, so a value may contain a slash.
    """

    uri_template: str
    name: str
    description: str
    mime_type: str
    read: Callable[[Mapping[str, str]], str]

    def listing(self) -> dict[str, Any]:
        """Return the template as in ``resources/templates/list``."""
        return {
            "uriTemplate": self.uri_template,
            "name": self.name,
            "description": self.description,
            "mimeType": self.mime_type,
        }

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values with which the template gives this URI, or None."""
        match = _pattern(self.uri_template).fullmatch(uri)
        if match is None:
            return None
        from urllib.parse import unquote

        try:
            return {name: unquote(value, errors="strict") for name, value in match.groupdict().items()}
        except UnicodeDecodeError:
            raise InvalidInput(
                f"the address {excerpt(uri)} is not UTF-8 when decoded", "Percent-encode it as UTF-8"
            ) from None


@cache
def _pattern(uri_template: str) -> re.Pattern[str]:
    literals_and_names = re.split(r"\{(\w+)\}", uri_template)
    parts = [
        f"(?P<{part}>[^/?#]+)" if position % 2 else re.escape(part) for position, part in enumerate(literals_and_names)
    ]
    return re.compile("".join(parts))


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt."""

    name: str
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A predefined message; ``render`` fills in the arguments."""

    name: str
    description: str
    render: Callable[[Mapping[str, str]], str]
    arguments: tuple[PromptArgument, ...] = ()
    title: str | None = None

    def listing(self) -> dict[str, Any]:
        """Return the prompt as in ``prompts/list``."""
        shown_as: dict[str, Any] = {"name": self.name}
        if self.title is not None:
            shown_as["title"] = self.title
        shown_as["description"] = self.description
        shown_as["arguments"] = [
            {"name": argument.name, "description": argument.description, "required": argument.required}
            for argument in self.arguments
        ]
        return shown_as

    def fill(self, arguments: Mapping[str, object]) -> str:
        """Check the arguments and render the message."""
        schema = {
            "properties": {argument.name: {"type": "string"} for argument in self.arguments},
            "required": [argument.name for argument in self.arguments if argument.required],
        }
        return self.render(check_arguments(schema, arguments, f"{self.name} prompt"))
