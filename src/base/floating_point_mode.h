#pragma once

namespace qtool {

/// Controls how the current thread rounds and treats denormals. A mode is the content of the
/// control register of the floating-point unit (x86: MXCSR, Arm: FPCR). On other architectures the
/// mode is always 0 and setting it does nothing.
class FloatingPointMode {
 public:
  static unsigned current() noexcept;
  static void set(unsigned mode) noexcept;
  /// `mode` with denormals read and written as zero.
  static unsigned flushing(unsigned mode) noexcept;

  /// Sets `mode` on the current thread; the destructor restores the previous mode.
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
