#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "qtool/compare/evaluate.h"

namespace qtool {

/// The results of the models on the images of one class.
struct ClassTally {
  std::int64_t label = 0;
  std::int64_t images = 0;
  std::array<std::int64_t, 2> top1{};  ///< right answers: FP32, INT8
};

/// Images of one class that a model takes for another.
struct Confusion {
  std::int64_t label = 0;
  std::int64_t answer = 0;
  std::array<std::int64_t, 2> images{};  ///< numbers of images: FP32, INT8
};

/// One entry for each class that has images, in the order of the classes. Cost: O(n log n).
std::vector<ClassTally> tally_classes(std::span<const SampleResult> samples);

/// One entry for each pair of a class and a wrong answer that a model gave. Sorted by how much the
/// number of images differs between the models, largest first; then by the larger of the two
/// numbers, largest first; then by class. Cost: O(n log n).
std::vector<Confusion> confusions(std::span<const SampleResult> samples);

/// The samples that INT8 answers with another class than FP32. Sorted by the lost margin, largest
/// first; samples with equal margins stay in the order of the list. Cost: O(n log n).
std::vector<const SampleResult*> flips(std::span<const SampleResult> samples);

/// The mean SQNR of a sample's outputs; infinity where a model did not answer.
double mean_sqnr_db(const SampleResult& sample);

/// At most `count` of the samples that both models answered. Sorted by the mean SQNR, lowest first;
/// samples with equal means stay in the order of the list. Cost: O(n log n).
std::vector<const SampleResult*> lowest_sqnr(std::span<const SampleResult> samples,
                                             std::size_t count);

}  // namespace qtool
