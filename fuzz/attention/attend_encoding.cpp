// SPDX-License-Identifier: Apache-2.0
// Decodes rotations, a bias of any kind, and Shaw's vectors for a case of attend().
#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fuzz/attention/attend_case.hpp"
#include "fuzz/check.hpp"
#include "fuzz/frequencies_cache.hpp"
#include "fuzz/shapes.hpp"

namespace rotary::fuzz {
namespace {

std::vector<double> numbers(Bytes& input, std::int64_t count, double lowest, double step) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(lowest + step * static_cast<double>(input.byte()));
  return all;
}

T5Bias decode_t5(Placing& placing, std::int64_t heads) {
  Bytes& input = placing.input;
  T5Bias bias;
  const bool both = input.once_in(2);
  bias.buckets = {.buckets = both ? 2 * input.number(2, 5) : input.number(2, 9),
                  .direction = both ? T5Direction::bidirectional : T5Direction::causal,
                  .rounding = input.once_in(4) ? T5Rounding::ggml : T5Rounding::transformers};
  bias.buckets.max_distance = bias.buckets.buckets / 2 + input.number(1, 30);
  const auto dtype = static_cast<DType>(input.number(1, 4));
  bias.table = place_matrix(placing, dtype, bias.buckets.buckets, heads);
  return bias;
}

Alibi decode_alibi(Bytes& input, std::int64_t heads) {
  Alibi bias{.heads = heads, .form = static_cast<AlibiForm>(input.number(1, 3))};
  if (input.once_in(3)) bias.slopes = numbers(input, heads, -2, 1.0 / 64);
  if (input.once_in(3)) {
    bias.first_head = input.number(0, 3);
    bias.model_heads = bias.first_head + heads + input.number(0, 3);
  }
  bias.bias_max = static_cast<double>(input.number(1, 16));
  return bias;
}

Fire decode_fire(Bytes& input, std::int64_t heads) {
  const std::int64_t width = input.number(1, 4);
  return {.c = static_cast<double>(input.number(0, 9)) / 4 - 1,
          .threshold = static_cast<double>(input.number(0, 24)) - 4,
          .epsilon = 1e-6,
          .hidden_weight = numbers(input, width, -2, 1.0 / 64),
          .hidden_bias = numbers(input, width, -1, 1.0 / 128),
          .output_weight = numbers(input, heads * width, -2, 1.0 / 64),
          .output_bias = numbers(input, heads, -1, 1.0 / 128)};
}

// Makes a bias whose lists hold numbers within all bounds.
RelativeBias decode_lists(Bytes& input, std::string_view name, std::int64_t heads) {
  RelativeBias bias = relative_bias_named(name).value();
  const std::int64_t units = input.number(1, 3);
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    if constexpr (std::is_same_v<Member, std::int64_t>) member = units;
    if constexpr (std::is_same_v<Member, std::vector<double>>) {
      const bool with_units = facts.shape == ParameterShape::heads_by_units;
      member = numbers(input, with_units ? heads * units : heads, 0.01, 1.0 / 256);
    }
  });
  return bias;
}

bool decode_bias(Placing& placing, AttendCase& to) {
  Bytes& input = placing.input;
  const std::int64_t heads = to.shape.heads;
  const std::int64_t kind = input.number(0, 11);
  const auto kinds = relative_bias_names();
  if (heads == 0 || kind >= static_cast<std::int64_t>(kinds.size())) return false;
  switch (kind) {
    case 0:
      to.bias = decode_t5(placing, heads);
      break;
    case 1:
      to.bias = decode_alibi(input, heads);
      break;
    case 2:
      to.bias = KerpleLog{.p = numbers(input, heads, 0.01, 1.0 / 64),
                          .a = numbers(input, heads, 0.01, 1.0 / 64)};
      break;
    case 3:
      to.bias = KerplePower{.a = numbers(input, heads, 0.01, 1.0 / 64),
                            .p = numbers(input, heads, 0.01, 1.0 / 256)};
      break;
    case 4:
      to.bias = decode_fire(input, heads);
      break;
    case 5:
      to.bias = Sandwich{.dim = 2 * input.number(1, 4),
                         .base = static_cast<double>(input.number(1, 100)),
                         .heads = heads};
      break;
    default:
      to.bias = decode_lists(input, kinds[static_cast<std::size_t>(kind)], heads);
  }
  to.options.encoding.bias = &to.bias;
  return true;
}

