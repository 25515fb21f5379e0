"""Moving everything of a store into another, row by row, whatever databases hold the two."""
