#pragma once

// Loops over registers. An array of vectors stays in registers only if every index is a constant
// before the compiler optimizes loops, so templates expand these loops. Everything here is internal
// to the file that includes it: an ISA file (one that is built for a single instruction set) must
// not emit functions that another file could use.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

template <unsigned kValue>
struct Constant {
  static constexpr unsigned value = kValue;
  constexpr operator unsigned() const { return kValue; }  // NOLINT(google-explicit-constructor)
};

template <unsigned... kIndices>
struct Indices {};

template <unsigned kCount, unsigned... kIndices>
struct MakeIndices : MakeIndices<kCount - 1, kCount - 1, kIndices...> {};

template <unsigned... kIndices>
struct MakeIndices<0, kIndices...> {
  using Type = Indices<kIndices...>;
};

template <typename Body, unsigned... kIndices>
[[gnu::always_inline]] inline void expand(Indices<kIndices...> /*indices*/, const Body& body) {
  (body(Constant<kIndices>{}), ...);
}

// Calls body(0), body(1), ... body(kCount - 1) with constants. `body` must be always_inline.
template <unsigned kCount, typename Body>
[[gnu::always_inline]] inline void unroll(const Body& body) {
  expand(typename MakeIndices<kCount>::Type{}, body);
}

}  // namespace
}  // namespace qtool

#define QTOOL_INLINE __attribute__((always_inline))
