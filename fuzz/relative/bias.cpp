// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/relative/bias_case.hpp"
#include "fuzz/relative/exact_bias.hpp"
#include "fuzz/relative/relative_cases.hpp"
#include "fuzz/tokens_case.hpp"

namespace rotary::fuzz {
namespace {

enum class Operation { fill, distances, gradient };

struct BiasCall {
  Operation operation = Operation::fill;
  RelativeBias bias = {};
  PlacesOfScores places = {};
  ScoresView scores = {};  // out, or d_bias
  std::span<double> gradients = {};
};

// Scores, usually with the heads of the bias.
bool decode_scores(Bytes& input, Places& places, BiasCall& call) {
  call.scores.dtype = decode_dtype(input);
  ScoresExtents& n = call.scores.extents;
  n = {.batch = input.number(1, 2),
       .heads = 1,
       .queries = input.number(1, 4),
       .keys = input.number(1, 6)};
  if (call.operation == Operation::distances) n.queries = 1;
  n.heads = std::clamp<std::int64_t>(head_count(call.bias), 0, 8);
  const std::array<std::int64_t*, 4> each = {&n.batch, &n.queries, &n.heads, &n.keys};
  disturb(input, each);
  return decode_view(input, places, call.scores);
}

// Number of gradients, usually one for each parameter.
bool decode_gradients(Bytes& input, Places& places, BiasCall& call) {
  std::int64_t count = input.number(0, 8);
  if (expected_of(call.bias) != Answer::refuse) {
    count = std::clamp<std::int64_t>(parameter_count(call.bias), 0, 128);
  }
  if (input.once_in(32)) count += input.number(0, 1);
  const auto numbers = decode_array<double>(input, places, count);
  if (!numbers) return false;
  call.gradients = *numbers;
  return true;
}

// storage: for positions that are given one by one.
std::optional<BiasCall> decode(Bytes& input, Buffers& buffers, std::vector<std::int64_t>& storage) {
  Places places(buffers.buffer());
  BiasCall call{.operation = static_cast<Operation>(input.number(0, 2))};
  const std::uint64_t seed = input.bits();
  auto bias = decode_bias(input, places);
  if (!bias) return {};
  call.bias = *std::move(bias);
  if (!decode_scores(input, places, call)) return {};
  call.places = decode_places(input, call.scores.extents, storage);
  if (call.operation == Operation::distances) call.places.one_by_one.reset();
  if (call.operation == Operation::gradient) {
    if (!decode_gradients(input, places, call)) return {};
    const Strided read = strided(call.scores);
    if (!is_empty(read) && !is_small(read)) return {};
  }
  fill(buffers.buffer(), call.scores.dtype, input.once_in(3) ? Noise::any : Noise::activations,
       seed);
  return call;
}

Answer expected_answer(const BiasCall& call, const std::byte* buffer) {
  const Strided scores = strided(call.scores);
  const ScoresExtents& n = call.scores.extents;
  const Answer of_numbers = stricter(expected_of(call.bias), expected_of(call.places, n));
  if (of_numbers == Answer::refuse || !is_countable(scores)) return Answer::refuse;
  if (n.heads != head_count(call.bias)) return Answer::refuse;
  if (call.operation == Operation::distances &&
      (n.queries != 1 || !depends_on_distance_alone(call.bias))) {
    return Answer::refuse;
  }
  if (call.operation == Operation::gradient) {
    const Strided gradients = strided(call.gradients);
    if (static_cast<std::int64_t>(call.gradients.size()) != parameter_count(call.bias)) {
      return Answer::refuse;
    }
    return stricter(of_numbers,
                    expected_of_sharing(std::array{gradients}, std::array{scores}, buffer));
  }
  std::vector<Strided> read;
  if (const auto* t5 = std::get_if<T5Bias>(&call.bias)) read.push_back(strided(t5->table));
  return stricter(of_numbers, expected_of_sharing(std::array{scores}, read, buffer));
}

// An encoding must be found by its name. Most depend only on the distance.
void check_kind(const RelativeBias& bias) {
  const auto named = relative_bias_named(to_string(bias));
  if (!named || named->index() != bias.index()) fail("an encoding must have its name");
  const auto* const alibi = std::get_if<Alibi>(&bias);
  const bool is_plain = !std::holds_alternative<Fire>(bias) &&
                        (alibi == nullptr || alibi->form != AlibiForm::key_position);
  if (depends_on_distance_alone(bias) != is_plain) fail("a distance decides all but two kinds");
}

// bias_at returns the number that fill_bias rounds.
Result<double> at(const BiasCall& call, const Axes& index) {
  return bias_at(
      call.bias,
      {.head = index[2], .query = call.places.query(index[1]), .key = call.places.key(index[3])});
}

void check_filled(const BiasCall& call, const Memory& memory) {
  const Strided scores = strided(call.scores);
  const std::byte* const buffer = memory.after.data();
  const ScoresExtents& n = call.scores.extents;
  std::int64_t looked_at = 0;
  for_each_element(scores, [&](const Axes& index) {
    const auto exact = at(call, index);
    if (!exact) fail("a bias that is filled in must have a value", exact.error().message);
    if (!is_rounded(call.scores.dtype, buffer + place_of(scores, buffer, index), *exact)) {
      fail("an element must be the bias, rounded once");
    }
    // Multiple precision and logarithms take most of the time.
    const std::int64_t elements = n.heads * n.queries * n.keys;
    if (index[0] == 0 && (looked_at++ % std::max<std::int64_t>(elements / 2, 1)) == 0) {
      check_exact(call.bias,
                  {.head = index[2],
                   .query = call.places.query(index[1]),
                   .key = call.places.key(index[3])},
                  *exact, memory);
    }
  });
  put_back(scores, memory);
  check_unchanged(memory, "bytes that belong to no score must stay");
}

void check_summed(const BiasCall& call, const Memory& memory) {
  check_gradient({.bias = call.bias, .places = call.places, .d_bias = call.scores}, call.gradients,
                 memory);
  put_back(strided(call.gradients), memory);
  check_unchanged(memory, "bytes that belong to no gradient must stay");
}

Status run(const BiasCall& call) {
  const auto& [range, one_by_one] = call.places;
  switch (call.operation) {
    case Operation::fill:
      return one_by_one ? fill_bias(call.scores, call.bias, *one_by_one)
                        : fill_bias(call.scores, call.bias, range);
    case Operation::distances:
      return fill_distances(call.scores, call.bias, range.first_key);
    case Operation::gradient:
      return one_by_one ? add_bias_gradient(call.gradients, call.bias, call.scores, *one_by_one)
                        : add_bias_gradient(call.gradients, call.bias, call.scores, range);
  }
  fail("an operation must be known");
}

}  // namespace

void fuzz_bias(Bytes& input, Buffers& buffers) {
  std::vector<std::int64_t> storage;
  auto call = decode(input, buffers, storage);
  if (!call) return;
  if (call->operation == Operation::distances) call->places.range.first_query = 0;
  const Memory memory = buffers.keep();
  check_kind(call->bias);
  const Answer expected = expected_answer(*call, memory.after.data());
  if (validate(call->bias).ok() != (expected_of(call->bias) != Answer::refuse) &&
      expected_of(call->bias) != Answer::either) {
    fail("validate must say what the header says");
  }
  const auto status = run(*call);
  if (!is_accepted(status, expected, memory)) return;
  call->operation == Operation::gradient ? check_summed(*call, memory)
                                         : check_filled(*call, memory);
}

}  // namespace rotary::fuzz
