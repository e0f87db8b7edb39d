// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/mistakes.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <variant>

#include "cli/failure.hpp"
#include "cli/hidden_size.hpp"

namespace rotary::cli::explain {
namespace {

using Map = std::function<Vector(const Vector& head, std::int64_t position, Role role)>;

Map turning_by(const Frequencies& frequencies) {
  return [frequencies](const Vector& head, std::int64_t position, Role) {
    return turned(head, pairs_at(frequencies, position), frequencies.attention_factor);
  };
}

// base^-(first + step i).
Map with_exponents(const Numbers& numbers, double first, double step) {
  const HeadWindow& window = numbers.frequencies.window;
  Vector inv_freq;
  for (std::int64_t i = 0; i < window.pairs(); ++i) {
    inv_freq.push_back(std::pow(numbers.spec.base.get(), -(first + step * static_cast<double>(i))));
  }
  return turning_by(
      value_or_fail(make_frequencies(window, std::move(inv_freq), numbers.attention_factor())));
}

Map without_scaling(const Numbers& numbers) {
  RotarySpec spec = numbers.spec;
  spec.scaling = NoScaling{};
  return turning_by(value_or_fail(make_frequencies(spec)));
}

Map other_base_for_keys(const Numbers& numbers) {
  Vector slower = numbers.frequencies.inv_freq;
  const auto pairs = static_cast<double>(slower.size());
  for (std::size_t i = 0; i < slower.size(); ++i) {
    slower[i] *= std::pow(2.0, -static_cast<double>(i) / pairs);
  }
  const Frequencies other = value_or_fail(
      make_frequencies(numbers.frequencies.window, std::move(slower), numbers.attention_factor()));
  return [&numbers, other](const Vector& head, std::int64_t position, Role role) {
    const Frequencies& frequencies = role == Role::query ? numbers.frequencies : other;
    return turned(head, pairs_at(frequencies, position), numbers.attention_factor());
  };
}

Map other_pairing(const Numbers& numbers) {
  return [&numbers](const Vector& head, std::int64_t position, Role) {
    const HeadWindow& window = numbers.frequencies.window;
    const Elements elements =
        window.pairing.get() == Pairing::half ? Elements::every_two : Elements::rotate_half;
    return with_window(
        head,
        by_elements(form_input(numbers.frequencies, position), window_of(head, window), elements),
        window);
  };
}

Map other_sense(const Numbers& numbers) {
  return [&numbers](const Vector& head, std::int64_t position, Role) {
    return numbers.turned(head, -position);
  };
}

// The last two of (-x1, x0, -x3, x2, ...) printed as (-x[d-2], x[d-1]).
Map misprinted_last_pair(const Numbers& numbers) {
  return [&numbers](const Vector& head, std::int64_t position, Role) {
    Vector result = numbers.turned(head, position);
    const Pair last = numbers.pairs_at(position).back();
    const double factor = numbers.attention_factor();
    result[last.first_result] = head[last.first_feature] * factor * (last.cos - last.sin);
    result[last.second_result] = head[last.second_feature] * factor * (last.cos + last.sin);
    return result;
  };
}

// 8 bits of significand, to nearest even.
std::int64_t rounded_to_bf16(std::int64_t position) {
  if (position == 0) return 0;
  const auto value = static_cast<double>(position);
  const double step = std::ldexp(1.0, std::ilogb(value) - 7);
  return static_cast<std::int64_t>(std::nearbyint(value / step) * step);
}

template <class Position>
Map at_another_position(const Numbers& numbers, Position position_of) {
  return [&numbers, position_of](const Vector& head, std::int64_t position, Role role) {
    return numbers.turned(head, position_of(position, role));
  };
}

std::vector<Mistake> mistaken_frequencies(const Numbers& numbers) {
  std::vector<Mistake> mistakes;
  const auto d = static_cast<double>(numbers.rotary_dim());
  if (!std::holds_alternative<NoScaling>(numbers.spec.scaling)) {
    return {{"scaling_ignored", "the config's scaling rule left out", without_scaling(numbers)}};
  }
  if (numbers.spec.sense != Sense::positive) return {};
  mistakes = {
      {"exponent_i_over_d", "exponent i/d for 2i/d", with_exponents(numbers, 0, 1 / d)},
      {"pairs_from_1", "exponent 2i/d with i from 1", with_exponents(numbers, 2 / d, 2 / d)}};
  // With one head that turns whole it is no mistake.
  const std::int64_t width = numbers.hidden_size.value_or(usual_hidden_size);
  if (width != numbers.frequencies.window.rotary_dim) {
    mistakes.push_back(
        {"model_width_for_d",
         fmt::format("exponent 2i/D, D = {}{}", width,
                     numbers.hidden_size ? ", the model's width" : "; the width is unknown"),
         with_exponents(numbers, 0, 2 / static_cast<double>(width))});
  }
  return mistakes;
}

}  // namespace

std::vector<Mistake> usual_mistakes(const Numbers& numbers) {
  std::vector<Mistake> mistakes = mistaken_frequencies(numbers);
  mistakes.push_back({"other_pairing", "the other pairing", other_pairing(numbers)});
  mistakes.push_back(
      {"other_sense", "rotate_half negates the first half: turned back", other_sense(numbers)});
  mistakes.push_back(
      {"positions_from_1", "positions counted from 1",
       at_another_position(numbers, [](std::int64_t position, Role) { return position + 1; })});
  mistakes.push_back({"positions_in_bf16", "positions rounded to bf16",
                      at_another_position(numbers, [](std::int64_t position, Role) {
                        return rounded_to_bf16(position);
                      })});
  mistakes.push_back(
      {"head_index", "cos and sin broadcast over heads (head 1)",
       at_another_position(numbers, [](std::int64_t, Role) { return std::int64_t{1}; })});
  mistakes.push_back({"query_alone", "the query turned, the key not",
                      at_another_position(numbers, [](std::int64_t position, Role role) {
                        return role == Role::query ? position : 0;
                      })});
  mistakes.push_back(
      {"other_base_for_keys", "keys cached under another base", other_base_for_keys(numbers)});
  if (numbers.frequencies.window.pairing.get() == Pairing::interleaved) {
    mistakes.push_back({"last_pair_misprinted", "the last two of rot(x) as (-x[d-2], x[d-1])",
                        misprinted_last_pair(numbers)});
  }
  return mistakes;
}

}  // namespace rotary::cli::explain
