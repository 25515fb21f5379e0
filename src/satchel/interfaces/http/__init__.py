"""Satchel over HTTP: MCP, the JSON API and events, for clients, hooks and people that cannot share a file."""
