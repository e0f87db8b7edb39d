// SPDX-License-Identifier: Apache-2.0
// The axis and frequency of each feature of a 16-feature head, for every layout of
// docs/theory/axes.md. The expected axes and frequencies were read from the classes of Transformers
// 5.23 with marked inputs. Also breaks each requirement of axes.hpp once.
#include "rotary/axes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "reference/frequencies.hpp"
#include "rotary/rotary.hpp"
#include "support/oracle.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using enum AxisArrangement;
using enum AxisExponents;

constexpr double base = 10000;

struct Layout {
  std::string name;
  std::string letters;  // one for each axis
  RotarySpec spec;
  std::string features;  // "h2": axis h, frequency index 2; "-": not rotated
};

RotarySpec spec_of(Axes axes, Pairing pairing = Pairing::half) {
  return {.head_dim = 16, .base = base, .pairing = pairing, .axes = std::move(axes)};
}

std::string twice(const std::string& half) { return half + " " + half; }

RotarySpec in_blocks(RotarySpec spec) {
  spec.blocks = 2;
  return spec;
}

RotarySpec partial(RotarySpec spec, std::int64_t rotary_dim) {
  spec.rotary_dim = rotary_dim;
  return spec;
}

constexpr Pairing adj = Pairing::interleaved;

std::vector<Layout> text_layouts() {
  const std::vector<std::int64_t> pairs = {2, 3, 3};
  const std::string chunks = twice("t0 t1 h2 h3 h4 w5 w6 w7");
  return {
      {"Qwen2VL", "thw", spec_of({.pairs = pairs, .exponents = shared}), chunks},
      {"Glm4vMoe", "thw", spec_of({.pairs = pairs, .exponents = shared}), chunks},
      {"Qwen3VL", "thw",
       spec_of({.pairs = {4, 2, 2}, .arrangement = interleaved, .exponents = shared}),
       twice("t0 h1 w2 t3 h4 w5 t6 t7")},
      {"Glm4v", "thw", spec_of({.pairs = pairs, .exponents = shared}, adj),
       "t0 t0 t1 t1 h2 h2 h3 h3 h4 h4 w5 w5 w6 w6 w7 w7"},
      // The class stores the even frequencies (h) before the odd ones (w), then interleaves them.
      {"Ernie45VL", "thw",
       spec_of({.pairs = pairs,
                .arrangement = interleaved_then_last,
                .exponents = shared,
                .order = {1, 2, 0}},
               adj),
       "h0 h0 w1 w1 h2 h2 w3 w3 h4 h4 w5 w5 t6 t6 t7 t7"},
      {"NeoMME", "rc", spec_of({.pairs = {4, 4}, .arrangement = interleaved, .exponents = shared}),
       twice("r0 c1 r2 c3 r4 c5 r6 c7")},
  };
}

std::vector<Layout> vision_layouts() {
  const std::vector<std::int64_t> pairs = {4, 4};
  const std::string h_first = "h0 h1 h2 h3 w0 w1 w2 w3";
  const std::string w_first = "w0 w1 w2 w3 h0 h1 h2 h3";
  const double two_pi = 2 * std::numbers::pi;
  return {
      {"Qwen2VisionTower", "hw", spec_of({.pairs = pairs, .exponents = own}), twice(h_first)},
      {"MuseGlimmer", "hw", spec_of({.pairs = pairs, .exponents = own, .order = {1, 0}}),
       twice(w_first)},
      {"Pixtral", "hw", spec_of({.pairs = pairs, .exponents = in_turn}),
       twice("h0 h2 h4 h6 w1 w3 w5 w7")},
      {"KimiK25", "hw",
       spec_of({.pairs = pairs, .arrangement = interleaved, .exponents = own, .order = {1, 0}}),
       twice("w0 h0 w1 h1 w2 h2 w3 h3")},
      {"Step37", "hw", spec_of({.pairs = pairs, .exponents = own, .order = {1, 0}}),
       twice(w_first)},
      {"Inkling2", "hw", spec_of({.pairs = pairs, .exponents = own, .order = {1, 0}}, adj),
       "w0 w0 w1 w1 w2 w2 w3 w3 h0 h0 h1 h1 h2 h2 h3 h3"},
      {"Sam2", "xy", spec_of({.pairs = pairs, .exponents = own}, adj),
       "x0 x0 x1 x1 x2 x2 x3 x3 y0 y0 y1 y1 y2 y2 y3 y3"},
      {"Gemma4", "hw", in_blocks(spec_of({.pairs = pairs, .exponents = own})),
       "h0 h1 h2 h3 h0 h1 h2 h3 w0 w1 w2 w3 w0 w1 w2 w3"},
      {"MiniMaxM3", "thw", partial(spec_of({.pairs = {2, 2, 2}, .exponents = own}), 12),
       twice("t0 t1 h0 h1 w0 w1") + " - - - -"},
      {"Llama4", "xy", spec_of({.pairs = pairs, .exponents = own}, adj),
       "x0 x0 x1 x1 x2 x2 x3 x3 y0 y0 y1 y1 y2 y2 y3 y3"},
      {"DinoV3", "hw", spec_of({.pairs = pairs, .exponents = own, .scales = {two_pi, two_pi}}),
       twice(h_first)},
  };
}

