// SPDX-License-Identifier: Apache-2.0
// One call of attend() or attend_mapped() on its own tensors, held against the reference.
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

// The dtype and layout of an operand.
struct Form {
  DType dtype = DType::f32;
  Layout layout = Layout::bthd;
};

// A mask of random pairs. Extents: each 1 or that of the scores.
struct PairMask {
  ScoresExtents extents = {.batch = 1, .heads = 1, .queries = 1, .keys = 1};
  DType dtype = DType::f32;      // of numbers
  Layout layout = Layout::bthd;  // of [batch, queries, heads, keys]
  std::int64_t hidden = 4;       // one of this many pairs is -Inf, or false; 0: none
};

struct AttendCase {
  AttentionShape shape;
  // Rotary, which attend() applies, a bias, Shaw's vectors.
  reference::AttentionEncoding encoding = {};
  // Makes it a call of attend_mapped(), of a causal mask without sinks and of rotary alone.
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
  std::optional<Lying> in_int8 = {};  // k and v are in 8 bits, and lie so
  std::uint64_t seed = 1;
};

struct KeysAndValues {
  Tensor k;
  Tensor v;
  // In 8 bits; k and v are then the numbers that they have at first.
  std::optional<Int8Heads> int8_k = {};
  std::optional<Int8Heads> int8_v = {};
};

// Keys and values in pages with a fixed number of slots, each sequence's in blocks of its own, in
// no order; blocks between them belong to no sequence.
struct Pages : KeysAndValues {
  std::vector<std::int32_t> blocks = {};
  BlockTable table = {};
};

class Attended : public KeysAndValues {
 public:
  explicit Attended(AttendCase made_of);

  // The options of the case; they point into this object, which must not move.
  Attended(const Attended&) = delete;
  Attended& operator=(const Attended&) = delete;
  [[nodiscard]] AttendOptions& options() noexcept { return options_; }
  [[nodiscard]] const AttendCase& made_of() const noexcept { return case_; }
  // With the views of the tensors as they are now.
  [[nodiscard]] check::AttendCall call() { return call_of(*this); }

  [[nodiscard]] Status run() { return check::run(call()); }
  [[nodiscard]] Status run(Pages pages);
  // attend() over the float32 nearest to each number of k and v.
  [[nodiscard]] Status run_on_floats();
  // Requires sequences. lying: in 8 bits.
  [[nodiscard]] Pages pages(std::int64_t slots, Lying lying = Lying::bthd) const;

  // Changes a number, or a boolean: true where it is not 0.
  void set_additive(const HeadIndex& query, std::int64_t key, double number);
  void set_boolean(const HeadIndex& query, std::int64_t key, std::uint8_t boolean);

  // From now on options() ask for weights, too.
  void ask_for_weights();

  // out, log_sum_exp and weights are within their bounds, and nothing around them was touched.
  [[nodiscard]] testing::AssertionResult is_right();

  // Bits of out, of log_sum_exp and of weights.
  [[nodiscard]] std::vector<std::uint64_t> bits() const;

  Tensor q;
  Tensor out;                      // numbers that a call has to overwrite
  std::vector<float> log_sum_exp;  // [batch][heads][queries], a guard before and after
  std::vector<float> weights;      // [batch][heads][queries][keys], the same; empty: not asked for

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

// Makes a call for the case and checks its results.
[[nodiscard]] testing::AssertionResult is_right(const AttendCase& made_of);
[[nodiscard]] testing::AssertionResult is_right(Attended& call);

// |error| of an element of out, of any row, for queries and keys that were rotated `turns` times in
// all, at positions of up to twice its keys.
[[nodiscard]] double bound_of(const Attended& call, int turns);

// The largest difference between a token of a and one of b, over all batch rows and heads.
[[nodiscard]] double difference(const Tensor& a, std::int64_t a_token, const Tensor& b,
                                std::int64_t b_token);

}  // namespace rotary::test