// Makes a table with a window of any width, sometimes wider than any distance.
ShawTable decode_shaw(Placing& placing, std::int64_t features) {
  Bytes& input = placing.input;
  const std::int64_t most = input.once_in(8) ? 40 : 4;
  ShawTable shaw;
  shaw.window = {.left = input.number(0, most), .right = input.number(0, most)};
  const auto dtype = static_cast<DType>(input.number(1, 4));
  shaw.table = place_matrix(placing, dtype, shaw.window.rows(), features);
  return shaw;
}

// Parameters of cos/sin rows. batch: 1 if all batch rows share the rows.
struct RowsFor {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  DType dtype = DType::f32;
  std::optional<Role> role = {};
};

Rotations decode_rows(Bytes& input, const Frequencies& frequencies, const RowsFor& rows) {
  const std::int64_t farthest = frequencies.xpos ? 100 : std::int64_t{1} << 60;
  const std::int64_t first = input.once_in(2) ? input.number(-9, 40) : input.integer() % farthest;
  RotationsOptions options{.role = rows.role};
  if (input.once_in(4)) options.tensors = rows.dtype;
  Positions positions = ConsecutivePositions{.first = first, .tokens = rows.tokens};
  std::vector<std::int64_t> listed;
  if (rows.batch > 1 && input.once_in(2)) {
    for (std::int64_t i = 0; i < rows.batch * rows.tokens; ++i)
      listed.push_back(first + 3 * i % 50);
    positions = positions_of(listed, rows.batch);
  }
  auto made = make_rotations(frequencies, positions, options);
  if (!made) fail("rotations must be made", made.error().message);
  return *std::move(made);
}

std::int64_t longest_sequence(const AttendCase& of) {
  std::int64_t longest = 0;
  for (const AttentionSequence& s : of.listed) longest = std::max(longest, s.first_key + s.keys);
  return longest;
}

void decode_rotations(Bytes& input, AttendCase& to) {
  const std::int64_t kind = input.number(0, 7);
  if (to.shape.features < 2 || kind < 3) return;
  Frequencies frequencies =
      frequencies_of(decode_window(input, to.shape.features), input.number(0, spec_kinds - 1));
  const bool reorders = !keeps_order(frequencies.window.pairing);
  const bool of_q = reorders || kind != 3;
  const bool of_k = reorders || kind != 4;
  const bool has_roles = input.once_in(4);
  if (has_roles) frequencies.xpos = Xpos{.scale_base = 64, .center = 8};
  if (input.once_in(4)) frequencies.contexts = {.first = 1, .last = std::int64_t{1} << 61};
  const auto role = [&](Role which) { return has_roles ? std::optional(which) : std::nullopt; };
  if (of_q) {
    to.q_rotations =
        decode_rows(input, frequencies,
                    {to.q.extents.batch, to.q.extents.tokens, to.q.dtype, role(Role::query)});
    to.options.encoding.q_rotations = &*to.q_rotations;
  }
  if (of_k) {
    const DType of_keys = to.in_int8 ? DType::f32 : to.k.dtype;
    RowsFor rows{to.k.extents.batch, to.k.extents.tokens, of_keys, role(Role::key)};
    if (to.table) {
      rows.batch = to.table->sequences;
      rows.tokens = longest_sequence(to) + input.number(0, 2);
    }
    to.k_rotations = decode_rows(input, frequencies, rows);
    to.options.encoding.k_rotations = &*to.k_rotations;
    return;
  }
  const bool limited = frequencies.contexts != ContextRange{};
  if (!limited && !input.once_in(4)) return;
  to.owned_frequencies = std::move(frequencies);
  to.options.encoding.cached_keys = &to.owned_frequencies;
}

}  // namespace

void decode_encoding(Placing& placing, AttendCase& to) {
  Bytes& input = placing.input;
  const bool biased = decode_bias(placing, to);
  const std::int64_t kind = input.number(0, 11);
  if (kind % 4 == 1 && !biased) {
    to.shaw_keys = decode_shaw(placing, to.shape.features);
    to.options.encoding.shaw_keys = &to.shaw_keys;
  }
  if (kind / 4 == 1) {
    to.shaw_values = decode_shaw(placing, to.shape.value_features);
    to.options.encoding.shaw_values = &to.shaw_values;
  }
  if (!placing.has_room) return;
  decode_rotations(input, to);
}

}  // namespace rotary::fuzz
