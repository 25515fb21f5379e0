"""What is kept: one module for each thing."""
