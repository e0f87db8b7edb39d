// SPDX-License-Identifier: Apache-2.0
// All targets of attention share this around a call: views within their places, wrong numbers, an
// executor's concurrency, and the check of a refusal.
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

// The memory of a case with elements of an input's choice.
[[nodiscard]] Placing begin_case(Bytes& input, Arena& arena);

// True where all elements of a view lie in one place of the arena, and for views that the library
// has to refuse.
[[nodiscard]] bool is_inside(const Arena& arena, const Strided& view);
[[nodiscard]] bool are_inside(const Arena& arena, const AttentionViews& views);
// The same for every view that the library may read.
[[nodiscard]] bool is_inside(const Arena& arena, const check::AttendCall& call);

// Restores the bytes that the call may write.
void put_back_results(const check::AttendCall& call, const Memory& memory);

// The numbers of views and sequences, to be changed.
void append_numbers(std::vector<std::int64_t*>& to, AttentionViews& views);
void append_numbers(std::vector<std::int64_t*>& to, std::vector<AttentionSequence>& sequences);
void append_numbers(std::vector<std::int64_t*>& to, HeadsView& view);
void append_numbers(std::vector<std::int64_t*>& to, ScoresView& view);

// One of the numbers becomes any other.
void change_number(Bytes& input, const std::vector<std::int64_t*>& numbers);

// A dtype, an address or a stride that no call takes, or none takes of a view with elements.
[[nodiscard]] Answer change_view(Bytes& input, HeadsView& view);
[[nodiscard]] Answer change_any_view(Bytes& input, AttentionViews& views);

// out lies on what is read.
[[nodiscard]] Answer share_out(Bytes& input, AttentionViews& views);

// Ends the process unless all rows are right, but for those of which the contract says nothing.
void check_rows(const check::Verdict& verdict);

// The concurrency of an executor: one that a caller would state, now and then any number.
[[nodiscard]] std::int64_t decode_concurrency(Bytes& input);

}  // namespace rotary::fuzz
