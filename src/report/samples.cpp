#include "report/samples.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "compare/class_tally.h"
#include "report/answers.h"
#include "report/csv.h"

namespace qtool {
namespace {

using Kind = TextTable::Kind;
constexpr std::size_t kMaxSampleRows = 5;
constexpr std::size_t kMaxBadImages = 10;

// Adds the number of a class and its name. Each is empty if it is not known.
void add_class(const EvalResult& result, std::int64_t index, std::vector<std::string>& fields) {
  const auto i = static_cast<std::size_t>(index);
  fields.push_back(index < 0 ? std::string() : to_text(index));
  fields.push_back(index >= 0 && i < result.class_names.size() ? csv_text(result.class_names[i])
                                                               : std::string());
}

void add_top1(const EvalResult& result, const TopClass& top, std::vector<std::string>& fields) {
  add_class(result, top.index, fields);
  fields.push_back(top.index < 0 ? std::string() : to_text(top.margin));
}

const std::vector<std::string> kClassColumns{
    "image",       "label",      "label_name", "fp32_class",  "fp32_name",
    "fp32_margin", "int8_class", "int8_name",  "int8_margin",
};

std::vector<std::string> class_fields(const EvalResult& result, const SampleResult& sample) {
  std::vector<std::string> fields{csv_path(sample.path)};
  add_class(result, sample.label, fields);
  for (const TopClass& top : sample.top1) add_top1(result, top, fields);
  return fields;
}

std::string signed_text(std::int64_t number) { return to_text(number > 0 ? "+" : "", number); }

std::string name_in_text(const EvalResult& result, std::int64_t index) {
  return printable(class_name(index, result.class_names));
}

// The classes whose top-1 changed, the largest change first.
std::vector<ClassTally> changed_most(const EvalResult& result) {
  std::vector<ClassTally> classes = tally_classes(result.samples);
  const auto change = [](const ClassTally& one) { return std::abs(one.top1[1] - one.top1[0]); };
  std::erase_if(classes, [&](const ClassTally& one) { return change(one) == 0; });
  std::stable_sort(classes.begin(), classes.end(),
                   [&](const ClassTally& a, const ClassTally& b) { return change(a) > change(b); });
  return classes;
}

// Says how many rows a table leaves out.
std::string rest_line(std::size_t rows) {
  if (rows <= kMaxSampleRows) return {};
  return to_text("and ", rows - kMaxSampleRows, " more, see --json\n");
}

std::string more_line(std::int64_t count) {
  return count > 0 ? to_text("  and ", count, " more\n") : std::string();
}

std::string bad_image_lines(const std::vector<BadImage>& bad) {
  if (bad.empty()) return {};
  std::string text = to_text("left out ", bad.size(), bad.size() == 1 ? " image:\n" : " images:\n");
  const std::size_t named = std::min(bad.size(), kMaxBadImages);
  for (std::size_t i = 0; i < named; ++i) text += to_text("  ", printable(bad[i].reason), "\n");
  return to_text(text, more_line(static_cast<std::int64_t>(bad.size() - named)));
}

std::string passed_over_lines(const PassedOver& files) {
  if (files.count == 0) return {};
  std::string text = to_text("left out ", files.count, files.count == 1 ? " picture" : " pictures",
                             " in formats that are not read (convert to PNG or JPEG):\n");
  for (const auto& path : files.first) text += to_text("  ", printable(path.string()), "\n");
  return to_text(text, more_line(files.count - std::ssize(files.first)));
}

}  // namespace

void UnusedFiles::add(const std::vector<BadImage>& more) {
  std::set<std::filesystem::path> known;
  for (const BadImage& image : bad) known.insert(image.path);
  for (const BadImage& image : more) {
    if (!known.contains(image.path)) bad.push_back(image);
  }
}

std::string text_of(const UnusedFiles& files) {
  return to_text(bad_image_lines(files.bad), passed_over_lines(files.passed_over));
}

std::string samples_csv(const EvalResult& result) {
  std::vector<std::string> columns = kClassColumns;
  for (const OutputError& output : result.outputs) {
    columns.push_back(result.outputs.size() == 1 ? "sqnr_db"
                                                 : csv_text(to_text("sqnr_db:", output.name)));
  }
  std::string csv = csv_record(columns);
  for (const SampleResult& sample : result.samples) {
    std::vector<std::string> fields = class_fields(result, sample);
    for (const double sqnr_db : sample.sqnr_db) fields.push_back(to_text(sqnr_db));
    fields.resize(columns.size());  // a sample without an answer has no SQNR
    csv += csv_record(fields);
  }
  return csv;
}

std::string flips_csv(const EvalResult& result) {
  std::vector<std::string> columns = kClassColumns;
  columns.emplace_back("margin_lost");
  std::string csv = csv_record(columns);
  for (const SampleResult* sample : flips(result.samples)) {
    std::vector<std::string> fields = class_fields(result, *sample);
    fields.push_back(to_text(sample->margin_lost));
    csv += csv_record(fields);
  }
  return csv;
}

std::string text_of_classes(const EvalResult& result, std::size_t width) {
  if (!result.int8 || result.labelled == 0) return {};
  std::string text;
  const std::vector<ClassTally> classes = changed_most(result);
  if (!classes.empty()) {
    TextTable table({{"top-1 changed most"},
                     {to_text(result.noun, "s"), Kind::kNumber, 1},
                     {"FP32", Kind::kNumber, 2},
                     {"INT8", Kind::kNumber, 3},
                     {"change", Kind::kNumber, 4}});
    for (std::size_t i = 0; i < classes.size() && i < kMaxSampleRows; ++i) {
      const ClassTally& one = classes[i];
      table.add({name_in_text(result, one.label), to_text(one.images), to_text(one.top1[0]),
                 to_text(one.top1[1]), signed_text(one.top1[1] - one.top1[0])});
    }
    text += table.to_string(width) + rest_line(classes.size());
  }
  std::vector<Confusion> pairs = confusions(result.samples);
  std::erase_if(pairs, [](const Confusion& one) { return one.images[0] == one.images[1]; });
  if (!pairs.empty()) {
    TextTable table({{"mistakes that changed most"},
                     {"taken for"},
                     {"FP32", Kind::kNumber, 2},
                     {"INT8", Kind::kNumber, 3},
                     {"change", Kind::kNumber, 4}});
    for (std::size_t i = 0; i < pairs.size() && i < kMaxSampleRows; ++i) {
      const Confusion& one = pairs[i];
      table.add({name_in_text(result, one.label), name_in_text(result, one.answer),
                 to_text(one.images[0]), to_text(one.images[1]),
                 signed_text(one.images[1] - one.images[0])});
    }
    text += table.to_string(width) + rest_line(pairs.size());
  }
  return text;
}

std::string overlap_line(const std::optional<Overlap>& overlap, std::string_view verdict) {
  if (!overlap) return "";
  const char* plural = overlap->samples == 1 ? "" : "s";
  if (overlap->common == 0) {
    return to_text("none of ", overlap->samples, " ", overlap->noun, plural, " set the ranges\n");
  }
  return to_text(overlap->common, " of ", overlap->samples, " ", overlap->noun, plural,
                 " also set the ranges", verdict, "\n");
}

}  // namespace qtool
