#pragma once
#include <cstdint>
#include <cmath>
