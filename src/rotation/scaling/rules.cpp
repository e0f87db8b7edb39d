// SPDX-License-Identifier: Apache-2.0
#include "rotation/scaling/rules.hpp"

#include <cmath>

#include "base/message.hpp"

namespace rotary {
namespace {

struct RopeTypeName {
  std::string_view operator()(const NoScaling&) const { return "default"; }
  std::string_view operator()(const LinearScaling&) const { return "linear"; }
  std::string_view operator()(const NtkScaling&) const { return "ntk"; }
  std::string_view operator()(const YarnScaling&) const { return "yarn"; }
  std::string_view operator()(const Llama3Scaling&) const { return "llama3"; }
  std::string_view operator()(const DynamicNtkScaling&) const { return "dynamic"; }
  std::string_view operator()(const LongRopeScaling&) const { return "longrope"; }
  std::string_view operator()(const ProportionalScaling&) const { return "proportional"; }
  std::string_view operator()(const MixedNtkScaling&) const { return "mixed_ntk"; }
  std::string_view operator()(const NtkByPartsScaling&) const { return "ntk_by_parts"; }
  std::string_view operator()(const ClippedScaling&) const { return "clipped"; }
  std::string_view operator()(const RetNetScaling&) const { return "retnet"; }
  std::string_view operator()(const ExplicitScaling&) const { return "explicit"; }
};

// Rules whose frequencies depend on the context have overloads of their own.
struct DependsOnContext {
  template <class Rule>
  bool operator()(const Rule&) const {
    return false;
  }
  bool operator()(const LongRopeScaling& rule) const {
    return rule.lists == LongRopeSwitch::by_context;
  }
  bool operator()(const DynamicNtkScaling&) const { return true; }
};

}  // namespace

std::string_view rope_type(const Scaling& scaling) noexcept {
  return std::visit(RopeTypeName{}, scaling);
}

bool depends_on_context(const Scaling& scaling) noexcept {
  return std::visit(DependsOnContext{}, scaling);
}

std::vector<double> unscaled_inv_freq(const UnscaledRotary& rotary) {
  std::vector<double> inv_freq(static_cast<std::size_t>(rotary.rotary_dim / 2));
  const auto dimension = static_cast<double>(rotary.rotary_dim);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    inv_freq[pair] = std::pow(rotary.base, -2.0 * static_cast<double>(pair) / dimension);
  }
  return inv_freq;
}

UnscaledRotary with_ntk_base(const UnscaledRotary& rotary, double growth) {
  const auto d = static_cast<double>(rotary.rotary_dim);
  UnscaledRotary slower = rotary;
  slower.base = rotary.base * std::pow(growth, d / (d - 2));
  return slower;
}

Status require_positive(std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return {};
  return invalid_argument(field, " must be finite and > 0, got ", value);
}

Status require_positive(std::string_view field, std::int64_t value) {
  if (value > 0) return {};
  return invalid_argument(field, " must be > 0, got ", value);
}

Status require_ntk_dimension(const UnscaledRotary& rotary) {
  if (rotary.rotary_dim >= 4) return {};
  return invalid_argument(
      "NTK scaling needs rotary_dim >= 4, because its exponent is d/(d-2); got ",
      rotary.rotary_dim);
}

Status require_context(std::string_view rope_type, const UnscaledRotary& rotary) {
  if (rotary.context_tokens) return {};
  return invalid_argument("context_tokens must be given, because the frequencies of rope_type ",
                          rope_type, " depend on the length of the context; got none");
}

}  // namespace rotary
