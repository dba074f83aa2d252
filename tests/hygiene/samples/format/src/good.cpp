int good(int x) { return x; }
