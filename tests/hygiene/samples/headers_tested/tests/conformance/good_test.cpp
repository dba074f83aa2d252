#include "qtool/base/of_conformance.h"
