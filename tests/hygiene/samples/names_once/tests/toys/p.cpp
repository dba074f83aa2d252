namespace {
int alone = 1;
}  // namespace
