"""Sessions: the clients at work in a project, and the agent that each call acts as."""
