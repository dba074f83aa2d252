#include <immintrin.h>
#include <unistd.h>
#include <boost/any.hpp>
#include <dnnl.hpp>
#include "utils/helpers.h"
#include "kernels/gemm/gemm.h"
void talk() {
  std::cout << "hello";
  printf("hello");
  snprintf(buffer, size, "hello");
  // exit(1) is only mentioned
  ::umask(0);
}