std::vector<Layout> diffusion_layouts() {
  return {
      {"Flux", "thw", spec_of({.pairs = {2, 3, 3}, .exponents = own}, adj),
       "t0 t0 t1 t1 h0 h0 h1 h1 h2 h2 w0 w0 w1 w1 w2 w2"},
      {"Flux2", "thwl", spec_of({.pairs = {2, 2, 2, 2}, .exponents = own}, adj),
       "t0 t0 t1 t1 h0 h0 h1 h1 w0 w0 w1 w1 l0 l0 l1 l1"},
      {"Cosmos", "thw",
       spec_of({.pairs = {4, 2, 2}, .exponents = own, .bases = {base, 2 * base, 2 * base}}),
       twice("t0 t1 t2 t3 h0 h1 w0 w1")},
  };
}

class AxisLayouts : public testing::TestWithParam<Layout> {};

// The axis of a pair and the index of its frequency, such as h2.
std::string mark(const Layout& layout, const Frequencies& frequencies, std::size_t pair) {
  const Axes& axes = *layout.spec.axes;
  const auto axis = static_cast<std::size_t>(frequencies.axes.of_pair[pair]);
  const double scale = axes.scales.empty() ? 1 : axes.scales[axis];
  const double from = axes.bases.empty() ? base : axes.bases[axis];
  const auto width = static_cast<double>(axes.exponents.get() == own ? axes.pairs[axis] : 8);
  const double place = -width * std::log(frequencies.inv_freq[pair] / scale) / std::log(from);
  EXPECT_NEAR(place, std::round(place), 1e-9);
  return layout.letters[axis] + std::to_string(std::lround(place));
}

TEST_P(AxisLayouts, GiveEachFeatureItsAxisAndFrequency) {
  const Layout& layout = GetParam();
  const Frequencies frequencies = test::value_of(make_frequencies(layout.spec));
  std::vector<std::string> marks(16, "-");
  for (std::size_t pair = 0; pair < frequencies.inv_freq.size(); ++pair) {
    const auto [x, y] = test::features_read(frequencies.window, Direction::forward,
                                            static_cast<std::int64_t>(pair));
    marks[static_cast<std::size_t>(x)] = marks[static_cast<std::size_t>(y)] =
        mark(layout, frequencies, pair);
  }
  std::string all;
  for (const std::string& each : marks) all += (all.empty() ? "" : " ") + each;
  EXPECT_EQ(all, layout.features);
}

TEST_P(AxisLayouts, HaveTheFrequenciesOfTheReference) {
  RotarySpec spec = GetParam().spec;
  for (const Scaling& scaling :
       {Scaling(NoScaling{}), Scaling(LinearScaling{.factor = 3}),
        Scaling(YarnScaling{.factor = 4, .original_context_tokens = 4096})}) {
    spec.scaling = scaling;
    const Frequencies got = test::value_of(make_frequencies(spec));
    const auto wanted = reference::frequencies(spec);
    ASSERT_EQ(got.inv_freq.size(), wanted.inv_freq.size());
    for (std::size_t pair = 0; pair < got.inv_freq.size(); ++pair) {
      const auto exact = static_cast<double>(wanted.inv_freq[pair]);
      EXPECT_NEAR(got.inv_freq[pair], exact, 1e-14 * std::abs(exact)) << pair;
    }
    EXPECT_NEAR(got.attention_factor, static_cast<double>(wanted.attention_factor), 1e-15);
  }
}

