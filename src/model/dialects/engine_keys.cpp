// SPDX-License-Identifier: Apache-2.0
// Keys of rope dictionaries that engines read but Transformers does not. resolve() refuses them.
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "model/dialects/rule_target.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::dialects {
namespace {

struct EngineKey {
  std::string_view rope_type;
  std::string_view name;
  std::optional<double> EngineKeys::*value;
};

constexpr std::array engine_keys = {
    EngineKey{"yarn", "attn_factor", &EngineKeys::attn_factor},
    EngineKey{"yarn", "extrapolation_factor", &EngineKeys::extrapolation_factor},
    EngineKey{"dynamic", "alpha", &EngineKeys::alpha}};

bool is_of_type(const Json& dictionary, std::string_view rope_type) {
  for (const std::string_view key : {"rope_type", "type"}) {
    const Json* const type = dictionary.find(key);
    if (type != nullptr && type->is_string() && type->string() == rope_type) return true;
  }
  return false;
}

}  // namespace

// Leaves a key in place if an earlier dictionary had another value: resolve() refuses it.
EngineKeys take_engine_keys(Json& config) {
  EngineKeys taken;
  std::vector<Json*> left = {&config};
  while (!left.empty()) {
    Json& dictionary = *left.back();
    left.pop_back();
    for (const EngineKey& key : engine_keys) {
      const Json* const found = dictionary.find(key.name);
      if (found == nullptr || !found->is_number() || !is_of_type(dictionary, key.rope_type))
        continue;
      auto& value = taken.*key.value;
      if (value.value_or(found->number()) != found->number()) continue;
      value = found->number();
      dictionary.object().erase(std::string(key.name));
    }
    for (auto& [key, value] : dictionary.object())
      if (value.is_object()) left.push_back(&value);
  }
  return taken;
}

void ignore_engine_keys(RuleTarget& target) {
  const EngineKeys& keys = target.stated.engine_keys;
  if (rule_of<YarnScaling>(target) != nullptr)
    target.acted = keys.attn_factor || keys.extrapolation_factor;
  if (rule_of<DynamicNtkScaling>(target) != nullptr) target.acted = keys.alpha.has_value();
}

void multiply_by_attn_factor(RuleTarget& target) {
  const auto& given = target.stated.engine_keys.attn_factor;
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr || !given) return;
  const auto computed = make_frequencies(target.rotary.spec);
  if (!computed) return;
  yarn->attention_factor = computed->attention_factor * *given;
  target.acted = true;
}

void mix_by_extrapolation_factor(RuleTarget& target) {
  RotarySpec& spec = target.rotary.spec;
  const auto& given = target.stated.engine_keys.extrapolation_factor;
  const auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr || !given) return;
  target.acted = true;
  if (*given == 1) return;
  RotarySpec plain = spec;
  plain.scaling = NoScaling{};
  const auto fast = make_frequencies(plain);
  const auto mixed = make_frequencies(spec);
  if (!fast || !mixed) return;
  ExplicitScaling rule{.inv_freq = {}, .attention_factor = mixed->attention_factor};
  for (std::size_t i = 0; i < fast->inv_freq.size(); ++i) {
    const double slow = fast->inv_freq[i] / yarn->factor;
    rule.inv_freq.push_back(slow + (mixed->inv_freq[i] - slow) * *given);
  }
  spec.scaling = std::move(rule);
}

void read_alpha(RuleTarget& target) {
  const auto& given = target.stated.engine_keys.alpha;
  if (given && rule_of<DynamicNtkScaling>(target) != nullptr)
    set(target, target.rotary.spec.scaling, Scaling(NtkScaling{.alpha = *given}));
}

}  // namespace rotary::dialects
