// SPDX-License-Identifier: Apache-2.0
// Frequencies, rotations, rotate and shift.
#include <array>

#include "public_calls/call.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

RotarySpec spec_with(const Scaling& scaling, Numerics numerics = Numerics::exact) {
  return {.head_dim = 16,
          .base = 1e4,
          .pairing = Pairing::half,
          .scaling = scaling,
          .numerics = numerics};
}

RotarySpec with_xpos() {
  RotarySpec spec = spec_with(NoScaling{});
  spec.xpos = Xpos{};
  return spec;
}

RotarySpec with_axes() {
  RotarySpec spec = spec_with(NoScaling{});
  spec.axes = Axes{.pairs = {5, 3}, .exponents = AxisExponents::own, .scales = {1, 0.5}};
  return spec;
}

struct NamedSpec {
  std::string what;
  RotarySpec spec;
};

std::vector<NamedSpec> specs() {
  const std::vector<double> factors(8, 2);
  const Scaling longrope = LongRopeScaling{.short_factor = factors,
                                           .long_factor = factors,
                                           .original_context_tokens = 1024,
                                           .factor = 4};
  return {
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
      {"xpos", with_xpos()},
      {"axes", with_axes()},
  };
}

Frequencies frequencies_of_spec(const RotarySpec& spec) {
  return value_of(make_frequencies(spec, 64));
}

// Features of a head, those that rotate, the first of them.
const SizeList window_sizes = {{16}, {8}, {2}};

HeadWindow window_of(Sizes n) {
  return {.head_dim = n[0], .rotary_dim = n[1], .first_feature = n[2], .pairing = Pairing::half};
}

RotarySpec spec_of(Sizes n) {
  return {.head_dim = n[0],
          .rotary_dim = n[1],
          .first_feature = n[2],
          .base = 100.0,
          .pairing = Pairing::half};
}

constexpr std::string_view of_list =
    "rotary::make_frequencies(rotary::HeadWindow const&, "
    "std::vector<double, std::allocator<double> >, double)";
constexpr std::string_view of_list_and_axes =
    "rotary::make_frequencies(rotary::HeadWindow const&, "
    "std::vector<double, std::allocator<double> >, double, rotary::PairAxes)";

Calls frequency_calls() {
  Calls calls = {
      sized("rotary::make_frequencies(rotary::RotarySpec", "", window_sizes,
            [](Sizes n) { return make_frequencies(spec_of(n)); }),
      sized("rotary::validate(rotary::RotarySpec", "", window_sizes,
            [](Sizes n) { return validate(spec_of(n)); }),
      sized("rotary::head_window(", "", window_sizes,
            [](Sizes n) { return head_window(spec_of(n)); }),
      sized("rotary::row_bytes(", "", {{}, {3}, each(16)},
            [](Sizes n) {
              const HeadWindow window{
                  .head_dim = n[2], .rotary_dim = n[2], .pairing = Pairing::half};
              return row_bytes(window, n[0], n[1], RowDType::f32);
            }),
  };
  for (const NamedSpec& each : specs()) {
    calls.push_back(without_sizes("rotary::make_frequencies(rotary::RotarySpec", each.what,
                                  [spec = each.spec] { return make_frequencies(spec, 64); }));
    calls.push_back(without_sizes("rotary::validate(rotary::RotarySpec", each.what,
                                  [spec = each.spec] { return validate(spec, 64); }));
  }
  // The list is the caller's, made before the call.
  for (const std::size_t pairs : {std::size_t{4}, std::size_t{3}}) {
    calls.push_back(
        {of_list, std::to_string(pairs), window_sizes, [pairs](Attempt& attempt, Sizes n) {
           std::vector<double> list(pairs, 0.5);
           return outcome_of(
               attempt([&] { return make_frequencies(window_of(n), std::move(list), 1); }));
         }});
  }
  for (const std::int64_t axes : {1, 2, 9}) {
    calls.push_back({of_list_and_axes, std::to_string(axes) + " axes", window_sizes,
                     [axes](Attempt& attempt, Sizes n) {
                       std::vector<double> list(axes == 2 ? 8 : 4, 0.5);
                       return outcome_of(attempt([&] {
                         return make_frequencies(window_of(n), std::move(list), 1,
                                                 PairAxes{.count = axes});
                       }));
                     }});
  }
  Frequencies other = frequencies_of_16();
  other.inv_freq.back() = 0;
  Frequencies subnormal = frequencies_of_16();
  subnormal.inv_freq.back() = 0x1p-1050;
  calls.push_back(
      without_sizes("rotary::rotate_alike(", "", [=] { return rotate_alike(other, subnormal); }));
  return calls;
}

struct NamedRows {
  std::string what;
  RotarySpec spec;
  RotationsOptions options = {};
};

