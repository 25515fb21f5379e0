"""The control room: pages for people, on the port of the server."""
