// SPDX-License-Identifier: Apache-2.0
// Calls of absolute encodings, and of positions for grids, regions, windows and prompts.
#include <array>

#include "public_calls/call.hpp"
#include "rotary/absolute.hpp"
#include "rotary/m_rope.hpp"
#include "rotary/position_ids.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

template <class Number>
Positions for_all_rows(std::int64_t, std::int64_t tokens) {
  return positions<Number>(1, tokens);
}

// One list of positions for all batch rows, consecutive positions, and one list for each batch row.
// The library checks them even if tokens have no features.
constexpr NamedPositions all_positions[] = {{"int32 for all rows", for_all_rows<std::int32_t>},
                                            {"double for all rows", for_all_rows<double>},
                                            {"consecutive",
                                             [](auto, auto tokens) -> Positions {
                                               return ConsecutivePositions{0, tokens};
                                             }},
                                            listed_positions[0],
                                            listed_positions[1],
                                            listed_positions[2]};

// Sizes: batch, tokens, features, and rows of the table if there is one. A table of 2 rows has
// fewer rows than the tokens look up.
void add_positioned(Calls& calls, const NamedPositions& kind) {
  static const Sinusoidal by = value_of(make_sinusoidal(transformer_sinusoidal(8)));
  const auto in = tokens_at<0, 1, 2>;
  // Positions for each batch row, or one list for all if there are too many batch rows.
  const auto at = [of = kind.of](Sizes n) {
    return of(n[0] > most_token_rows && n[1] > 0 ? 1 : n[0], n[1]);
  };
  const auto rows = [at](Sizes n) { return TableRows{.indices = at(n)}; };
  const auto lookup = [rows](Sizes n) { return Lookup{table(n[3], n[2]), rows(n)}; };
  const auto twice = [](const TokensView& out, const Lookup& of) {
    return sum_embeddings(out, std::array{of, of});
  };
  const Adding add{calls, std::string(kind.what), {{2}, {3}, each(8)}};
  add("rotary::fill_sinusoidal(", fill_sinusoidal, in, by, at);
  add("rotary::add_sinusoidal(", add_sinusoidal, in, in, by, at, AddOptions{});
  add("rotary::shift_sinusoidal(", shift_sinusoidal, in, in, by, at);
  for (const std::int64_t of_table : {6, 2}) {
    const Adding add_rows{calls, add.what, {{2}, {3}, each(8), {of_table}}};
    add_rows("rotary::add_learned(", add_learned, in, in, lookup);
    add_rows("rotary::sum_embeddings(", twice, in, lookup);
    add_rows("rotary::add_table_gradient(", add_table_gradient, table_at<3, 2>, rows, in);
  }
}

// Operands of interpolate_table() and add_interpolation_gradient().
struct Interpolated {
  TableView from;
  TableView to;
  TableInterpolation by;
};

// The number of cells of a grid. On overflow, a number that the library refuses.
std::int64_t cells(std::int64_t rows, std::int64_t columns) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(rows, columns, &product) ? rows : product;
}

// Sizes: features, rows of the source, rows of the destination, kept rows.
Interpolated linear(Sizes n) {
  return {table(n[1], n[0]), table(n[2], n[0]), LinearInterpolation{.kept_rows = n[3]}};
}

// Sizes: features, rows and columns of the source, then of the destination.
Interpolated bicubic(Sizes n) {
  return {table(cells(n[1], n[2]), n[0]), table(cells(n[3], n[4]), n[0]),
          BicubicInterpolation{.from = {n[1], n[2]}, .to = {n[3], n[4]}}};
}

void add_interpolating(Calls& calls, const SizeList& sizes, Interpolated (*of)(Sizes)) {
  const Adding add{calls, {}, sizes};
  add(
      "rotary::interpolate_table(",
      [](const Interpolated& on) { return interpolate_table(on.to, on.from, on.by); }, of);
  add(
      "rotary::add_interpolation_gradient(",
      [](const Interpolated& on) { return add_interpolation_gradient(on.from, on.to, on.by); }, of);
}

// Text, an image, a video and, if the convention has a canvas, a sliced image.
std::array<TokenGroup, 4> prompt_of(Sizes n, std::string_view name) {
  VideoPatches video{.frames = n[3], .rows = n[1], .columns = n[2], .seconds_per_frame = 0.7};
  if (name.ends_with("omni")) video.audio_tokens = n[0];
  if (name == "qwen3-vl") video.text_between_frames = n[0];
  const SlicedImage sliced{{n[1], n[2]}, n[3], n[3], {n[2], n[1]}, n[0]};
  const bool has_canvas = name == "minicpm-v-4.7";
  return {TextTokenRun{n[0]}, ImagePatches{n[1], n[2]}, video,
          has_canvas ? TokenGroup(sliced) : TextTokenRun{n[0]}};
}

