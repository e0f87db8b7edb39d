// SPDX-License-Identifier: Apache-2.0
// For a bias of the key, or of distances that PairPositions::distances() lists, each head's values
// are computed and rounded once, then copied to all elements, as if evaluated for each element.
// Other biases are evaluated row by row. Buffers are allocated before anything is written.
#include <cstring>
#include <vector>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/elements.hpp"
#include "relative/evaluators.hpp"
#include "relative/fire_row.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary {
namespace relative {
namespace {

// One head's biases for all distances or all keys, as doubles and as the destination's elements.
class Line {
 public:
  Line(DType dtype, std::int64_t count)
      : dtype_(dtype),
        element_bytes_(to_size(size_in_bytes(dtype))),
        terms_(to_size(count)),
        values_(to_size(count)),
        elements_(to_size(count) * element_bytes_) {}

  // Computes the term of pair(i) for each element i of the line. All heads share these terms.
  template <class Evaluator, class Pair>
  void set_terms(const Evaluator& evaluate, const Pair& pair) {
    for (std::size_t i = 0; i < terms_.size(); ++i)
      terms_[i] = evaluate.shared_term(pair(static_cast<std::int64_t>(i)));
  }
  template <class Evaluator>
  void set_head(const Evaluator& evaluate, std::int64_t head) {
    for (std::size_t i = 0; i < terms_.size(); ++i) values_[i] = evaluate.value(head, terms_[i]);
    round_elements(elements_, dtype_, values_);
  }
  // Copies the elements index(0), index(1), ... of the line to a row of scores.
  template <class Index>
  void copy(const ScoresView& out, const ScoreIndex& at, const Index& index) const {
    switch (element_bytes_) {
      case 2:
        return copy_words<std::uint16_t>(out, at, index);
      case 4:
        return copy_words<std::uint32_t>(out, at, index);
      default:
        return copy_words<std::uint64_t>(out, at, index);
    }
  }
  // Copies the elements first, first + 1, ... of the line to a row of scores.
  void copy_from(const ScoresView& out, const ScoreIndex& at, std::int64_t first) const {
    if (out.strides.key != 1)
      return copy(out, at, [&](std::int64_t column) { return first + column; });
    auto* const row = static_cast<std::byte*>(out.data) +
                      element_of(out.strides, at) * static_cast<std::int64_t>(element_bytes_);
    std::memcpy(row, elements_.data() + to_size(first) * element_bytes_,
                to_size(out.extents.keys) * element_bytes_);
  }

 private:
  template <class Word, class Index>
  void copy_words(const ScoresView& out, const ScoreIndex& at, const Index& index) const {
    auto* const data = static_cast<std::byte*>(out.data);
    std::int64_t element = element_of(out.strides, at);
    for (std::int64_t column = 0; column < out.extents.keys; ++column) {
      std::memcpy(data + element * static_cast<std::int64_t>(sizeof(Word)),
                  elements_.data() + to_size(index(column)) * sizeof(Word), sizeof(Word));
      element += out.strides.key;
    }
  }

