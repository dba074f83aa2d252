#include "options/resume.h"

#include "base/text.h"
#include "console.h"
#include "overwrite_check.h"

namespace qtool::tool {

void ResumeOption::add_to(Command& command) {
  command
      .option("--resume", file_,
              "Keep what is done in this file, and go on from what it holds\n"
              "So that stopping costs little. Results of another model, table, options or "
              "images are not used. The file is removed when all is done.")
      .placeholder("FILE");
}

void ResumeOption::declare() const {
  if (given()) declare_output(file_);
}

std::unique_ptr<PartialResults> ResumeOption::open(std::uint64_t key) const {
  if (!given()) return nullptr;
  auto results = std::make_unique<PartialResults>(file_, key);
  switch (results->found()) {
    case PartialFile::kAbsent:
      break;
    case PartialFile::kThisWork:
      note(to_text("--resume: '", file_, "' holds ", results->size(), " partial results"));
      break;
    case PartialFile::kOtherWork:
      warning(to_text("--resume: '", file_, "' is of another model, table, options or images: ",
                      "beginning anew, it will be replaced"));
      break;
    case PartialFile::kDamaged:
      warning(to_text("--resume: '", file_, "' is damaged: beginning anew, it will be replaced"));
      break;
  }
  return results;
}

}  // namespace qtool::tool
