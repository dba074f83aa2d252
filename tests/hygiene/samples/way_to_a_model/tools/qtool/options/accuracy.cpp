const char* kDefaults[] = {"quick", "plain", "guess_ranges"};
