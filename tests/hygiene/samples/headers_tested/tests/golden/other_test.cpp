#include "qtool/base/of_other_tests.h"
