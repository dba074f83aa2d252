#include "calib/formats/image_ids.h"

#include <iterator>

#include "base/text.h"
#include "qtool/samples/samples.h"

namespace qtool {

nlohmann::ordered_json image_ids_to_json(const std::vector<std::uint64_t>& ids) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const std::uint64_t id : ids) array.push_back(to_hex(id));
  return array;
}

std::vector<std::uint64_t> image_ids_of(const JsonField& field, std::int64_t count) {
  const std::vector<JsonField> elements = field.elements();
  if (elements.empty() || std::ssize(elements) != count || count > kMaxImageIds) {
    field.fail(to_text("one element for each image, 1 to ", kMaxImageIds));
  }
  std::vector<std::uint64_t> ids;
  ids.reserve(elements.size());
  for (const JsonField& element : elements) {
    const std::uint64_t id = element.as_hex();
    if (!ids.empty() && id < ids.back()) element.fail("sorted numbers");
    ids.push_back(id);
  }
  return ids;
}

}  // namespace qtool
