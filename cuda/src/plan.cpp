// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/message.hpp"

namespace rotary::cuda {
namespace {

constexpr std::int32_t warp = 32;
constexpr std::int32_t most_shared_bytes = 48 << 10;  // every device gives this much by default

// Up to this number of threads, as in a decode step, several blocks share the heads of a token.
constexpr std::int64_t few_threads = std::int64_t{1} << 17;

bool is_aligned(const void* data, const Strides& strides, std::int64_t count,
                std::int64_t element_bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return strides.feature == 1 && strides.batch % count == 0 && strides.token % count == 0 &&
         strides.head % count == 0 &&
         address % static_cast<std::uintptr_t>(count * element_bytes) == 0;
}

bool fits(const StepJob& job, std::int32_t count, std::int64_t from_bytes, std::int64_t to_bytes) {
  if (count == 1) return true;
  for (const Heads* of = job.tensors; of != job.tensors + job.count; ++of) {
    const Window& window = job.window;
    if (of->features % count != 0) return false;
    if (of->turns && (window.pairs_of_block % count != 0 || window.first_feature % count != 0))
      return false;
    if (!is_aligned(of->src, of->from, count, from_bytes) ||
        !is_aligned(of->dst, of->to, count, to_bytes)) {
      return false;
    }
  }
  return true;
}

// The largest number of accesses to a head, each of `count` pairs or 2 * count features.
std::int32_t chunks_of(const StepJob& job, std::int32_t count) {
  std::int32_t most = 1;
  for (const Heads* of = job.tensors; of != job.tensors + job.count; ++of) {
    const std::int32_t chunks =
        of->turns ? job.window.pairs / count : (of->features + 2 * count - 1) / (2 * count);
    most = std::max(most, chunks);
  }
  return most;
}

bool sums_over_heads(const StepJob& job) {
  return std::any_of(job.tensors, job.tensors + job.count,
                     [](const Heads& of) { return of.norm.kind == NormKind::all_heads; });
}

bool moves_in_place(const StepJob& job) {
  return job.window.reads_neighbours != job.window.writes_neighbours &&
         std::any_of(job.tensors, job.tensors + job.count,
                     [](const Heads& of) { return of.turns && of.src == of.dst; });
}

std::int64_t shared_bytes(const Cut& cut) {
  const std::int64_t rows = std::int64_t{cut.tokens} * 2 * cut.row_stride;
  const std::int64_t staged = std::int64_t{cut.threads >> cut.log_lanes} * cut.staged_of_head;
  return std::int64_t{cut.sums} * 8 + (rows + staged) * 4;
}

std::int32_t log_of(std::int32_t power) {
  return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(power))) - 1;
}