std::vector<NamedRows> rows() {
  return {
      {"f32", spec_with(NoScaling{})},
      {"f64", spec_with(NoScaling{}), {.rows = RowDType::f64}},
      {"xpos", with_xpos(), {.role = Role::query}},
      {"xpos without a role", with_xpos()},
      {"transformers", spec_with(NoScaling{}, Numerics::transformers), {.tensors = DType::bf16}},
      {"ggml", spec_with(NoScaling{}, Numerics::ggml)},
  };
}

// On an error rotations are as they were, and remaking them must be able to go on.
template <class Remake>
Status remade(Result<Rotations> rotations, std::int64_t tokens, const Remake& remake) {
  if (!rotations) return std::move(rotations).error();
  Status status = remake(*rotations);
  if (rotations->tokens() != (status ? tokens : 1)) throw std::logic_error("rotations changed");
  return status;
}

// Batch, tokens.
const SizeList position_sizes = {each(2), {3}};

void add_rotations(Calls& calls, const NamedRows& row) {
  const Frequencies frequencies = frequencies_of_spec(row.spec);
  const auto one_token = [=, options = row.options] {
    return make_rotations(frequencies, ConsecutivePositions{.tokens = 1}, options);
  };
  for (const NamedPositions& at : listed_positions) {
    const std::string what = row.what + " " + std::string(at.what);
    calls.push_back(sized("rotary::make_rotations(rotary::Frequencies", what, position_sizes,
                          [=, options = row.options, of = at.of](Sizes n) {
                            return make_rotations(frequencies, of(n[0], n[1]), options);
                          }));
    if (!one_token()) continue;
    calls.push_back(
        sized("rotary::remake_rotations(", what, position_sizes, [=, of = at.of](Sizes n) {
          return remade(one_token(), n[1], [&](Rotations& rotations) {
            return remake_rotations(rotations, frequencies, of(n[0], n[1]));
          });
        }));
  }
  calls.push_back(
      sized("rotary::make_rotations(rotary::Frequencies", row.what + " consecutive", {{3}},
            [=, options = row.options](Sizes n) {
              return make_rotations(frequencies, ConsecutivePositions{5, n[0]}, options);
            }));
}

Calls position_calls() {
  Calls calls;
  for (const NamedRows& row : rows()) add_rotations(calls, row);
  for (const double factor : {1.0, 3.0}) {
    calls.push_back(sized("rotary::make_rotations(rotary::HeadWindow", std::to_string(factor),
                          {{2}, {3}}, [factor](Sizes n) {
                            CosSinView rows = cos_sin(n[0], n[1]);
                            rows.attention_factor = factor;
                            return make_rotations(window_of_16(), rows);
                          }));
    calls.push_back(sized("rotary::make_unchecked_rotations(", std::to_string(factor), {{2}, {3}},
                          [factor](Sizes n) {
                            CosSinView rows = cos_sin(n[0], n[1]);
                            rows.attention_factor = factor;
                            return make_unchecked_rotations(window_of_16(), rows);
                          }));
  }
  return calls;
}

// Few tokens, and enough to be cut. Batch, tokens, heads, features.
const std::array<SizeList, 2> tensor_sizes = {SizeList{{}, {3}, {2}, each(16)},
                                              SizeList{{}, {200}, {2}, each(16)}};

Extents extents_of(Sizes n) { return {n[0], n[1], n[2], n[3]}; }

// function(sizes, rotations) with rotations for as many tokens as the second size says, or one
// less.
template <class Function>
void add_rotating(Calls& calls, std::string_view symbol, std::string_view what,
                  const Function& function, const SizeList& more_sizes = {}) {
  const auto less = [=](std::int64_t missing) {
    return [=](Sizes n) -> Status {
      auto by = rotations_for(n[1] > missing ? n[1] - missing : n[1]);
      return by ? function(n, *by) : Status(std::move(by).error());
    };
  };
  for (SizeList sizes : tensor_sizes) {
    sizes.insert(sizes.end(), more_sizes.begin(), more_sizes.end());
    calls.push_back(sized(symbol, what, sizes, less(0)));
    if (sizes[1].natural == 3) calls.push_back(sized(symbol, "by other tokens", sizes, less(1)));
  }
}

