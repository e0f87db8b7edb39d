// SPDX-License-Identifier: Apache-2.0
#include "fuzz/relative/bias_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "fuzz/strided.hpp"

namespace rotary::fuzz {
namespace {

constexpr double largest_number = 0x1p256;

std::vector<double> decode_list(Bytes& input, std::int64_t count) {
  std::vector<double> numbers;
  if (input.once_in(64)) count += input.number(-1, 1);
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(decode_number(input));
  return numbers;
}

// Like decode_list, but all numbers are positive, except one time in 8.
std::vector<double> decode_positive(Bytes& input, std::int64_t count) {
  std::vector<double> numbers = decode_list(input, count);
  if (input.once_in(8)) return numbers;
  for (double& number : numbers) number = std::abs(number) + 0x1p-20;
  return numbers;
}

std::optional<RelativeBias> decode_t5(Bytes& input, Places& places) {
  T5Buckets buckets{.buckets = input.number(1, 12) * 2, .max_distance = input.number(0, 255)};
  buckets.direction = static_cast<T5Direction>(input.once_in(64) ? 0 : input.number(1, 2));
  buckets.rounding = static_cast<T5Rounding>(input.once_in(64) ? 3 : input.number(1, 2));
  if (input.once_in(8)) buckets.max_distance = input.integer();
  if (input.once_in(16)) buckets.buckets += 1;
  ConstTableView table{
      .dtype = decode_dtype(input), .rows = buckets.buckets, .features = input.number(1, 3)};
  disturb(input, {&table.rows, &table.features});
  if (input.once_in(64)) buckets.buckets = table.rows = input.integer();
  if (!decode_view(input, places, table)) return {};
  return T5Bias{.buckets = buckets, .table = table};
}

Alibi decode_alibi(Bytes& input) {
  Alibi alibi{.heads = input.number(1, 4)};
  alibi.form = static_cast<AlibiForm>(input.once_in(64) ? 4 : input.number(1, 3));
  if (input.once_in(2)) {
    alibi.first_head = input.number(0, 7);
    alibi.model_heads = alibi.first_head + alibi.heads + input.number(-1, 9);
  }
  if (input.once_in(32)) alibi.heads = input.integer();
  if (input.once_in(32)) alibi.first_head = input.integer();
  if (input.once_in(32)) alibi.model_heads = input.integer();
  if (input.once_in(4)) alibi.bias_max = decode_number(input);
  if (input.once_in(4)) {
    alibi.slopes = decode_list(input, std::clamp<std::int64_t>(alibi.heads, 0, 4));
  }
  return alibi;
}

Fire decode_fire(Bytes& input) {
  const std::int64_t width = input.number(1, 4);
  const std::int64_t heads = input.number(1, 3);
  Fire fire{.c = decode_number(input), .threshold = decode_number(input) * 8};
  constexpr std::array epsilons = {
      0x1p-100, 1.0, 0x1p-101, 1.5, 0.0, -1.0, std::numeric_limits<double>::quiet_NaN()};
  if (input.once_in(8)) fire.epsilon = epsilons[input.byte() % epsilons.size()];
  fire.hidden_weight = decode_list(input, width);
  fire.hidden_bias = decode_list(input, width);
  fire.output_weight = decode_list(input, width * heads);
  fire.output_bias = decode_list(input, heads);
  return fire;
}

Sandwich decode_sandwich(Bytes& input) {
  Sandwich sandwich{.dim = 2 * input.number(1, 6), .heads = input.number(1, 3)};
  if (input.once_in(8)) sandwich.base = decode_number(input);
  if (input.once_in(32)) sandwich.dim = input.number(-1, 3);
  if (input.once_in(64)) sandwich.heads = input.integer();
  return sandwich;
}

// An encoding with lists of parameters. Sizes are right or almost right.
RelativeBias decode_lists(Bytes& input, std::string_view name, std::int64_t heads) {
  RelativeBias bias = relative_bias_named(name).value();
  const std::int64_t units = input.once_in(32) ? input.number(-1, 1) : input.number(1, 3);
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    if constexpr (std::is_same_v<Member, std::int64_t>) member = units;
    if constexpr (std::is_same_v<Member, std::vector<double>>) {
      const bool with_units = facts.shape == ParameterShape::heads_by_units;
      member = decode_list(input, with_units ? heads * std::max<std::int64_t>(units, 0) : heads);
    }
  });
  return bias;
}

