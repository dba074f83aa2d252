#include "qtool/tensor/strange.h"
