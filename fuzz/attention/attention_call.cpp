// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/attention_call.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "fuzz/check.hpp"

namespace rotary::fuzz {
Placing begin_case(Bytes& input, Arena& arena) {
  arena.clear();
  return {.arena = arena,
          .input = input,
          .noise = input.once_in(8) ? Noise::any : Noise::activations,
          .seed = input.bits()};
}

bool is_inside(const Arena& arena, const Strided& view) {
  const auto reach = reach_of(view);
  return !reach || view.data == nullptr || arena.holds(view.data, *reach);
}

bool are_inside(const Arena& arena, const AttentionViews& views) {
  return std::ranges::all_of(
      std::array{views.out, views.q, views.k, views.v},
      [&](const HeadsView& view) { return is_inside(arena, strided(view)); });
}

bool is_inside(const Arena& arena, const check::AttendCall& call) {
  if (!are_inside(arena, call)) return false;
  for (auto [scales, heads] : {std::pair(call.k_scales, call.k), {call.v_scales, call.v}}) {
    scales.extents = heads.extents;
    scales.extents.features = 1;
    if (call.in_int8 && !is_inside(arena, strided(scales))) return false;
  }
  const AttendOptions& options = call.options;
  for (const auto& view : {options.log_sum_exp, options.weights}) {
    if (view && !is_inside(arena, strided(*view))) return false;
  }
  if (options.additive_mask && !is_inside(arena, strided(*options.additive_mask))) return false;
  if (options.boolean_mask && !is_inside(arena, strided(*options.boolean_mask))) return false;
  for (const ShawTable* shaw : {options.encoding.shaw_keys, options.encoding.shaw_values}) {
    if (shaw != nullptr && !is_inside(arena, strided(shaw->table))) return false;
  }
  if (!call.table) return true;
  const BlockTable& table = *call.table;
  return is_inside(arena, {.data = table.blocks,
                           .element_bytes = sizeof *table.blocks,
                           .counts = {1, table.sequences, 1, table.blocks_of_sequence},
                           .strides = {0, table.stride, 0, 1}});
}

void put_back_results(const check::AttendCall& call, const Memory& memory) {
  put_back(strided(call.out), memory);
  for (const auto& view : {call.options.log_sum_exp, call.options.weights}) {
    if (view) put_back(strided(*view), memory);
  }
}

void append_numbers(std::vector<std::int64_t*>& to, AttentionViews& views) {
  for (HeadsView* const view : {&views.out, &views.q, &views.k, &views.v})
    append_numbers(to, *view);
}

void append_numbers(std::vector<std::int64_t*>& to, std::vector<AttentionSequence>& sequences) {
  for (AttentionSequence& s : sequences) {
    to.insert(to.end(), {&s.batch, &s.first_query, &s.queries, &s.first_key, &s.keys,
                         &s.query_position, &s.key_position});
  }
}

void append_numbers(std::vector<std::int64_t*>& to, HeadsView& view) {
  Extents& n = view.extents;
  Strides& s = view.strides;
  to.insert(to.end(),
            {&n.batch, &n.tokens, &n.heads, &n.features, &s.batch, &s.token, &s.head, &s.feature});
}

void append_numbers(std::vector<std::int64_t*>& to, ScoresExtents& n, ScoresStrides& s) {
  to.insert(to.end(),
            {&n.batch, &n.heads, &n.queries, &n.keys, &s.batch, &s.head, &s.query, &s.key});
}

void change_number(Bytes& input, const std::vector<std::int64_t*>& numbers) {
  std::int64_t& number = *numbers[input.byte() % numbers.size()];
  const std::int64_t step = input.number(-2, 2);
  if (step == 0) {
    number = input.integer();
  } else if (__builtin_add_overflow(number, step, &number)) {
    number = 0;
  }
}

Answer change_view(Bytes& input, HeadsView& view) {
  const Extents& n = view.extents;
  const bool has_elements = n.batch > 0 && n.tokens > 0 && n.heads > 0 && n.features > 0;
  const Answer if_read = has_elements ? Answer::refuse : Answer::either;
  switch (input.number(0, 3)) {
    case 0:
      view.dtype = input.once_in(2) ? DType::f64 : static_cast<DType>(input.number(-1, 6));
      return Answer::either;
    case 1:
      view.data = nullptr;
      return if_read;
    case 2:
      if (view.data == nullptr) return Answer::accept;
      view.data = static_cast<std::byte*>(view.data) + 1;
      return if_read;
    default:
      view.strides.feature = 2;
      return n.features > 1 ? if_read : Answer::accept;
  }
}

Answer change_any_view(Bytes& input, AttentionViews& views) {
  HeadsView* const all[] = {&views.out, &views.q, &views.k, &views.v};
  return change_view(input, *input.one_of(all));
}

Answer share_out(Bytes& input, AttentionViews& views) {
  const HeadsView* const all[] = {&views.q, &views.k, &views.v};
  views.out.data = all[static_cast<std::size_t>(input.number(1, 3)) - 1]->data;
  return Answer::either;
}

void check_rows(const check::Verdict& verdict) {
  if (!verdict.fault.empty()) fail("a row must be within the bounds", verdict.fault);
}

std::int64_t decode_concurrency(Bytes& input) {
  return input.once_in(8) ? input.integer() : input.number(0, 20);
}

}  // namespace rotary::fuzz
