"""The engine on PostgreSQL, for teams; only this package imports psycopg."""
