// SPDX-License-Identifier: Apache-2.0
// Frequencies, rotations, rotate and shift.
#include <array>
#include <cstdint>

#include "public_calls/cases.hpp"
#include "public_calls/elements.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

constexpr std::int64_t head_dim = 16;
constexpr std::int64_t tokens = 3;
constexpr ConsecutivePositions positions{.first = 5, .tokens = tokens};
const HeadWindow window{.head_dim = head_dim, .rotary_dim = head_dim, .pairing = Pairing::half};

RotarySpec spec_with(const Scaling& scaling, Numerics numerics = Numerics::exact) {
  return {.head_dim = head_dim,
          .base = 1e4,
          .pairing = Pairing::half,
          .scaling = scaling,
          .numerics = numerics};
}

struct NamedSpec {
  std::string what;
  RotarySpec spec;
};

std::vector<NamedSpec> specs() {
  const std::vector<double> factors(head_dim / 2, 2);
  const Scaling longrope = LongRopeScaling{.short_factor = factors,
                                           .long_factor = factors,
                                           .original_context_tokens = 1024,
                                           .factor = 4};
  std::vector<NamedSpec> specs = {
      {"linear", spec_with(LinearScaling{.factor = 2})},
      {"ntk", spec_with(NtkScaling{.alpha = 8})},
      {"yarn", spec_with(YarnScaling{.factor = 4, .original_context_tokens = 1024})},
      {"llama3", spec_with(Llama3Scaling{.factor = 8,
                                         .low_freq_factor = 1,
                                         .high_freq_factor = 4,
                                         .original_context_tokens = 8192})},
      {"longrope", spec_with(longrope)},
      {"explicit", spec_with(ExplicitScaling{.inv_freq = factors, .attention_factor = 1})},
      {"subnormal", spec_with(LinearScaling{.factor = 0x1p1020})},
      {"no factor", spec_with(LinearScaling{})},
      {"transformers", spec_with(longrope, Numerics::transformers)},
      {"ggml", spec_with(longrope, Numerics::ggml)},
      {"ggml without such an operation", spec_with(Llama3Scaling{}, Numerics::ggml)},
  };
  specs.push_back({"xpos", spec_with(NoScaling{})});
  specs.back().spec.xpos = Xpos{};
  return specs;
}

Frequencies frequencies_of_spec(const RotarySpec& spec) {
  return value_of(make_frequencies(spec, 64));
}

void add_frequencies(std::vector<Case>& cases) {
  for (const NamedSpec& each : specs()) {
    cases.push_back(case_of("rotary::make_frequencies(rotary::RotarySpec", each.what,
                            [spec = each.spec] { return make_frequencies(spec, 64); }));
    cases.push_back(case_of("rotary::validate(rotary::RotarySpec", each.what,
                            [spec = each.spec] { return validate(spec, 64); }));
  }
  for (const std::size_t pairs : {std::size_t{8}, std::size_t{7}}) {
    cases.push_back({.symbol = "rotary::make_frequencies(rotary::HeadWindow",
                     .what = std::to_string(pairs),
                     .call = [pairs](Attempt& attempt) {
                       std::vector<double> list(pairs, 0.5);
                       return outcome_of(
                           attempt([&] { return make_frequencies(window, std::move(list), 1); }));
                     }});
  }
  const Frequencies one = frequencies_of(window);
  Frequencies other = one;
  other.inv_freq.back() = 0;
  Frequencies subnormal = one;
  subnormal.inv_freq.back() = 0x1p-1050;
  cases.push_back(
      cannot_fail("rotary::rotate_alike(", [=] { return rotate_alike(other, subnormal); }));
  for (const std::int64_t rows : {tokens, std::int64_t{-1}}) {
    cases.push_back(case_of("rotary::row_bytes(", std::to_string(rows),
                            [rows] { return row_bytes(window, 1, rows, RowDType::f32); }));
  }
}

struct NamedRows {
  std::string what;
  RotarySpec spec;
  Positions positions = rotary::test::positions;
  RotationsOptions options = {};
};

