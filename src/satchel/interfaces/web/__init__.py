"""The control room: web pages for people, served on the port of the server."""
