int shared_value() { return 0; }
