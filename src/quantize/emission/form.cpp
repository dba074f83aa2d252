// The list of forms.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "qtool/quantize/target.h"
#include "quantize/emission/emit.h"

namespace qtool {

namespace {

using EmitFunction = Graph (*)(const Decisions&, QuantizeReport&);

constexpr auto kEmitters = std::to_array<EmitFunction>({
#define QTOOL_FORM(name, kind, summary) emit_##name,
#include "quantize/emission/forms.inc"
});

constexpr auto kForms = std::to_array<ModelFormInfo>({
#define QTOOL_FORM(name, kind, summary) {ModelForm::kind, #name, summary},
#include "quantize/emission/forms.inc"
});

std::size_t row_of(ModelForm form) noexcept {
  const auto* found = std::ranges::find(kForms, form, &ModelFormInfo::form);
  QTOOL_CHECK(found != kForms.end());
  return static_cast<std::size_t>(found - kForms.begin());
}

}  // namespace

std::span<const ModelFormInfo> model_forms() noexcept { return kForms; }

std::string_view name_of(ModelForm form) noexcept { return kForms[row_of(form)].name; }

std::optional<ModelForm> find_model_form(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kForms, name, &ModelFormInfo::name);
  if (found == kForms.end()) return std::nullopt;
  return found->form;
}

Graph emit_static(ModelForm form, const Decisions& decisions, QuantizeReport& report) {
  return kEmitters[row_of(form)](decisions, report);
}

}  // namespace qtool
