// SPDX-License-Identifier: Apache-2.0
// The operations and lines of `rotary bench`. A line is an operation on tensors of one size, type
// and pairing, on a number of threads.
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

// A minimal kernel over the same bytes, measured to show how far an operation is from memory speed.
enum class RooflineKind { none, scale, copy };

// Selects the goals of an operation; `other` has none.
enum class Family { in_place, out_of_place, rows, append, shift, patches, other };

// A step's first layer makes the cos/sin rows; later layers use them.
enum class RowsAre { made_in_call, made_before };

struct HeadShape {
  std::int64_t query_heads = 32;  // 0: the operation is on keys only
  std::int64_t key_heads = 8;  // both 0: no tensor takes part, so dtype and pairing do not matter
  std::int64_t head_dim = 128;
  std::int64_t rotary_dim = 128;
  Layout layout = Layout::tokens_first;
};

// Lists of values. An operation has a line for every combination of them.
struct Axes {
  std::span<const std::int64_t> tokens;
  std::span<const DType> dtypes;
  std::span<const Pairing> pairings;
  std::span<const std::int64_t> threads;
};

// One operation with its tensors, ready to run.
struct Job {
  // Runs once on the original values and compares a sample of the result with the reference.
  std::function<Result<Verification>()> verify;
  std::function<Status(std::int64_t calls)> run;
  Roofline roofline = Roofline();  // empty for RooflineKind::none
};

struct Setup;

struct Operation {
  std::string_view name;  // the argument of --operations
  std::string_view summary;
  HeadShape shape;
  RowsAre rows = RowsAre::made_in_call;
  Direction direction = Direction::forward;
  Family family = Family::in_place;
  RooflineKind roofline = RooflineKind::scale;
  Layout cache_layout = Layout::heads_first;  // of the cache that append stores to
  Result<Job> (*prepare)(const Setup& setup) = nullptr;
  std::span<const Axes> usual;  // the lines if no option selects others
};

struct Line {
  const Operation* operation;
  std::int64_t tokens = 0;
  DType dtype = DType::f32;
  Pairing pairing;
  std::int64_t threads = 1;
};

// The input of an operation. frequencies: frequencies_of(line).
struct Setup {
  Line line;
  Frequencies frequencies;
  Executor executor = {};
};

// Formats the line without its operation: "f32 half, 512 tokens, 2 threads".
[[nodiscard]] std::string describe(const Line& line);

// The base is 500000, without a scaling rule.
[[nodiscard]] Result<Frequencies> frequencies_of(const Line& line);

// Bytes of q and k together, including unrotated features.
[[nodiscard]] std::int64_t tensor_bytes(const Line& line);

// Bytes of everything that the process must hold for the line.
[[nodiscard]] std::int64_t needed_bytes(const Line& line);

// Distinct bytes that one call touches: the cache size that the call needs.
[[nodiscard]] std::int64_t working_set_bytes(const Line& line);

// The fewest bytes that one call must read and write, in sum.
[[nodiscard]] std::int64_t moved_bytes(const Line& line);

}  // namespace rotary::bench
