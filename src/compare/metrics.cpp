#include "compare/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

void require_equal_sizes(std::string_view metric, std::size_t a, std::size_t b) {
  if (a != b) {
    throw Error(ErrorCode::kMismatch,
                to_text(metric, ": the signals have ", a, " and ", b, " elements, expected equal"));
  }
}

}  // namespace

bool has_answer(std::span<const float> output) {
  bool finite = output.empty();
  for (const float value : output) {
    if (std::isnan(value) || value == std::numeric_limits<float>::infinity()) return false;
    finite = finite || std::isfinite(value);
  }
  return finite;
}

SqnrSums& SqnrSums::operator+=(const SqnrSums& other) {
  signal += other.signal;
  noise += other.noise;
  return *this;
}

double SqnrSums::decibels() const {
  if (noise == 0.0) return kSqnrLimitDb;
  if (!std::isfinite(noise) || !std::isfinite(signal)) return -kSqnrLimitDb;
  return std::clamp(10.0 * std::log10(signal / noise), -kSqnrLimitDb, kSqnrLimitDb);
}

SqnrSums sqnr_sums(std::span<const float> reference, std::span<const float> approximation) {
  require_equal_sizes("sqnr", reference.size(), approximation.size());
  // Additions to a single sum would wait for each other.
  constexpr std::size_t kSqnrLanes = 4;
  std::array<SqnrSums, kSqnrLanes> lanes;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (std::isinf(reference[i]) && reference[i] == approximation[i]) continue;
    const double x = reference[i];
    const double difference = x - static_cast<double>(approximation[i]);
    lanes[i % kSqnrLanes].signal += x * x;
    lanes[i % kSqnrLanes].noise += difference * difference;
  }
  SqnrSums sums;
  for (const SqnrSums& lane : lanes) sums += lane;
  return sums;
}

double psnr_db(const SqnrSums& sums, std::int64_t elements, double peak) {
  return SqnrSums{peak * peak * static_cast<double>(elements), sums.noise}.decibels();
}

double sqnr_db(std::span<const float> reference, std::span<const float> approximation) {
  return sqnr_sums(reference, approximation).decibels();
}

double cosine(std::span<const float> a, std::span<const float> b) {
  require_equal_sizes("cosine", a.size(), b.size());
  double product = 0.0;
  double square_a = 0.0;
  double square_b = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    const double y = b[i];
    product += x * y;
    square_a += x * x;
    square_b += y * y;
  }
  if (square_a == 0.0 && square_b == 0.0) return 1.0;
  const double result = product / (std::sqrt(square_a) * std::sqrt(square_b));
  if (!std::isfinite(result)) return 0.0;
  return std::clamp(result, -1.0, 1.0);
}

double max_abs_error(std::span<const float> a, std::span<const float> b) {
  require_equal_sizes("max error", a.size(), b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

std::vector<std::int64_t> top_k(std::span<const float> scores, std::int64_t count) {
  if (count < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("top-k: k is ", count, ", expected 0 or more"));
  }
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto kept = order.begin() + std::min<std::int64_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), kept, order.end(), [&](std::int64_t a, std::int64_t b) {
    const float x = scores[static_cast<std::size_t>(a)];
    const float y = scores[static_cast<std::size_t>(b)];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (x != y && !std::isnan(x)) return x > y;
    return a < b;
  });
  order.erase(kept, order.end());
  return order;
}

bool is_unsteady(double median_seconds, double fastest_seconds) noexcept {
  constexpr double kSteady = 1.5;
  return median_seconds >= kSteady * fastest_seconds;
}

std::vector<double> softmax(std::span<const float> logits) {
  std::vector<double> result(logits.begin(), logits.end());
  if (result.empty()) return result;
  const double largest = *std::max_element(result.begin(), result.end());
  double sum = 0.0;
  for (double& value : result) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (double& value : result) value /= sum;
  return result;
}

bool are_probabilities(std::span<const float> scores) {
  double sum = 0.0;
  for (const float score : scores) {
    if (!(score >= 0.0F && score <= 1.0F)) return false;
    sum += score;
  }
  return std::abs(sum - 1.0) <= 1e-3;
}

double mean_of(std::span<const double> values) noexcept {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

MedianInterval median_interval(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double rank = std::floor(0.5 * (count - 1.96 * std::sqrt(count)));
  const std::size_t at = rank < 1.0 ? 0 : static_cast<std::size_t>(rank) - 1;
  MedianInterval result;
  result.low = values[at];
  result.high = values[values.size() - 1 - at];
  result.median = median(std::move(values));
  return result;
}

}  // namespace qtool
