// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include "fuzz/attention/attend_case.hpp"

namespace rotary::fuzz {
namespace {

std::vector<std::int64_t*> all_numbers(AttendCase& of) {
  std::vector<std::int64_t*> all;
  append_numbers(all, of);
  append_numbers(all, of.listed);
  if (of.options.log_sum_exp) append_numbers(all, *of.options.log_sum_exp);
  if (of.options.weights) append_numbers(all, *of.options.weights);
  if (of.options.additive_mask) append_numbers(all, *of.options.additive_mask);
  if (of.options.boolean_mask) append_numbers(all, *of.options.boolean_mask);
  if (of.table)
    all.insert(all.end(), {&of.table->sequences, &of.table->blocks_of_sequence, &of.table->stride});
  for (HeadsView* const scales : {&of.k_scales, &of.v_scales}) {
    Strides& s = scales->strides;
    if (of.in_int8) all.insert(all.end(), {&s.batch, &s.token, &s.head});
  }
  all.push_back(&of.options.mask.sinks);
  for (ShawTable* const shaw : {&of.shaw_keys, &of.shaw_values}) {
    all.insert(all.end(), {&shaw->window.left, &shaw->window.right, &shaw->table.rows,
                           &shaw->table.features, &shaw->table.row_stride});
  }
  return all;
}

// Gives a result the address of an input or of out.
Answer share_memory(Bytes& input, AttendCase& of) {
  void* const places[] = {of.q.data, of.k.data, of.v.data, of.out.data};
  void* const place = input.one_of(places);
  if (input.once_in(2) && of.options.log_sum_exp) {
    of.options.log_sum_exp->data = place;
  } else if (input.once_in(2) && of.options.weights) {
    of.options.weights->data = place;
  } else {
    of.out.data = place;
  }
  return Answer::either;
}

Answer change_options(Bytes& input, AttendCase& of) {
  AttendOptions& options = of.options;
  constexpr std::array scales = {0.0, 0x1p-65, 0x1p65, std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  switch (input.number(0, 5)) {
    case 5:
      options.softcap = input.one_of(scales);
      return Answer::refuse;
    case 0:
      options.scale = input.one_of(scales);
      return Answer::refuse;
    case 1:
      options.mask.order = static_cast<AttentionOrder>(input.once_in(2) ? 0 : 3);
      return Answer::refuse;
    case 2:
      options.mask.left = -input.number(1, 9);
      return Answer::refuse;
    case 3:
      options.mask.sinks = -input.number(1, 9);
      return Answer::refuse;
    default:
      options.q_temperature = LognTemperature{.trained_tokens = input.number(0, 1)};
      return Answer::refuse;
  }
}

Answer change_encoding(Bytes& input, AttendCase& of) {
  AttentionEncoding& encoding = of.options.encoding;
  switch (input.number(0, 4)) {
    case 0:
      of.bias = Alibi{.heads = of.shape.heads + 1};
      encoding.bias = &of.bias;
      return Answer::refuse;
    case 1:
      of.bias = Alibi{.heads = of.shape.heads, .bias_max = std::nan("")};
      encoding.bias = &of.bias;
      return Answer::refuse;
    case 2:
      encoding.q_rotations = encoding.k_rotations;
      return Answer::either;
    case 3:
      encoding.k_rotations = encoding.q_rotations;
      return Answer::either;
    default:
      of.owned_frequencies.contexts = {.first = 1, .last = input.number(1, 9)};
      encoding.cached_keys = &of.owned_frequencies;
      return encoding.k_rotations == nullptr ? Answer::either : Answer::refuse;
  }
}

// Puts a nonexistent block somewhere into the table.
Answer change_block(Bytes& input, AttendCase& of) {
  if (of.blocks == nullptr) return Answer::accept;
  const std::int64_t count =
      (of.table->sequences - 1) * of.table->stride + of.table->blocks_of_sequence;
  of.blocks[input.byte() % count] =
      static_cast<std::int32_t>(input.once_in(2) ? -1 : of.k.extents.batch);
  return Answer::either;
}

}  // namespace

void spoil(Bytes& input, AttendCase& of) {
  switch (input.number(0, 7)) {
    case 0:
      of.expected = change_any_view(input, of);
      // A dtype or address that is wrong for two-byte elements may be right for int8.
      if (of.in_int8) of.expected = Answer::either;
      break;
    case 1:
      of.expected = share_memory(input, of);
      break;
    case 2:
      of.expected = change_options(input, of);
      break;
    case 3:
      of.expected = change_encoding(input, of);
      break;
    case 4:
      of.expected = change_block(input, of);
      break;
    default:
      change_number(input, all_numbers(of));
      of.expected = Answer::either;
  }
  of.options.sequences = of.listed;
}

}  // namespace rotary::fuzz
