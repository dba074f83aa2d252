#include "report/answers.h"

#include <algorithm>
#include <map>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "compare/intervals.h"

namespace qtool {
namespace {

using Kind = TextTable::Kind;
constexpr std::size_t kMaxAnswerRows = 20;

std::string corners(const Box& box) {
  const auto whole = [](float x) { return to_fixed(static_cast<double>(x), 0); };
  return to_text(whole(box.left), ",", whole(box.top), " ", whole(box.right), ",",
                 whole(box.bottom));
}

std::string box_agreement_text(const BoxAgreement& agreement, std::size_t width) {
  TextTable table({{"  boxes from score"},
                   {"IoU", Kind::kNumber, 8},
                   {"FP32", Kind::kNumber, 5},
                   {"INT8", Kind::kNumber, 4},
                   {"kept", Kind::kNumber, 3},
                   {"", Kind::kNumber, 7},
                   {"of others", Kind::kNumber, 2},
                   {"added", Kind::kNumber, 2},
                   {"mAP", Kind::kNumber, 6}});
  for (const BoxMatch& match : agreement.matches) {
    table.add({to_text("  ", match.score), to_fixed(match.iou, 1), to_text(match.fp32),
               to_text(match.int8), to_text(match.kept), percent_of(match.kept, match.fp32, 1),
               percent_interval(match.kept_interval), to_text(match.added()),
               match.mean_average_precision ? to_fixed(*match.mean_average_precision, 3) : "-"});
  }
  return to_text("boxes by detector '", printable(agreement.detector), "', NMS at IoU ",
                 agreement.nms_iou, ":\n", table.to_string(width));
}

std::string annotated_change(const std::optional<double>& fp32, const std::optional<double>& int8) {
  return fp32 && int8 ? to_signed_fixed(*int8 - *fp32, 3) : std::string("-");
}

// By what the categories of annotations became classes.
std::string categories_line(const CategoryMatch& match) {
  if (match.by == CategoriesBy::kNames) {
    const auto missing = std::ssize(match.without_class);
    std::string text =
        to_text("categories by name: ", match.categories - missing, " of ", match.categories);
    if (missing > 0) {
      text += to_text(", without ", printable(match.names_without_class()), "; ",
                      match.boxes_without_class, " boxes of these do not count");
    }
    return text + "\n";
  }
  return to_text("categories by ",
                 match.by == CategoriesBy::kIds ? "their ids" : "the order of their ids",
                 match.is_guess() ? ", which is a guess" : "", ", since ",
                 match.classes_named            ? "the annotations do not name them"
                 : match.unsuited_names.empty() ? "nothing names the detector's classes"
                                                : "the model's names of classes do not suit",
                 "\n");
}

std::string mask_agreement_text(const MaskAgreement& agreement) {
  const std::optional<double> iou = agreement.mean_iou();
  const std::string interval = agreement.too_many_counts
                                   ? "no interval: too many classes in too many images"
                                   : fixed_interval(agreement.mean_iou_interval, 4);
  return to_text("pixels: ", percent_of(agreement.equal, agreement.pixels), " of the same class",
                 in_brackets(percent_interval(agreement.equal_interval)), ", mean IoU ",
                 iou ? to_fixed(*iou, 4) : std::string("-"), in_brackets(interval), " over ",
                 agreement.classes.size(),
                 agreement.classes.size() == 1 ? " class\n" : " classes\n");
}

std::string text_agreement_text(const TextAgreement& texts) {
  std::string text = to_text("texts: ", texts.equal, " of ", texts.all, " equal (",
                             percent_of(texts.equal, texts.all));
  if (texts.equal_interval) text += to_text(", ", percent_interval(texts.equal_interval));
  const auto mean =
      texts.all == 0 ? 0.0 : static_cast<double>(texts.edits) / static_cast<double>(texts.all);
  return to_text(text, "), mean edit distance ", to_fixed(mean, 2), " (", texts.edits, " edits, ",
                 texts.characters, " characters)\n");
}

std::string spelled_line(const char* model, const Answer& answer,
                         std::span<const std::string> characters) {
  std::string text;
  for (const std::int64_t index : answer.text) text += class_name(index, characters);
  return to_text(model, " text: '", printable(text), "'\n");
}

std::string text_of_boxes(const InferResult& result, std::span<const std::string> class_names,
                          std::size_t width) {
  const std::vector<Box>& fp32 = result.fp32.answer.boxes;
  std::vector<BoxPair> alone(fp32.size());
  for (std::size_t i = 0; i < alone.size(); ++i) alone[i].fp32 = static_cast<std::int64_t>(i);
  const std::vector<BoxPair>& pairs = result.int8 ? result.box_pairs : alone;
  std::vector<TextTable::Column> columns{{"box"}, {"FP32", Kind::kNumber, 8}};
  if (result.int8) {
    columns.insert(columns.end(), {{"INT8", Kind::kNumber, 8}, {"IoU", Kind::kNumber, 3}});
  }
  columns.push_back({"left,top right,bottom", Kind::kText, 2});
  TextTable table(columns);
  for (std::size_t i = 0; i < pairs.size() && i < kMaxAnswerRows; ++i) {
    const BoxPair& pair = pairs[i];
    const Box* first = pair.fp32 ? &fp32[static_cast<std::size_t>(*pair.fp32)] : nullptr;
    const Box* second =
        pair.int8 ? &result.int8->answer.boxes[static_cast<std::size_t>(*pair.int8)] : nullptr;
    const auto score = [](const Box* box) {
      return box == nullptr ? std::string("-") : to_fixed(static_cast<double>(box->score), 3);
    };
    const Box& shown = first != nullptr ? *first : *second;
    std::vector<std::string> row{printable(class_name(shown.label, class_names)), score(first)};
    if (result.int8) {
      row.push_back(score(second));
      row.push_back(first != nullptr && second != nullptr ? to_fixed(pair.iou, 2) : "-");
    }
    row.push_back(corners(shown));
    table.add(row);
  }
  std::string text = pairs.empty() ? std::string("no box\n") : table.to_string(width);
  if (pairs.size() > kMaxAnswerRows)
    text += to_text("and ", pairs.size() - kMaxAnswerRows, " more\n");
  return text;
}

std::string line_of(const char* model, const Mask& mask, std::span<const std::string> class_names) {
  const std::vector<std::pair<std::int32_t, std::int64_t>> order = pixels_by_class(mask);
  std::string text = to_text(model, " pixels:");
  for (std::size_t i = 0; i < order.size() && i < kMaxAnswerRows; ++i) {
    const auto& [label, count] = order[i];
    text += to_text(i == 0 ? " " : ", ",
                    label < 0 ? "no number" : printable(class_name(label, class_names)), " ",
                    percent_of(count, std::ssize(mask.labels)));
  }
  return text + "\n";
}

}  // namespace

std::string class_name(std::int64_t index, std::span<const std::string> class_names) {
  const auto i = static_cast<std::size_t>(index);
  return i < class_names.size() ? class_names[i] : to_text("class ", index);
}

std::vector<std::pair<std::int32_t, std::int64_t>> pixels_by_class(const Mask& mask) {
  std::map<std::int32_t, std::int64_t> counts;
  for (const std::int32_t label : mask.labels) ++counts[label];
  std::vector<std::pair<std::int32_t, std::int64_t>> order(counts.begin(), counts.end());
  std::ranges::stable_sort(order, std::ranges::greater(),
                           &std::pair<std::int32_t, std::int64_t>::second);
  return order;
}

std::string text_of(const AnswerAgreement& agreement, std::size_t width) {
  std::string text;
  if (agreement.boxes) text += box_agreement_text(*agreement.boxes, width);
  if (agreement.mask) text += mask_agreement_text(*agreement.mask);
  const auto line = [&](const char* what, const std::optional<EqualAnswers>& answers) {
    if (!answers) return;
    text += to_text(what, ": ", answers->equal, " of ", answers->all, " equal (",
                    percent_of(answers->equal, answers->all), ")\n");
  };
  line("decisions", agreement.decisions);
  if (agreement.texts) text += text_agreement_text(*agreement.texts);
  return text;
}

std::string text_of(const BoxAccuracy& accuracy, std::size_t width) {
  const AnnotatedPrecision& fp32 = accuracy.fp32;
  const AnnotatedPrecision& int8 = accuracy.int8;
  TextTable table({{"  against annotations"},
                   {"FP32", Kind::kNumber, 5},
                   {"INT8", Kind::kNumber, 4},
                   {"change", Kind::kNumber, 3},
                   {"of others", Kind::kNumber, 2}});
  const auto add = [&](const char* name, const std::optional<double>& a,
                       const std::optional<double>& b, const std::string& interval) {
    const auto figure = [](const std::optional<double>& value) {
      return value ? to_fixed(*value, 3) : std::string("-");
    };
    table.add({to_text("  ", name), figure(a), figure(b), annotated_change(a, b), interval});
  };
  add("mAP, IoU 0.50 to 0.95", fp32.all, int8.all, fixed_interval(accuracy.change_interval, 3));
  add("mAP, IoU 0.50", fp32.iou50, int8.iou50, "");
  add("mAP, IoU 0.75", fp32.iou75, int8.iou75, "");
  add("mAP, small", fp32.small, int8.small, "");
  add("mAP, medium", fp32.medium, int8.medium, "");
  add("mAP, large", fp32.large, int8.large, "");
  add("recall, 100 boxes", fp32.recall, int8.recall, "");
  std::string text =
      to_text(categories_line(accuracy.categories), accuracy.boxes, " annotated boxes in ",
              accuracy.images, accuracy.images == 1 ? " image" : " images");
  if (accuracy.unnamed > 0) {
    text += to_text("; ", accuracy.unnamed, " more images are not annotated and do not count");
  }
  return to_text(text, ":\n", table.to_string(width));
}

std::string text_of_answers(const InferResult& result, std::span<const std::string> class_names,
                            std::size_t width) {
  std::string text;
  if (result.detects) text += text_of_boxes(result, class_names, width);
  if (result.fp32.answer.mask) text += line_of("FP32", *result.fp32.answer.mask, class_names);
  if (result.int8 && result.int8->answer.mask) {
    text += line_of("INT8", *result.int8->answer.mask, class_names);
  }
  // Without names, a text is a list of numbers that says little.
  if (result.answers.texts && result.int8 && !class_names.empty()) {
    text += spelled_line("FP32", result.fp32.answer, class_names);
    text += spelled_line("INT8", result.int8->answer, class_names);
  }
  return text + text_of(result.answers, width);
}

}  // namespace qtool
