// SPDX-License-Identifier: Apache-2.0
#include "rotary/identify.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/arrays.hpp"
#include "module/errors.hpp"
#include "module/facts.hpp"
#include "module/module.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::python {
namespace {

nb::dict facts_of(const Cause& cause) {
  nb::dict facts;
  facts["name"] = cause.hypothesis->name;
  facts["group"] = to_string(cause.hypothesis->group);
  facts["fields"] = field_facts(cause.fields);
  facts["rule"] = cause.rule.empty() ? nb::none() : nb::cast(cause.rule);
  facts["sentence"] = cause.sentence;
  facts["advice"] = cause.hypothesis->advice;
  return facts;
}

nb::dict facts_of(const Explanation& explanation) {
  nb::dict facts;
  nb::list causes;
  for (const Cause& cause : explanation.causes) causes.append(facts_of(cause));
  facts["causes"] = causes;
  facts["residual"] = explanation.residual;
  facts["bit_equal"] = explanation.bit_equal;
  facts["arithmetic"] = to_string(explanation.arithmetic);
  facts["separating_position"] = explanation.separating_position;
  facts["separating_grid"] = explanation.separating_grid;
  facts["spec"] = explanation.spec ? nb::cast(take(to_json(*explanation.spec))) : nb::none();
  return facts;
}

nb::object facts_of(const std::optional<FoundStructure>& structure) {
  if (!structure) return nb::none();
  nb::dict facts = window_facts(structure->window);
  facts["attention_factor"] = structure->attention_factor;
  facts["deviation"] = structure->deviation;
  facts["rotated"] = structure->rotated;
  return facts;
}

nb::object facts_of(const std::optional<ReadPositions>& positions) {
  if (!positions) return nb::none();
  nb::dict facts;
  facts["axes"] = positions->axes;
  facts["batch"] = positions->batch;
  facts["tokens"] = positions->tokens;
  facts["expected"] = positions->expected;
  facts["found"] = positions->found;
  facts["residuals"] = positions->residuals;
  facts["aliases"] = positions->aliases;
  facts["unread"] = positions->unread;
  return facts;
}

nb::dict facts_of(const Identification& found) {
  nb::dict facts;
  nb::list explanations;
  for (const Explanation& each : found.explanations) explanations.append(facts_of(each));
  facts["verdict"] = to_string(found.verdict);
  facts["explanations"] = explanations;
  facts["tied"] = found.tied;
  facts["structure"] = facts_of(found.structure);
  facts["turns_per_token"] = found.turns_per_token;
  facts["first_position"] = found.first_position;
  facts["positions"] = facts_of(found.positions);
  facts["checked_tokens"] = found.checked_tokens;
  facts["dtype"] = to_string(found.dtype);
  facts["tolerance"] = found.tolerance;
  facts["tokens"] = found.tokens;
  facts["heads"] = found.heads;
  facts["hypotheses"] = found.hypotheses;
  facts["pairs"] = found.pairs;
  return facts;
}

// The options of a call, and the positions that they point into.
class IdentifyCall {
 public:
  explicit IdentifyCall(const nb::dict& given) {
    for (const auto [key, value] : given) set(nb::cast<std::string>(key), value);
  }

  IdentifyOptions options;

 private:
  void set(const std::string& key, nb::handle value) {
    if (key == "model") options.model = nb::cast<const ModelSpec&>(value);
    if (key == "spec") {
      auto spec = take(parse_rotary_spec(nb::cast<std::string>(value)));
      options.model.emplace().rotary.push_back(
          {.layer_type = {}, .spec = std::move(spec), .trained_context_tokens = {}});
    }
    if (key == "rotary") options.rotary = nb::cast<std::size_t>(value);
    if (key == "positions") options.positions = numbers_.emplace(value, "positions").positions;
    if (key == "context_tokens") options.context_tokens = nb::cast<std::int64_t>(value);
    if (key == "most_causes") options.most_causes = nb::cast<std::int64_t>(value);
    if (key == "rotated_before") options.before = BeforeState::rotated_as_configured;
  }

  std::optional<TokenNumbers> numbers_;
};

nb::dict identify_arrays(nb::handle before, nb::handle after, std::string_view layout,
                         const nb::dict& given) {
  const Array one = array_to_read(before, "before");
  const Array other = array_to_read(after, "after");
  const IdentifyCall call(given);
  const ConstHeadsView before_heads = heads_of(one, layout, "before");
  const ConstHeadsView after_heads = heads_of(other, layout, "after");
  return facts_of(
      take(unlocked([&] { return identify(before_heads, after_heads, call.options); })));
}

// cos and sin: [batch, tokens, pairs], of one dtype.
nb::dict identify_row_arrays(nb::handle cos, nb::handle sin, const nb::dict& given) {
  const Array cosines = array_to_read(cos, "cos");
  const Array sines = array_to_read(sin, "sin");
  const IdentifyCall call(given);
  const CosSinView rows = rows_of(cosines, sines);
  return facts_of(take(unlocked(
      [&] { return identify_rows(rows, cosines.extents[cosines.axes - 1], call.options); })));
}

nb::dict identify_inv_freq(const std::vector<double>& inv_freq, double attention_factor,
                           const nb::dict& given) {
  const IdentifyCall call(given);
  return facts_of(take(
      unlocked([&] { return identify_frequencies(inv_freq, attention_factor, call.options); })));
}

}  // namespace

void bind_identify(nb::module_& module) {
  module.def("identify", identify_arrays);
  module.def("identify_rows", identify_row_arrays);
  module.def("identify_frequencies", identify_inv_freq);
}

}  // namespace rotary::python