bool are_bounded(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [](double number) { return std::abs(number) <= largest_number; });
}

Answer when(bool is_valid) { return is_valid ? Answer::accept : Answer::refuse; }

struct Expected {
  // Lists must have the required lengths, must not be empty, and must keep their bounds.
  template <class Lists>
  Answer operator()(const Lists& bias) const {
    const std::int64_t heads = Describe<Lists>::heads(bias);
    const std::int64_t units = Describe<Lists>::units(bias);
    bool is_valid = heads >= 1;
    Describe<Lists>::parameters(
        bias, [&]<class Member>(const ParameterFacts& facts, const Member& member) {
          if constexpr (std::is_same_v<Member, std::int64_t>) {
            is_valid = is_valid && member >= 1;
          } else {
            const bool with_units = facts.shape == ParameterShape::heads_by_units;
            is_valid =
                is_valid &&
                static_cast<std::int64_t>(member.size()) == (with_units ? heads * units : heads) &&
                std::all_of(member.begin(), member.end(), [&facts](double number) {
                  return number >= facts.bounds.least && number <= facts.bounds.most;
                });
          }
        });
    return when(is_valid);
  }
  Answer operator()(const T5Bias& bias) const {
    const Strided table = strided(bias.table);
    const bool fits =
        bias.table.rows == bias.buckets.buckets && bias.table.features >= 1 && is_countable(table);
    return fits ? expected_of(bias.buckets) : Answer::refuse;
  }
  Answer operator()(const Alibi& bias) const { return expected_of(bias); }
  Answer operator()(const Fire& bias) const {
    const std::size_t width = bias.hidden_weight.size();
    const std::size_t heads = bias.output_bias.size();
    return when(width > 0 && heads > 0 && bias.hidden_bias.size() == width &&
                bias.output_weight.size() == heads * width && bias.epsilon >= 0x1p-100 &&
                bias.epsilon <= 1 && are_bounded({bias.c, bias.threshold}) &&
                are_bounded(bias.hidden_weight) && are_bounded(bias.hidden_bias) &&
                are_bounded(bias.output_weight) && are_bounded(bias.output_bias));
  }
  Answer operator()(const Sandwich& bias) const {
    return when(bias.dim >= 2 && bias.dim <= 1 << 16 && bias.dim % 2 == 0 && bias.base >= 1 &&
                std::isfinite(bias.base) && bias.heads >= 1 && bias.heads <= 1 << 20);
  }
};

}  // namespace

double decode_number(Bytes& input) {
  constexpr std::array hostile = {0.0,
                                  -0.0,
                                  0x1p256,
                                  -0x1p256,
                                  0x1.0000000000001p256,
                                  0x1p-1074,
                                  0x1p-900,
                                  -0x1p-600,
                                  0x1p100,
                                  0x1p1023,
                                  1.0,
                                  -2.0,
                                  std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()};
  if (input.once_in(32)) return hostile[input.byte() % hostile.size()];
  const auto digits = static_cast<double>(input.number(-128, 127));
  return input.once_in(8) ? std::ldexp(digits, static_cast<int>(input.number(-100, 100)))
                          : digits * 0x1p-5;
}

std::optional<RelativeBias> decode_bias(Bytes& input, Places& places) {
  const std::int64_t heads = input.number(1, 3);
  const auto kinds = relative_bias_names();
  const std::int64_t kind = input.number(0, static_cast<std::int64_t>(kinds.size()) - 1);
  switch (kind) {
    case 0:
      return decode_t5(input, places);
    case 1:
      return decode_alibi(input);
    case 2:
      return KerpleLog{.p = decode_positive(input, heads), .a = decode_positive(input, heads)};
    case 3:
      return KerplePower{.a = decode_positive(input, heads), .p = decode_positive(input, heads)};
    case 4:
      return decode_fire(input);
    case 5:
      return decode_sandwich(input);
    default:
      return decode_lists(input, kinds[static_cast<std::size_t>(kind)], heads);
  }
}

