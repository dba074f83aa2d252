#include "qtool/base/of_unit.h"
// #include "qtool/base/of_a_comment.h"
#include "unit/shared.h"
