namespace {
void run(int a) {}
}  // namespace
