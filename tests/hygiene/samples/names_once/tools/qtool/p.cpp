namespace {
thread_local int calls = 1;
}  // namespace
