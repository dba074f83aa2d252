#include "report/answers_json.h"

#include "json/json.h"
#include "report/answers.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

Json json_of_box_agreement(const BoxAgreement& agreement) {
  Json matches = Json::array();
  for (const BoxMatch& match : agreement.matches) matches.push_back(json_of(match));
  return {{"detector", agreement.detector},
          {"nms_iou", agreement.nms_iou},
          {"images", agreement.images},
          {"matches", std::move(matches)}};
}

Json json_of_mask_agreement(const MaskAgreement& agreement) {
  Json classes = Json::array();
  for (const ClassPixels& one : agreement.classes) {
    classes.push_back({{"class", one.label},
                       {"fp32", one.fp32},
                       {"int8", one.int8},
                       {"both", one.both},
                       {"iou", one.iou()}});
  }
  const std::optional<double> iou = agreement.mean_iou();
  return {{"images", agreement.images},
          {"pixels", agreement.pixels},
          {"agreement", share_json(agreement.equal, agreement.pixels)},
          {"agreement_interval", interval_json(agreement.equal_interval)},
          {"mean_iou", iou ? Json(*iou) : Json()},
          {"mean_iou_interval", interval_json(agreement.mean_iou_interval)},
          {"too_many_counts", agreement.too_many_counts},
          {"classes", std::move(classes)}};
}

Json json_of_categories(const CategoryMatch& match) {
  const auto by = [&] {
    switch (match.by) {
      case CategoriesBy::kNames:
        return "names";
      case CategoriesBy::kOrder:
        return "order_of_ids";
      case CategoriesBy::kIds:
        return "ids";
    }
    return "";
  };
  return {{"by", by()},
          {"guess", match.is_guess()},
          {"unsuited_names", match.unsuited_names.empty() ? Json() : Json(match.unsuited_names)},
          {"all", match.categories},
          {"classes", match.classes > 0 ? Json(match.classes) : Json()},
          {"without_class", match.without_class},
          {"boxes_without_class", match.boxes_without_class}};
}

Json json_of_equal_answers(const EqualAnswers& answers) {
  return {{"all", answers.all},
          {"equal", answers.equal},
          {"agreement", share_json(answers.equal, answers.all)}};
}

Json json_of_texts(const TextAgreement& texts) {
  return {{"all", texts.all},
          {"equal", texts.equal},
          {"agreement", share_json(texts.equal, texts.all)},
          {"agreement_interval", interval_json(texts.equal_interval)},
          {"characters", texts.characters},
          {"edits", texts.edits},
          {"mean_edit_distance", share_json(texts.edits, texts.all)}};
}

}  // namespace

Json share_json(std::int64_t part, std::int64_t total) {
  if (total == 0) return {};
  return static_cast<double>(part) / static_cast<double>(total);
}

nlohmann::ordered_json median_json(const MedianInterval& interval) {
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

Json interval_json(const std::optional<Interval>& interval) {
  if (!interval) return {};
  return Json::array({interval->low, interval->high});
}

Json json_of(const BoxMatch& match) {
  const std::optional<double>& precision = match.mean_average_precision;
  return {{"score", match.score},
          {"iou", match.iou},
          {"fp32", match.fp32},
          {"int8", match.int8},
          {"kept", match.kept},
          {"kept_share", share_json(match.kept, match.fp32)},
          {"added", match.added()},
          {"mean_average_precision", precision ? Json(*precision) : Json()},
          {"kept_interval", interval_json(match.kept_interval)},
          {"added_interval", interval_json(match.added_interval)}};
}

Json json_of_outputs(const std::vector<OutputError>& outputs) {
  Json list = Json::array();
  for (const OutputError& output : outputs) {
    list.push_back({{"name", output.name},
                    {"sqnr_db", output.sqnr_db},
                    {"pooled_sqnr_db", output.pooled_sqnr_db},
                    {"lowest_sqnr_db", output.lowest_sqnr_db},
                    {"cosine", output.cosine},
                    {"max_abs_error", output.max_abs_error}});
    list.back()["sqnr_db_interval"] = interval_json(output.sqnr_interval);
    list.back()["pooled_sqnr_db_interval"] = interval_json(output.pooled_interval);
    if (output.psnr_db) list.back()["psnr_db"] = *output.psnr_db;
    const std::string worst = output.lowest_sqnr_image.string();
    if (!worst.empty()) list.back()["lowest_sqnr_image"] = worst;
  }
  return list;
}

Json json_of(const BoxAccuracy& accuracy) {
  const auto precision = [](const AnnotatedPrecision& model) {
    const auto number = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json();
    };
    return Json{{"map", number(model.all)},           {"map_50", number(model.iou50)},
                {"map_75", number(model.iou75)},      {"map_small", number(model.small)},
                {"map_medium", number(model.medium)}, {"map_large", number(model.large)},
                {"recall_100", number(model.recall)}};
  };
  return {{"images", accuracy.images},
          {"images_without_annotations", accuracy.unnamed},
          {"images_of_other_size", accuracy.other_size},
          {"boxes", accuracy.boxes},
          {"categories", json_of_categories(accuracy.categories)},
          {"fp32", precision(accuracy.fp32)},
          {"int8", precision(accuracy.int8)},
          {"fp32_map_interval", interval_json(accuracy.fp32_interval)},
          {"int8_map_interval", interval_json(accuracy.int8_interval)},
          {"map_change_interval", interval_json(accuracy.change_interval)}};
}

void add_agreement(const AnswerAgreement& agreement, Json& json) {
  if (agreement.boxes) json["boxes"] = json_of_box_agreement(*agreement.boxes);
  if (agreement.mask) json["mask"] = json_of_mask_agreement(*agreement.mask);
  if (agreement.decisions) json["decisions"] = json_of_equal_answers(*agreement.decisions);
  if (agreement.texts) json["texts"] = json_of_texts(*agreement.texts);
}

Json json_of(std::span<const Box> boxes, std::span<const std::string> class_names) {
  Json list = Json::array();
  for (const Box& box : boxes) {
    Json entry{{"class", box.label}};
    const auto index = static_cast<std::size_t>(box.label);
    if (index < class_names.size()) entry["name"] = class_names[index];
    entry["score"] = json_number(box.score);
    entry["corners"] = json_numbers({box.left, box.top, box.right, box.bottom});
    list.push_back(std::move(entry));
  }
  return list;
}

Json json_of(const Mask& mask, std::span<const std::string> class_names) {
  Json list = Json::array();
  for (const auto& [label, pixels] : pixels_by_class(mask)) {
    Json entry{{"class", label}};
    const auto index = static_cast<std::size_t>(label);
    if (label >= 0 && index < class_names.size()) entry["name"] = class_names[index];
    entry["pixels"] = pixels;
    entry["share"] = share_json(pixels, std::ssize(mask.labels));
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace qtool
