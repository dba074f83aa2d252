#pragma once

namespace qtool {

/// How the current thread rounds and treats denormals: the control register of its floating-point
/// unit, as far as this architecture has one that is worth setting (x86: MXCSR, Arm: FPCR).
class FloatingPointMode {
 public:
  static unsigned current() noexcept;
  static void set(unsigned mode) noexcept;
  /// `mode` with denormals read and written as zero.
  static unsigned flushing(unsigned mode) noexcept;

  /// `mode` on the current thread while it lives.
  class Guard {
   public:
    explicit Guard(unsigned mode) noexcept : saved_(current()) {
      if (mode != saved_) set(mode);
    }
    ~Guard() { set(saved_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    unsigned saved_;
  };
};

}  // namespace qtool
