// SPDX-License-Identifier: Apache-2.0
// Calls of frequencies, rotations, rotate(), shift(), and two angles for a pair.
#include <array>

#include "public_calls/call.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/position_maps.hpp"
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

struct NamedSpec {
  std::string what;
  RotarySpec spec;
  RotationsOptions options = {};
};

std::vector<NamedSpec> specs() {
  const std::vector<double> factors(8, 2);
  const Scaling longrope = LongRopeScaling{.short_factor = factors,
                                           .long_factor = factors,
                                           .original_context_tokens = 1024,
                                           .factor = 4};
  const Scaling llama3 = Llama3Scaling{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context_tokens = 8192};
  RotarySpec with_axes = spec_with(NoScaling{});
  with_axes.axes = Axes{.pairs = {5, 3}, .exponents = AxisExponents::own, .scales = {1, 0.5}};
  return {
      {"linear", spec_with(LinearScaling{.factor = 2})},
      {"ntk", spec_with(NtkScaling{.alpha = 8})},
      {"yarn", spec_with(YarnScaling{.factor = 4, .original_context_tokens = 1024})},
      {"llama3", spec_with(llama3)},
      {"longrope", spec_with(longrope)},
      {"explicit", spec_with(ExplicitScaling{.inv_freq = factors, .attention_factor = 1})},
      {"subnormal", spec_with(LinearScaling{.factor = 0x1p1020})},
      {"no factor", spec_with(LinearScaling{})},
      {"transformers", spec_with(longrope, Numerics::transformers)},
      {"ggml", spec_with(longrope, Numerics::ggml)},
      {"ggml without such an operation", spec_with(Llama3Scaling{}, Numerics::ggml)},
      {"xpos", with_xpos()},
      {"axes", with_axes},
  };
}

// Sizes: head_dim, rotary_dim, first_feature.
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
  Calls calls = {{"rotary::row_bytes(", "", {{}, {3}, each(16)}, [](Sizes n) {
                    const HeadWindow window{
                        .head_dim = n[2], .rotary_dim = n[2], .pairing = Pairing::half};
                    return row_bytes(window, n[0], n[1], RowDType::f32);
                  }}};
  const Adding add{calls, {}, window_sizes};
  add("rotary::make_frequencies(rotary::RotarySpec",
      [](Sizes n) { return make_frequencies(spec_of(n)); });
  add("rotary::validate(rotary::RotarySpec", [](Sizes n) { return validate(spec_of(n)); });
  add("rotary::head_window(", [](Sizes n) { return head_window(spec_of(n)); });
  for (const NamedSpec& each : specs()) {
    const Adding add_way{calls, each.what};
    add_way("rotary::make_frequencies(rotary::RotarySpec",
            [spec = each.spec] { return make_frequencies(spec, 64); });
    add_way("rotary::validate(rotary::RotarySpec",
            [spec = each.spec] { return validate(spec, 64); });
  }
  // The caller makes the list, so its allocation is outside the attempt and cannot fail.
  const auto add_listed = [&](std::string_view symbol, std::string what, std::size_t count,
                              auto... axes) {
    calls.emplace_back(symbol, what, window_sizes, [=](Attempt& attempt, Sizes n) {
      std::vector<double> list(count, 0.5);
      return attempt([&] { return make_frequencies(window_of(n), std::move(list), 1, axes...); });
    });
  };
  for (const std::size_t pairs : {4U, 3U}) add_listed(of_list, std::to_string(pairs), pairs);
  for (const std::int64_t axes : {1, 2, 9}) {
    add_listed(of_list_and_axes, std::to_string(axes) + " axes", axes == 2 ? 8 : 4,
               PairAxes{.count = axes});
  }
  Frequencies other = frequencies_of_16();
  other.inv_freq.back() = 0;
  Frequencies subnormal = frequencies_of_16();
  subnormal.inv_freq.back() = 0x1p-1050;
  calls.emplace_back("rotary::rotate_alike(", [=] { return rotate_alike(other, subnormal); });
  return calls;
}

std::vector<NamedSpec> rows() {
  return {
      {"f32", spec_with(NoScaling{})},
      {"f64", spec_with(NoScaling{}), {.rows = RowDType::f64}},
      {"xpos", with_xpos(), {.role = Role::query}},
      {"xpos without a role", with_xpos()},
      {"transformers", spec_with(NoScaling{}, Numerics::transformers), {.tensors = DType::bf16}},
      {"ggml", spec_with(NoScaling{}, Numerics::ggml)},
  };
}

