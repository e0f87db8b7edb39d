// SPDX-License-Identifier: Apache-2.0
// merge_attention() on tiny parts. A legal call must be accepted and exact except for the promised
// roundings; any other call must be right or refused. Nothing else may be written.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/attention/attention_call.hpp"
#include "fuzz/attention/attention_shape.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/placing.hpp"
#include "fuzz/target.hpp"
#include "rotary/attention.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

using check::HeadIndex;

Arena arena;

struct MergeCase {
  AttentionPart into;
  AttentionPart from;
  Answer expected = Answer::accept;
};

AttentionPart decode_part(Placing& placing, const Extents& extents, Use use) {
  const ScoresExtents sums{extents.batch, extents.heads, extents.tokens, 1};
  return {.out = place_heads(placing, decode_attention_dtype(placing.input), extents, use),
          .log_sum_exp = place_scores(placing, sums, use)};
}

float* sum_at(const ScoresView& view, const HeadIndex& at) {
  const ScoresStrides& s = view.strides;
  return static_cast<float*>(view.data) + at.batch * s.batch + at.head * s.head +
         at.token * s.query;
}

template <class Visit>
void for_each_head(const Extents& n, const Visit& visit) {
  HeadIndex at;
  for (at.batch = 0; at.batch < n.batch; ++at.batch) {
    for (at.token = 0; at.token < n.tokens; ++at.token) {
      for (at.head = 0; at.head < n.heads; ++at.head) visit(at);
    }
  }
}

// Includes parts without keys, and sums that are far apart or close to each other.
void decode_sums(Bytes& input, const AttentionPart& part) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array sums = {-infinity, 0.0F, 1.5F, -3.25F, 80.0F, -900.0F, 1e30F, infinity};
  for_each_head(part.out.extents, [&](const HeadIndex& at) {
    const std::uint8_t kind = input.byte();
    if (kind < 128) *sum_at(part.log_sum_exp, at) = sums[kind % sums.size()];
  });
}

void spoil(Bytes& input, MergeCase& of) {
  const std::array views = {&of.into.out, &of.from.out};
  const std::array sums = {&of.into.log_sum_exp, &of.from.log_sum_exp};
  const auto which = static_cast<std::size_t>(input.number(0, 1));
  switch (input.number(0, 3)) {
    case 0:
      of.expected = change_view(input, *views[which]);
      break;
    case 1:
      of.into.out.data = of.from.out.data;
      of.expected = Answer::either;
      break;
    case 2:
      sums[which]->dtype = static_cast<DType>(input.number(2, 5));
      of.expected = Answer::refuse;
      break;
    default: {
      std::vector<std::int64_t*> all;
      for (HeadsView* const view : views) append_numbers(all, *view);
      for (ScoresView* const view : sums) append_numbers(all, *view);
      change_number(input, all);
      of.expected = Answer::either;
    }
  }
}

std::optional<MergeCase> decode(Bytes& input) {
  Placing placing = begin_case(input, arena);
  const Extents extents{.batch = input.number(0, 2),
                        .tokens = input.number(0, 3),
                        .heads = input.number(0, 3),
                        .features = input.once_in(8) ? input.number(0, 150) : input.number(0, 5)};
  MergeCase of{.into = decode_part(placing, extents, Use::written),
               .from = decode_part(placing, extents, Use::read)};
  if (!placing.has_room) return {};
  decode_sums(input, of.into);
  decode_sums(input, of.from);
  if (input.once_in(3)) spoil(input, of);
  const bool inside = is_inside(arena, strided(of.into.out)) &&
                      is_inside(arena, strided(of.from.out)) &&
                      is_inside(arena, strided(of.into.log_sum_exp)) &&
                      is_inside(arena, strided(of.from.log_sum_exp));
  return inside ? std::optional(of) : std::nullopt;
}

void check_number(double computed, double exact, double bound) {
  if (computed == exact || std::abs(computed - exact) <= bound) return;
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%.9g where %.9g is right within %.9g", computed, exact,
                bound);
  fail("a merged number must be within its rounding", text.data());
}

struct Row {
  double sum = 0;
  std::vector<double> out;
};

Row row_at(const AttentionPart& part, const HeadIndex& at) {
  return {.sum = *sum_at(part.log_sum_exp, at), .out = check::head_at(part.out, at)};
}

// Compares with the contents from before the call.
void check_row(const MergeCase& of, const HeadIndex& at, const Row& after) {
  const Row before = row_at(of.into, at);
  const Row from = row_at(of.from, at);
  const double a = before.sum;
  const double b = from.sum;
  if (std::isnan(a) || std::isnan(b) || std::isinf(std::max(a, b))) return;  // or neither has keys
  const double most = std::max(a, b);
  const double of_a = std::exp(a - most);
  const double of_b = std::exp(b - most);
  const double sum = most + std::log(of_a + of_b);
  check_number(after.sum, sum,
               stored_element_error(DType::f32, sum, 0x1p-48 * std::max(1.0, std::abs(sum))));
  for (std::size_t f = 0; f < after.out.size(); ++f) {
    const double kept = of_a == 0 ? 0 : of_a / (of_a + of_b) * before.out[f];
    const double added = of_b == 0 ? 0 : of_b / (of_a + of_b) * from.out[f];
    const double exact = kept + added;
    const double size =
        std::max(of_a == 0 ? 0 : std::abs(before.out[f]), of_b == 0 ? 0 : std::abs(from.out[f]));
    if (!std::isfinite(exact) || !(size <= 0x1p100)) continue;
    const DType dtype = of.into.out.dtype;
    if (dtype == DType::f16 && size >= f16_overflow) continue;
    check_number(after.out[f], exact, stored_element_error(dtype, exact, 0x1p-48 * size));
  }
}

void check_merged(const MergeCase& of, const Memory& memory) {
  const bool has_elements = reach_of(strided(of.into.out)).has_value();
  const Extents n = has_elements ? of.into.out.extents : Extents{};
  std::vector<Row> after;
  for_each_head(n, [&](const HeadIndex& at) { after.push_back(row_at(of.into, at)); });
  put_back(strided(of.into.out), memory);
  put_back(strided(of.into.log_sum_exp), memory);
  check_unchanged(memory, "nothing but the merged part must be written");
  std::size_t row = 0;
  for_each_head(n, [&](const HeadIndex& at) { check_row(of, at, after[row++]); });
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  const auto of = decode(input);
  if (!of) return 0;
  const Memory memory = arena.keep();
  const auto status = guarded_call(arena, [&] {
    return rotary::merge_attention(of->into, {of->from.out, of->from.log_sum_exp});
  });
  if (!is_accepted(status, of->expected, memory)) return 0;
  check_merged(*of, memory);
  return 0;
}
