// SPDX-License-Identifier: Apache-2.0
// A chunk of keys of one head, the sums of the keys before it, and the queries that read both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "attention/linear/linear_features.hpp"
#include "rotation/apply/apply_rotations.hpp"
#include "rotation/apply/pair_order.hpp"

namespace rotary {

// The most that the largest exponent may grow after the first token of a causal chunk. Rescaling to
// the chunk's exponent then multiplies the first token's terms by at least e^-8.
inline constexpr double most_growth = 8;

// The sum of keys in a query's denominator: up to the query's own key (add_up_keys), or one for all
// queries (round_keys).
enum class KeySums { of_each_query, of_all };

template <class Real>
class LinearChunk {
 public:
  LinearChunk(const LinearCall& call, std::byte* memory)
      : call_(call),
        sizes_(call.sizes),
        memory_(memory, call.sizes),
        math_(math_of<Real>(*call.kernels.linear)),
        elements_(elements_of<Real>(*call.kernels.linear, call.out.dtype)),
        features_(call, memory_),
        row_(sizes_.row()),
        v_row_(sizes_.v_row()) {}

  // Starts one head's sums from the caller's state or from 0. index: within heads_at_once.
  void begin_head(std::int64_t batch, std::int64_t head, std::int64_t index) {
    LinearSums& sums = memory_.sums[index];
    const std::int64_t keys = sizes_.features;
    sums = {.values = memory_.sums_of_values + index * keys * sizes_.v_features,
            .keys = memory_.sums_of_keys + index * keys,
            .exponent = 0,
            .has_keys = false,
            .next = 0,
            .document = -1};
    take_up_head(batch, head, index);
    if (!call_.options.state) return forget();
    const LinearState& state = *call_.options.state;
    const std::int64_t at = index_of_head();
    sums.values = state.values.data() + at * keys * sizes_.v_features;
    sums.keys = state.keys.data() + at * keys;
    sums.exponent = state.exponents[static_cast<std::size_t>(at)];
    sums.has_keys = std::any_of(sums.keys, sums.keys + keys, [](double z) { return z != 0; });
  }

  void take_up_head(std::int64_t batch, std::int64_t head, std::int64_t index) {
    at_ = {.batch = batch, .head = head};
    sums_ = memory_.sums + index;
  }

  [[nodiscard]] LinearSums& sums() noexcept { return *sums_; }

  // Stores the exponent in the caller's state.
  void end_head() {
    if (!call_.options.state) return;
    const auto at = static_cast<std::size_t>(index_of_head());
    call_.options.state->exponents[at] = sums_->exponent;
  }

  // Clears the sums for the next document.
  void forget() {
    std::fill_n(sums_->values, sizes_.features * sizes_.v_features, 0.0);
    std::fill_n(sums_->keys, sizes_.features, 0.0);
    sums_->exponent = 0;
    sums_->has_keys = false;
  }

  // Loads rotated ϕ(k) and v for tokens from `begin` on. Returns the number loaded, which may be
  // less than end - begin.
  std::int64_t load_keys(std::int64_t begin, std::int64_t end) {
    const HeadTokens asked{at_.batch, at_.head, begin, end};
    std::int64_t count = asked.count();
    epsilons_.fill(call_.options.epsilon);
    if (features_.are_exponentials()) {
      count = load_exponential_keys(asked);
    } else {
      features_.map_keys(asked, memory_.k);
      sums_->has_keys = true;
    }
    if (call_.options.rotations) {
      turn(call_.options.rotations->k, {at_.batch, at_.head, begin, begin + count}, memory_.k,
           memory_.turned_k);
    }
    for (std::int64_t t = 0; t < count; ++t) {
      elements_.widen(element_of(call_.heads.v, asked, begin + t), memory_.v + t * v_row_,
                      sizes_.v_features);
    }
    return count;
  }

  // Adds the chunk's keys to the sums. For calls in which no query needs a prefix sum.
  void add_keys(std::int64_t count) {
    for (std::int64_t t = 0; t < count; ++t) {
      math_.add(memory_.k + t * row_, sums_->keys, sizes_.features);
    }
  }

  // Adds the chunk's keys to the sums one by one and keeps the prefix sum for each token's query.
  void add_up_keys(std::int64_t count) {
    for (std::int64_t t = 0; t < count; ++t) {
      math_.add(memory_.k + t * row_, sums_->keys, sizes_.features);
      math_.round(sums_->keys, memory_.keys + t * row_, sizes_.features);
    }
  }

