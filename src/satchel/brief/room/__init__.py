"""What a person looks at every few minutes: what needs them, what has changed, who is where, what collides."""
