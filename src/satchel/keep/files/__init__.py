"""Files: recorded changes, and claims. Nothing is loaded here, since every answer asks for what is claimed."""
