// SPDX-License-Identifier: Apache-2.0
// Claim 19: rotary embedding in linear attention.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "rotary/linear_attention.hpp"

namespace rotary::cli::claims {
namespace {

constexpr std::int64_t map_features = 64;  // elu + 1 has as many as the head

// Independent normal q and k of one head, and v.
struct LinearInputs {
  std::int64_t tokens;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;

  [[nodiscard]] std::int64_t v_features() const {
    return static_cast<std::int64_t>(v.size()) / tokens;
  }
};

LinearInputs normal_inputs(std::int64_t tokens, std::vector<float> v) {
  Random random(19);
  std::vector<float> q = random.normals<float>(tokens * map_features);
  return {.tokens = tokens,
          .q = std::move(q),
          .k = random.normals<float>(tokens * map_features),
          .v = std::move(v)};
}

// v of columns of the identity: what comes out is the matrix of weights.
std::vector<float> identity(std::int64_t tokens) {
  const auto size = static_cast<std::size_t>(tokens);
  std::vector<float> v(size * size);
  for (std::size_t i = 0; i < size; ++i) v[i * size + i] = 1;
  return v;
}

Rotations rotations_from(std::int64_t first, std::int64_t tokens) {
  return value_or_fail(make_rotations(frequencies_of(rope(map_features)),
                                      ConsecutivePositions{.first = first, .tokens = tokens}));
}

// elu + 1, bidirectional.
std::vector<float> linear_attended(const LinearInputs& inputs,
                                   std::optional<NumeratorRotations> rotations) {
  std::vector<float> out(inputs.v.size());
  const auto view = [&inputs](const std::vector<float>& values, std::int64_t features) {
    const Extents extents{.tokens = inputs.tokens, .heads = 1, .features = features};
    return ConstHeadsView{values.data(), DType::f32, extents, strides_bthd(extents)};
  };
  const ConstHeadsView v = view(inputs.v, inputs.v_features());
  ok_or_fail(linear_attend({out.data(), v.dtype, v.extents, v.strides},
                           {view(inputs.q, map_features), view(inputs.k, map_features), v},
                           EluPlusOne{},
                           {.mask = LinearMask::bidirectional, .rotations = rotations}));
  return out;
}

// Equation 19: features are turned, in the numerator alone.
std::vector<float> numerator_turned(const LinearInputs& inputs, std::int64_t first) {
  const Rotations rotations = rotations_from(first, inputs.tokens);
  return linear_attended(inputs, NumeratorRotations{.q = rotations, .k = rotations});
}

// q and k are turned before the feature map.
std::vector<float> inputs_turned(LinearInputs inputs, std::int64_t first) {
  const Rotations rotations = rotations_from(first, inputs.tokens);
  inputs.q = rotated(std::move(inputs.q), rotations);
  inputs.k = rotated(std::move(inputs.k), rotations);
  return linear_attended(inputs, std::nullopt);
}

struct Weights {
  double negative;  // share of all
  double least_sum;
  double largest_sum;
};

Weights weights_of(std::int64_t tokens) {
  const std::vector<float> all = numerator_turned(normal_inputs(tokens, identity(tokens)), 0);
  const auto negative =
      static_cast<double>(std::ranges::count_if(all, [](float weight) { return weight < 0; }));
  const std::vector<float> ones(static_cast<std::size_t>(tokens), 1.0F);
  const std::vector<float> sums = numerator_turned(normal_inputs(tokens, ones), 0);
  const auto [least, largest] = std::ranges::minmax(sums);
  return {negative / static_cast<double>(all.size()), static_cast<double>(least),
          static_cast<double>(largest)};
}

std::vector<Evidence> linear_attention() {
  constexpr std::int64_t moved = 1000;
  constexpr double rounding = 1e-5;
  const LinearInputs inputs = normal_inputs(64, Random(20).normals<float>(64 * map_features));
  const double turned =
      largest_difference(numerator_turned(inputs, 0), numerator_turned(inputs, moved));
  const double before = largest_difference(inputs_turned(inputs, 0), inputs_turned(inputs, moved));
  const Weights few = weights_of(64);
  const Weights many = weights_of(512);
  const Weights most = weights_of(2048);
  return {{.computed = "64 normal q, k and v of 64 features, elu + 1, bidirectional (seed 19): the "
                       "result at positions 0 to 63 and at 1000 to 1063, features turned in the "
                       "numerator alone (RoFormer, equation 19)",
           .relation = "only differences of positions count",
           .setting = Setting::met,
           .holds = turned <= rounding,
           .numbers = {{"largest difference", turned, {0, rounding}}}},
          {.computed = "the same with q and k turned before the feature map",
           .relation = "only differences of positions count",
           .setting = Setting::unmet,
           .holds = before <= rounding,
           .numbers = {{"largest difference", before, {0.01, 10}}}},
          {.computed = "weights of equation 19 over 64, 512 and 2048 tokens",
           .relation = "the price: weights turn negative, and rows no longer sum to 1",
           .setting = Setting::aside,
           .holds = few.negative < many.negative && many.negative < most.negative &&
                    most.largest_sum < 1,
           .numbers = {{"negative weights, 64 tokens", few.negative, {0, 0.001}},
                       {"negative weights, 512 tokens", many.negative, about(0.009, 0.003)},
                       {"negative weights, 2048 tokens", most.negative, about(0.087, 0.01)},
                       {"least sum of a row, 64 tokens", few.least_sum, about(0.50, 0.08)},
                       {"largest sum, 64 tokens", few.largest_sum, about(0.73, 0.08)},
                       {"least sum of a row, 2048 tokens", most.least_sum, about(0.13, 0.08)},
                       {"largest sum, 2048 tokens", most.largest_sum, about(0.42, 0.08)}}}};
}

}  // namespace

std::vector<Claim> attention_claims() {
  return {
      {.number = 19,
       .name = "linear-attention",
       .statement = "rotary embedding works with linear attention",
       .verdict = Verdict::holds_only_if,
       .condition = "features are turned after the feature map and in the numerator alone; weights "
                    "then turn negative and their sums shrink as the context grows",
       .examine = linear_attention,
       .published = {{"Performer on enwik8: loss 1.70 without and 1.53 with it at 20k steps, 1.30 "
                      "and 1.21 at 97k (read off the figure)",
                      "Su et al. 2021, arXiv 2104.09864, figure 3"}},
       .experiments = {"e5-linear-attention"}},
  };
}

}  // namespace rotary::cli::claims