// Remakes rotations of one token. On an error they must keep that token.
template <class Remake>
Status remade(Result<Rotations> rotations, std::int64_t tokens, const Remake& remake) {
  if (!rotations) return std::move(rotations).error();
  Status status = remake(*rotations);
  if (rotations->tokens() != (status ? tokens : 1)) throw std::logic_error("rotations changed");
  return status;
}

void add_rotations(Calls& calls, const NamedSpec& row) {
  const Frequencies frequencies = value_of(make_frequencies(row.spec, 64));
  const auto make = [frequencies, options = row.options](const Positions& at) {
    return make_rotations(frequencies, at, options);
  };
  const ConsecutivePositions one_token{.tokens = 1};
  for (const NamedPositions& kind : listed_positions) {
    const auto at = [of = kind.of](Sizes n) { return of(n[0], n[1]); };
    const Adding add{calls, row.what + " " + std::string(kind.what), {each(2), {3}}};
    add("rotary::make_rotations(rotary::Frequencies", make, at);
    if (!make(one_token)) continue;
    add("rotary::remake_rotations(", [=](Sizes n) {
      return remade(make(one_token), n[1], [&](Rotations& rotations) {
        return remake_rotations(rotations, frequencies, at(n));
      });
    });
  }
  calls.emplace_back("rotary::make_rotations(rotary::Frequencies", row.what + " consecutive",
                     SizeList{{3}}, [make](Sizes n) {
                       return make(ConsecutivePositions{5, n[0]});
                     });
}

Calls position_calls() {
  Calls calls;
  for (const NamedSpec& row : rows()) add_rotations(calls, row);
  const SizeList sizes = {{2}, {3}};
  for (const double factor : {1.0, 3.0}) {
    const auto given = [factor](Sizes n) {
      CosSinView made = cos_sin(n[0], n[1]);
      made.attention_factor = factor;
      return made;
    };
    const Adding add{calls, std::to_string(factor), sizes};
    add("rotary::make_rotations(rotary::HeadWindow",
        [given](Sizes n) { return make_rotations(window_of_16(), given(n)); });
    add("rotary::make_unchecked_rotations(",
        [given](Sizes n) { return make_unchecked_rotations(window_of_16(), given(n)); });
  }
  return calls;
}

// 3 tokens, and 200, which are split into parts. Sizes: batch, tokens, heads, features.
const std::array<SizeList, 2> tensor_sizes = {SizeList{{}, {3}, {2}, each(16)},
                                              SizeList{{}, {200}, {2}, each(16)}};

Extents extents_of(Sizes n) { return {n[0], n[1], n[2], n[3]}; }

// Calls function(sizes, rotations) with rotations for n[1] tokens, the second size, and with
// rotations for one token less.
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
    calls.emplace_back(symbol, what, sizes, less(0));
    if (sizes[1].natural == 3) calls.emplace_back(symbol, "by other tokens", sizes, less(1));
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

// Shifts from exact numerics or from those of Transformers to exact numerics, at positions of every
// type. An array of doubles is read before `from` and `to` are compared.
Calls shift_calls() {
  Calls calls;
  static const Frequencies transformers =
      value_of(make_frequencies(spec_with(NoScaling{}, Numerics::transformers), 64));
  for (const Frequencies* const of : {&frequencies_of_16(), &transformers}) {
    const std::string numerics = of == &transformers ? "transformers " : "exact ";
    for (const NamedPositions& kind : listed_positions) {
      const auto from = [of](Sizes n) -> RotatedAt {
        return {*of, positions<std::int64_t>(n[0], n[2])};
      };
      const auto to = [at = kind.of](Sizes n) -> RotatedAt {
        return {frequencies_of_16(), at(n[1], n[2])};
      };
      // Sizes: batch of `from`, batch of `to`, tokens.
      const Adding add{calls, numerics + std::string(kind.what), {each(2), each(2), {3}}};
      add("rotary::make_shift(", [=](Sizes n) { return make_shift(from(n), to(n)); });
      add("rotary::remake_shift(", [=](Sizes n) {
        return remade(rotations_for(1), n[2], [&](Rotations& rotations) {
          return remake_shift(rotations, from(n), to(n));
        });
      });
    }
    calls.emplace_back("rotary::make_shift(", numerics + "consecutive", SizeList{{3}},
                       [of](Sizes n) {
                         return make_shift({*of, positions<double>(1, n[0])},
                                           {frequencies_of_16(), ConsecutivePositions{0, n[0]}});
                       });
    const auto sides_of = [of](Sizes n) {
      const std::int64_t batch = n[0] > most_token_rows && n[1] > 0 ? 1 : n[0];
      return std::pair(RotatedAt{*of, positions<std::int64_t>(batch, n[1])},
                       RotatedAt{frequencies_of_16(), positions<double>(batch, n[1])});
    };
    const Adding add{calls, numerics, tensor_sizes.front()};
    add("rotary::shift(rotary::HeadsView, rotary::RotatedAt", [=](Sizes n) {
      const auto [from, to] = sides_of(n);
      return shift(heads(extents_of(n)), from, to);
    });
    add("rotary::shift(rotary::QuantizedHeadsView const&, rotary::RotatedAt", [=](Sizes n) {
      const auto [from, to] = sides_of(n);
      return shift(quantized(extents_of(n)), from, to);
    });
  }
  return calls;
}

