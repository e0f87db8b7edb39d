// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/linear_case.hpp"

#include <algorithm>
#include <array>

#include "fuzz/check.hpp"
#include "fuzz/frequencies_cache.hpp"

namespace rotary::fuzz {
namespace {

// A small number of tokens, or one near the sizes of chunks and blocks.
std::int64_t decode_tokens(Bytes& input) {
  if (input.once_in(16)) return 64 * input.number(1, 2) + input.number(-2, 2);
  return input.number(0, 7);
}

AttentionShape decode_shape_of(Bytes& input) {
  AttentionShape shape{.batch = input.number(0, 3),
                       .queries = decode_tokens(input),
                       .key_heads = input.once_in(32) ? 0 : input.number(1, 3)};
  shape.keys = shape.queries;
  shape.heads = shape.key_heads * input.number(1, 3);
  shape.features = input.once_in(16) ? input.number(0, 20) : input.number(1, 6);
  shape.value_features = input.once_in(16) ? input.number(0, 20) : input.number(1, 6);
  // Enough work to split among threads.
  if (input.once_in(128)) shape = {1, 130, 130, 4, 2, 32, 16};
  return shape;
}

void decode_map(Placing& placing, LinearCase& to) {
  Bytes& input = placing.input;
  const AttentionShape& shape = to.shape;
  to.map_features = shape.features;
  const std::int64_t kind = input.number(0, 2);
  if (kind == 1) to.map = SoftmaxExp{};
  if (kind < 2 || shape.features == 0) return;
  to.map_features = input.number(1, 9);
  const std::int64_t count = shape.features * to.map_features;
  std::byte* const directions = place_elements(placing, count, 4);
  if (directions == nullptr) return;
  fill(placing.arena.latest(), DType::f32, placing.noise, 99);
  to.map = PositiveRandomFeatures{
      .directions = {reinterpret_cast<const float*>(directions), static_cast<std::size_t>(count)},
      .softmax_scale = static_cast<double>(input.number(1, 8)) / 16};
}

// Segments of documents and padding: one set for all batch rows, or one for each.
void decode_segments(Placing& placing, LinearCase& to) {
  Bytes& input = placing.input;
  SegmentMap map{.batch = input.once_in(2) && to.shape.batch > 0 ? to.shape.batch : 1,
                 .tokens = to.shape.keys};
  map.token_stride = input.number(1, 2);
  map.batch_stride = map.tokens * map.token_stride + input.number(0, 1);
  const std::int64_t count = map.tokens == 0 ? 0
                                             : (map.batch - 1) * map.batch_stride +
                                                   (map.tokens - 1) * map.token_stride + 1;
  if (count > 0) {
    auto* const numbers = reinterpret_cast<std::int32_t*>(place_elements(placing, count, 4));
    if (numbers == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i)
      numbers[i] = static_cast<std::int32_t>(i < 40 ? input.number(-1, 2) : i / 9 % 3);
    map.data = numbers;
  }
  to.options.segments = map;
}

std::span<double> place_doubles(Placing& placing, std::int64_t count) {
  std::byte* const data = place_elements(placing, count, 8);
  if (data == nullptr) return {};
  const auto place = placing.arena.latest();
  std::fill(place.begin(), place.end(), std::byte{0});
  return {reinterpret_cast<double*>(data), static_cast<std::size_t>(count)};
}

void decode_state(Placing& placing, LinearCase& to) {
  const AttentionShape& shape = to.shape;
  const std::int64_t heads = shape.batch * shape.key_heads;
  LinearState state{
      .values = place_doubles(placing, heads * to.map_features * shape.value_features),
      .keys = place_doubles(placing, heads * to.map_features),
      .exponents = place_doubles(placing, heads)};
  if (!placing.has_room) return;
  to.options.state = state;
  if (placing.input.once_in(8)) {
    to.has_any_state = true;
    for (const std::span<double> numbers : {state.values, state.keys, state.exponents})
      fill(std::as_writable_bytes(numbers), DType::f64, Noise::any, placing.seed);
  } else {
    to.earlier = placing.input.number(0, 255) % (shape.keys + 1);
  }
}

// Kinds for frequencies_of() whose attention factor is 1.
constexpr std::array<std::int64_t, 3> factorless = {0, 1, 4};

Rotations decode_rows(Bytes& input, const Frequencies& frequencies, std::int64_t first,
                      const HeadsView& view) {
  const RowDType rows = view.dtype == DType::f64 ? RowDType::f64 : RowDType::f32;
  std::vector<std::int64_t> listed;
  Positions positions = ConsecutivePositions{.first = first, .tokens = view.extents.tokens};
  if (view.extents.batch > 1 && input.once_in(3)) {
    for (std::int64_t i = 0; i < view.extents.batch * view.extents.tokens; ++i)
      listed.push_back(first + 3 * i % 50);
    positions = positions_of(listed, view.extents.batch);
  }
  auto made = make_rotations(frequencies, positions, {.rows = rows});
  if (!made) fail("rotations must be made", made.error().message);
  return *std::move(made);
}

void decode_rotations(Bytes& input, LinearCase& to) {
  const std::int64_t features = to.map_features;
  if (features < 2 || !input.once_in(2)) return;
  const HeadWindow window = decode_pairs(input, features);
  const Frequencies frequencies = frequencies_of(window, input.one_of(factorless));
  to.q_rotations = decode_rows(input, frequencies, input.number(-9, 40), to.q);
  to.k_rotations = decode_rows(input, frequencies, input.number(-9, 40), to.k);
  to.options.rotations.emplace(NumeratorRotations{*to.q_rotations, *to.k_rotations});
}

void change_any_number(Bytes& input, LinearCase& of) {
  std::vector<std::int64_t*> all;
  append_numbers(all, of);
  if (of.options.segments) {
    SegmentMap& map = *of.options.segments;
    all.insert(all.end(), {&map.batch, &map.tokens, &map.batch_stride, &map.token_stride});
  }
  change_number(input, all);
}

Answer change_options(Bytes& input, LinearCase& of) {
  switch (input.number(0, 2)) {
    case 0:
      of.options.mask = static_cast<LinearMask>(input.once_in(2) ? 0 : 3);
      return Answer::refuse;
    case 1:
      of.options.epsilon = input.once_in(2) ? std::nan("") : -1;
      return Answer::refuse;
    default:
      of.options.mask =
          of.options.mask == LinearMask::causal ? LinearMask::bidirectional : LinearMask::causal;
      return Answer::either;
  }
}

// Makes the state one number too short.
Answer shorten_state(Bytes& input, LinearCase& of) {
  if (!of.options.state) return Answer::accept;
  LinearState& state = *of.options.state;
  std::span<double>& numbers = *std::array{
      &state.values, &state.keys, &state.exponents}[static_cast<std::size_t>(input.number(0, 2))];
  if (numbers.empty()) return Answer::accept;
  numbers = numbers.first(numbers.size() - 1);
  return Answer::refuse;
}

Answer change_map(Bytes& input, LinearCase& of) {
  auto* const random = std::get_if<PositiveRandomFeatures>(&of.map);
  if (random == nullptr) return Answer::accept;
  if (input.once_in(2)) {
    random->softmax_scale = input.once_in(2) ? 0 : std::nan("");
    return Answer::refuse;
  }
  random->directions = random->directions.first(random->directions.size() - 1);
  return Answer::either;
}

// Changes one thing about the legal case. Sets of.expected, because the case may stay legal.
void spoil(Bytes& input, LinearCase& of) {
  of.earlier = 0;
  switch (input.number(0, 7)) {
    case 0:
      of.expected = change_any_view(input, of);
      break;
    case 1:
      of.expected = share_out(input, of);
      break;
    case 2:
      of.expected = change_options(input, of);
      break;
    case 3:
      of.expected = shorten_state(input, of);
      break;
    case 4:
      of.expected = change_map(input, of);
      break;
    default:
      change_any_number(input, of);
      of.expected = Answer::either;
  }
}

}  // namespace

bool decode_linear(Bytes& input, Arena& arena, LinearCase& to) {
  Placing placing = begin_case(input, arena);
  to.shape = decode_shape_of(input);
  AttentionShape& shape = to.shape;
  to.options.mask = static_cast<LinearMask>(input.number(1, 2));
  const bool segmented = input.once_in(3);
  if (to.options.mask == LinearMask::bidirectional && !segmented && input.once_in(2))
    shape.keys = decode_tokens(input);
  constexpr std::array epsilons = {1e-6, 0.0, 1.0, 1e-3};
  to.options.epsilon = input.one_of(epsilons);
  decode_map(placing, to);
  const auto dtype = static_cast<DType>(input.number(1, 4));
  to.q = place_heads(placing, dtype, {shape.batch, shape.queries, shape.heads, shape.features},
                     Use::read);
  to.k = place_heads(placing, dtype, {shape.batch, shape.keys, shape.key_heads, shape.features},
                     Use::read);
  to.v = place_heads(placing, dtype,
                     {shape.batch, shape.keys, shape.key_heads, shape.value_features}, Use::read);
  to.out =
      place_heads(placing, dtype, {shape.batch, shape.queries, shape.heads, shape.value_features},
                  Use::written);
  if (segmented) decode_segments(placing, to);
  if (input.once_in(3)) decode_state(placing, to);
  if (!placing.has_room) return false;
  decode_rotations(input, to);
  if (input.once_in(3)) spoil(input, to);
  return true;
}

bool is_callable(const Arena& arena, const LinearCase& of) {
  if (!are_inside(arena, of)) return false;
  // With a stride of 0, keys may repeat so often that an accepted call takes long.
  const std::int64_t keys = of.k.extents.tokens;
  if (keys > 5000 && keys <= std::int64_t{1} << 31) return false;
  if (!of.options.segments) return true;
  const SegmentMap& map = *of.options.segments;
  return is_inside(arena, {.data = map.data,
                           .element_bytes = sizeof *map.data,
                           .counts = {map.batch, map.tokens, 1, 1},
                           .strides = {map.batch_stride, map.token_stride, 0, 0}});
}

void put_back_results(const LinearCase& of, const Memory& memory) {
  put_back(strided(of.out), memory);
  if (!of.options.state) return;
  const LinearState& state = *of.options.state;
  for (const std::span<double> numbers : {state.values, state.keys, state.exponents})
    put_back(strided(numbers), memory);
}

}  // namespace rotary::fuzz
