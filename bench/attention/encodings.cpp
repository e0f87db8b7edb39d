// SPDX-License-Identifier: Apache-2.0
#include "bench/attention/encodings.hpp"

#include <array>
#include <vector>

namespace rotary::bench {
namespace {

constexpr std::array<RatioGoal, 1> free_of_charge = {{{.tokens = 512, .most = 1.03}}};
constexpr std::array<RatioGoal, 3> of_shaw_keys = {{{512, 1.25}, {2048, 1.13}, {8192, 1.05}}};
constexpr std::array<RatioGoal, 3> of_shaw = {{{512, 1.6}, {2048, 1.3}, {8192, 1.12}}};
constexpr std::int64_t fire_width = 32;  // hidden units of FIRE's network (arXiv 2310.04418, A.2)

// Evenly spread numbers from first to last, one for each head.
std::vector<double> spread(double first, double last, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
    values.push_back(first + share * (last - first));
  }
  return values;
}

RelativeBias alibi(const BiasSetting& setting) { return Alibi{.heads = setting.heads}; }

RelativeBias t5(const BiasSetting& setting) {
  return T5Bias{
      .buckets = {.buckets = t5_buckets, .max_distance = 128, .direction = T5Direction::causal},
      .table = {.data = setting.numbers.data(),
                .dtype = DType::f32,
                .rows = t5_buckets,
                .features = setting.heads,
                .row_stride = setting.heads}};
}

RelativeBias kerple_log(const BiasSetting& setting) {
  return KerpleLog{.p = spread(0.5, 2, setting.heads), .a = spread(0.25, 1, setting.heads)};
}

RelativeBias kerple_power(const BiasSetting& setting) {
  return KerplePower{.a = spread(0.02, 0.2, setting.heads), .p = spread(0.5, 1, setting.heads)};
}

RelativeBias fire(const BiasSetting& setting) {
  return Fire{.c = 0.1,
              .threshold = 512,
              .hidden_weight = spread(-2, 2, fire_width),
              .hidden_bias = spread(1, -0.5, fire_width),
              .output_weight = spread(-0.5, 0.3, setting.heads * fire_width),
              .output_bias = spread(0, 0.5, setting.heads)};
}

RelativeBias sandwich(const BiasSetting& setting) {
  return Sandwich{.dim = (setting.head_dim + 1) / 2 * 2, .heads = setting.heads};
}

constexpr std::array<BenchEncoding, 11> all = {{
    {.name = "none"},
    {.name = "rope", .turns = Turns::queries_and_keys, .goals = free_of_charge},
    {.name = "alibi", .bias = alibi, .goals = free_of_charge},
    {.name = "t5", .bias = t5, .goals = free_of_charge},
    {.name = "kerple_log", .bias = kerple_log, .goals = free_of_charge},
    {.name = "kerple_power", .bias = kerple_power, .goals = free_of_charge},
    {.name = "fire", .bias = fire},
    {.name = "sandwich", .bias = sandwich},
    {.name = "shaw_keys", .shaw = ShawParts::keys, .goals = of_shaw_keys},
    {.name = "shaw", .shaw = ShawParts::keys_and_values, .goals = of_shaw},
    {.name = "int8", .storage = Storage::int8},
}};

}  // namespace

std::span<const BenchEncoding> bench_encodings() { return all; }

}  // namespace rotary::bench