std::int32_t rounded_up(std::int32_t number, std::int32_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

// Cuts a block into `tokens` teams of `team` threads, both powers of two.
void set_teams(Cut& cut, std::int32_t tokens, std::int32_t team, bool sums) {
  cut.tokens = tokens;
  cut.threads = tokens * team;
  cut.log_team = log_of(team);
  cut.sums = sums ? rounded_up(tokens * cut.heads, 4) : 0;
}

bool normalizes(const Heads& of) { return of.norm.kind != NormKind::none; }

bool copies_outside(const StepJob& job) {
  return std::any_of(job.tensors, job.tensors + job.count, [&](const Heads& of) {
    return of.turns && of.copies_outside && of.features > 2 * job.window.pairs;
  });
}

// Chooses the kernel for many tokens (Way in kernels.hpp), with `count` pairs at a time.
Way way_of(const StepJob& job, std::int32_t count) {
  const Heads* const end = job.tensors + job.count;
  if (moves_in_place(job)) return Way::whole;
  if (std::none_of(job.tensors, end, normalizes)) return Way::plain;
  const bool fit = std::all_of(job.tensors, end, [&](const Heads& of) {
    return !normalizes(of) ||
           (of.norm.kind == NormKind::each_head && of.turns && of.features == 2 * job.window.pairs);
  });
  return fit && count >= 4 && chunks_of(job, count) <= warp ? Way::held : Way::whole;
}

// Cuts a decode step into one warp for every few_heads heads of a token, two pairs in each thread.
// Returns false if these kernels do not support the job, or if it has too many threads.
bool cut_few(StepJob& job, std::int32_t count, Way way, Cut& cut) {
  if (way == Way::whole || count < 2 || job.batch != 1 || job.window.pairs > 2 * warp ||
      copies_outside(job)) {
    return false;
  }
  for (int t = 0; t < job.count; ++t) {
    if (!job.tensors[t].turns && job.tensors[t].features > 4 * warp) return false;
    cut.groups[t] = (job.tensors[t].heads + few_heads - 1) / few_heads;
    cut.blocks_of_heads += cut.groups[t];
  }
  cut.threads = warp;
  cut.blocks_of_tokens = job.tokens;
  return job.tokens * cut.blocks_of_heads * warp <= few_threads;
}

// Makes blocks with all heads of several tokens, or with some heads of one token.
void cut_teams(const StepJob& job, std::int32_t count, Cut& cut) {
  const std::int64_t tokens = job.tokens_in_all;
  const bool sums = sums_over_heads(job);
  cut.chunks = chunks_of(job, count);
  // Threads per head: one for each access, at most a warp.
  const auto lanes = static_cast<std::int32_t>(
      std::bit_ceil(static_cast<std::uint32_t>(std::min(cut.chunks, warp))));
  cut.copies_outside = copies_outside(job);
  cut.log_lanes = log_of(lanes);
  cut.row_stride = job.rotates ? rounded_up(job.window.pairs, 8) : 0;
  cut.staged_of_head = moves_in_place(job) ? 2 * job.window.pairs : 0;
  if (tokens * job.heads * lanes <= few_threads && !sums) {
    cut.heads = std::min(most_threads / lanes, job.heads);
    const auto team = static_cast<std::int32_t>(
        std::bit_ceil(static_cast<std::uint32_t>(std::max(warp, cut.heads * lanes))));
    set_teams(cut, 1, team, sums);
  } else {
    cut.heads = job.heads;
    // Gives each thread of a team about one pair of the row.
    const auto of_block = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(
        std::clamp(most_threads / std::max(job.window.pairs, 1), 1, most_threads / warp))));
    set_teams(cut, of_block, most_threads / of_block, sums);
  }
  while (shared_bytes(cut) > most_shared_bytes && cut.threads > warp) {
    const std::int32_t fewer = std::max(cut.tokens / 2, 1);
    set_teams(cut, fewer, cut.threads / 2 / fewer, sums);
  }
  cut.shared_bytes =
      static_cast<std::int32_t>(std::min(shared_bytes(cut), std::int64_t{most_shared_bytes} + 1));
  cut.blocks_of_tokens = (tokens + cut.tokens - 1) / cut.tokens;
  cut.blocks_of_heads = (job.heads + cut.heads - 1) / cut.heads;
}

// Treats batch rows of one token as one row of tokens, which saves the kernel a division.
void join_rows(StepJob& job) {
  if (job.tokens != 1) return;
  const auto join = [](TokenNumbers& numbers) { numbers.token_stride = numbers.batch_stride; };
  for (Heads& of : job.tensors) {
    of.from.token = of.from.batch;
    if (!of.stored) of.to.token = of.to.batch;
  }
  join(job.rows.at.positions);
  join(job.rows.from.positions);
  join(job.slots);
  job.rows.token_stride = job.rows.batch_stride;
  job.tokens = job.batch;
  job.batch = 1;
}

// The number of pairs that a thread takes at a time: at most 16 bytes of x or y. It divides the
// window, and all tensors' heads are aligned to it.
std::int32_t pairs_at_once(const StepJob& job, const Conversion& conversion) {
  std::int32_t count = most_at_once(conversion.from);
  while (!fits(job, count, size_in_bytes(conversion.from), size_in_bytes(conversion.to)))
    count /= 2;
  return count;
}

Result<Way> plan(StepJob& job, std::int32_t count) {
  const Way way = way_of(job, count);
  if (cut_few(job, count, way, job.cut)) return way == Way::held ? Way::few_held : Way::few;
  job.cut = {};
  cut_teams(job, count, job.cut);
  if (job.cut.shared_bytes <= most_shared_bytes) return way;
  return unsupported("rows, sums and moved heads must fit in a block's shared memory, ",
                     most_shared_bytes, " bytes, got ", job.window.pairs, " pairs of ", job.heads,
                     " heads");
}

}  // namespace

Result<Step> planned(StepJob job, const Conversion& conversion) {
  if (auto status = check_count(job.batch, job.tokens); !status) return std::move(status).error();
  job.tokens_in_all = static_cast<std::uint32_t>(job.batch * job.tokens);
  const std::int32_t count = pairs_at_once(job, conversion);
  join_rows(job);
  const auto way = plan(job, count);
  if (!way) return way.error();
  return Step{.job = job,
              .from = conversion.from,
              .kernel = {.to = conversion.to,
                         .count = count,
                         .way = *way,
                         .reads_neighbours = job.window.reads_neighbours,
                         .writes_neighbours = job.window.writes_neighbours}};
}

Status check_count(std::int64_t batch, std::int64_t tokens) {
  if (tokens <= most_tokens / batch) return {};
  return unsupported("a call must have fewer than 2^31 tokens on a device, got ", batch, " x ",
                     tokens);
}

}  // namespace rotary::cuda
