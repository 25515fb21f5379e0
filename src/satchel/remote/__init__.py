"""A server on another machine, used over HTTP in place of a local store."""
