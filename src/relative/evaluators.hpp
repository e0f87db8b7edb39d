// SPDX-License-Identifier: Apache-2.0
// Each encoding has an evaluator, made once per call. shared_term() computes a term that all heads
// share. value() turns it into one head's bias. add_gradient() adds the gradients of one score;
// FireGradient does this for FIRE. Views, dtypes and loops are in fill_bias.cpp, fire_row.cpp and
// bias_gradient.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/message.hpp"
#include "relative/pair_positions.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/result.hpp"

namespace rotary::relative {

// Each checks the members against the requirements in relative_bias.hpp.
[[nodiscard]] Status check(const T5Bias& bias);
[[nodiscard]] Status check(const Alibi& bias);
[[nodiscard]] Status check(const KerpleLog& bias);
[[nodiscard]] Status check(const KerplePower& bias);
[[nodiscard]] Status check(const Fire& bias);
[[nodiscard]] Status check(const Sandwich& bias);
[[nodiscard]] Status check(const Tisa& bias);

// Returns an error for the first number, in Describe's order, outside its parameter's bounds.
template <class Encoding>
[[nodiscard]] Status check_numbers(const Encoding& bias) {
  Status status;
  const auto check = [&](const ParameterFacts& facts, std::span<const double> numbers) {
    const auto [least, most, requirement] = facts.bounds;
    for (const double number : numbers) {
      if (!status) return;
      if (!(number >= least && number <= most)) {
        status = invalid_argument(facts.name, " must be ", requirement, ", got ", number);
      }
    }
  };
  Describe<Encoding>::parameters(
      bias, [&]<class Member>(const ParameterFacts& facts, const Member& member) {
        if constexpr (std::is_same_v<Member, std::vector<double>>) check(facts, member);
        if constexpr (std::is_same_v<Member, double>) check(facts, {&member, 1});
      });
  return status;
}

// The bucket of a relative position, in [0, buckets). Requires checked buckets.
[[nodiscard]] std::int64_t bucket_of(std::int64_t relative_position,
                                     const T5Buckets& buckets) noexcept;

// The slope of one head of a checked bias.
[[nodiscard]] double alibi_slope(const Alibi& alibi, std::int64_t head) noexcept;

// The term that all heads share depends on the distance, on the key, or on both positions.
enum class Dependence { distance, key, pair };

// One score of a head and its gradient: the derivative of the loss with respect to that score.
struct Upstream {
  PairOfPositions pair;
  double term = 0;  // shared_term(pair)
  std::int64_t head = 0;
  double gradient = 0;
};

class T5Evaluator {
 public:
  explicit T5Evaluator(const T5Bias& bias) : bias_(bias) {}
  [[nodiscard]] static Dependence depends_on() noexcept { return Dependence::distance; }
  [[nodiscard]] double shared_term(const PairOfPositions& pair) const noexcept;  // the bucket
  [[nodiscard]] double value(std::int64_t head, double term) const noexcept;
  void add_gradient(std::span<double> sums, const Upstream& upstream) const noexcept;

 private:
  const T5Bias& bias_;
};

class AlibiEvaluator {
 public:
  explicit AlibiEvaluator(const Alibi& bias);
  [[nodiscard]] Dependence depends_on() const noexcept {
    return form_ == AlibiForm::key_position ? Dependence::key : Dependence::distance;
  }
  [[nodiscard]] double shared_term(const PairOfPositions& pair) const noexcept;
  [[nodiscard]] double value(std::int64_t head, double term) const noexcept;
  static void add_gradient(std::span<double> sums, const Upstream& upstream) noexcept;

 private:
  AlibiForm form_;
  std::vector<double> slopes_;
};

// Each formula depends on the signed distance key - query and on one head's learned numbers. Heads
// share only the distance.
[[nodiscard]] double formula(const KerpleLog& of, std::int64_t head, double relative) noexcept;
[[nodiscard]] double formula(const KerplePower& of, std::int64_t head, double relative) noexcept;
[[nodiscard]] double formula(const Tisa& of, std::int64_t head, double relative) noexcept;
void add_gradient(const KerpleLog& of, std::span<double> sums, const Upstream& upstream) noexcept;
void add_gradient(const KerplePower& of, std::span<double> sums, const Upstream& upstream) noexcept;
void add_gradient(const Tisa& of, std::span<double> sums, const Upstream& upstream) noexcept;

template <class Bias>
class FormulaEvaluator {
 public:
  explicit FormulaEvaluator(const Bias& bias) : bias_(bias) {}
  [[nodiscard]] static Dependence depends_on() noexcept { return Dependence::distance; }
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): as every evaluator's
  [[nodiscard]] double shared_term(const PairOfPositions& pair) const noexcept {
    return static_cast<double>(pair.relative());
  }
  [[nodiscard]] double value(std::int64_t head, double term) const noexcept {
    return formula(bias_, head, term);
  }
  [[nodiscard]] const Bias& bias() const noexcept { return bias_; }
  void add_gradient(std::span<double> sums, const Upstream& upstream) const noexcept {
    relative::add_gradient(bias_, sums, upstream);
  }

