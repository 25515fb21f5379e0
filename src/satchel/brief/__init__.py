"""Pack: what one agent needs, put together from several kinds of kept things."""
