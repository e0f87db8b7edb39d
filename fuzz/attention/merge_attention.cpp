// SPDX-License-Identifier: Apache-2.0
// Fuzzes merge_attention() with tiny parts. A legal call must be accepted and exact except for the
// promised roundings. Any other call must be right or refused. Only the merged part may be written.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "check/views.hpp"
#include "fuzz/arena.hpp"
#include "fuzz/attention/attention_call.hpp"
#include "fuzz/attention/attention_shape.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/placing.hpp"
#include "fuzz/target.hpp"
#include "fuzz/turned.hpp"
#include "rotary/attention.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

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

// Decodes log-sum-exps: of parts without keys, far apart, or close together.
void decode_sums(Bytes& input, const AttentionPart& part) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array sums = {-infinity, 0.0F, 1.5F, -3.25F, 80.0F, -900.0F, 1e30F, infinity};
  const ScoresStrides& s = part.log_sum_exp.strides;
  for_each_element(strided(part.log_sum_exp), [&](const Axes& at) {
    const std::uint8_t kind = input.byte();
    const std::int64_t element = at[0] * s.batch + at[1] * s.query + at[2] * s.head;
    if (kind < 128) static_cast<float*>(part.log_sum_exp.data)[element] = sums[kind % sums.size()];
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
  fail("a merged number must be within its rounding",
       check::fault_text("number", computed, exact, bound));
}

void check_row(const MergeCase& of, const Axes& index, const Memory& memory) {
  const double a = number_before(of.into.log_sum_exp, index, memory);
  const double b = number_before(of.from.log_sum_exp, index, memory);
  if (std::isnan(a) || std::isnan(b) || std::isinf(std::max(a, b))) return;  // -Inf: no keys
  const double most = std::max(a, b);
  const double of_a = std::exp(a - most);
  const double of_b = std::exp(b - most);
  const double sum = most + std::log(of_a + of_b);
  check_number(number_after(of.into.log_sum_exp, index, memory), sum,
               stored_element_error(DType::f32, sum, 0x1p-48 * std::max(1.0, std::abs(sum))));
  const Head before = head_before(of.into.out, index, memory);
  const Head from = head_before(of.from.out, index, memory);
  const Head after = head_after(of.into.out, index, memory);
  for (std::size_t f = 0; f < after.features.size(); ++f) {
    const double kept = of_a == 0 ? 0 : of_a / (of_a + of_b) * before.features[f];
    const double added = of_b == 0 ? 0 : of_b / (of_a + of_b) * from.features[f];
    const double exact = kept + added;
    const double size = std::max(of_a == 0 ? 0 : std::abs(before.features[f]),
                                 of_b == 0 ? 0 : std::abs(from.features[f]));
    if (!std::isfinite(exact) || !(size <= 0x1p100)) continue;
    if (after.dtype == DType::f16 && size >= f16_overflow) continue;
    check_number(after.features[f], exact,
                 stored_element_error(after.dtype, exact, 0x1p-48 * size));
  }
}

void check_merged(const MergeCase& of, const Memory& memory) {
  if (reach_of(strided(of.into.out))) {
    for_each_element(strided(of.into.log_sum_exp),
                     [&](const Axes& index) { check_row(of, index, memory); });
  }
  put_back(strided(of.into.out), memory);
  put_back(strided(of.into.log_sum_exp), memory);
  check_unchanged(memory, "nothing but the merged part must be written");
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