TEST_P(AxisLayouts, RoundTripThroughJson) {
  const RotarySpec& spec = GetParam().spec;
  const RotarySpec read = test::value_of(parse_rotary_spec(test::value_of(to_json(spec))));
  EXPECT_EQ(read.axes, spec.axes);
  EXPECT_EQ(read.blocks, spec.blocks);
  EXPECT_TRUE(
      rotate_alike(test::value_of(make_frequencies(read)), test::value_of(make_frequencies(spec))));
}

std::string name_of(const testing::TestParamInfo<Layout>& layout) { return layout.param.name; }
INSTANTIATE_TEST_SUITE_P(Text, AxisLayouts, testing::ValuesIn(text_layouts()), name_of);
INSTANTIATE_TEST_SUITE_P(Vision, AxisLayouts, testing::ValuesIn(vision_layouts()), name_of);
INSTANTIATE_TEST_SUITE_P(Diffusion, AxisLayouts, testing::ValuesIn(diffusion_layouts()), name_of);

TEST(AxesTest, OneAxisRotatesLikeASpecWithoutAxes) {
  const auto plain = RotarySpec{.head_dim = 16, .base = base, .pairing = Pairing::half};
  for (const AxisExponents exponents : all_axis_exponents) {
    const RotarySpec one = spec_of({.pairs = {8}, .exponents = exponents});
    EXPECT_TRUE(rotate_alike(test::value_of(make_frequencies(one)),
                             test::value_of(make_frequencies(plain))));
  }
}

TEST(AxesTest, FrequenciesThatDifferInAxesDoNotRotateAlike) {
  const auto of = [](const Axes& axes) { return test::value_of(make_frequencies(spec_of(axes))); };
  const Frequencies blocked = of({.pairs = {4, 4}, .exponents = shared});
  EXPECT_TRUE(rotate_alike(blocked, blocked));
  EXPECT_FALSE(rotate_alike(
      blocked, of({.pairs = {4, 4}, .arrangement = interleaved, .exponents = shared})));
  Frequencies in_two = blocked;
  in_two.window.blocks = 2;
  EXPECT_FALSE(rotate_alike(blocked, in_two));
}

void expect_axes_refused(const RotarySpec& spec, test::Parts parts,
                         ErrorCode code = ErrorCode::invalid_argument) {
  test::refused(make_frequencies(spec), parts, code);
  test::refused(validate(spec), parts, code);
}

TEST(AxesErrors, InvalidListsAreRefused) {
  expect_axes_refused(spec_of({.pairs = {}, .exponents = own}), {"axes.pairs", "1 to 8", "got 0"});
  expect_axes_refused(spec_of({.pairs = {1, 1, 1, 1, 1, 1, 1, 1, 1}, .exponents = own}), {"got 9"});
  expect_axes_refused(spec_of({.pairs = {8, 0}, .exponents = own}),
                      {"axes.pairs must be >= 1", "0"});
  expect_axes_refused(spec_of({.pairs = {4, 3}, .exponents = own}), {"sum", "8", "got fewer"});
  expect_axes_refused(
      spec_of({.pairs = {4, std::numeric_limits<std::int64_t>::max()}, .exponents = own}),
      {"sum", "8", "got more"});
  for (const auto& order : {std::vector<std::int64_t>{0}, {0, 0}, {1, 2}, {-1, 0}})
    expect_axes_refused(spec_of({.pairs = {4, 4}, .exponents = own, .order = order}),
                        {"axes.order must name each of 0..1 once"});
  expect_axes_refused(spec_of({.pairs = {4, 4}, .exponents = own, .bases = {100}}),
                      {"axes.bases", "one entry for each axis, 2", "got 1"});
  expect_axes_refused(spec_of({.pairs = {4, 4}, .exponents = own, .bases = {100, 1}}),
                      {"axes.bases must be finite and > 1", "got 1"});
  expect_axes_refused(spec_of({.pairs = {4, 4}, .exponents = shared, .bases = {100, 100}}),
                      {"axes.bases need exponents own, got shared"});
  expect_axes_refused(spec_of({.pairs = {4, 4}, .exponents = own, .scales = {1, 0}}),
                      {"axes.scales must be finite and not 0", "got 0"});
}