std::vector<NamedRows> rows() {
  static constexpr std::array places = {0.5, 7.0, 9.25};
  static constexpr std::array<std::int32_t, 3> integers = {9, 1, 4};
  const RotarySpec plain = spec_with(NoScaling{});
  RotarySpec with_xpos = plain;
  with_xpos.xpos = Xpos{};
  return {
      {"f32", plain},
      {"f64", plain, positions, {.rows = RowDType::f64}},
      {"between integers", plain, positions_of(places)},
      {"listed", plain, positions_of(integers)},
      {"negative tokens", plain, ConsecutivePositions{.tokens = -1}},
      {"xpos", with_xpos, positions, {.role = Role::query}},
      {"xpos without a role", with_xpos},
      {"transformers",
       spec_with(NoScaling{}, Numerics::transformers),
       positions,
       {.tensors = DType::bf16}},
      {"ggml", spec_with(NoScaling{}, Numerics::ggml)},
  };
}

void add_rotations(std::vector<Case>& cases) {
  for (const NamedRows& each : rows()) {
    const Frequencies frequencies = frequencies_of_spec(each.spec);
    cases.push_back(case_of(
        "rotary::make_rotations(rotary::Frequencies", each.what,
        [each, frequencies] { return make_rotations(frequencies, each.positions, each.options); }));
    const auto small = make_rotations(frequencies, ConsecutivePositions{.tokens = 1}, each.options);
    if (!small) continue;
    // On an error rotations are as they were, and remake_rotations must be able to go on.
    cases.push_back({.symbol = "rotary::remake_rotations(",
                     .what = each.what,
                     .call = [each, frequencies, small = *small](Attempt& attempt) {
                       Rotations rotations = small;
                       const Status status = attempt([&] {
                         return remake_rotations(rotations, frequencies, each.positions);
                       });
                       const std::int64_t rows = status ? tokens : 1;
                       if (rotations.tokens() != rows) throw std::logic_error("rotations changed");
                       return outcome_of(status);
                     }});
  }
  static const std::vector<float> halves(tokens * head_dim / 2, 0.70710678F);
  CosSinView view{.cos = halves.data(),
                  .sin = halves.data(),
                  .dtype = DType::f32,
                  .tokens = tokens,
                  .token_stride = head_dim / 2};
  for (const double factor : {1.0, 3.0}) {
    view.attention_factor = factor;
    cases.push_back(case_of("rotary::make_rotations(rotary::HeadWindow", std::to_string(factor),
                            [view] { return make_rotations(window, view); }));
  }
}

Extents extents_of(std::int64_t of_tokens) {
  return {.tokens = of_tokens, .heads = 2, .features = head_dim};
}

void add_rotate(std::vector<Case>& cases) {
  const Rotations rotations = rotations_of(frequencies_of(window), positions);
  for (const std::int64_t of_tokens : {tokens, tokens - 1}) {
    const Extents extents = extents_of(of_tokens);
    const SharedElements q = elements(tokens * 2 * head_dim);
    const SharedElements k = elements(tokens * 2 * head_dim);
    const std::string what = std::to_string(of_tokens) + " tokens";
    cases.push_back(case_of("rotary::rotate(", what,
                            [=] { return rotate(q->heads(extents), k->heads(extents), rotations); },
                            {q->bytes()}));
    cases.push_back(
        case_of("rotary::rotate_qk(", what,
                [=] { return rotate_qk(q->heads(extents), k->heads(extents), rotations); },
                {q->bytes(), k->bytes()}));
  }
}

struct QuantizedHeads {
  explicit QuantizedHeads(std::int64_t of_tokens = tokens)
      : count(of_tokens),
        elements(static_cast<std::size_t>(of_tokens * head_dim)),
        scales(static_cast<std::size_t>(of_tokens), 0.3F) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = static_cast<std::int8_t>(i * 37 % 251);
    }
  }

  std::int64_t count;
  std::vector<std::int8_t> elements;
  std::vector<float> scales;

  QuantizedHeadsView view() {
    const Extents extents{.tokens = count, .heads = 1, .features = head_dim};
    return {.data = elements.data(),
            .scales = scales.data(),
            .extents = extents,
            .strides = strides_bthd(extents),
            .scale_strides = {.token = 1, .head = 1}};
  }
};

