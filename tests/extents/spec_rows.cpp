// SPDX-License-Identifier: Apache-2.0
// Sizes in specs and parameters, and functions that take none.
#include <array>
#include <utility>

#include "extents/places.hpp"
#include "extents/rows.hpp"
#include "rotary/absolute.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/random_features.hpp"
#include "rotary/relative.hpp"

namespace rotary::test {
namespace {

RotarySpec spec_of(Sizes n) {
  return {.head_dim = n[0],
          .rotary_dim = n[1],
          .first_feature = n[2],
          .base = 100.0,
          .pairing = Pairing::half};
}

RelativeBias t5_of(Sizes n) {
  return T5Bias{
      .buckets = {.buckets = n[0], .max_distance = n[1], .direction = T5Direction::causal},
      .table = matrix(n[0], n[2])};
}

// Calls that query a valid bias.
Status use(const RelativeBias& bias) {
  if (auto status = validate(bias); !status) return status;
  static_cast<void>(head_count(bias));
  static_cast<void>(parameter_count(bias));
  return status_of(bias_at(bias, {.query = 5}));
}

constexpr std::string_view without_sizes[] = {
    "rotary::clamped(rotary::KerpleLog)",
    "rotary::clamped(rotary::KerplePower)",
    "rotary::depends_on_context(",
    "rotary::depends_on_distance_alone(",
    "rotary::force_instruction_set(",
    "rotary::instruction_set(",
    "rotary::known_families(",
    "rotary::parse_rotary_spec(",
    "rotary::query_factor(",
    "rotary::relative_bias_named(",
    "rotary::relative_bias_names(",
    "rotary::relative_position(",
    "rotary::resolve(",
    "rotary::rope_type(",
    "rotary::rope_types(",
    "rotary::rotate_alike(",
    "rotary::scaling_named(",
    "rotary::sentence(",
    "rotary::supported_instruction_sets(",
    "rotary::to_json[abi:cxx11](",
    "rotary::to_string(",
    "rotary::validate(rotary::Scaling",
    "rotary::validate(std::variant<rotary::NoTemperature",
    "rotary::validate(std::variant<rotary::ReRope",
    "rotary_abi_version",
    "rotary_force_instruction_set",
    "rotary_frequencies_",
    "rotary_instruction_set",
    "rotary_last_error",
    "rotary_model_",
    "rotary_rotations_free",
    "rotary_rotations_rows",
    "rotary_status_name",
    "rotary_version",
};

}  // namespace

std::span<const std::string_view> functions_without_sizes() { return without_sizes; }

Rows spec_rows() {
  return {
      {"rotary::make_frequencies(rotary::RotarySpec",
       {{4}, {2}, {1}},
       [](Sizes n) { return status_of(make_frequencies(spec_of(n))); }},
      {"rotary::validate(rotary::RotarySpec",
       {{4}, {2}, {1}},
       [](Sizes n) { return validate(spec_of(n)); }},
      {"rotary::head_window(",
       {{4}, {2}, {1}},
       [](Sizes n) { return status_of(head_window(spec_of(n))); }},
      {"rotary::make_frequencies(rotary::HeadWindow",
       {{4}, {2}, {1}},
       [](Sizes n) {
         const HeadWindow window{
             .head_dim = n[0], .rotary_dim = n[1], .first_feature = n[2], .pairing = Pairing::half};
         return status_of(make_frequencies(window, {1.0}, 1));
       }},
      {"rotary::make_sinusoidal(",
       {{4}},
       [](Sizes n) { return status_of(make_sinusoidal(whisper_sinusoidal(n[0]))); }},
      {"rotary::make_random_features(",
       {{4}, {8}},
       [](Sizes n) {
         return status_of(make_random_features({.head_dim = n[0], .features = n[1]}));
       }},
      {"rotary::alibi_slopes(",
       {{2}, {1}, {4}},
       [](Sizes n) {
         return status_of(alibi_slopes({.heads = n[0], .first_head = n[1], .model_heads = n[2]}));
       }},
      {"rotary::alibi_key_positions(",
       {{.held = Held::each}, {.held = Held::each}},
       [](Sizes n) {
         return alibi_key_positions(numbers<std::int64_t>(n[0]), numbers<const std::uint8_t>(n[1]));
       }},
      {"rotary::t5_bucket(",
       {{8}, {20}},
       [](Sizes n) {
         return status_of(t5_bucket(
             7, {.buckets = n[0], .max_distance = n[1], .direction = T5Direction::causal}));
       }},
      {"rotary::validate(rotary::RelativeBias",
       {{8}, {20}, {2}},
       [](Sizes n) { return use(t5_of(n)); }},
      {"rotary::head_count(",
       {{8}, {2}},
       [](Sizes n) { return use(Sandwich{.dim = n[0], .heads = n[1]}); }},
      {"rotary::parameter_count(",
       {{2}, {1}, {4}},
       [](Sizes n) { return use(Alibi{.heads = n[0], .first_head = n[1], .model_heads = n[2]}); }},
      {"rotary::bias_at(", {{8}, {20}, {2}}, [](Sizes n) { return use(t5_of(n)); }},
  };
}

}  // namespace rotary::test
