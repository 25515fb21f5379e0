"""The configuration and the server of a project as text; tokens only by their public id."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from satchel.base.config_keys import Config, Value
from satchel.base.errors import SatchelError
from satchel.interfaces.text.parts import json_line
from satchel.redaction import redact
from satchel.remote.where import public_id, server_for


def config_text(config: Config) -> str:
    """Render the effective configuration: value, source and meaning of each key, then the warnings."""
    lines = [
        f"{setting.key.name} = {json_line(safe_value(setting.value))} ({setting.source}): {setting.key.help}"
        for setting in config.settings
    ]
    return "\n".join([*lines, *(f"warning: {redact(warning).text}" for warning in config.warnings)])


def config_fields(config: Config) -> dict[str, object]:
    """Return the effective configuration; null means that a key is not set."""
    return {
        "settings": {
            setting.key.name: {
                "value": safe_value(setting.value),
                "source": setting.source,
                "read_from": setting.key.read_from,
                "help": setting.key.help,
            }
            for setting in config.settings
        },
        "warnings": [redact(warning).text for warning in config.warnings],
    }


def safe_value(value: Value) -> Value:
    """Return a value of the configuration without secrets."""
    # no key is for a secret, but any text may hold one
    return redact(value).text if isinstance(value, str) else value


def server_fields(environ: Mapping[str, str], folder: Path) -> dict[str, str] | None:
    """Return the server of a folder as JSON fields; None for a local store."""
    try:
        server = server_for(environ, folder)
    except SatchelError as error:
        return {"fault": str(error)}
    if server is None:
        return None
    return {"url": server.url, "token": public_id(server.token), "source": server.source}


def server_line(fields: Mapping[str, str]) -> str:
    if "fault" in fields:
        return fields["fault"]
    return f"{fields['url']} with token {fields['token']} ({fields['source']})"