Calls rotating_calls() {
  Calls calls;
  add_rotating(calls, "rotary::rotate(", "in place", [](Sizes n, const Rotations& by) {
    const HeadsView dst = heads(extents_of(n));
    return rotate(dst, dst, by, {.executor = in_parts()});
  });
  add_rotating(calls, "rotary::rotate(", "apart", [](Sizes n, const Rotations& by) {
    return rotate(heads(extents_of(n)), heads(extents_of(n)), by, {.executor = in_parts()});
  });
  add_rotating(calls, "rotary::rotate_qk(rotary::HeadsView", "",
               [](Sizes n, const Rotations& by) {
                 return rotate_qk(heads(extents_of(n)), heads({n[0], n[1], n[4], n[3]}), by,
                                  {.executor = in_parts()});
               },
               {{1}});
  add_rotating(calls, "rotary::rotate_qk_into(", "",
               [](Sizes n, const Rotations& by) {
                 const Extents of_k{n[0], n[1], n[4], n[3]};
                 return rotate_qk_into({heads(extents_of(n)), heads(extents_of(n))},
                                       {heads(of_k), heads(of_k)}, by, {.executor = in_parts()});
               },
               {{1}});
  add_rotating(calls, "rotary::shift(rotary::HeadsView, rotary::Rotations", "",
               [](Sizes n, const Rotations& by) {
                 return shift(heads(extents_of(n)), by, {.executor = in_parts()});
               });
  add_rotating(calls, "rotary::shift(rotary::QuantizedHeadsView const&, rotary::Rotations", "",
               [](Sizes n, const Rotations& by) {
                 return shift(quantized(extents_of(n)), by, {.executor = in_parts()});
               });
  return calls;
}

// To positions of every type, from those of exact numerics and of others. The contents of an array
// of double are read before the two sides are compared.
Calls shift_calls() {
  Calls calls;
  static const Frequencies transformers =
      frequencies_of_spec(spec_with(NoScaling{}, Numerics::transformers));
  const SizeList sides = {each(2), each(2), {3}};  // batch of one side, of the other, tokens
  for (const Frequencies* const of : {&frequencies_of_16(), &transformers}) {
    const std::string numerics = of == &transformers ? "transformers " : "exact ";
    for (const NamedPositions& at : listed_positions) {
      const std::string what = numerics + std::string(at.what);
      calls.push_back(sized("rotary::make_shift(", what, sides, [=, to = at.of](Sizes n) {
        return make_shift({*of, positions<std::int64_t>(n[0], n[2])},
                          {frequencies_of_16(), to(n[1], n[2])});
      }));
      calls.push_back(sized("rotary::remake_shift(", what, sides, [=, to = at.of](Sizes n) {
        return remade(rotations_for(1), n[2], [&](Rotations& rotations) {
          return remake_shift(rotations, {*of, positions<std::int64_t>(n[0], n[2])},
                              {frequencies_of_16(), to(n[1], n[2])});
        });
      }));
    }
    calls.push_back(sized("rotary::make_shift(", numerics + "consecutive", {{3}}, [of](Sizes n) {
      return make_shift({*of, positions<double>(1, n[0])},
                        {frequencies_of_16(), ConsecutivePositions{0, n[0]}});
    }));
    const auto sides_of = [of](Sizes n) {
      const std::int64_t batch = n[0] > most_token_rows && n[1] > 0 ? 1 : n[0];
      return std::pair(RotatedAt{*of, positions<std::int64_t>(batch, n[1])},
                       RotatedAt{frequencies_of_16(), positions<double>(batch, n[1])});
    };
    calls.push_back(sized("rotary::shift(rotary::HeadsView, rotary::RotatedAt", numerics,
                          tensor_sizes.front(), [=](Sizes n) {
                            const auto [from, to] = sides_of(n);
                            return shift(heads(extents_of(n)), from, to);
                          }));
    calls.push_back(sized("rotary::shift(rotary::QuantizedHeadsView const&, rotary::RotatedAt",
                          numerics, tensor_sizes.front(), [=](Sizes n) {
                            const auto [from, to] = sides_of(n);
                            return shift(quantized(extents_of(n)), from, to);
                          }));
  }
  return calls;
}

}  // namespace

Calls rotation_calls() {
  Calls calls = {
      without_sizes("rotary::to_string(rotary::AxisArrangement)", "",
                    [] { return to_string(AxisArrangement::blocks); }),
      without_sizes("rotary::to_string(rotary::AxisExponents)", "",
                    [] { return to_string(AxisExponents::own); }),
      without_sizes("rotary::to_string(rotary::Role)", "", [] { return to_string(Role::key); }),
      without_sizes("rotary::supported_instruction_sets()", "", supported_instruction_sets),
      without_sizes("rotary::instruction_set()", "", instruction_set),
      without_sizes("rotary::force_instruction_set(", "that there is none of",
                    [] { return force_instruction_set("a set that no machine has"); }),
      without_sizes("rotary::force_instruction_set(", "that is in use",
                    [] { return force_instruction_set(*instruction_set()); }),
  };
  for (const auto more : {frequency_calls, position_calls, rotating_calls, shift_calls}) {
    add(calls, more());
  }
  return calls;
}

}  // namespace rotary::test
