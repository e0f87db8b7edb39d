// SPDX-License-Identifier: Apache-2.0
// Where the bias depends on the distance alone and positions are consecutive, the first row and the
// first column are computed and the rest is copied along its diagonals: N + M - 1 evaluations for
// each head, and the bits that evaluating each element would give.
#include <cstring>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/elements.hpp"
#include "relative/evaluators.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary {
namespace relative {
namespace {

enum class Diagonals { equal, different };

template <class Evaluator>
void evaluate_block(const ScoresView& out, const Evaluator& evaluate,
                    const PairPositions& positions, Diagonals diagonals) {
  const ScoresExtents& n = out.extents;
  for (std::int64_t row = 0; row < n.queries; ++row) {
    const bool first_column_alone = row > 0 && diagonals == Diagonals::equal;
    const std::int64_t columns = first_column_alone ? 1 : n.keys;
    for (std::int64_t column = 0; column < columns; ++column) {
      const double term = evaluate.shared_term(positions.at(row, column));
      for (std::int64_t head = 0; head < n.heads; ++head)
        store(out, {.head = head, .query = row, .key = column}, evaluate.value(head, term));
    }
  }
}

void copy_element(const ScoresView& out, const ScoreIndex& to, const ScoreIndex& from) {
  const std::int64_t size = size_in_bytes(out.dtype);
  auto* const data = static_cast<std::byte*>(out.data);
  std::memcpy(data + element_of(out.strides, to) * size,
              data + element_of(out.strides, from) * size, to_size(size));
}

void copy_diagonals(const ScoresView& out) {
  const ScoresExtents& n = out.extents;
  for (std::int64_t head = 0; head < n.heads; ++head) {
    for (std::int64_t row = 1; row < n.queries; ++row) {
      for (std::int64_t column = 1; column < n.keys; ++column) {
        copy_element(out, {.head = head, .query = row, .key = column},
                     {.head = head, .query = row - 1, .key = column - 1});
      }
    }
  }
}

void copy_first_batch_row(const ScoresView& out) {
  const ScoresExtents& n = out.extents;
  for (std::int64_t batch = 1; batch < n.batch; ++batch) {
    for (std::int64_t head = 0; head < n.heads; ++head) {
      for (std::int64_t row = 0; row < n.queries; ++row) {
        for (std::int64_t column = 0; column < n.keys; ++column) {
          copy_element(out, {.batch = batch, .head = head, .query = row, .key = column},
                       {.head = head, .query = row, .key = column});
        }
      }
    }
  }
}

// What the memory of a bias must not share with the destination.
Status check_table(const ScoresView& out, const RelativeBias& bias) {
  const auto* t5 = std::get_if<T5Bias>(&bias);
  return t5 == nullptr ? Status() : check_apart(named("out", out), named("table", t5->table));
}

Status check_fill(const ScoresView& out, const RelativeBias& bias) {
  if (auto status = validate(bias); !status) return status;
  if (auto status = check_destination(named("out", out)); !status) return status;
  if (out.extents.heads != head_count(bias)) {
    return invalid_argument("out: heads must be those of the bias, ", head_count(bias), "; got ",
                            out.extents.heads);
  }
  return check_table(out, bias);
}

template <class Where>
Status fill(const ScoresView& out, const RelativeBias& bias, const Where& where) {
  return guarded([&]() -> Status {
    if (auto status = check_fill(out, bias); !status) return status;
    const auto positions = PairPositions::of(out.extents, where);
    if (!positions) return positions.error();
    if (is_empty(out.extents)) return {};
    const bool on_diagonals = positions->is_consecutive() && depends_on_distance_alone(bias);
    const Diagonals diagonals = on_diagonals ? Diagonals::equal : Diagonals::different;
    std::visit(
        [&](const auto& encoding) {
          evaluate_block(out, evaluator(encoding), *positions, diagonals);
        },
        bias);
    if (on_diagonals) copy_diagonals(out);
    copy_first_batch_row(out);
    return {};
  });
}

}  // namespace
}  // namespace relative

Status fill_bias(const ScoresView& out, const RelativeBias& bias, const BiasRange& range) {
  return relative::fill(out, bias, range);
}

Status fill_bias(const ScoresView& out, const RelativeBias& bias, const BiasPositions& positions) {
  return relative::fill(out, bias, positions);
}

Status fill_distances(const ScoresView& out, const RelativeBias& bias,
                      std::int64_t first_distance) {
  return guarded([&]() -> Status {
    if (!depends_on_distance_alone(bias)) {
      return invalid_argument("the bias must depend on key - query alone, got ", to_string(bias),
                              std::holds_alternative<Alibi>(bias) ? " of form key_position"
                                                                  : ", which knows the query");
    }
    if (out.extents.queries != 1)
      return invalid_argument("out: queries must be 1, got ", out.extents.queries);
    return fill_bias(out, bias, BiasRange{.first_query = 0, .first_key = first_distance});
  });
}

}  // namespace rotary
