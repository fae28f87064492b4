"""How a stream of bytes is cut into records: as lines, as the elements of an array, or as documents."""
