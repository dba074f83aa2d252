#pragma once
template <typename T = int>
class Member : public Base {
 public:
  [[nodiscard]] int value() const { return (call)(1); }
  int other() const;
};
