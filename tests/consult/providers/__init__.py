"""Local servers that speak the wire protocols of the providers of assistants, and fail on demand."""
