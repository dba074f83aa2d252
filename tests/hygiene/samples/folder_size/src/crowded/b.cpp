// One of three.
