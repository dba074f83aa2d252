#pragma once
#include <cstdint>
#include <string>
