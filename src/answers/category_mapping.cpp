#include "answers/category_mapping.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// The name without the differences of spelling that annotations and exporters are known for.
std::string key_of(const std::string& name) {
  std::string key = to_lower(trim(name));
  std::ranges::replace_if(
      key, [](char c) { return c == '_' || c == '-'; }, ' ');
  return key;
}

std::string shown(const BoxCategory& category) {
  return category.name.empty() ? to_text("id ", category.id) : category.name;
}

// Fills `mapping` by equal names.
void map_by_names(const std::vector<BoxCategory>& categories, std::span<const std::string> names,
                  CategoryMapping& mapping) {
  mapping.match.by = CategoriesBy::kNames;
  std::map<std::string, std::size_t> by_key;
  for (std::size_t i = 0; i < categories.size(); ++i) {
    std::string key = key_of(categories[i].name);
    if (!key.empty()) by_key.emplace(std::move(key), i);
  }
  std::vector<bool> has_class(categories.size(), false);
  mapping.of_class.assign(names.size(), -1);
  for (std::size_t label = 0; label < names.size(); ++label) {
    const auto found = by_key.find(key_of(names[label]));
    if (found == by_key.end()) continue;
    mapping.of_class[label] = static_cast<std::int64_t>(found->second);
    has_class[found->second] = true;
  }
  for (std::size_t i = 0; i < categories.size(); ++i) {
    if (!has_class[i]) mapping.match.without_class.push_back(shown(categories[i]));
  }
}

bool have_names(const std::vector<BoxCategory>& categories) {
  return std::ranges::any_of(categories,
                             [](const BoxCategory& category) { return !category.name.empty(); });
}

// Why the names of the classes cannot be used; empty if they can.
std::string fault_of(std::span<const std::string> names, std::int64_t classes,
                     const std::vector<BoxCategory>& categories) {
  if (names.empty()) return {};
  if (classes > 0 && std::ssize(names) != classes) {
    return to_text("the detector has ", classes, " classes, found the names of ", names.size());
  }
  if (!have_names(categories)) return {};
  CategoryMapping mapping;
  map_by_names(categories, names, mapping);
  if (mapping.match.without_class.size() < categories.size()) return {};
  return to_text("none of the ", categories.size(), " categories of the annotations, the first: '",
                 mapping.match.without_class.front(), "', has the name of one of the detector's ",
                 names.size(), " classes, the first: '", names.front(), "'");
}

// Fills `mapping` by the ids. There are at least as many classes as categories.
void map_by_ids(const std::vector<BoxCategory>& categories, std::int64_t classes,
                CategoryMapping& mapping) {
  const auto count = std::ssize(categories);
  const std::int64_t highest = categories.back().id;
  const bool from_one = highest == classes && categories.front().id >= 1;
  const bool by_ids = count < classes && (from_one || highest == classes - 1);
  mapping.match.by = by_ids ? CategoriesBy::kIds : CategoriesBy::kOrder;
  mapping.of_class.assign(static_cast<std::size_t>(classes), -1);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t id = categories[static_cast<std::size_t>(i)].id;
    const std::int64_t label = !by_ids ? i : from_one ? id - 1 : id;
    mapping.of_class[static_cast<std::size_t>(label)] = i;
  }
}

}  // namespace

CategoryMapping map_categories(const BoxAnnotations& annotations, std::int64_t classes,
                               std::span<const std::string> names, NamesFrom names_from) {
  const std::vector<BoxCategory>& categories = annotations.categories;
  const std::int64_t count = std::ssize(categories);
  CategoryMapping mapping;
  mapping.match.categories = count;
  mapping.match.classes = classes;
  const std::string fault = fault_of(names, classes, categories);
  if (!fault.empty()) {
    if (names_from == NamesFrom::kUser) {
      throw Error(ErrorCode::kMismatch,
                  to_text(fault, "; give the right names by --labels, one line for each class"));
    }
    mapping.match.unsuited_names = fault;
    names = {};
  }
  mapping.match.classes_named = !names.empty();
  if (!names.empty() && have_names(categories)) {
    map_by_names(categories, names, mapping);
    return mapping;
  }
  if (classes > 0 && count > classes) {
    const std::string reason =
        !names.empty()  ? "the categories have no names"
        : fault.empty() ? "nothing names these; give their names by --labels"
                        : to_text("the names in the model's metadata do not suit: ", fault,
                                  "; give the right names by --labels");
    throw Error(ErrorCode::kMismatch,
                to_text("the annotations have ", count, " categories, more than the detector has ",
                        "classes (", classes, "), and ", reason));
  }
  map_by_ids(categories, classes > 0 ? classes : count, mapping);
  return mapping;
}

}  // namespace qtool
