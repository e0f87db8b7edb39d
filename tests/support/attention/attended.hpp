// SPDX-License-Identifier: Apache-2.0
// One call of attend() or attend_mapped() on its own tensors, compared with the reference.
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

// A mask of random pairs. Each extent is 1 or the scores'.
struct PairMask {
  ScoresExtents extents = {.batch = 1, .heads = 1, .queries = 1, .keys = 1};
  DType dtype = DType::f32;      // of numbers
  Layout layout = Layout::bthd;  // of [batch, queries, heads, keys]
  std::int64_t hidden = 4;       // one in this many pairs is -Inf or false; 0: none
};

struct AttendCase {
  AttentionShape shape;
  // A bias, Shaw's vectors and rotary, which attend() applies.
  reference::AttentionEncoding encoding = {};
  // Calls attend_mapped(), which requires rotary alone and a causal mask without sinks.
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
  std::optional<Lying> in_int8 = {};  // the layout of 8-bit k and v
  std::uint64_t seed = 1;
};

struct KeysAndValues {
  Tensor k;
  Tensor v;
  // 8-bit keys and values; k and v then hold their original numbers.
  std::optional<Int8Heads> int8_k = {};
  std::optional<Int8Heads> int8_v = {};
};

// Keys and values in pages of equal size. Each sequence has its own blocks in shuffled order;
// blocks between them belong to no sequence.
struct Pages : KeysAndValues {
  std::vector<std::int32_t> blocks = {};
  BlockTable table = {};
};

class Attended : public KeysAndValues {
 public:
  explicit Attended(AttendCase made_of);

  // The case's options; they point into this object, which must not move.
  Attended(const Attended&) = delete;
  Attended& operator=(const Attended&) = delete;
  [[nodiscard]] AttendOptions& options() noexcept { return options_; }
  [[nodiscard]] const AttendCase& made_of() const noexcept { return case_; }
  // Uses the tensors' current views.
  [[nodiscard]] check::AttendCall call() { return call_of(*this); }

  [[nodiscard]] Status run() { return check::run(call()); }
  [[nodiscard]] Status run(Pages pages);
  // Runs attend() on the nearest float32 of each number of k and v.
  [[nodiscard]] Status run_on_floats();
  // Requires sequences. lying: the layout of 8-bit pages.
  [[nodiscard]] Pages pages(std::int64_t slots, Lying lying = Lying::bthd) const;

  // Sets one number of the mask, or one boolean, which is true unless 0.
  void set_additive(const HeadIndex& query, std::int64_t key, double number);
  void set_boolean(const HeadIndex& query, std::int64_t key, std::uint8_t boolean);

  // Makes options() request weights as well.
  void ask_for_weights();

  // Checks that out, log_sum_exp and weights are within bounds and their guards intact.
  [[nodiscard]] testing::AssertionResult is_right();

  // The bits of out, log_sum_exp and weights.
  [[nodiscard]] std::vector<std::uint64_t> bits() const;

  Tensor q;
  Tensor out;                      // numbers that a call must overwrite
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
  std::optional<Tensor> booleans_;  // the same, two bytes for each
};

// Runs the case and checks its results.
[[nodiscard]] testing::AssertionResult is_right(const AttendCase& made_of);
[[nodiscard]] testing::AssertionResult is_right(Attended& call);

// The allowed |error| of any element of out. turns: how often queries and keys were rotated, both
// together, at positions of at most twice the number of keys.
[[nodiscard]] double bound_of(const Attended& call, int turns);

// The largest difference between token a_token of a and b_token of b, over batch rows and heads.
[[nodiscard]] double difference(const Tensor& a, std::int64_t a_token, const Tensor& b,
                                std::int64_t b_token);

}  // namespace rotary::test
