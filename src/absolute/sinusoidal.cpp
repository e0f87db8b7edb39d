// SPDX-License-Identifier: Apache-2.0
// All checks come first; writing cannot fail. A token's pairs are computed a block at a time, once
// for all batch rows that share its position.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include "absolute/pair_block.hpp"
#include "absolute/sinusoidal_spec.hpp"
#include "absolute/token_positions.hpp"
#include "absolute/token_views.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/absolute.hpp"
#include "runtime/active_kernels.hpp"
#include "tensor/element_runs.hpp"

namespace rotary {
namespace {

struct Task {
  TokensView dst;
  ConstTokensView src;  // not read by fill
  const Sinusoidal& sinusoidal;
  const Positions& positions;
  double embedding_scale = 1;
  std::string_view prefix = {};  // starts each message about positions
};

void store_runs(const Task& task, const TokenIndex& at, const BlockRuns& runs,
                const RunValues& values) {
  for (std::size_t i = 0; i < runs.count; ++i) {
    const FeatureRun& run = runs.runs[i];
    store_run(values.data() + run.value,
              run_of(task.dst, at.batch, at.token, run.feature, run.count));
  }
}

void load_runs(const Task& task, const TokenIndex& at, const BlockRuns& runs, RunValues& values) {
  for (std::size_t i = 0; i < runs.count; ++i) {
    const FeatureRun& run = runs.runs[i];
    load_run(run_of(task.src, at.batch, at.token, run.feature, run.count),
             values.data() + run.value);
  }
}

// The operations fill, add and shift process the cosines and sines of one token's block.
void fill(const Task& task, const TokenIndex& at, const PairBlock& block) {
  const BlockRuns runs = runs_of(task.sinusoidal.spec, block);
  RunValues values;
  scatter_pairs(block, runs, values);
  store_runs(task, at, runs, values);
}

void add(const Task& task, const TokenIndex& at, const PairBlock& block) {
  const BlockRuns runs = runs_of(task.sinusoidal.spec, block);
  RunValues values;
  RunValues x;
  scatter_pairs(block, runs, values);
  load_runs(task, at, runs, x);
  for (std::size_t r = 0; r < runs.count; ++r) {
    const std::size_t end = runs.runs[r].value + static_cast<std::size_t>(runs.runs[r].count);
    for (std::size_t i = runs.runs[r].value; i < end; ++i) values[i] += task.embedding_scale * x[i];
  }
  store_runs(task, at, runs, values);
}

void shift(const Task& task, const TokenIndex& at, const PairBlock& block) {
  const BlockRuns runs = runs_of(task.sinusoidal.spec, block);
  RunValues values{};
  PairBlock shifted{.first = block.first, .count = block.count, .cos = {}, .sin = {}};
  load_runs(task, at, runs, values);
  gather_pairs(values, runs, shifted);
  for (std::size_t i = 0; i < static_cast<std::size_t>(block.count); ++i) {
    const double sin = shifted.sin[i];
    const double cos = shifted.cos[i];
    shifted.sin[i] = sin * block.cos[i] + cos * block.sin[i];
    shifted.cos[i] = cos * block.cos[i] - sin * block.sin[i];
  }
  scatter_pairs(shifted, runs, values);
  store_runs(task, at, runs, values);
}

using Operation = void (*)(const Task&, const TokenIndex&, const PairBlock&);

// With spacing ends, an odd dim has a last feature without a pair. Its encoding is 0.
void finish_last_feature(const Task& task, const TokenIndex& at, Operation operation) {
  const SinusoidalSpec& spec = task.sinusoidal.spec;
  if (spec.spacing != SinusoidalSpacing::ends || spec.dim % 2 == 0) return;
  double value = 0;
  if (operation != fill) load_run(run_of(task.src, at.batch, at.token, spec.dim - 1, 1), &value);
  value *= task.embedding_scale;
  store_run(&value, run_of(task.dst, at.batch, at.token, spec.dim - 1, 1));
}

// An offset to add to each position, and the position whose encoding is all zeros. A shift has
// neither, because its positions are distances.
struct Turned {
  std::int64_t offset = 0;
  std::optional<std::int64_t> zero_position;
};

bool is_zero_row(const SplitPosition& position, const Turned& turned) {
  return turned.zero_position && position.is_integer() &&
         position.whole == static_cast<std::uint64_t>(*turned.zero_position);
}

void run_token(const Task& task, const TokenIndex& at, const Turned& turned, Operation operation,
               kernels::MakePhaseRow make_phase_row) {
  const std::int64_t pairs = pairs_of(task.sinusoidal.spec);
  const bool is_shared = batch_of(task.positions) == 1;
  const std::int64_t batch_end = is_shared ? task.dst.extents.batch : at.batch + 1;
  const SplitPosition position = position_at(task.positions, is_shared ? 0 : at.batch, at.token);
  PairBlock block;
  for (block.first = 0; block.first < pairs; block.first += block_pairs) {
    block.count = std::min(block_pairs, pairs - block.first);
    if (is_zero_row(position, turned)) {
      block.cos.fill(0);
      block.sin.fill(0);
    } else {
      turn_block(task.sinusoidal, position, turned.offset, make_phase_row, block);
    }
    for (std::int64_t b = at.batch; b < batch_end; ++b) operation(task, {b, at.token}, block);
  }
  for (std::int64_t b = at.batch; b < batch_end; ++b) {
    finish_last_feature(task, {b, at.token}, operation);
  }
}

Status check(const Task& task) {
  if (auto status = validate(task.sinusoidal); !status) return status;
  if (auto status = check_transfer(task.dst, task.src); !status) return status;
  const TokenExtents& n = task.dst.extents;
  if (n.features != task.sinusoidal.spec.dim) {
    return invalid_argument("features must be the dim of the encoding, ", task.sinusoidal.spec.dim,
                            "; got ", n.features);
  }
  if (auto status = check_positions(task.prefix, task.positions, n); !status) return status;
  if (std::holds_alternative<TokenArray<double>>(task.positions)) {
    if (auto status = check_inv_freq(task.sinusoidal); !status) return status;
  }
  if (!std::isfinite(task.embedding_scale)) {
    return invalid_argument("embedding_scale must be finite, got ", task.embedding_scale);
  }
  return check_apart({{"dst"}, heads_view(task.dst)}, task.prefix, task.positions);
}

Status run(const Task& task, const Turned& turned, Operation operation) {
  if (auto status = check(task); !status) return status;
  const auto kernels = active_kernels();
  if (!kernels) return kernels.error();
  const TokenExtents& n = task.dst.extents;
  const std::int64_t batches =
      batch_of(task.positions) == 1 ? std::min<std::int64_t>(n.batch, 1) : n.batch;
  for (std::int64_t t = 0; batches > 0 && t < n.tokens; ++t) {
    for (std::int64_t b = 0; b < batches; ++b) {
      run_token(task, {b, t}, turned, operation, (*kernels)->make_phase_row_f64);
    }
  }
  return {};
}

Turned as_encoding(const Sinusoidal& sinusoidal) {
  return {.offset = sinusoidal.spec.position_offset,
          .zero_position = sinusoidal.spec.zero_position};
}

}  // namespace

Status fill_sinusoidal(TokensView dst, const Sinusoidal& sinusoidal,
                       const Positions& positions) noexcept {
  return guarded([&]() -> Status {
    return run({dst, dst, sinusoidal, positions}, as_encoding(sinusoidal), fill);
  });
}

Status add_sinusoidal(TokensView dst, ConstTokensView src, const Sinusoidal& sinusoidal,
                      const Positions& positions, const AddOptions& options) noexcept {
  return guarded([&]() -> Status {
    return run({dst, src, sinusoidal, positions, options.embedding_scale}, as_encoding(sinusoidal),
               add);
  });
}

Status shift_sinusoidal(TokensView dst, ConstTokensView src, const Sinusoidal& sinusoidal,
                        const Positions& distances) noexcept {
  return guarded([&]() -> Status {
    const SinusoidalSpec& spec = sinusoidal.spec;
    if (spec.dim % 2 != 0 && spec.spacing == SinusoidalSpacing::even) {
      return invalid_argument("dim must be even for a shift with spacing even, got ", spec.dim,
                              ": the last sine has no cosine");
    }
    return run({dst, src, sinusoidal, distances, 1, "distances: "}, {}, shift);
  });
}

}  // namespace rotary
