#pragma once

#include "qtool/base/of_a_test_header.h"
