// Exists.
