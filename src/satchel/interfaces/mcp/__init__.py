"""The MCP face: tool registry, protocol and transports. This package imports nothing by itself."""
