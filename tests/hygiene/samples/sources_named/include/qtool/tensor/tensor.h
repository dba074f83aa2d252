#pragma once
int rank_of(int tensor);
