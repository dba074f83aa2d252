#include "options/sequence.h"

#include "base/text.h"
#include "cli/value_checks.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

constexpr const char* kImagesGroup = "Images";
constexpr std::int64_t kMaxWindow = std::int64_t{1} << 28;

}  // namespace

void SequenceOptions::add_to(Command& command) {
  command
      .option("--state", states_,
              "Feed an output back as the next sample's input\n"
              "Zeros at the beginning of each file; samples are then run in their order.")
      .placeholder("INPUT=OUTPUT")
      .one_value_each()
      .group(kImagesGroup);
  command
      .option("--window", audio_.window,
              "Values of a .wav file in each sample\n"
              "Without it what the input takes, or the whole file.")
      .placeholder("N")
      .check(whole_number(1, kMaxWindow))
      .group(kImagesGroup);
  command
      .option("--hop", audio_.hop,
              "Values by which the next sample begins later\n"
              "The others are seen again, zeros before the first. Without it samples do not "
              "overlap.")
      .placeholder("N")
      .check(whole_number(1, kMaxWindow))
      .group(kImagesGroup);
  for (const char* option : {"--state", "--window", "--hop"}) {
    command.goes_with(option, {{"--inputs", {}}});
  }
}

TensorReading SequenceOptions::reading() const {
  TensorReading reading{audio_, {}};
  for (const std::string& text : states_) {
    const std::vector<std::string> names = split(text, '=');
    if (names.size() != 2 || names[0].empty() || names[1].empty()) {
      throw Error(ErrorCode::kUsage, to_text("--state: found '", text, "', expected INPUT=OUTPUT"));
    }
    reading.states.push_back({names[0], names[1]});
  }
  return reading;
}

}  // namespace qtool::tool
