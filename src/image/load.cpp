#include <optional>

#include "base/text.h"
#include "image/decode_budget.h"
#include "image/image_header.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"

namespace qtool {

std::optional<Tensor> load_preprocessed(const ImageEntry& entry, const Preprocess& preprocess,
                                        BadImages policy, std::vector<BadImage>& bad) {
  // Checked first, so that a wrong option is not reported as a bad file.
  check(preprocess);
  const std::string name = entry.path.string();
  try {
    std::optional<DecodeBudget::Lease> lease;  // until the image is resized
    const Image image = load_image(entry.path, lease, alpha_of(preprocess.channels));
    try {
      return preprocess_image(image, preprocess);
    } catch (const Error& error) {
      throw Error(error.code(), to_text("image '", name, "': ", error.what()));
    }
  } catch (const Error& error) {
    if (policy == BadImages::kFail) throw;
    bad.push_back({entry.path, error.what()});
    return std::nullopt;
  }
}

}  // namespace qtool
