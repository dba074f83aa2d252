#pragma once
#define DECLARE(name) int name();
extern const int kTable[3];
using Function = int (*)(int);
struct Row {
  int (*run)(int);
  virtual int size() const = 0;
  int value = twice(2);
};
static_assert(sizeof(Row) > 1);
inline int twice(int x) {
  if (x > 1) run(x);
  return 2 * x;
}
