#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "qtool/compare/evaluate.h"

namespace qtool {

/// How the models did on the images of one class.
struct ClassTally {
  std::int64_t label = 0;
  std::int64_t images = 0;
  std::array<std::int64_t, 2> top1{};  ///< right answers of FP32, of INT8
};

/// Images of one class that a model takes for another.
struct Confusion {
  std::int64_t label = 0;
  std::int64_t answer = 0;
  std::array<std::int64_t, 2> images{};  ///< of FP32, of INT8
};

/// One for each class of which there are images, in the order of the classes. Cost: O(n log n).
std::vector<ClassTally> tally_classes(std::span<const SampleResult> samples);

/// One for each pair of a class and a wrong answer that a model gave: those whose number of images
/// changed most between the models first, of equal ones the most frequent, then in the order of the
/// classes. Cost: O(n log n).
std::vector<Confusion> confusions(std::span<const SampleResult> samples);

/// The samples that INT8 answers with another class than FP32, those that lost the largest margin
/// first, of equal ones in the order of the list. Cost: O(n log n).
std::vector<const SampleResult*> flips(std::span<const SampleResult> samples);

/// The mean SQNR of a sample's outputs; infinity where a model did not answer.
double mean_sqnr_db(const SampleResult& sample);

/// At most `count` of the samples that both models answered, those with the lowest mean SQNR first,
/// of equal ones in the order of the list. Cost: O(n log n).
std::vector<const SampleResult*> lowest_sqnr(std::span<const SampleResult> samples,
                                             std::size_t count);

}  // namespace qtool