 private:
  const Bias& bias_;
};

// The straight line slope * x + offset.
struct StraightPiece {
  double slope = 0;
  double offset = 0;
};

[[nodiscard]] inline StraightPiece sum_of(const StraightPiece& a, const StraightPiece& b) noexcept {
  return {.slope = a.slope + b.slope, .offset = a.offset + b.offset};
}

// The pieces begin, begin + 1, ..., end - 1.
struct PieceRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Each head's bias is a piecewise linear function of x. All heads' pieces meet at the same x, where
// a hidden unit starts or stops contributing.
class FireEvaluator {
 public:
  explicit FireEvaluator(const Fire& bias);
  [[nodiscard]] static Dependence depends_on() noexcept { return Dependence::pair; }
  [[nodiscard]] double shared_term(const PairOfPositions& pair) const noexcept;  // x of Fire
  [[nodiscard]] double value(std::int64_t head, double term) const noexcept;

  // x = numerator / denominator. The reach of a query is max(query, |threshold|).
  [[nodiscard]] double numerator(double distance) const noexcept;
  [[nodiscard]] double denominator(std::int64_t query) const noexcept;
  [[nodiscard]] double reach(std::int64_t query) const noexcept;

  [[nodiscard]] std::size_t piece_of(double x) const noexcept;
  [[nodiscard]] bool is_on(std::size_t piece, double x) const noexcept {
    return (piece == 0 || breaks_[piece - 1] < x) &&
           (piece == breaks_.size() || x <= breaks_[piece]);
  }
  [[nodiscard]] StraightPiece piece(std::int64_t head, std::size_t piece) const noexcept;
  // The values of x where pieces meet, ascending: piece p ends at breaks()[p].
  [[nodiscard]] std::span<const double> breaks() const noexcept { return breaks_; }
  [[nodiscard]] std::size_t piece_count() const noexcept { return breaks_.size() + 1; }
  // The pieces to which a hidden unit contributes.
  [[nodiscard]] PieceRange pieces_of(std::size_t unit) const noexcept { return ranges_[unit]; }
  [[nodiscard]] const Fire& fire() const noexcept { return bias_; }

 private:
  const Fire& bias_;
  std::vector<double> breaks_;         // of x, ascending
  std::vector<StraightPiece> pieces_;  // [heads][breaks + 1]
  std::vector<PieceRange> ranges_;     // [hidden units]
};

class SandwichEvaluator {
 public:
  explicit SandwichEvaluator(const Sandwich& bias);
  [[nodiscard]] static Dependence depends_on() noexcept { return Dependence::distance; }
  [[nodiscard]] double shared_term(const PairOfPositions& pair) const noexcept;  // Σ cos - dim/2
  // Computes the shared terms of successive distances from `first` on, as products of rotations.
  // Each cosine has an error of at most 2^-44. Its bits depend only on the distance.
  void fill_terms(std::int64_t first, std::span<double> terms) const noexcept;
  [[nodiscard]] double value(std::int64_t head, double term) const noexcept;
  void add_gradient(std::span<double> sums, const Upstream& upstream) const noexcept;

 private:
  double heads_;
  std::vector<std::uint64_t> turns_;  // of each frequency, in 2^-64 turns per position
};

template <class Bias>
[[nodiscard]] FormulaEvaluator<Bias> evaluator(const Bias& bias) {
  return FormulaEvaluator<Bias>(bias);
}
[[nodiscard]] inline T5Evaluator evaluator(const T5Bias& bias) { return T5Evaluator(bias); }
[[nodiscard]] inline AlibiEvaluator evaluator(const Alibi& bias) { return AlibiEvaluator(bias); }
[[nodiscard]] inline FireEvaluator evaluator(const Fire& bias) { return FireEvaluator(bias); }
[[nodiscard]] inline SandwichEvaluator evaluator(const Sandwich& bias) {
  return SandwichEvaluator(bias);
}

}  // namespace rotary::relative
