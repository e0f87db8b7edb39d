// SPDX-License-Identifier: Apache-2.0
// linear_attend() by its definition, a weight for each pair of a query and a key.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/attention/head_values.hpp"
#include "fuzz/attention/linear_case.hpp"
#include "fuzz/check.hpp"
#include "rotary/numeric_contract.hpp"
#include "tests/support/attention/linear_row.hpp"

namespace rotary::fuzz {
namespace {

using reference::CosSin;
using Vector = std::vector<long double>;

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

// The contract speaks of such elements.
bool is_bounded(std::span<const double> elements) {
  return std::ranges::all_of(elements, [](double each) { return std::abs(each) <= 0x1p30; });
}

std::vector<CosSin> angles_of(const Rotations& rotations, std::int64_t batch, std::int64_t token) {
  const std::int64_t row = rotations.batch() == 1 ? 0 : batch;
  const bool wide = rotations.row_dtype() == RowDType::f64;
  std::vector<CosSin> angles;
  for (std::size_t i = 0; i < size(rotations.window().pairs()); ++i) {
    angles.push_back(
        wide ? CosSin{rotations.cos<double>(row, token)[i], rotations.sin<double>(row, token)[i]}
             : CosSin{rotations.cos(row, token)[i], rotations.sin(row, token)[i]});
  }
  return angles;
}

// Nothing where the contract says nothing of the token.
std::optional<test::LinearToken> token_of(const LinearCase& of, const HeadsView& view,
                                          const HeadPlace& at, reference::Side side) {
  const std::vector<double> elements = head_values(view, at);
  const Vector x(elements.begin(), elements.end());
  if (!is_bounded(elements)) return std::nullopt;
  const bool elu = std::holds_alternative<EluPlusOne>(of.map);
  // The exponential is a double.
  if (!elu && !(test::exponent_size(of.map, x) <= 600)) return std::nullopt;
  test::LinearToken token = test::linear_token(x, of.map, side, view.dtype);
  const auto& rotations = side == reference::Side::query ? of.q_rotations : of.k_rotations;
  if (rotations) {
    reference::turn_features(token.vector, rotations->window(),
                             angles_of(*rotations, at.batch, at.token));
  }
  return token;
}

class HeadAnswer {
 public:
  HeadAnswer(const LinearCase& of, std::int64_t batch, std::int64_t head)
      : of_(of),
        batch_(batch),
        head_(head),
        kv_head_(head / (of.shape.heads() / of.shape.kv_heads)) {
    find_documents();
    for (std::int64_t t = 0; t < of.k.extents.tokens; ++t) {
      keys_.push_back(token_of(of, of.k, {batch, t, kv_head_}, reference::Side::key));
      const std::vector<double> value = head_values(of.v, {batch, t, kv_head_});
      values_.emplace_back(value.begin(), value.end());
      if (!is_bounded(value)) keys_.back().reset();
    }
  }

  void check_row(std::int64_t query) const {
    std::optional<test::LinearToken> q =
        token_of(of_, of_.q, {batch_, query, head_}, reference::Side::query);
    std::vector<test::LinearKey> seen;
    const bool is_padding = document_of(query) < 0;
    for (std::size_t j = 0; j < keys_.size() && !is_padding; ++j) {
      if (!sees(query, static_cast<std::int64_t>(j))) continue;
      if (!keys_[j]) return;
      seen.push_back({*keys_[j], values_[j]});
    }
    if (!q && !is_padding) return;
    if (!q) q.emplace();
    const DType dtype = of_.out.dtype;
    const double turn = dtype == DType::f64 ? rotate_f64_error_bound(Direction::forward, 1, 0.0)
                                            : rotate_error_bound(Direction::forward, 1, 0.0);
    const std::string fault =
        test::linear_fault(head_values(of_.out, {batch_, query, head_}), *q, seen,
                           {.map = of_.map,
                            .epsilon = of_.options.epsilon,
                            .dtype = dtype,
                            .turn_errors = of_.options.rotations ? 2 * turn : 0});
    if (!fault.empty()) fail("a row must be within the bound", fault);
  }

 private:
  // The number of the document that each token is in, -1 of padding. Tokens of an earlier call end
  // their last document where this call begins another one, and not before.
  void find_documents() {
    std::int64_t document = 0;
    std::int32_t latest = -1;  // of no document
    for (std::int64_t t = 0; t < of_.k.extents.tokens; ++t) {
      if (t == of_.earlier) latest = -1;
      const std::int32_t number = segment(t);
      if (number >= 0 && latest >= 0 && latest != number) ++document;
      if (number >= 0) latest = number;
      documents_.push_back(number < 0 ? -1 : document);
    }
  }

  [[nodiscard]] std::int32_t segment(std::int64_t t) const {
    if (!of_.options.segments) return 0;
    const SegmentMap& map = *of_.options.segments;
    return map.data[(map.batch == 1 ? 0 : batch_) * map.batch_stride + t * map.token_stride];
  }

  [[nodiscard]] std::int64_t document_of(std::int64_t query) const {
    return of_.options.segments ? documents_[size(query)] : 0;
  }

  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const {
    if (documents_[size(key)] != document_of(query)) return false;
    return of_.options.mask == LinearMask::bidirectional || key <= query;
  }

  const LinearCase& of_;
  std::int64_t batch_;
  std::int64_t head_;
  std::int64_t kv_head_;
  std::vector<std::int64_t> documents_;
  std::vector<std::optional<test::LinearToken>> keys_;
  std::vector<Vector> values_;
};

}  // namespace

void check_linear(const LinearCase& of) {
  for (std::int64_t batch = 0; batch < of.out.extents.batch; ++batch) {
    for (std::int64_t head = 0; head < of.out.extents.heads; ++head) {
      HeadAnswer answer(of, batch, head);
      const bool cut = of.k.extents.tokens == of.q.extents.tokens;
      for (std::int64_t query = cut ? of.earlier : 0; query < of.out.extents.tokens; ++query)
        answer.check_row(query);
    }
  }
}

}  // namespace rotary::fuzz
