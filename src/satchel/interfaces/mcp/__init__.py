"""The MCP interface: tool registry, protocol and transports. This package imports nothing."""