void add_shift(std::vector<Case>& cases) {
  static const Frequencies exact = frequencies_of(window);
  static const Frequencies other =
      frequencies_of_spec(spec_with(NoScaling{}, Numerics::transformers));
  for (const Frequencies* frequencies : {&exact, &other}) {
    const std::string what = frequencies == &exact ? "exact" : "other numerics";
    static constexpr std::array places = {0.5, 7.0, 9.25};
    const RotatedAt from{.frequencies = *frequencies, .positions = positions_of(places)};
    const RotatedAt to{.frequencies = exact, .positions = positions};
    cases.push_back(case_of("rotary::make_shift(", what, [=] { return make_shift(from, to); }));
    const Rotations small = value_of(make_shift({exact, ConsecutivePositions{.tokens = 1}},
                                                {exact, ConsecutivePositions{.tokens = 1}}));
    cases.push_back(
        {.symbol = "rotary::remake_shift(", .what = what, .call = [=](Attempt& attempt) {
           Rotations rotations = small;
           return outcome_of(attempt([&] { return remake_shift(rotations, from, to); }));
         }});
    const SharedElements keys = elements(tokens * 2 * head_dim);
    const Extents extents = extents_of(tokens);
    const auto quantized = std::make_shared<QuantizedHeads>();
    const std::vector<std::span<std::byte>> of_quantized = {bytes_of(quantized->elements),
                                                            bytes_of(quantized->scales)};
    cases.push_back(case_of("rotary::shift(rotary::HeadsView, rotary::RotatedAt", what,
                            [=] { return shift(keys->heads(extents), from, to); },
                            {keys->bytes()}));
    cases.push_back(case_of(
        "rotary::shift(rotary::QuantizedHeadsView const&, rotary::RotatedAt", what,
        [=] { return shift(quantized->view(), from, to); }, of_quantized));
    const Rotations by = value_of(
        make_rotations(*frequencies, positions,
                       {.tensors = frequencies == &exact ? std::optional<DType>() : DType::f32}));
    cases.push_back(case_of("rotary::shift(rotary::HeadsView, rotary::Rotations", what,
                            [=] { return shift(keys->heads(extents), by); }, {keys->bytes()}));
    cases.push_back(case_of(
        "rotary::shift(rotary::QuantizedHeadsView const&, rotary::Rotations", what,
        [=] { return shift(quantized->view(), by); }, of_quantized));
  }
}

// Enough tokens to be cut.
void add_in_parts(std::vector<Case>& cases) {
  constexpr std::int64_t many = 200;
  const Rotations rotations =
      rotations_of(frequencies_of(window), ConsecutivePositions{.first = 5, .tokens = many});
  const SharedElements keys = elements(many * 2 * head_dim);
  const auto quantized = std::make_shared<QuantizedHeads>(many);
  const Extents extents = extents_of(many);
  cases.push_back(case_of("rotary::rotate(", "in parts",
                          [=] {
                            return rotate(keys->heads(extents), keys->heads(extents), rotations,
                                          {.executor = in_parts()});
                          },
                          {keys->bytes()}));
  cases.push_back(
      case_of("rotary::shift(rotary::QuantizedHeadsView const&, rotary::Rotations", "in parts",
              [=] { return shift(quantized->view(), rotations, {.executor = in_parts()}); },
              {bytes_of(quantized->elements), bytes_of(quantized->scales)}));
}

}  // namespace

std::vector<Case> rotation_cases() {
  std::vector<Case> cases = {
      cannot_fail("rotary::to_string(rotary::Role)", [] { return to_string(Role::key); }),
      cannot_fail("rotary::supported_instruction_sets()", supported_instruction_sets),
      case_of("rotary::instruction_set()", "", instruction_set),
      case_of("rotary::force_instruction_set(", "that there is none of",
              [] { return force_instruction_set("a set that no machine has"); }),
      case_of("rotary::force_instruction_set(", "that is in use",
              [] { return force_instruction_set(*instruction_set()); }),
  };
  add_frequencies(cases);
  add_rotations(cases);
  add_rotate(cases);
  add_shift(cases);
  add_in_parts(cases);
  return cases;
}

}  // namespace rotary::test
