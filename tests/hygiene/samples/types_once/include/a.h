namespace qtool {
struct Twice {
  int a;
};
class Forward;
}  // namespace qtool
