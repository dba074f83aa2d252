#pragma once
class Shared {
 public:
  Shared() = default;
  virtual void nothing() = 0;
  [[nodiscard]] int value() const;
};