  // Transposes the rotated keys for meet_own_keys().
  void columns_of_keys(std::int64_t count) {
    for (std::int64_t r = 0; r < sizes_.features; ++r) {
      for (std::int64_t t = 0; t < count; ++t) {
        memory_.k_columns[r * sizes_.tokens + t] = memory_.turned_k[t * row_ + r];
      }
    }
  }

  // Rounds the sums of values for load_queries().
  void round_values() {
    const std::int64_t d = sizes_.v_features;
    if (d == v_row_) return math_.round(sums_->values, memory_.values, sizes_.features * d);
    for (std::int64_t r = 0; r < sizes_.features; ++r) {
      math_.round(sums_->values + r * d, memory_.values + r * v_row_, d);
    }
  }

  // Rounds the sums of keys, which all following queries share.
  void round_keys() {
    math_.round(sums_->keys, memory_.keys, sizes_.features);
    epsilons_.fill(call_.options.epsilon);
  }

  // Loads φ(q), rotated. Starts the numerators from the rounded sums of values.
  void load_queries(const HeadTokens& queries) {
    features_.map_queries(queries, memory_.q);
    if (call_.options.rotations) {
      turn(call_.options.rotations->q, queries, memory_.q, memory_.turned_q);
    }
    math_.multiply({.a = memory_.turned_q,
                    .a_row_stride = row_,
                    .b = memory_.values,
                    .b_row_stride = v_row_,
                    .result = memory_.numerators,
                    .result_row_stride = v_row_,
                    .rows = queries.count(),
                    .inner = sizes_.features,
                    .columns = v_row_});
  }

  // Adds the chunk's own keys to the numerators of queries [first, first + queries_at_once). Keys
  // that all these queries see are added together, other keys query by query. No query is
  // multiplied with a key that it does not see, because the key may hold NaN.
  void meet_own_keys(std::int64_t first, std::int64_t count) {
    const std::int64_t queries = std::min(queries_at_once, count - first);
    math_.multiply({.a = memory_.turned_q + first * row_,
                    .a_row_stride = row_,
                    .b = memory_.k_columns,
                    .b_row_stride = sizes_.tokens,
                    .result = memory_.weights,
                    .result_row_stride = sizes_.tokens,
                    .rows = queries,
                    .inner = sizes_.features,
                    .columns = first + queries_at_once});
    weigh(0, {first, queries}, first);
    for (std::int64_t i = 0; i < queries; ++i) weigh(first, {first + i, 1}, i + 1);
  }

  void add_values(std::int64_t count) {
    math_.multiply({.a = memory_.turned_k,
                    .a_row_stride = 1,
                    .a_inner_stride = row_,
                    .b = memory_.v,
                    .b_row_stride = v_row_,
                    .result = memory_.new_values,
                    .result_row_stride = v_row_,
                    .rows = sizes_.features,
                    .inner = count,
                    .columns = v_row_});
    const std::int64_t d = sizes_.v_features;
    if (d == v_row_) return math_.add(memory_.new_values, sums_->values, sizes_.features * d);
    for (std::int64_t r = 0; r < sizes_.features; ++r) {
      math_.add(memory_.new_values + r * v_row_, sums_->values + r * d, d);
    }
  }

  // Writes rows of out: numerators divided by denominators.
  void write(const HeadTokens& queries, KeySums sums) {
    const std::int64_t keys_stride = sums == KeySums::of_each_query ? row_ : 0;
    for (std::int64_t t = 0; t < queries.count(); ++t) {
      const auto epsilon = static_cast<Real>(epsilons_[static_cast<std::size_t>(t)]);
      const Real denominator =
          math_.dot(memory_.q + t * row_, memory_.keys + t * keys_stride, row_) + epsilon;
      if (denominator == 0) {
        write_zeros(queries.head, queries.begin + t);
        continue;
      }
      elements_.divide(memory_.numerators + t * v_row_, denominator,
                       element_of(call_.out, queries, queries.begin + t), sizes_.v_features);
    }
  }

  void write_zeros(std::int64_t head, std::int64_t token) const {
    auto* const row = element_of(call_.out, {.batch = at_.batch, .head = head}, token);
    std::memset(row, 0,
                static_cast<std::size_t>(sizes_.v_features * size_in_bytes(call_.out.dtype)));
  }

