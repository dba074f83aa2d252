namespace {
constexpr int kLimit = 4;
}

int size_of(int a) { return a; }