Answer expected_of(const T5Buckets& buckets) {
  const bool both = buckets.direction == T5Direction::bidirectional;
  const bool is_known =
      (both || buckets.direction == T5Direction::causal) &&
      (buckets.rounding == T5Rounding::transformers || buckets.rounding == T5Rounding::ggml);
  const std::int64_t n = buckets.buckets;
  return when(is_known && n >= (both ? 4 : 2) && n <= 1 << 24 && (!both || n % 2 == 0) &&
              buckets.max_distance > n / (both ? 4 : 2));
}

// bias_max is not read if slopes are given.
Answer expected_of(const Alibi& alibi) {
  const auto form = static_cast<std::int32_t>(alibi.form);
  const std::int64_t all = alibi.model_heads.value_or(alibi.heads);
  const bool are_heads = all >= 1 && all <= 1 << 20 && alibi.heads >= 1 && alibi.heads <= all &&
                         alibi.first_head >= 0 && alibi.first_head <= all - alibi.heads;
  if (form < 1 || form > 3 || !are_heads) return Answer::refuse;
  const bool is_bias_max = alibi.bias_max > 0 && alibi.bias_max <= 64;
  if (alibi.slopes.empty()) return when(is_bias_max);
  const bool are_slopes =
      alibi.slopes.size() == static_cast<std::size_t>(alibi.heads) && are_bounded(alibi.slopes);
  if (!are_slopes) return Answer::refuse;
  return is_bias_max ? Answer::accept : Answer::either;
}

Answer expected_of(const RelativeBias& bias) { return std::visit(Expected{}, bias); }

std::int64_t PlacesOfScores::query(std::int64_t row) const {
  return one_by_one ? one_by_one->queries[static_cast<std::size_t>(row)] : range.first_query + row;
}

std::int64_t PlacesOfScores::key(std::int64_t column) const {
  return one_by_one ? one_by_one->keys[static_cast<std::size_t>(column)] : range.first_key + column;
}

PlacesOfScores decode_places(Bytes& input, const ScoresExtents& n,
                             std::vector<std::int64_t>& storage) {
  PlacesOfScores places;
  places.range.first_query = input.once_in(4) ? input.integer() : input.number(0, 63);
  places.range.first_key = input.once_in(4) ? input.integer() : input.number(0, 63);
  if (!input.once_in(2)) return places;
  const auto count = [&](std::int64_t extent) {
    const auto size = static_cast<std::size_t>(std::clamp<std::int64_t>(extent, 0, 32));
    return input.once_in(32) ? size + 1 : size;
  };
  const std::size_t queries = count(n.queries);
  const std::size_t keys = count(n.keys);
  for (std::size_t i = 0; i < queries + keys; ++i) {
    storage.push_back(input.once_in(16) ? input.integer() : input.number(-10, 117));
  }
  const std::span<const std::int64_t> all(storage);
  places.one_by_one = BiasPositions{.queries = all.first(queries), .keys = all.last(keys)};
  return places;
}

Answer expected_of(const PlacesOfScores& places, const ScoresExtents& n) {
  std::vector<int128> queries;
  std::vector<int128> keys;
  if (places.one_by_one) {
    const auto& [of_queries, of_keys] = *places.one_by_one;
    if (static_cast<std::int64_t>(of_queries.size()) != n.queries ||
        static_cast<std::int64_t>(of_keys.size()) != n.keys) {
      return Answer::refuse;
    }
    queries.assign(of_queries.begin(), of_queries.end());
    keys.assign(of_keys.begin(), of_keys.end());
  } else if (n.queries > 0 && n.keys > 0) {
    const auto& [query, key] = places.range;
    queries = {query, static_cast<int128>(query) + n.queries - 1};
    keys = {key, static_cast<int128>(key) + n.keys - 1};
  }
  const int128 limit = static_cast<int128>(1) << 63;
  for (const int128 query : queries) {
    for (const int128 key : keys) {
      if (query < limit && key < limit && query - key < limit && key - query < limit) continue;
      return n.batch == 0 || n.heads == 0 ? Answer::either : Answer::refuse;
    }
  }
  return Answer::accept;
}

Answer expected_of_table(const Strided& table) {
  if (!is_countable(table)) return Answer::refuse;
  return is_empty(table) || is_small(table) ? Answer::accept : Answer::either;
}

}  // namespace rotary::fuzz