const TwoAngles& angles_of_16() {
  static const TwoAngles angles =
      value_of(make_two_angles(window_of_16(), std::vector<double>(16, 0.5), {}));
  return angles;
}

Calls two_angle_calls() {
  Calls calls = {
      {"rotary::vjepa2_two_angles(", [] { return vjepa2_two_angles(64); }},
      {"rotary::vjepa2_two_angles(", "an impossible head_dim", [] { return vjepa2_two_angles(5); }},
      {"rotary::make_two_angle_rows(",
       "consecutive",
       {{3}},
       [](Sizes n) {
         return make_two_angle_rows(angles_of_16(), ConsecutivePositions{5, n[0]});
       }},
  };
  for (const std::int64_t head_dim : {16, -16}) {
    const std::string_view what = head_dim < 0 ? "an impossible head_dim" : "";
    calls.emplace_back("rotary::hunyuan_vl_two_angles(", what,
                       [head_dim, sections = std::vector<std::int64_t>{2, 3, 1, 2}] {
                         return hunyuan_vl_two_angles(head_dim, 1e4, sections);
                       });
  }
  for (const std::int64_t missing : {0, 1}) {
    const Adding add{calls, missing == 0 ? "" : "by other tokens", {{}, {3}, {2}, each(16)}};
    add("rotary::apply_two_angles(", [missing](Sizes n) -> Status {
      const std::int64_t tokens = n[1] > missing ? n[1] - missing : n[1];
      auto rows = make_two_angle_rows(angles_of_16(), ConsecutivePositions{5, tokens});
      if (!rows) return std::move(rows).error();
      const auto operand = heads_at<0, 1, 2, 3>;
      return apply_two_angles(operand(n), operand(n), *rows);
    });
  }
  // The caller makes the list, so its allocation is outside the attempt and cannot fail.
  for (const std::size_t features : {16U, 3U}) {
    calls.emplace_back(
        "rotary::make_two_angles(", std::to_string(features), [features](Attempt& attempt, Sizes) {
          std::vector<double> list(features, 0.5);
          return attempt([&] { return make_two_angles(window_of_16(), std::move(list), {}); });
        });
  }
  for (const NamedPositions& kind : listed_positions) {
    calls.emplace_back(
        "rotary::make_two_angle_rows(", kind.what, SizeList{each(2), {3}},
        [of = kind.of](Sizes n) { return make_two_angle_rows(angles_of_16(), of(n[0], n[1])); });
  }
  return calls;
}

}  // namespace

Calls rotation_calls() {
  Calls calls = {
      {"rotary::to_string(rotary::AxisArrangement)",
       [] { return to_string(AxisArrangement::blocks); }},
      {"rotary::to_string(rotary::AxisExponents)", [] { return to_string(AxisExponents::own); }},
      {"rotary::to_string(rotary::Role)", [] { return to_string(Role::key); }},
      {"rotary::supported_instruction_sets()", supported_instruction_sets},
      {"rotary::instruction_set()", instruction_set},
      {"rotary::force_instruction_set(", "an unknown set",
       [] { return force_instruction_set("a set that no machine has"); }},
      {"rotary::force_instruction_set(", "the set in use",
       [] { return force_instruction_set(*instruction_set()); }},
  };
  for (const auto more :
       {frequency_calls, position_calls, rotating_calls, shift_calls, two_angle_calls}) {
    add(calls, more());
  }
  return calls;
}

}  // namespace rotary::test
