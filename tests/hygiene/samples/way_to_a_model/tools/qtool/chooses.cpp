// Chooses an effort, a rounding and a step, and runs the step.
const char* rounding = "plain";
const bool quick = effort == Effort::kQuick || name == "quick";
const bool guesses = step == "guess_ranges";
Ranges ranges = guess_ranges(table);
const char* help = "--effort quick";
