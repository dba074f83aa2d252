// The list of forms.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "quantize/emission/emit.h"

namespace qtool {

#define QTOOL_FORM(name, kind) Graph emit_##name(const Decisions&, QuantizeReport&);
#include "quantize/emission/forms.inc"

namespace {

struct FormRow {
  ModelForm form;
  std::string_view name;
  Graph (*emit)(const Decisions&, QuantizeReport&);
};

constexpr auto kForms = std::to_array<FormRow>({
#define QTOOL_FORM(name, kind) {ModelForm::kind, #name, emit_##name},
#include "quantize/emission/forms.inc"
});

const FormRow& row_of(ModelForm form) noexcept {
  const auto* found = std::ranges::find(kForms, form, &FormRow::form);
  QTOOL_CHECK(found != kForms.end());
  return *found;
}

}  // namespace

std::string_view name_of(ModelForm form) noexcept { return row_of(form).name; }

std::vector<std::string> model_form_names() {
  std::vector<std::string> names;
  for (const FormRow& row : kForms) names.emplace_back(row.name);
  return names;
}

std::optional<ModelForm> find_model_form(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kForms, name, &FormRow::name);
  if (found == kForms.end()) return std::nullopt;
  return found->form;
}

Graph emit_static(ModelForm form, const Decisions& decisions, QuantizeReport& report) {
  return row_of(form).emit(decisions, report);
}

}  // namespace qtool
