"""What is packed into briefings, for agents as compact text and for machines as plain JSON."""
