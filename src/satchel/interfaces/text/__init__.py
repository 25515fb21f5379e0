"""Results as text and JSON: for each kind its line, the whole of it, and its confirmations."""
