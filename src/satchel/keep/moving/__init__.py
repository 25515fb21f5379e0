"""Export and import: moving items between stores as JSON lines."""
