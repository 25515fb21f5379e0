"""The ledger as text for agents, which loses nothing, and as plain JSON."""
