// SPDX-License-Identifier: Apache-2.0
// The edits of hypotheses about structure, the attention factor A, signs and axes.
#include <cmath>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "base/yarn_growth.hpp"
#include "identify/edits.hpp"
#include "identify/structure.hpp"

namespace rotary::identification {
namespace {

bool is_partial(const HeadWindow& window) { return window.rotary_dim < window.head_dim; }

void set_window(Operation& operation, std::int64_t width, std::int64_t first) {
  operation.spec.rotary_dim = width;
  operation.spec.first_feature = first;
  operation.spec.blocks = 1;
}

// Exchanges Gemma 4's proportional rule and a partial rotary embedding. They rotate the same
// features at different speeds.
void list_proportional(const Start& start, EditList& list) {
  const HeadWindow& window = start.turning.window;
  const Scaling& rule = start.operation.spec.scaling;
  const auto* const proportional = std::get_if<ProportionalScaling>(&rule);
  if (proportional != nullptr) {
    const auto width = static_cast<std::int64_t>(static_cast<double>(window.head_dim) *
                                                 proportional->turning_fraction);
    list.add(window_aspect | rule_aspect, [width](Operation& operation) {
      set_window(operation, width / 2 * 2, 0);
      operation.spec.scaling = NoScaling{};
    });
  } else if (std::holds_alternative<NoScaling>(rule) && is_partial(window) &&
             window.first_feature == 0) {
    const double share =
        static_cast<double>(window.rotary_dim) / static_cast<double>(window.head_dim);
    list.add(window_aspect | rule_aspect, [share](Operation& operation) {
      set_window(operation, operation.spec.head_dim, 0);
      operation.spec.scaling = ProportionalScaling{.turning_fraction = share};
    });
  }
}

// Pairs features of the two halves of the entire head. Missing frequencies become 0, so only the
// first pairs rotate. Drops axes, because text tokens have the same coordinate on each axis.
void list_filled(const Start& start, EditList& list) {
  const HeadWindow& window = start.turning.window;
  if (!is_partial(window) || window.first_feature != 0 || window.pairing != Pairing::half) return;
  if (start.operation.spec.sense == Sense::negative) return;
  ExplicitScaling filled{.inv_freq = start.turning.inv_freq,
                         .attention_factor = start.turning.attention_factor};
  filled.inv_freq.resize(static_cast<std::size_t>(window.head_dim / 2));
  list.add(window_aspect | frequency_aspects | arrangement_aspect,
           rows_field("pairs", "of the features that turn", "of the whole head, others at rest"),
           [filled](Operation& operation) {
             set_window(operation, operation.spec.head_dim, 0);
             operation.spec.axes.reset();
             operation.spec.scaling = filled;
           });
}

std::optional<double> factor_of(const Scaling& scaling) {
  if (const auto* const yarn = std::get_if<YarnScaling>(&scaling)) return yarn->factor;
  if (const auto* const llama3 = std::get_if<Llama3Scaling>(&scaling)) return llama3->factor;
  if (const auto* const longrope = std::get_if<LongRopeScaling>(&scaling)) return longrope->factor;
  if (const auto* const linear = std::get_if<LinearScaling>(&scaling)) return linear->factor;
  return std::nullopt;
}

// The relative error of a factor that was measured from the lengths of vectors.
double spread_of(const Start& start) {
  const auto count = static_cast<double>(start.sample.before.size());
  return 3 * rounding_noise(start.sample.dtype) / std::sqrt(count) + 1e-7;
}

// The factor by which all vectors' lengths changed; empty if they have no common factor.
std::optional<double> measured_factor(const Start& start) {
  const FoundStructure& seen = start.structure;
  const bool keeps_lengths = seen.deviation <= 2 * rounding_noise(start.sample.dtype);
  return seen.rotated && keeps_lengths ? std::optional(seen.attention_factor) : std::nullopt;
}

// True if a mistake can give this attention factor: 1, the configured A, its square or inverse, or
// YaRN's formula for a common factor, applied once or twice.
bool is_attention_factor(double seen, const Start& start) {
  const double configured = start.turning.attention_factor;
  std::vector<double> known = {1, configured, configured * configured, 1 / configured};
  const auto add = [&](double scale) {
    const double formula = yarn_growth(scale);
    known.insert(known.end(), {formula, formula * formula});
  };
  std::ranges::for_each(common_factors, add);
  if (const auto own = factor_of(start.operation.spec.scaling); own && *own > 1) add(*own);
  const double alike = 2 * spread_of(start);
  return std::ranges::any_of(known,
                             [&](double each) { return std::abs(seen - each) <= alike * each; });
}

// Whether the factor may multiply entire vectors or, for may_be_of_rows(), rows of cos and sin. If
// some features do not rotate, both are true, and these features decide later. Otherwise a known A
// belongs to rows; another factor may belong to vectors and, above 1, also to rows.
bool may_be_of_vectors(double seen, const Start& start) {
  return is_partial(start.turning.window) || !is_attention_factor(seen, start);
}
bool may_be_of_rows(double seen, const Start& start) {
  return start.sample.observed != Observed::heads || is_partial(start.turning.window) || seen > 1 ||
         is_attention_factor(seen, start);
}

}  // namespace

void list_pairings(const Start& start, EditList& list) {
  const Pairing configured = start.turning.window.pairing;
  for (const Pairing pairing : all_pairings) {
    if (pairing == configured) continue;
    list.add(pairing_aspect, [pairing](Operation& operation) {
      operation.spec.pairing = pairing;
      if (pairing != Pairing::half) operation.spec.blocks = 1;
    });
  }
}

void list_windows(const Start& start, EditList& list) {
  const HeadWindow& window = start.turning.window;
  list_filled(start, list);
  if (start.operation.spec.axes) {
    if (!is_partial(window)) return;
    list.add(window_aspect | arrangement_aspect, [](Operation& operation) {
      set_window(operation, operation.spec.head_dim, 0);
      operation.spec.axes.reset();
    });
    return;
  }
  const std::int64_t d = window.head_dim;
  using Place = std::pair<std::int64_t, std::int64_t>;
  std::vector<Place> places = {{d / 2, 0}, {d / 2, d / 2}, {d / 4, 0}, {d, 0}, {d / 4 * 3, 0}};
  const HeadWindow& found = start.structure.window;
  const Place seen{found.rotary_dim, found.first_feature};
  if (std::ranges::find(places, seen) == places.end()) places.push_back(seen);
  for (const auto& [width, first] : places) {
    const bool is_configured = width == window.rotary_dim && first == window.first_feature;
    if (is_configured || width < 2 || width % 2 != 0) continue;
    list.add(window_aspect, [width = width, first = first](Operation& operation) {
      set_window(operation, width, first);
    });
  }
  list_proportional(start, list);
}

void list_blocks(const Start& start, EditList& list) {
  const HeadWindow& window = start.turning.window;
  if (window.pairing != Pairing::half || window.rotary_dim % 4 != 0) return;
  const std::int64_t blocks = window.blocks == 1 ? 2 : 1;
  list.add(window_aspect | pairing_aspect,
           [blocks](Operation& operation) { operation.spec.blocks = blocks; });
}

void list_table_orders(const Start& start, EditList& list) {
  if (start.turning.window.blocks != 1 || start.operation.spec.axes) return;
  list.add(order_aspect, rows_field("table", "made for its pairing", "made for the other pairing"),
           [](Operation& operation) { operation.other_table = true; });
}

void list_unrotated(const Start& /*start*/, EditList& list) {
  list.add(all_aspects, rows_field("rotated", "true", "false"),
           [](Operation& operation) { operation.rotates = false; });
}

void list_vector_factors(const Start& start, EditList& list) {
  const auto add = [&](double factor, const std::string& text) {
    list.add(vector_aspect, rows_field("vectors", "x", text),
             [factor](Operation& operation) { operation.vector_factor = factor; });
  };
  const auto width = static_cast<double>(start.turning.window.head_dim);
  add(1 / std::sqrt(width), message("x / sqrt(", width, ")"));
  const auto seen = measured_factor(start);
  if (!seen || !may_be_of_vectors(*seen, start)) return;
  const double spread = spread_of(start);
  const double factor = *seen / start.turning.attention_factor;
  if (std::abs(factor - 1) <= spread) return;
  const double square = 1 / (factor * factor);
  const double whole = std::nearbyint(square);
  const double doubt = 3 * spread * whole;
  if (whole == width && std::abs(square - whole) <= doubt) return;
  if (whole > 1 && doubt < 0.1 && std::abs(square - whole) <= doubt)
    return add(1 / std::sqrt(whole), message("x / sqrt(", whole, ")"));
  const double rounded = with_few_digits(factor, spread);
  add(rounded, message(rounded, " x"));
}

void list_attention_factors(const Start& start, EditList& list) {
  const double configured = start.turning.attention_factor;
  std::vector<double> listed = {configured};
  const auto add = [&](double factor, double alike) {
    for (const double each : listed)
      if (std::abs(each - factor) <= alike * std::abs(each)) return;
    listed.push_back(factor);
    list.add(attention_aspect, rows_field("attention_factor", to_text(configured), to_text(factor)),
             [factor](Operation& operation) { operation.attention_factor = factor; });
  };
  add(1, 1e-9);
  if (configured != 1) add(configured * configured, 1e-9);
  const auto factor = factor_of(start.operation.spec.scaling);
  if (factor && *factor > 1) {
    const double formula = yarn_growth(*factor);
    add(formula, 1e-9);
    add(formula * formula, 1e-9);
  }
  // Adds the measured factor, if it is a new one.
  const auto seen = measured_factor(start);
  if (!seen || !may_be_of_rows(*seen, start)) return;
  add(with_few_digits(*seen, spread_of(start)), 2 * spread_of(start));
}

void list_senses(const Start& /*start*/, EditList& list) {
  list.add(sense_aspect, [](Operation& operation) {
    const bool is_positive = operation.spec.sense == Sense::positive;
    operation.spec.sense = is_positive ? Sense::negative : Sense::positive;
  });
}

void list_swaps(const Start& /*start*/, EditList& list) {
  list.add(swap_aspect, rows_field("rows", "cos, sin", "sin, cos"),
           [](Operation& operation) { operation.cos_sin_swapped = true; });
}

void list_axis_arrangements(const Start& start, EditList& list) {
  const auto& axes = start.operation.spec.axes;
  if (!axes || axes->pairs.size() < 2) return;
  for (const AxisArrangement arrangement : all_axis_arrangements) {
    if (arrangement == axes->arrangement) continue;
    list.add(arrangement_aspect, [arrangement](Operation& operation) {
      operation.spec.axes->arrangement = arrangement;
    });
  }
}

void list_coordinates(const Start& start, EditList& list) {
  const auto& axes = start.operation.spec.axes;
  const std::size_t count = axes ? axes->pairs.size() : 0;
  if (count != 2 && count != 3) return;
  using Order = std::vector<std::size_t>;
  const std::vector<Order> orders =
      count == 2
          ? std::vector<Order>{{1, 0}, {0, 0}, {1, 1}}
          : std::vector<Order>{{0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 0, 0}};
  const auto text = [](const Order& order) {
    std::string all;
    for (const std::size_t axis : order) all += message(all.empty() ? "" : ", ", axis);
    return all;
  };
  const Order own = count == 2 ? Order{0, 1} : Order{0, 1, 2};
  for (const Order& order : orders) {
    list.add(coordinate_aspect, rows_field("coordinates", text(own), text(order)),
             [order](Operation& operation) { operation.coordinate_of_axis = order; });
  }
}

}  // namespace rotary::identification
