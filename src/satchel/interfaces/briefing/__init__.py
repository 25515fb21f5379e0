"""What briefings hold, for agents as compact text and for machines as plain JSON."""
