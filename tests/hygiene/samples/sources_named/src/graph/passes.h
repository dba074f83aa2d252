#pragma once
void fold();
