#pragma once
inline std::vector<int> bad() { return {}; }
