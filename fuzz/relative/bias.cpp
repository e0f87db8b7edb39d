// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/relative/bias_case.hpp"
#include "fuzz/relative/relative_cases.hpp"
#include "fuzz/relative/rounded_sum.hpp"
#include "reference/relative.hpp"

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

// Decodes scores, usually with as many heads as the bias.
bool decode_scores(Bytes& input, Places& places, BiasCall& call) {
  call.scores.dtype = decode_dtype(input);
  ScoresExtents& n = call.scores.extents;
  n = {.batch = input.number(1, 2),
       .heads = 1,
       .queries = input.number(1, 4),
       .keys = input.number(1, 6)};
  if (call.operation == Operation::distances) n.queries = 1;
  n.heads = std::clamp<std::int64_t>(head_count(call.bias), 0, 8);
  disturb(input, n);
  return decode_view(input, places, call.scores);
}

// Decodes room for gradients, usually one for each parameter.
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

// storage: holds positions that are given one by one.
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
  fill(buffers.buffer(), call.scores.dtype, decode_noise(input), seed);
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

// An encoding must be found by its name. Only FIRE and one form of ALiBi need more than a distance.
void check_kind(const RelativeBias& bias) {
  const auto named = relative_bias_named(to_string(bias));
  if (!named || named->index() != bias.index()) fail("an encoding must have its name");
  const auto* const alibi = std::get_if<Alibi>(&bias);
  const bool is_plain = !std::holds_alternative<Fire>(bias) &&
                        (alibi == nullptr || alibi->form != AlibiForm::key_position);
  if (depends_on_distance_alone(bias) != is_plain)
    fail("only FIRE and ALiBi's key_position must need more than a distance");
}

// Compares with the table's element. At a bucket's edge, float32 decides the bucket.
void check_t5(const T5Bias& bias, const BiasIndex& at, double got, const Memory& memory) {
  const auto exact = reference::t5_bucket(at.key - at.query, bias.buckets);
  const auto bucket = t5_bucket(at.key - at.query, bias.buckets);
  if (!bucket) fail("a bucket must be found", bucket.error().message);
  if (std::abs(*bucket - exact.bucket) > (exact.on_edge ? 1 : 0)) {
    fail("a distance must fall into its bucket");
  }
  const double element = number_before(bias.table, {0, *bucket, 0, at.head}, memory);
  if (got != element && !(std::isnan(got) && std::isnan(element))) {
    fail("a bias of T5 must be the number of its bucket");
  }
}

// False for an ALiBi of many heads: the reference computes the slopes of all heads of a model.
bool is_quick(const RelativeBias& bias) {
  const auto* const alibi = std::get_if<Alibi>(&bias);
  return alibi == nullptr || alibi->model_heads.value_or(alibi->heads) <= 64;
}

// True if the bound covers FIRE's x, which must be 0 or large enough. x is at least c times the
// distance, divided by a number below 2^10.
bool is_in_contract(const RelativeBias& bias, const BiasIndex& at) {
  const auto* const fire = std::get_if<Fire>(&bias);
  if (fire == nullptr || at.query == at.key || fire->c == 0) return true;
  return std::abs(fire->c) >= 0x1p-880;
}

// Compares a bias in double with the long double reference, within bias_error_bound. A bias of T5
// must equal its table's element in memory.before.
void check_exact(const RelativeBias& bias, const BiasIndex& at, double got, const Memory& memory) {
  if (const auto* const t5 = std::get_if<T5Bias>(&bias)) {
    check_t5(*t5, at, got, memory);
    return;
  }
  if (!is_quick(bias) || !is_in_contract(bias, at)) return;
  const auto exact = reference::relative_bias(bias, at);
  if (exact.magnitude < 0x1p-900L) return;
  if (!(std::abs(got - exact.value) <= bias_error_bound * exact.magnitude)) {
    fail("a bias must be within the bound");
  }
}

// A score's index, and the gradient of the loss with respect to the score.
struct Part {
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;
  long double gradient = 0;

  [[nodiscard]] long double distance() const {
    return std::abs(static_cast<long double>(query) - static_cast<long double>(key));
  }
};

using Sums = std::vector<RoundedSum>;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

long double sign(double number) { return number > 0 ? 1 : number < 0 ? -1 : 0; }

// Each overload adds one score's part to the sums of all parameters. Returns false near a point
// where the derivative jumps, because a rounding may decide the side.
struct Add {
  Sums& sums;
  const Part& part;

  bool operator()(const T5Bias& bias) const {
    const auto bucket = t5_bucket(part.key - part.query, bias.buckets);  // checked separately
    if (!bucket) fail("a bucket must be found", bucket.error().message);
    sums[at(*bucket * bias.table.features + part.head)].add(part.gradient);
    return true;
  }

  bool operator()(const Alibi& bias) const {
    const auto relative = static_cast<long double>(part.key) - static_cast<long double>(part.query);
    const long double of_form = bias.form == AlibiForm::causal ? relative
                                : bias.form == AlibiForm::symmetric
                                    ? -part.distance()
                                    : static_cast<long double>(part.key);
    sums[at(part.head)].add(part.gradient * of_form);
    return true;
  }

  bool operator()(const KerpleLog& bias) const {
    const long double p = bias.p[at(part.head)];
    const long double a = bias.a[at(part.head)];
    const long double d = part.distance();
    sums[at(part.head)].add(-part.gradient * std::log1p(a * d));
    sums[bias.p.size() + at(part.head)].add(-part.gradient * p * d / (1 + a * d));
    return true;
  }

