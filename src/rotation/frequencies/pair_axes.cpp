// SPDX-License-Identifier: Apache-2.0
// Sources of the arrangements: recomposition_frequencies and apply_interleaved_mrope in modeling
// files of huggingface/transformers 5.23. docs/theory/axes.md lists the models.
#include "rotation/frequencies/pair_axes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/enumerators.hpp"
#include "base/message.hpp"

namespace rotary {
namespace {

Status check_pairs(const Axes& axes, std::int64_t pairs) {
  const auto count = static_cast<std::int64_t>(axes.pairs.size());
  if (count < 1 || count > max_axes)
    return invalid_argument("axes.pairs must have 1 to ", max_axes, " entries, got ", count);
  std::int64_t left = pairs;
  for (const std::int64_t each : axes.pairs) {
    if (each < 1) return invalid_argument("axes.pairs must be >= 1 for each axis, got ", each);
    left -= std::min(each, left + 1);  // -1 if there are too many
  }
  if (left == 0) return {};
  return invalid_argument("axes.pairs must sum to rotary_dim / 2, ", pairs, "; got ",
                          left < 0 ? "more" : "fewer");
}

Status check_order(const Axes& axes) {
  if (axes.order.empty()) return {};
  std::vector<std::int64_t> sorted = axes.order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> wanted(axes.pairs.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  if (sorted == wanted) return {};
  return invalid_argument("axes.order must name each of 0..", wanted.size() - 1,
                          " once, or be empty");
}

template <class Accepts>
Status check_list(std::string_view name, const std::vector<double>& list, std::size_t axes,
                  std::string_view requirement, Accepts accepts) {
  if (!list.empty() && list.size() != axes) {
    return invalid_argument("axes.", name, " must have one entry for each axis, ", axes,
                            ", or none; got ", list.size());
  }
  for (const double value : list) {
    if (!std::isfinite(value) || !accepts(value))
      return invalid_argument("axes.", name, " must be ", requirement, ", got ", value);
  }
  return {};
}

Status check_exponents(const Axes& axes) {
  if (!is_enumerator(axes.arrangement)) return no_enumerator("axes.arrangement", axes.arrangement);
  const AxisExponents exponents = axes.exponents;
  if (!is_enumerator(exponents)) return no_enumerator("axes.exponents", exponents);
  if (!axes.bases.empty() && exponents != AxisExponents::own)
    return invalid_argument("axes.bases need exponents own, got ", to_string(exponents));
  const bool equal = std::adjacent_find(axes.pairs.begin(), axes.pairs.end(),
                                        std::not_equal_to<>()) == axes.pairs.end();
  if (exponents == AxisExponents::in_turn && !equal)
    return invalid_argument("axes.pairs must be equal for all axes with exponents in_turn");
  return {};
}

std::vector<std::int32_t> dealing_order(const Axes& axes) {
  std::vector<std::int32_t> order(axes.pairs.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < axes.order.size(); ++i)
    order[i] = static_cast<std::int32_t>(axes.order[i]);
  return order;
}

std::int64_t pairs_of(const Axes& axes, std::int32_t axis) {
  return axes.pairs[static_cast<std::size_t>(axis)];
}

std::int32_t axis_in_turn(const Axes& axes, const std::vector<std::int32_t>& order,
                          std::int64_t pair) {
  const auto count = static_cast<std::int64_t>(order.size());
  const std::int32_t axis = order[static_cast<std::size_t>(pair % count)];
  return pair < count * pairs_of(axes, axis) ? axis : order.front();
}

std::int32_t axis_before_last(const Axes& axes, const std::vector<std::int32_t>& order,
                              std::int64_t pair, std::int64_t pairs) {
  const auto others = static_cast<std::int64_t>(order.size()) - 1;
  if (others == 0 || pair >= pairs - pairs_of(axes, order.back())) return order.back();
  return order[static_cast<std::size_t>(pair % others)];
}

std::vector<std::int32_t> arranged(const Axes& axes, const std::vector<std::int32_t>& order) {
  std::vector<std::int32_t> of_pair;
  const std::int64_t pairs = std::accumulate(axes.pairs.begin(), axes.pairs.end(), std::int64_t{0});
  if (axes.arrangement == AxisArrangement::blocks) {
    for (const std::int32_t axis : order)
      of_pair.insert(of_pair.end(), static_cast<std::size_t>(pairs_of(axes, axis)), axis);
    return of_pair;
  }
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    of_pair.push_back(axes.arrangement == AxisArrangement::interleaved
                          ? axis_in_turn(axes, order, pair)
                          : axis_before_last(axes, order, pair, pairs));
  }
  return of_pair;
}

}  // namespace

Status validate(const Axes& axes, std::int64_t pairs) {
  if (auto status = check_pairs(axes, pairs); !status) return status;
  if (auto status = check_order(axes); !status) return status;
  if (auto status = check_exponents(axes); !status) return status;
  const std::size_t count = axes.pairs.size();
  auto status = check_list("bases", axes.bases, count, "finite and > 1",
                           [](double base) { return base > 1; });
  if (!status) return status;
  return check_list("scales", axes.scales, count, "finite and not 0",
                    [](double scale) { return scale != 0; });
}

Result<PairAxes> deal_pairs(const Axes& axes) {
  PairAxes dealt{.count = static_cast<std::int64_t>(axes.pairs.size()),
                 .of_pair = arranged(axes, dealing_order(axes))};
  for (std::int32_t axis = 0; axis < static_cast<std::int32_t>(dealt.count); ++axis) {
    const auto got = std::count(dealt.of_pair.begin(), dealt.of_pair.end(), axis);
    if (got == pairs_of(axes, axis)) continue;
    return invalid_argument("axes.pairs must be the numbers that arrangement ",
                            to_string(axes.arrangement), " deals, ", got, " for axis ", axis,
                            "; got ", pairs_of(axes, axis));
  }
  if (dealt.count == 1) dealt.of_pair.clear();
  return dealt;
}

std::vector<std::size_t> exponent_places(const Axes& axes, const PairAxes& dealt) {
  const auto order = dealing_order(axes);
  const auto pairs = static_cast<std::size_t>(
      std::accumulate(axes.pairs.begin(), axes.pairs.end(), std::int64_t{0}));
  std::vector<std::size_t> before(order.size(), 0);  // number of pairs of each axis so far
  std::vector<std::size_t> places;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const std::int32_t axis = dealt.of_pair.empty() ? 0 : dealt.of_pair[pair];
    const std::size_t rank = before[static_cast<std::size_t>(axis)]++;
    const auto turn =
        static_cast<std::size_t>(std::find(order.begin(), order.end(), axis) - order.begin());
    switch (axes.exponents.get()) {
      case AxisExponents::shared:
        places.push_back(pair);
        break;
      case AxisExponents::own:
        places.push_back(rank);
        break;
      case AxisExponents::in_turn:
        places.push_back(rank * order.size() + turn);
        break;
    }
  }
  return places;
}

Status validate(const PairAxes& axes, std::int64_t pairs) {
  if (axes.count < 1 || axes.count > max_axes)
    return invalid_argument("axes.count must be in 1..", max_axes, ", got ", axes.count);
  if (axes.of_pair.empty()) return {};
  if (axes.count == 1 || static_cast<std::int64_t>(axes.of_pair.size()) != pairs) {
    return invalid_argument("axes.of_pair must be empty for one axis and dense ones, otherwise ",
                            "have one entry for each pair, ", pairs, "; got ", axes.of_pair.size(),
                            " for ", axes.count, " axes");
  }
  for (const std::int32_t axis : axes.of_pair) {
    if (axis >= 0 && axis < axes.count) continue;
    return invalid_argument("axes.of_pair must be in 0..", axes.count - 1, ", got ", axis);
  }
  return {};
}

}  // namespace rotary
