// SPDX-License-Identifier: Apache-2.0
// Single mistakes, each written as a change of an operation (an Edit). A hypothesis is a kind of
// mistake: a row of the table in hypotheses.cpp, with the function that lists its edits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "identify/operation.hpp"
#include "identify/sample.hpp"
#include "rotary/dialect.hpp"
#include "rotary/identify.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::identification {

// The parts of an operation that an edit changes. Two edits can be combined if they share no part.
enum Aspect : std::uint32_t {
  pairing_aspect = 1U << 0,
  window_aspect = 1U << 1,
  order_aspect = 1U << 2,
  attention_aspect = 1U << 3,
  sense_aspect = 1U << 4,
  swap_aspect = 1U << 5,
  base_aspect = 1U << 6,
  rule_aspect = 1U << 7,
  original_aspect = 1U << 8,
  ramp_aspect = 1U << 9,
  exponent_aspect = 1U << 10,
  reversal_aspect = 1U << 11,
  stretch_aspect = 1U << 12,
  offset_aspect = 1U << 13,
  counted_aspect = 1U << 14,
  precision_aspect = 1U << 15,
  arrangement_aspect = 1U << 16,
  coordinate_aspect = 1U << 17,
  blend_aspect = 1U << 18,
  vector_aspect = 1U << 19,
  all_aspects = (1U << 20) - 1,
  frequency_aspects =
      base_aspect | rule_aspect | original_aspect | ramp_aspect | exponent_aspect | blend_aspect,
  position_aspects = sense_aspect | stretch_aspect | offset_aspect | counted_aspect |
                     precision_aspect | coordinate_aspect,
  // The parts on which a Turning depends.
  turning_aspects = all_aspects & ~(order_aspect | swap_aspect | stretch_aspect | offset_aspect |
                                    counted_aspect | coordinate_aspect),
};

// The data that a hypothesis needs in a sample. nothing: frequencies suffice. rows: rows of cos and
// sin, or heads. heads: features before and after the rotation.
enum class Needs { nothing, rows, heads };

struct Edit {
  const Hypothesis* hypothesis = nullptr;
  std::uint32_t aspects = 0;
  std::function<void(Operation&)> apply;
  // The field to report for a change that no RotarySpec states. cause_of() reports it last.
  std::optional<FieldDifference> field = {};
  const DialectRule* rule = nullptr;
};

struct Start {
  const ModelSpec& model;  // the sample is of one of its embeddings
  std::size_t rotary = 0;  // index of that embedding
  Operation operation;     // as configured
  Turning turning;         // of `operation`
  const Sample& sample;
  FoundStructure structure;  // the best layout, found from norms
  std::optional<std::int64_t> context_tokens = {};
};

// The scaling factors that configs use most.
inline constexpr std::array common_factors = {2.0, 4.0, 8.0, 16.0, 32.0, 40.0, 64.0};

// A difference in a property of rows that no spec states.
[[nodiscard]] inline FieldDifference rows_field(std::string_view name, std::string one,
                                                std::string other) {
  return {std::string(name), std::move(one), std::move(other), FieldEffect::rows};
}

[[nodiscard]] std::vector<FieldDifference> differences(const RotarySpec& one,
                                                       const RotarySpec& other);

class EditList {
 public:
  EditList(std::vector<Edit>& edits, const Hypothesis& hypothesis)
      : edits_(edits), hypothesis_(hypothesis) {}

  void add(std::uint32_t aspects, std::function<void(Operation&)> apply) {
    edits_.push_back({.hypothesis = &hypothesis_, .aspects = aspects, .apply = std::move(apply)});
  }
  void add(std::uint32_t aspects, FieldDifference field, std::function<void(Operation&)> apply) {
    edits_.push_back({.hypothesis = &hypothesis_,
                      .aspects = aspects,
                      .apply = std::move(apply),
                      .field = std::move(field)});
  }
  void add(std::uint32_t aspects, const DialectRule& rule, std::function<void(Operation&)> apply) {
    edits_.push_back(
        {.hypothesis = &hypothesis_, .aspects = aspects, .apply = std::move(apply), .rule = &rule});
  }

 private:
  std::vector<Edit>& edits_;
  const Hypothesis& hypothesis_;
};

// values: lists a hypothesis's edits; null: other code recognises the hypothesis.
struct Trial {
  Needs needs = Needs::nothing;
  void (*values)(const Start&, EditList&) = nullptr;
};
struct HypothesisRow {
  Hypothesis facts;
  Trial trial = {};
};

[[nodiscard]] const Hypothesis& hypothesis_named(std::string_view name) noexcept;

[[nodiscard]] std::vector<Edit> edits_of(const Start& start);

// The functions in the table of hypotheses, from structure_, frequency_ and position_edits.cpp.
void list_pairings(const Start& start, EditList& list);
void list_windows(const Start& start, EditList& list);
void list_blocks(const Start& start, EditList& list);
void list_table_orders(const Start& start, EditList& list);
void list_unrotated(const Start& start, EditList& list);
void list_vector_factors(const Start& start, EditList& list);
void list_attention_factors(const Start& start, EditList& list);
void list_senses(const Start& start, EditList& list);
void list_swaps(const Start& start, EditList& list);
void list_axis_arrangements(const Start& start, EditList& list);
void list_coordinates(const Start& start, EditList& list);

void list_bases(const Start& start, EditList& list);
void list_rules(const Start& start, EditList& list);
void list_original_contexts(const Start& start, EditList& list);
void list_ramps(const Start& start, EditList& list);
void list_blends(const Start& start, EditList& list);
void list_other_layers(const Start& start, EditList& list);
void list_engine_rules(const Start& start, EditList& list);
void list_exponents(const Start& start, EditList& list);
void list_reversals(const Start& start, EditList& list);

void list_offsets(const Start& start, EditList& list);
void list_stretches(const Start& start, EditList& list);
void list_second_rotations(const Start& start, EditList& list);
void list_counted(const Start& start, EditList& list);
void list_rounded_positions(const Start& start, EditList& list);
void list_rounded_frequencies(const Start& start, EditList& list);
void list_rounded_angles(const Start& start, EditList& list);

}  // namespace rotary::identification