  bool operator()(const KerplePower& bias) const {
    const long double p = bias.p[at(part.head)];
    const long double a = bias.a[at(part.head)];
    const long double d = part.distance();
    if (d == 0) return true;
    sums[at(part.head)].add(-part.gradient * std::pow(d, p));
    sums[bias.a.size() + at(part.head)].add(-part.gradient * a * std::pow(d, p) * std::log(d));
    return true;
  }

  bool operator()(const Sandwich&) const { return true; }

  // Skips encodings with lists, which tests of gradients cover.
  template <class Lists>
  bool operator()(const Lists&) const {
    return false;
  }

  // Order of the parameters: c, threshold, hidden_weight, hidden_bias, output_weight, output_bias.
  bool operator()(const Fire& fire) const {
    const std::size_t width = fire.hidden_weight.size();
    const long double c = std::abs(static_cast<long double>(fire.c));
    const long double threshold = std::abs(static_cast<long double>(fire.threshold));
    const auto query = static_cast<long double>(part.query);
    const long double reach = std::max(query, threshold);
    const long double d = part.distance();
    const long double denominator = std::log1p(c * reach) + fire.epsilon;
    const long double x = std::log1p(c * d) / denominator;
    long double d_x = 0;
    long double size_of_d_x = 0;
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t output = at(part.head) * width + k;
      const long double unit = fire.hidden_weight[k] * x + fire.hidden_bias[k];
      const long double size = std::abs(fire.hidden_weight[k] * x) +
                               std::abs(static_cast<long double>(fire.hidden_bias[k]));
      if (size > 0 && std::abs(unit) <= size * 0x1p-40L) return false;
      if (unit <= 0) continue;
      const long double through = part.gradient * fire.output_weight[output];
      sums[2 + k].add(through * x);
      sums[2 + width + k].add(through);
      sums[2 + 2 * width + output].add(part.gradient * fire.hidden_weight[k] * x);
      sums[2 + 2 * width + output].add(part.gradient * fire.hidden_bias[k]);
      d_x += through * fire.hidden_weight[k];
      size_of_d_x += std::abs(through * fire.hidden_weight[k]);
    }
    sums[2 + 2 * width + fire.output_weight.size() + at(part.head)].add(part.gradient);
    const long double sign_of_c = sign(fire.c);
    const long double of_numerator = d / (1 + c * d) / denominator;
    const long double of_denominator = x / denominator;
    sums[0].add(sign_of_c * d_x * of_numerator);
    sums[0].add(-sign_of_c * d_x * of_denominator * reach / (1 + c * reach));
    sums[0].size += size_of_d_x * (of_numerator + of_denominator * reach / (1 + c * reach));
    if (threshold > query) {
      sums[1].add(-sign(fire.threshold) * d_x * of_denominator * c / (1 + c * reach));
      sums[1].size += size_of_d_x * of_denominator * c / (1 + c * reach);
    }
    return true;
  }
};

void check_filled(const BiasCall& call, const Memory& memory) {
  const Strided scores = strided(call.scores);
  const ScoresExtents& n = call.scores.extents;
  std::int64_t looked_at = 0;
  for_each_element(scores, [&](const Axes& index) {
    const BiasIndex at{
        .head = index[2], .query = call.places.query(index[1]), .key = call.places.key(index[3])};
    const auto exact = bias_at(call.bias, at);
    if (!exact) fail("a bias that is filled in must have a value", exact.error().message);
    if (!is_rounded(call.scores.dtype, number_after(call.scores, index, memory), *exact)) {
      fail("an element must be the bias, rounded once");
    }
    // Checks few elements, since multiple precision and logarithms take most of the time.
    const std::int64_t elements = n.heads * n.queries * n.keys;
    if (index[0] == 0 && (looked_at++ % std::max<std::int64_t>(elements / 2, 1)) == 0) {
      check_exact(call.bias, at, *exact, memory);
    }
  });
  put_back(scores, memory);
  check_unchanged(memory, "bytes that belong to no score must stay");
}

// Compares gradients of the bias's numbers with long double.
void check_gradient(const BiasCall& call, const Memory& memory) {
  Sums sums;
  for (const double number : before(call.gradients, memory)) sums.emplace_back(number);
  bool is_plain = true;  // no corner and no overflow: Inf times 0 would be NaN
  std::int64_t terms = 0;
  for_each_element(strided(call.scores), [&](const Axes& index) {
    const double gradient = number_before(call.scores, index, memory);
    const Part part{.head = index[2],
                    .query = call.places.query(index[1]),
                    .key = call.places.key(index[3]),
                    .gradient = gradient};
    is_plain = std::visit(Add{sums, part}, call.bias) && is_plain && std::abs(gradient) < 0x1p400;
    ++terms;
  });
  // Covers the sums and a few roundings of each term.
  const long double bound = static_cast<long double>(terms + 64) * 0x1p-52L;
  for (std::size_t i = 0; i < sums.size() && is_plain; ++i) {
    const auto& [value, size, count] = sums[i];
    if (!(size < 0x1p1000L) || size < 0x1p-900L) continue;
    if (!(std::abs(call.gradients[i] - value) <= bound * size)) {
      fail("a gradient must be within the roundings of its sum");
    }
  }
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
  call->operation == Operation::gradient ? check_gradient(*call, memory)
                                         : check_filled(*call, memory);
}

}  // namespace rotary::fuzz
