"""Moving a store into another, row by row, between any two databases."""
