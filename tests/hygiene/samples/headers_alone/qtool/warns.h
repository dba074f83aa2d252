#pragma once
inline int bad(int unused) { return 1; }
