"""The store: the engine, the schema and its migrations, and the upkeep of the file."""
