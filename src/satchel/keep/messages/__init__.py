"""Messages: what agents tell each other. Nothing is loaded here, since every answer asks for what waits."""