  DType dtype_;
  std::size_t element_bytes_;
  std::vector<double> terms_;
  std::vector<double> values_;
  std::vector<std::byte> elements_;
};

template <class Visit>
void for_each_row(const ScoresExtents& n, std::int64_t head, const Visit& visit) {
  for (std::int64_t batch = 0; batch < n.batch; ++batch) {
    for (std::int64_t row = 0; row < n.queries; ++row)
      visit(ScoreIndex{.batch = batch, .head = head, .query = row});
  }
}

template <class Evaluator>
void fill_by_distance(const ScoresView& out, const Evaluator& evaluate,
                      const PairPositions& positions, const Distances& distances) {
  Line line(out.dtype, distances.count);
  line.set_terms(evaluate, [&](std::int64_t i) { return distances.pair(i); });
  for (std::int64_t head = 0; head < out.extents.heads; ++head) {
    line.set_head(evaluate, head);
    for_each_row(out.extents, head, [&](const ScoreIndex& at) {
      if (positions.is_consecutive())
        return line.copy_from(out, at, distances.index_of(positions.at(at.query, 0)));
      line.copy(out, at, [&](std::int64_t column) {
        return distances.index_of(positions.at(at.query, column));
      });
    });
  }
}

template <class Evaluator>
void fill_by_key(const ScoresView& out, const Evaluator& evaluate, const PairPositions& positions) {
  Line line(out.dtype, out.extents.keys);
  line.set_terms(evaluate, [&](std::int64_t column) { return positions.at(0, column); });
  for (std::int64_t head = 0; head < out.extents.heads; ++head) {
    line.set_head(evaluate, head);
    for_each_row(out.extents, head, [&](const ScoreIndex& at) { line.copy_from(out, at, 0); });
  }
}

// Fills scores that may differ for every pair of query and key. Row has read(query), which prepares
// a row, and values(head), which returns one bias for each key.
template <class Row>
void fill_by_pair(const ScoresView& out, Row row) {
  const ScoresExtents& n = out.extents;
  for (std::int64_t query = 0; query < n.queries; ++query) {
    row.read(query);
    for (std::int64_t head = 0; head < n.heads; ++head) {
      const auto values = row.values(head);
      for (std::int64_t batch = 0; batch < n.batch; ++batch)
        store_scores(out, {.batch = batch, .head = head, .query = query}, values);
    }
  }
}

// A Row that evaluates the bias of every pair and reuses no result.
template <class Evaluator>
class PlainRow {
 public:
  PlainRow(const Evaluator& evaluate, const PairPositions& positions, const ScoresExtents& n)
      : evaluate_(evaluate),
        positions_(positions),
        terms_(to_size(n.keys)),
        values_(to_size(n.keys)) {}

  void read(std::int64_t query) {
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const auto column = static_cast<std::int64_t>(i);
      terms_[i] = evaluate_.shared_term(positions_.at(query, column));
    }
  }
  std::span<const double> values(std::int64_t head) {
    for (std::size_t i = 0; i < terms_.size(); ++i) values_[i] = evaluate_.value(head, terms_[i]);
    return values_;
  }

 private:
  const Evaluator& evaluate_;
  const PairPositions& positions_;
  std::vector<double> terms_;
  std::vector<double> values_;
};

template <class Evaluator>
void fill_all(const ScoresView& out, const Evaluator& evaluate, const PairPositions& positions) {
  const auto distances = positions.distances(out.extents);
  switch (evaluate.depends_on()) {
    case Dependence::distance:
      if (distances) return fill_by_distance(out, evaluate, positions, *distances);
      break;
    case Dependence::key:
      return fill_by_key(out, evaluate, positions);
    case Dependence::pair:
      break;
  }
  fill_by_pair(out, PlainRow(evaluate, positions, out.extents));
}

void fill_all(const ScoresView& out, const FireEvaluator& evaluate,
              const PairPositions& positions) {
  fill_by_pair(out, FireRow(evaluate, positions, out.extents));
}

// Checks that the destination shares no memory with the table of a bias.
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
    const ScoresView used = with_used_strides(out);
    std::visit([&](const auto& encoding) { fill_all(used, evaluator(encoding), *positions); },
               bias);
    return {};
  });
}

}  // namespace
}  // namespace relative

Status fill_bias(const ScoresView& out, const RelativeBias& bias, const BiasRange& range) noexcept {
  return relative::fill(out, bias, range);
}

Status fill_bias(const ScoresView& out, const RelativeBias& bias,
                 const BiasPositions& positions) noexcept {
  return relative::fill(out, bias, positions);
}

Status fill_distances(const ScoresView& out, const RelativeBias& bias,
                      std::int64_t first_distance) noexcept {
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
