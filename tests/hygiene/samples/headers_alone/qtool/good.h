#pragma once
#include <string>
inline std::string good() { return "good"; }