TEST(AxesErrors, InvalidArrangementsAreRefused) {
  const auto arranged = [](AxisArrangement arrangement, std::vector<std::int64_t> pairs) {
    return spec_of({.pairs = std::move(pairs), .arrangement = arrangement, .exponents = shared});
  };
  expect_axes_refused(
      arranged(static_cast<AxisArrangement>(4), {4, 4}),
      {"axes.arrangement must be blocks, interleaved or interleaved_then_last", "got value 4"});
  expect_axes_refused(spec_of({.pairs = {4, 4}, .exponents = static_cast<AxisExponents>(0)}),
                      {"axes.exponents must be shared, own or in_turn", "got value 0"});
  expect_axes_refused(arranged(interleaved, {2, 3, 3}), {"arrangement interleaved deals", "got"});
  expect_axes_refused(arranged(interleaved_then_last, {2, 4, 2}),
                      {"interleaved_then_last", "axis 0"});
  expect_axes_refused(spec_of({.pairs = {3, 5}, .exponents = in_turn}),
                      {"equal for all axes", "in_turn"});
}

TEST(AxesErrors, IncompatibleMembersAreRefused) {
  RotarySpec spec = spec_of({.pairs = {4, 4}, .exponents = own});
  spec.xpos = Xpos{};
  expect_axes_refused(spec, {"xpos needs positions of one axis, got 2"}, ErrorCode::unsupported);
  spec.xpos.reset();
  spec.numerics = Numerics::ggml;
  expect_axes_refused(spec, {"numerics ggml", "one axis, got 2"}, ErrorCode::unsupported);
  spec.numerics = Numerics::transformers;
  spec.axes->scales = {1, 2};
  expect_axes_refused(spec, {"axes.scales need numerics exact"}, ErrorCode::unsupported);
}

TEST(AxesErrors, WrongNumbersOfBlocksAreRefused) {
  RotarySpec spec = spec_of({.pairs = {4, 4}, .exponents = own});
  for (const std::int64_t blocks : {0, -1, 3, 16}) {
    spec.blocks = blocks;
    expect_axes_refused(spec, {"blocks must divide rotary_dim / 2, 8", "got"});
  }
  spec.blocks = 2;
  spec.pairing = Pairing::interleaved;
  expect_axes_refused(spec, {"blocks must be 1 for pairing interleaved, got 2"});
}

TEST(AxesErrors, InvalidPairAxesAreRefused) {
  const HeadWindow window{.head_dim = 4, .rotary_dim = 4, .pairing = Pairing::half};
  const auto refused = [&](std::vector<double> list, PairAxes axes, test::Parts parts) {
    test::refused(make_frequencies(window, std::move(list), 1, std::move(axes)), parts);
  };
  refused({1, 1}, {.count = 0}, {"axes.count must be in 1..8, got 0"});
  refused({1, 1}, {.count = 9}, {"got 9"});
  refused({1, 1}, {.count = 2, .of_pair = {0}}, {"axes.of_pair", "each pair, 2", "got 1"});
  refused({1, 1}, {.count = 1, .of_pair = {0, 0}}, {"empty for one axis"});
  refused({1, 1}, {.count = 2, .of_pair = {0, 2}}, {"in 0..1, got 2"});
  refused({1, 1}, {.count = 2, .of_pair = {0, -1}}, {"got -1"});
  refused({1, 1}, {.count = 2}, {"each pair and axis, 4", "got 2"});
}

TEST(AxesErrors, PositionsWithAnotherNumberOfAxesAreRefused) {
  const Frequencies two =
      test::value_of(make_frequencies(spec_of({.pairs = {4, 4}, .exponents = own})));
  const std::vector<std::int64_t> ids(12, 1);
  TokenArray<std::int64_t> positions = token_array(ids, 1, 3);
  const auto refused = [&](test::Parts parts) {
    test::refused(make_rotations(two, positions), parts);
    test::refused(make_shift({two, positions}, {two, positions}), parts);
  };
  refused({"1 axis, or 2 as the frequencies, got 3"});
  positions = token_array(ids, 1, 2);
  positions.axis_stride = 0;
  refused({"axis_stride of positions must not be 0", "got 2"});
  EXPECT_EQ(token_array(ids, 5, 2).batch, 0);
  EXPECT_EQ(token_array(ids, std::numeric_limits<std::int64_t>::max(), 3).batch, 0);
  std::vector<double> fractions(12, 0.5);
  fractions[9] = std::numeric_limits<double>::quiet_NaN();
  test::refused(make_rotations(two, positions_of(fractions, 2, 2)),
                {"got nan for batch 1, token 0, axis 1"});
}

}  // namespace
}  // namespace rotary
