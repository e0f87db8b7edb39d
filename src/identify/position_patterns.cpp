// SPDX-License-Identifier: Apache-2.0
#include "identify/position_patterns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/extremes.hpp"
#include "base/message.hpp"
#include "identify/edits.hpp"
#include "identify/structure.hpp"

namespace rotary::identification {
namespace {

constexpr std::size_t most_runs = 8;
// Positions that wrap after this many tokens or more wrap at a table's end; others, at a chunk's.
constexpr double shortest_table = 256;

// The tokens of one batch row, on one axis.
struct Row {
  std::span<const double> expected;
  std::span<const double> found;

  [[nodiscard]] std::size_t size() const { return found.size(); }
  [[nodiscard]] double shift(std::size_t t) const { return found[t] - expected[t]; }
  [[nodiscard]] bool is_right() const { return std::ranges::equal(expected, found); }
};

std::size_t rows_of(const ReadPositions& p) { return static_cast<std::size_t>(p.axes * p.batch); }

Row row_of(const ReadPositions& p, std::size_t row) {
  const auto tokens = static_cast<std::size_t>(p.tokens);
  return {std::span(p.expected).subspan(row * tokens, tokens),
          std::span(p.found).subspan(row * tokens, tokens)};
}

// True if holds(row) is true for every row with a wrong position.
template <class Holds>
bool each_wrong_row(const ReadPositions& p, Holds holds) {
  for (std::size_t row = 0; row < rows_of(p); ++row) {
    const Row each = row_of(p, row);
    if (!each.is_right() && !holds(each)) return false;
  }
  return true;
}

bool counts_up(std::span<const double> positions) {
  for (std::size_t t = 1; t < positions.size(); ++t)
    if (positions[t] != positions[t - 1] + 1) return false;
  return true;
}

bool is_constant(std::span<const double> positions) {
  return std::ranges::all_of(positions, [&](double each) { return each == positions.front(); });
}

// Number of tokens before the final run of positions that rise by 1.
std::size_t prefix_of(std::span<const double> positions) {
  std::size_t first = positions.size() - 1;
  while (first > 0 && positions[first] == positions[first - 1] + 1) --first;
  return first;
}

bool has_one_shift(const Row& row) {
  for (std::size_t t = 1; t < row.size(); ++t)
    if (row.shift(t) != row.shift(0)) return false;
  return true;
}

bool is_position_offset(const ReadPositions& p) {
  const double shift = row_of(p, 0).shift(0);
  for (std::size_t row = 0; row < rows_of(p); ++row) {
    const Row each = row_of(p, row);
    if (!has_one_shift(each) || each.shift(0) != shift) return false;
  }
  return true;
}

bool is_row_offsets(const ReadPositions& p) {
  return p.batch > 1 && each_wrong_row(p, has_one_shift);
}

bool is_left_padding(const ReadPositions& p) {
  return each_wrong_row(p, [](const Row& row) {
    const std::size_t padding = prefix_of(row.expected);
    return padding > 0 && is_constant(row.expected.first(padding)) && counts_up(row.found) &&
           row.shift(row.size() - 1) > 0;
  });
}

// True if some position is not the previous one plus 1, and may(position, previous) is true for
// every such position.
template <class May>
bool breaks(std::span<const double> positions, May may) {
  bool any = false;
  for (std::size_t t = 1; t < positions.size(); ++t) {
    if (positions[t] == positions[t - 1] + 1) continue;
    if (!may(positions[t], positions[t - 1])) return false;
    any = true;
  }
  return any;
}

bool is_packing_without_reset(const ReadPositions& p) {
  return each_wrong_row(
      p, [](const Row& row) { return breaks(row.expected, std::less()) && counts_up(row.found); });
}

bool is_rank_positions(const ReadPositions& p) {
  return each_wrong_row(p, [](const Row& row) {
    return breaks(row.expected, std::greater()) && row.expected[0] != row.found.back() &&
           counts_up(row.found);
  });
}

bool is_restart(const ReadPositions& p) {
  return each_wrong_row(p, [](const Row& row) {
    const auto is_first = [&](double position, double) { return position == row.found[0]; };
    return breaks(row.found, is_first) && counts_up(row.expected);
  });
}

bool is_offset_counted_twice(const ReadPositions& p) {
  return each_wrong_row(p, [](const Row& row) {
    for (std::size_t t = 0; t < row.size(); ++t) {
      const bool begins = t == 0 || row.shift(t) != row.shift(t - 1);
      if (begins && row.shift(t) != (t == 0 ? 0 : row.expected[t])) return false;
    }
    return counts_up(row.expected);
  });
}

double last_found(const ReadPositions& p) {
  double last = p.found.front();
  for (const double position : p.found) last = larger(last, position);
  return last;
}

bool is_table_clamped(const ReadPositions& p) {
  const double last = last_found(p);
  for (std::size_t i = 0; i < p.found.size(); ++i)
    if (p.found[i] != smaller(p.expected[i], last)) return false;
  return true;
}

bool is_table_wrapped(const ReadPositions& p) {
  if (!counts_up(row_of(p, 0).expected)) return false;
  double rows = 0;
  for (std::size_t i = 0; i < p.found.size() && rows == 0; ++i) rows = p.expected[i] - p.found[i];
  if (!(rows >= shortest_table) || last_found(p) >= rows) return false;
  for (std::size_t i = 0; i < p.found.size(); ++i)
    if (p.found[i] != std::fmod(p.expected[i], rows)) return false;
  return true;
}

bool is_first_decoded(const ReadPositions& p) {
  return each_wrong_row(p, [](const Row& row) {
    if (row.size() < 2 || row.found[0] != 0 || row.expected[0] == 0) return false;
    return has_one_shift({row.expected.subspan(1), row.found.subspan(1)});
  });
}

std::size_t wrong_axes(const ReadPositions& p) {
  std::size_t wrong = 0;
  for (std::int64_t axis = 0; axis < p.axes; ++axis) {
    bool right = true;
    for (std::int64_t b = 0; b < p.batch; ++b)
      right = right && row_of(p, static_cast<std::size_t>(axis * p.batch + b)).is_right();
    if (!right) ++wrong;
  }
  return wrong;
}

bool is_axis_pinned(const ReadPositions& p) {
  return p.axes > 1 && wrong_axes(p) == 1 && each_wrong_row(p, [](const Row& row) {
           std::vector<double> pinned;
           std::vector<double> moving;
           for (std::size_t t = 0; t < row.size(); ++t) {
             if (row.shift(t) == 0) continue;
             pinned.push_back(row.found[t]);
             moving.push_back(row.expected[t]);
           }
           return is_constant(pinned) && !is_constant(moving);
         });
}

bool is_text_positions(const ReadPositions& p) {
  if (p.axes < 2) return false;
  const auto tokens = static_cast<std::size_t>(p.batch * p.tokens);
  for (std::size_t i = tokens; i < p.found.size(); ++i)
    if (p.found[i] != p.found[i - tokens]) return false;
  return each_wrong_row(p, [](const Row& row) { return counts_up(row.found); });
}

bool is_delta(const ReadPositions& p) {
  if (p.axes < 2) return false;
  const auto tokens = static_cast<std::size_t>(p.batch * p.tokens);
  for (std::size_t i = tokens; i < p.found.size(); ++i)
    if (p.found[i] - p.expected[i] != p.found[i - tokens] - p.expected[i - tokens]) return false;
  return each_wrong_row(p, [](const Row& row) {
    std::size_t first = 0;
    while (row.shift(first) == 0) ++first;
    return has_one_shift({row.expected.subspan(first), row.found.subspan(first)});
  });
}

bool is_axis_factor(const ReadPositions& p) {
  return p.axes > 1 && wrong_axes(p) == 1 && each_wrong_row(p, [](const Row& row) {
           std::size_t first = 0;
           while (row.shift(first) == 0) ++first;
           const std::size_t start = first == 0 ? 0 : first - 1;
           const double steps = row.expected[first] - row.expected[start];
           if (steps == 0) return false;
           const double factor = (row.found[first] - row.found[start]) / steps;
           for (std::size_t t = start; t < row.size() && row.shift(t) != 0; ++t) {
             const double along = row.expected[t] - row.expected[start];
             if (std::abs(row.found[t] - row.found[start] - factor * along) > 1e-6) return false;
           }
           return true;
         });
}

struct Pattern {
  std::string_view name;
  bool (*matches)(const ReadPositions&);
};
constexpr std::array patterns = {Pattern{"position_offset", is_position_offset},
                                 Pattern{"text_positions", is_text_positions},
                                 Pattern{"axis_pinned", is_axis_pinned},
                                 Pattern{"axis_factor", is_axis_factor},
                                 Pattern{"delta", is_delta},
                                 Pattern{"table_clamped", is_table_clamped},
                                 Pattern{"table_wrapped", is_table_wrapped},
                                 Pattern{"left_padding", is_left_padding},
                                 Pattern{"packing", is_packing_without_reset},
                                 Pattern{"rank_positions", is_rank_positions},
                                 Pattern{"restarts", is_restart},
                                 Pattern{"offset_twice", is_offset_counted_twice},
                                 Pattern{"first_decoded", is_first_decoded},
                                 Pattern{"row_offsets", is_row_offsets}};

std::string number(double position) { return message(with_few_digits(position, 1e-6)); }

std::string shifted(double shift) {
  return message(shift < 0 ? "p - " : "p + ", number(std::abs(shift)));
}

std::string range(double first, double last) {
  return first == last ? number(first) : message(number(first), "-", number(last));
}

// Tokens [first, end) of a row.
struct Run {
  std::size_t first;
  std::size_t end;
};

// The longest run of wrong tokens from this one on. Either all were found at one position, or the
// steps of expected and found positions are constant and are 0, 1 or equal to each other.
Run run_from(const Row& row, std::size_t first) {
  std::size_t end = first + 1;
  const auto step = [](std::span<const double> positions, std::size_t t) {
    return positions[t] - positions[t - 1];
  };
  while (end < row.size() && std::abs(row.shift(end)) > 0) {
    const double expected = step(row.expected, end);
    const double found = step(row.found, end);
    const bool is_regular = (expected == 0 || expected == 1) && (found == 0 || found == 1);
    const bool goes_on = end == first + 1 || (expected == step(row.expected, end - 1) &&
                                              found == step(row.found, end - 1));
    if (!goes_on || (!is_regular && row.shift(end) != row.shift(first))) break;
    ++end;
  }
  std::size_t alike = first + 1;
  while (alike < row.size() && row.found[alike] == row.found[first] && row.shift(alike) != 0)
    ++alike;
  return {first, std::max<std::size_t>(end, alike)};
}

FieldDifference field_of(const Row& row, const Run& run, const std::string& where) {
  const std::string tokens = run.end == run.first + 1
                                 ? message("position of token ", run.first)
                                 : message("positions of tokens ", run.first, "-", run.end - 1);
  const std::size_t last = run.end - 1;
  const bool has_shift = last > run.first && row.shift(run.first) == row.shift(last);
  return rows_field(
      tokens + where, has_shift ? "p" : range(row.expected[run.first], row.expected[last]),
      has_shift ? shifted(row.shift(run.first)) : range(row.found[run.first], row.found[last]));
}

}  // namespace

std::string_view pattern_of(const ReadPositions& positions) {
  if (positions.unread > 0) return "token_positions";
  const auto* const found =
      std::ranges::find_if(patterns, [&](const Pattern& each) { return each.matches(positions); });
  return found == patterns.end() ? "token_positions" : found->name;
}

std::vector<FieldDifference> runs_of(const ReadPositions& positions) {
  std::vector<FieldDifference> fields;
  std::size_t more = 0;
  const auto batch = static_cast<std::size_t>(positions.batch);
  const bool axes_agree = positions.axes > 1 && is_delta(positions);
  for (std::size_t i = 0; i < (axes_agree ? batch : rows_of(positions)); ++i) {
    const Row row = row_of(positions, i);
    const std::string where =
        (batch > 1 ? message(" of row ", i % batch) : std::string()) +
        (positions.axes > 1 && !axes_agree ? message(", axis ", i / batch) : std::string());
    for (std::size_t t = 0; t < row.size();) {
      if (!(std::abs(row.shift(t)) > 0)) {  // NaN: no position
        ++t;
        continue;
      }
      const Run run = run_from(row, t);
      if (fields.size() < most_runs)
        fields.push_back(field_of(row, run, where));
      else
        ++more;
      t = run.end;
    }
  }
  if (more > 0)
    fields.push_back(rows_field(message("positions of ", more, " more runs"), "p", "?"));
  return fields;
}

}  // namespace rotary::identification
