// SPDX-License-Identifier: Apache-2.0
// Calls attend() or attend_mapped() on tensors made for the call. Compares with the reference.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "check/attend_call.hpp"
#include "support/attention/samples.hpp"
#include "support/int8_heads.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

struct Form {
  DType dtype = DType::f32;
  Layout layout = Layout::bthd;
};

// A mask that hides random pairs. Each extent is 1 or that of the scores.
struct PairMask {
  ScoresExtents extents = {.batch = 1, .heads = 1, .queries = 1, .keys = 1};
  DType dtype = DType::f32;      // of an additive mask
  Layout layout = Layout::bthd;  // of [batch, queries, heads, keys]
  std::int64_t hidden = 4;       // one pair in this many is hidden (-Inf or false); 0: none
};

struct AttendCase {
  AttentionShape shape;
  // Rotary, a bias and Shaw's vectors. attend() does not apply CoPE.
  reference::AttentionEncoding encoding = {};
  // If set, calls attend_mapped(), which requires rotary alone and a causal mask without sinks.
  std::optional<PositionMap> map = {};
  AttentionMask mask = {.order = AttentionOrder::causal};
  std::vector<AttentionSequence> sequences = {};
  QueryTemperature q_temperature = {};
  std::optional<double> softcap = {};
  std::optional<PairMask> additive_mask = {};
  std::optional<PairMask> boolean_mask = {};
  double scale = 0.3;
  Form q = {};
  Form k = {};
  Form v = {};
  Form out = {};
  Form shaw = {.dtype = DType::f64};  // of both tables
  std::optional<Lying> in_int8 = {};  // if set, k and v are 8-bit in this layout
  std::uint64_t seed = 1;
};

struct KeysAndValues {
  Tensor k;
  Tensor v;
  // If set, k and v hold the exact values of these 8-bit heads.
  std::optional<Int8Heads> int8_k = {};
  std::optional<Int8Heads> int8_v = {};
};

// Keys and values in pages. Each sequence has its own blocks, in shuffled order. Every second block
// belongs to no sequence.
struct Pages : KeysAndValues {
  std::vector<std::int32_t> blocks = {};
  BlockTable table = {};
};

class Attended : public KeysAndValues {
 public:
  explicit Attended(AttendCase made_of);

  // options_ points into this object, so it must not move.
  Attended(const Attended&) = delete;
  Attended& operator=(const Attended&) = delete;
  [[nodiscard]] AttendOptions& options() noexcept { return options_; }
  [[nodiscard]] const AttendCase& made_of() const noexcept { return case_; }
  // A call on the tensors' current views.
  [[nodiscard]] check::AttendCall call() { return call_of(*this); }

  [[nodiscard]] Status run() { return check::run(call()); }
  [[nodiscard]] Status run(Pages pages);
  // Runs attend() with k and v rounded to float32.
  [[nodiscard]] Status run_on_floats();
  // The case must have sequences. lying: the layout of 8-bit pages.
  [[nodiscard]] Pages pages(std::int64_t slots, Lying lying = Lying::bthd) const;

  // Sets one element of the additive or the boolean mask. A boolean is true unless it is 0.
  void set_additive(const HeadIndex& query, std::int64_t key, double number);
  void set_boolean(const HeadIndex& query, std::int64_t key, std::uint8_t boolean);

  // Makes options() request weights as well.
  void ask_for_weights();

  // Checks the bounds and the guards of out, log_sum_exp and weights.
  [[nodiscard]] testing::AssertionResult is_right();

  // The bits of out, log_sum_exp and weights.
  [[nodiscard]] std::vector<std::uint64_t> bits() const;

  Tensor q;
  Tensor out;                      // random at first; a call must overwrite every element
  std::vector<float> log_sum_exp;  // [batch][heads][queries], with a guard on each side
  std::vector<float> weights;  // [batch][heads][queries][keys] with guards; empty: not requested

 private:
  [[nodiscard]] check::AttendCall call_of(KeysAndValues& keys);
  void turn();
  void make_masks();
  [[nodiscard]] ShawTable shaw_table(const reference::ShawVectors& vectors);

  AttendCase case_;
  AttendOptions options_;
  std::optional<Frequencies> frequencies_;
  std::optional<Rotations> q_rotations_;
  std::optional<Rotations> k_rotations_;
  std::vector<Tensor> shaw_tensors_;
  std::optional<ShawTable> shaw_keys_;
  std::optional<ShawTable> shaw_values_;
  std::optional<Tensor> additive_;  // [batch, queries, heads, keys]
  std::optional<Tensor> booleans_;  // the same axes, two bytes for each boolean
};

// Runs the case, then checks it.
[[nodiscard]] testing::AssertionResult is_right(const AttendCase& made_of);
[[nodiscard]] testing::AssertionResult is_right(Attended& call);

// The allowed |error| of any element of out. turns: how many rotations queries and keys have had in
// total, at positions up to twice the number of keys.
[[nodiscard]] double bound_of(const Attended& call, int turns);

// The largest difference between token a_token of a and b_token of b, over batch rows and heads.
[[nodiscard]] double difference(const Tensor& a, std::int64_t a_token, const Tensor& b,
                                std::int64_t b_token);

}  // namespace rotary::test
