// SPDX-License-Identifier: Apache-2.0
// Code that all attention targets share: memory for a case, views in the arena, changes that make
// calls wrong, checks of results.
#pragma once

#include <cstdint>
#include <vector>

#include "check/attend_call.hpp"
#include "fuzz/arena.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/placing.hpp"
#include "rotary/attention.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

using check::AttentionViews;

// Memory for a case, with elements chosen by the input.
[[nodiscard]] Placing begin_case(Bytes& input, Arena& arena);

// True if a view is within one place of the arena, or if the library must refuse it.
[[nodiscard]] bool is_inside(const Arena& arena, const Strided& view);
[[nodiscard]] bool are_inside(const Arena& arena, const AttentionViews& views);
// As above, for all views that the library may read.
[[nodiscard]] bool is_inside(const Arena& arena, const check::AttendCall& call);

// Restores the bytes that the call may write.
void put_back_results(const check::AttendCall& call, const Memory& memory);

// Collects the addresses of a view's extents and strides, or of a sequence's members.
void append_numbers(std::vector<std::int64_t*>& to, AttentionViews& views);
void append_numbers(std::vector<std::int64_t*>& to, std::vector<AttentionSequence>& sequences);
void append_numbers(std::vector<std::int64_t*>& to, HeadsView& view);
void append_numbers(std::vector<std::int64_t*>& to, ScoresExtents& n, ScoresStrides& s);
template <class Scores>
requires requires(Scores of) { of.strides.query; }
void append_numbers(std::vector<std::int64_t*>& to, Scores& scores_or_mask) {
  append_numbers(to, scores_or_mask.extents, scores_or_mask.strides);
}

void change_number(Bytes& input, const std::vector<std::int64_t*>& numbers);

// Gives the view a dtype, address or stride that calls must refuse if the view has elements.
[[nodiscard]] Answer change_view(Bytes& input, HeadsView& view);
[[nodiscard]] Answer change_any_view(Bytes& input, AttentionViews& views);

// Makes out overlap an input.
[[nodiscard]] Answer share_out(Bytes& input, AttentionViews& views);

// Fails unless all rows are within their bounds. Skips rows that the contract does not cover.
void check_rows(const check::Verdict& verdict);

// The concurrency of an executor: usually a realistic number, sometimes any.
[[nodiscard]] std::int64_t decode_concurrency(Bytes& input);

}  // namespace rotary::fuzz