PatchGrid grid_of(Sizes n) { return {n[0], n[1], n[2]}; }

}  // namespace

Calls absolute_calls() {
  Calls calls = {{"rotary::to_string(rotary::SinusoidalLayout)",
                  [] { return to_string(SinusoidalLayout::interleaved); }},
                 {"rotary::to_string(rotary::SinusoidalSpacing)",
                  [] { return to_string(SinusoidalSpacing::ends); }},
                 {"rotary::make_sinusoidal(",
                  "",
                  {{8}},
                  [](Sizes n) { return make_sinusoidal(transformer_sinusoidal(n[0])); }},
                 {"rotary::positions_from_mask(", "", {each(4), each(4), {2}}, [](Sizes n) {
                    return positions_from_mask(numbers<std::int64_t>(n[0]),
                                               numbers<std::uint8_t>(n[1]), n[2]);
                  }}};
  for (const NamedPositions& kind : all_positions) add_positioned(calls, kind);
  for (const std::int64_t kept : {1, 7}) {  // 7: more than the rows
    add_interpolating(calls, {each(8), {4}, {6}, {kept}}, linear);
  }
  add_interpolating(calls, {each(8), {2}, {2}, {3}, {2}}, bicubic);
  return calls;
}

void add_position_ids(Calls& calls) {
  const auto add = [&](const char* call, SizeList sizes, auto run) {
    calls.emplace_back(call, "", std::move(sizes), run);
  };
  add("rotary::padded_positions(", {each(6), {2}, {1}}, [](Sizes n) {
    return padded_positions({numbers<std::int64_t>(n[0]), n[1]}, n[2]);
  });
  add("rotary::packed_positions(", {each(4), each(4)}, [](Sizes n) {
    return packed_positions(numbers<std::int64_t>(n[0]), numbers<std::int64_t>(n[1]));
  });
  add("rotary::sequence_lengths(", {each(4)},
      [](Sizes n) { return sequence_lengths(numbers<std::int64_t>(n[0])); });
  add("rotary::check_positions(", {each(12), {2}, {3}}, [](Sizes n) {
    return check_positions({numbers<std::int64_t>(n[0]), n[1], n[2]});
  });
}

Calls positions_calls() {
  Calls calls = {
      {"rotary::text_positions(",
       "",
       {{5}, {2}},
       [](Sizes n) { return text_positions({.tokens = n[0], .axes = n[1]}); }},
      {"rotary::grid_positions(",
       "",
       {{2}, {4}, {6}, {2}},
       [](Sizes n) { return grid_positions(grid_of(n), n[3]); }},
      {"rotary::centred_grid_positions(",
       "",
       {{2}, {4}, {6}},
       [](Sizes n) { return centred_grid_positions(grid_of(n)); }},
      {"rotary::area_scaled_positions(",
       "",
       {{2}, {4}, {6}},
       [](Sizes n) { return area_scaled_positions(grid_of(n), 192 * 192); }},
      {"rotary::region_positions(",
       "",
       {{2}, {4}},
       [](Sizes n) {
         return region_positions(
             std::array<AxisRegion, 2>{{{n[0], -1, 1.0 / 3}, {n[1], 0, 0.7, Sampling::centres}}});
       }},
      {"rotary::window_order(",
       "",
       {{2}, {4}, {6}, {2}, {2}},
       [](Sizes n) { return window_order(grid_of(n), {.merge = n[3], .window = n[4]}); }},
      {"rotary::m_rope_conventions(", [] { return m_rope_conventions().size(); }},
      {"rotary::m_rope_convention(", [] { return m_rope_convention("glm-4v"); }},
  };
  const SizeList sizes = {{5}, {4}, {8}, {3}};
  const Adding add{calls, {}, sizes};
  const auto qwen = [] { return *m_rope_convention("qwen2.5-vl"); };
  add("rotary::m_rope_token_count(",
      [=](Sizes n) { return m_rope_token_count(prompt_of(n, ""), qwen()); });
  add("rotary::m_rope_positions(",
      [=](Sizes n) { return m_rope_positions(prompt_of(n, ""), qwen()); });
  for (const auto* const name : {"qwen3-vl", "qwen2.5-omni", "qwen3-omni", "minicpm-v-4.7"}) {
    calls.emplace_back("rotary::m_rope_coordinates(", name, sizes, [name](Sizes n) {
      return m_rope_coordinates(prompt_of(n, name), *m_rope_convention(name));
    });
  }
  add_position_ids(calls);
  return calls;
}

}  // namespace rotary::test
