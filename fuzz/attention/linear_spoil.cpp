// SPDX-License-Identifier: Apache-2.0
// Makes one thing about a legal call wrong, or just different.
#include <array>

#include "fuzz/attention/linear_case.hpp"

namespace rotary::fuzz {
namespace {

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

}  // namespace

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

bool is_callable(const Arena& arena, const LinearCase& of) {
  if (!are_inside(arena, of)) return false;
  // Strides of 0 may repeat very many keys; too many are refused.
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
