// One of two.
