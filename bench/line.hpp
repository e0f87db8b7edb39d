// SPDX-License-Identifier: Apache-2.0
// The units of timing: an operation is a row of data with a function that prepares it; a line is an
// operation on tensors of one size, type and pairing, on a number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "bench/roofline.hpp"
#include "bench/tensor.hpp"
#include "bench/verification.hpp"
#include "rotary/executor.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::bench {

// The least work on the bytes of an operation, as measured.
enum class RooflineKind { none, scale, copy };

// Selects the goals of an operation; other: none.
enum class Family { in_place, out_of_place, rows, append, shift, patches, other };

// The first layer of a step makes the rows of cos and sin; later ones use them.
enum class RowsAre { made_in_call, made_before };

// The heads of a model.
struct HeadShape {
  std::int64_t query_heads = 32;  // 0: the operation is on keys alone
  std::int64_t key_heads = 8;     // both 0: no tensor takes part, dtype and pairing do not matter
  std::int64_t head_dim = 128;
  std::int64_t rotary_dim = 128;
  Layout layout = Layout::tokens_first;
};

// The lines of an operation: every combination.
struct Axes {
  std::span<const std::int64_t> tokens;
  std::span<const DType> dtypes;
  std::span<const Pairing> pairings;
  std::span<const std::int64_t> threads;
};

// One operation with its tensors, ready to run.
struct Job {
  // Runs once, on unchanged values, and compares a sample of the result with the reference.
  std::function<Result<Verification>()> verify;
  std::function<Status(std::int64_t calls)> run;
  Roofline roofline = Roofline();  // empty for RooflineKind::none
};

struct Setup;

struct Operation {
  std::string_view name;  // as --operations takes it
  std::string_view summary;
  HeadShape shape;
  RowsAre rows = RowsAre::made_in_call;
  Direction direction = Direction::forward;
  Family family = Family::in_place;
  RooflineKind roofline = RooflineKind::scale;
  Layout cache_layout = Layout::heads_first;  // for the cache that append stores to
  Result<Job> (*prepare)(const Setup& setup) = nullptr;
  std::span<const Axes> usual;  // the lines without options
};

struct Line {
  const Operation* operation;
  std::int64_t tokens = 0;
  DType dtype = DType::f32;
  Pairing pairing;
  std::int64_t threads = 1;
};

// The input of an operation; frequencies are those of the line's shape and pairing.
struct Setup {
  Line line;
  Frequencies frequencies;
  Executor executor = {};
};

// "f32 half, 512 tokens, 2 threads", after the operation's name.
[[nodiscard]] std::string describe(const Line& line);

// Base 500000, without a scaling rule.
[[nodiscard]] Result<Frequencies> frequencies_of(const Line& line);

// For q and k together, including features that do not turn.
[[nodiscard]] std::int64_t tensor_bytes(const Line& line);

// Everything that the process must hold for the line.
[[nodiscard]] std::int64_t needed_bytes(const Line& line);

// The bytes that one call reads or writes, each counted once: the size of cache it needs.
[[nodiscard]] std::int64_t working_set_bytes(const Line& line);

// The least bytes that one call reads plus those it writes.
[[nodiscard]] std::int64_t moved_bytes(const Line& line);

}  // namespace rotary::bench
