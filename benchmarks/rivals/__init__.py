"""Satchel beside other memory servers: how fast each is, and what of its notes outlives a disaster."""