 private:
  [[nodiscard]] std::int64_t index_of_head() const {
    return at_.batch * call_.heads.k.extents.heads + at_.head;
  }

  std::int64_t load_exponential_keys(const HeadTokens& asked) {
    typename Features<Real>::Exponents exponents;
    features_.load_key_exponents(asked, memory_.k, exponents);
    const bool causal = call_.options.mask == LinearMask::causal;
    double largest = sums_->has_keys ? sums_->exponent : -std::numeric_limits<double>::infinity();
    OfTokens so_far;
    std::int64_t count = 0;
    for (; count < asked.count(); ++count) {
      const auto i = static_cast<std::size_t>(count);
      const double next = std::max(largest, exponents.largest[i]);
      if (causal && count > 0 && !(next <= so_far[0] + most_growth)) break;
      largest = next;
      so_far[i] = largest;
    }
    reduce_sums(largest);
    features_.map_exponents(memory_.k, count, exponents, largest);
    for (std::int64_t t = 0; t < count; ++t) {
      const auto i = static_cast<std::size_t>(t);
      if (so_far[i] != largest) epsilons_[i] *= std::exp(so_far[i] - largest);
    }
    return count;
  }

  // Rescales the stored sums. The true sums are then e^largest times the stored ones.
  void reduce_sums(double largest) {
    if (sums_->has_keys && largest != sums_->exponent) {
      const double by = std::exp(sums_->exponent - largest);
      math_.scale(sums_->values, sizes_.features * sizes_.v_features, by);
      math_.scale(sums_->keys, sizes_.features, by);
    }
    sums_->exponent = largest;
    sums_->has_keys = true;
  }

  void turn(const Rotations& rotations, const HeadTokens& tokens, const Real* rows, Real* turned) {
    constexpr DType dtype = std::is_same_v<Real, double> ? DType::f64 : DType::f32;
    const HeadWindow& window = rotations.window();
    const std::int64_t after = window.first_feature + window.rotary_dim;
    for (std::int64_t t = 0; t < tokens.count(); ++t) {
      const Real* const row = rows + t * row_;
      std::copy(row, row + window.first_feature, turned + t * row_);
      std::copy(row + after, row + sizes_.features, turned + t * row_ + after);
    }
    const PairOrder order = pair_order(window.pairing, Direction::forward);
    for_each_block(
        {.src = rows + window.first_feature,
         .dst = turned + window.first_feature,
         .src_token_stride = row_,
         .src_head_stride = 0,
         .dst_token_stride = row_,
         .dst_head_stride = 0,
         .tokens = tokens.count(),
         .heads = 1,
         .pairs = window.pairs(),
         .rows = row_of(rotations, rotations.batch() == 1 ? 0 : tokens.batch, tokens.begin),
         .row_stride = rotations.row_stride(),
         .lane_stride = rotations.lane_stride(),
         .cos_scale = 1,
         .sin_scale = 1},
        rotations, {sizeof(Real), sizeof(Real)},
        kernel_for(kernels_for(call_.kernels, order), rotations, dtype));
  }

  struct Queries {
    std::int64_t first;  // within the chunk
    std::int64_t count;
  };

  // Adds values [key, key + keys) of the chunk, times their weights, to the queries' numerators.
  void weigh(std::int64_t key, Queries queries, std::int64_t keys) {
    const std::int64_t row = queries.first % queries_at_once;
    math_.multiply({.a = memory_.weights + row * sizes_.tokens + key,
                    .a_row_stride = sizes_.tokens,
                    .b = memory_.v + key * v_row_,
                    .b_row_stride = v_row_,
                    .result = memory_.numerators + queries.first * v_row_,
                    .result_row_stride = v_row_,
                    .rows = queries.count,
                    .inner = keys,
                    .columns = v_row_,
                    .add_to = kernels::AddTo::result});
  }

  const LinearCall& call_;
  const LinearSizes& sizes_;
  LinearMemory<Real> memory_;
  const kernels::LinearMath<Real>& math_;
  const kernels::LinearElements<Real>& elements_;
  Features<Real> features_;
  std::int64_t row_;
  std::int64_t v_row_;

  HeadTokens at_;  // batch row and head of k
  LinearSums* sums_ = nullptr;
  OfTokens epsilons_ = {};  // per token of the chunk, scaled like the stored sums
};

}  // namespace rotary
