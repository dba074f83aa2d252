// Built without any of the flags that hardened.sh looks for.
#include <cstdio>

int main(int argc, char** argv) {
  char text[16];
  std::snprintf(text, sizeof text, "%d%s", argc, argv[0]);
  return std::puts(text) + std::puts(__FILE__);
}
