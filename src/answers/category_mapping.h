#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qtool/answers/annotations.h"

namespace qtool {

/// The category of each class of a detector.
struct CategoryMapping {
  CategoryMatch match;
  std::vector<std::int64_t> of_class;  ///< index in BoxAnnotations::categories; -1: none
};

/// Maps the categories of annotations to the `classes` of a detector; 0 is an unknown number.
/// Where both have names, a class is the category of the same name. Case does not count, and
/// blanks, `_` and `-` are equal. If several categories have one name, the lowest id has the class.
/// Otherwise the ids decide: class k is the category with the k-th lowest id if there are as many
/// classes as categories, the category with id k + 1 if there are as many classes as the highest
/// id, and the category with id k if there is one class more, as in DETR. If there are more classes
/// than categories for none of these reasons, the order is a guess, see CategoryMatch::is_guess().
/// `names`: one for each class, or none. Names do not suit if there is another number of them, or
/// if no category has the name of a class. Names of a model that do not suit are not used, see
/// CategoryMatch::unsuited_names. Throws Error(kMismatch) for names of the user that do not suit,
/// and for more categories than classes without names. Cost: O(n log n).
CategoryMapping map_categories(const BoxAnnotations& annotations, std::int64_t classes,
                               std::span<const std::string> names,
                               NamesFrom names_from = NamesFrom::kUser);

}  // namespace qtool
