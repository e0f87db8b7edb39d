// SPDX-License-Identifier: Apache-2.0
// Causal attention goes chunk by chunk. A chunk's queries read the sums of earlier chunks and the
// chunk's keys. Then the keys join the sums. Bidirectional attention adds all chunks first.
#include "attention/linear/linear_head.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "attention/linear/linear_chunk.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

template <class Real>
class HeadPass {
 public:
  HeadPass(const LinearCall& call, std::byte* memory) : call_(call), chunk_(call, memory) {}

  // Processes heads [begin, end) of one batch row, at most heads_at_once.
  void run(std::int64_t batch, std::int64_t begin, std::int64_t end) {
    batch_ = batch;
    first_ = begin;
    last_ = end;
    for (head_ = begin; head_ < end; ++head_) chunk_.begin_head(batch, head_, head_ - begin);
    const std::int64_t tokens = call_.heads.k.extents.tokens;
    if (call_.options.mask == LinearMask::causal) {
      in_blocks(tokens, [&](std::int64_t, std::int64_t block_end) { causal(block_end); });
    } else if (call_.options.segments) {
      in_blocks(1, [&](std::int64_t, std::int64_t) { documents(); });
    } else {
      // Keys without features add nothing, and outputs without elements need no queries.
      const std::int64_t keys = call_.sizes.features == 0 ? 0 : tokens;
      const std::int64_t queries = group() == 0 ? 0 : call_.heads.q.extents.tokens;
      in_blocks(keys, [&](std::int64_t from, std::int64_t to) { add_keys(from, to); });
      in_blocks(queries, [&](std::int64_t from, std::int64_t to) { answer(from, to); });
    }
    in_blocks(1, [&](std::int64_t, std::int64_t) { chunk_.end_head(); });
  }

 private:
  // Calls visit(begin, end) for each block of tokens. All heads finish each block before the next.
  template <class Visit>
  void in_blocks(std::int64_t tokens, Visit visit) {
    const std::int64_t block = last_ - first_ > 1 ? tokens_of_block : tokens;
    for (std::int64_t begin = 0; begin < tokens; begin += block) {
      for (head_ = first_; head_ < last_; ++head_) {
        chunk_.take_up_head(batch_, head_, head_ - first_);
        visit(begin, std::min(begin + block, tokens));
      }
    }
  }

  // Segment of token t, or 0 if the call has no segments.
  [[nodiscard]] std::int32_t segment(std::int64_t t) const {
    if (!call_.options.segments) return 0;
    const SegmentMap& map = *call_.options.segments;
    return map.data[(map.batch == 1 ? 0 : batch_) * map.batch_stride + t * map.token_stride];
  }

  // End of the tokens from begin on that share begin's segment, at most one chunk. Requires that
  // begin is not padding.
  [[nodiscard]] std::int64_t run_end(std::int64_t begin, std::int64_t end) const {
    end = std::min(end, begin + call_.sizes.tokens);
    if (!call_.options.segments) return end;
    std::int64_t t = begin + 1;
    while (t < end && segment(t) == segment(begin)) ++t;
    return t;
  }

  // Index at which the next document begins; `end` if there is none.
  [[nodiscard]] std::int64_t document_end(std::int64_t begin, std::int64_t end) const {
    std::optional<std::int32_t> document;
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int32_t each = segment(t);
      if (each < 0) continue;
      if (document.value_or(each) != each) return t;
      document = each;
    }
    return end;
  }

  // Processes tokens of the head in chunks until block_end. The last chunk may extend past it.
  void causal(std::int64_t block_end) {
    const std::int64_t tokens = call_.heads.k.extents.tokens;
    LinearSums& sums = chunk_.sums();
    std::int64_t& begin = sums.next;
    while (begin < block_end) {
      const std::int32_t each = segment(begin);
      if (each < 0) {
        for_each_query_head([&](std::int64_t h) { chunk_.write_zeros(h, begin); });
        ++begin;
        continue;
      }
      if (sums.document >= 0 && sums.document != each) chunk_.forget();
      sums.document = each;
      const std::int64_t count = chunk_.load_keys(begin, run_end(begin, tokens));
      chunk_.add_up_keys(count);
      chunk_.columns_of_keys(count);
      chunk_.round_values();
      for_each_query_head([&](std::int64_t h) {
        chunk_.load_queries({batch_, h, begin, begin + count});
        for (std::int64_t i = 0; i < count; i += queries_at_once) chunk_.meet_own_keys(i, count);
        chunk_.write({batch_, h, begin, begin + count}, KeySums::of_each_query);
      });
      chunk_.add_values(count);
      begin += count;
    }
  }

  void documents() {
    const std::int64_t tokens = call_.heads.k.extents.tokens;
    for (std::int64_t begin = 0; begin < tokens;) {
      const std::int64_t end = document_end(begin, tokens);
      if (begin != 0) chunk_.forget();
      add_keys(begin, end);
      answer(begin, end);
      begin = end;
    }
  }

  // For bidirectional attention: adds all keys. answer() then serves all queries.
  void add_keys(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      if (segment(begin) < 0) {
        ++begin;
        continue;
      }
      const std::int64_t count = chunk_.load_keys(begin, run_end(begin, end));
      chunk_.add_keys(count);
      chunk_.add_values(count);
      begin += count;
    }
  }

  void answer(std::int64_t begin, std::int64_t end) {
    chunk_.round_values();
    chunk_.round_keys();
    for_each_query_head([&](std::int64_t h) {
      for (std::int64_t t = begin; t < end;) {
        if (segment(t) < 0) {
          chunk_.write_zeros(h, t);
          ++t;
          continue;
        }
        const HeadTokens queries{batch_, h, t, run_end(t, end)};
        chunk_.load_queries(queries);
        chunk_.write(queries, KeySums::of_all);
        t = queries.end;
      }
    });
  }

  // Heads of q per head of k; 0 if out has no elements.
  [[nodiscard]] std::int64_t group() const {
    if (!has_elements(call_.out.extents)) return 0;
    return call_.heads.q.extents.heads / call_.heads.k.extents.heads;
  }

  template <class Visit>
  void for_each_query_head(Visit visit) const {
    for (std::int64_t h = head_ * group(); h < (head_ + 1) * group(); ++h) visit(h);
  }

  const LinearCall& call_;
  LinearChunk<Real> chunk_;
  std::int64_t batch_ = 0;
  std::int64_t head_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

template <class Real>
void attend_heads_of(const LinearCall& call, KeyHeads range, std::byte* memory) {
  const auto bytes = bytes_of_part(call.sizes, call.out.dtype);
  std::memset(memory, 0, static_cast<std::size_t>(bytes));  // padding stays 0
  HeadPass<Real> pass(call, memory);
  const std::int64_t heads = call.heads.k.extents.heads;
  for (std::int64_t i = range.begin; i < range.end;) {
    const std::int64_t head = i % heads;
    const std::int64_t end =
        std::min({head + call.sizes.heads_at_once, heads, head + range.end - i});
    pass.run(i / heads, head, end);
    i += end - head;
  }
}

}  // namespace

std::int64_t bytes_of_part(const LinearSizes& sizes, DType dtype) noexcept {
  return dtype == DType::f64 ? LinearMemory<double>(nullptr, sizes).bytes
                             : LinearMemory<float>(nullptr, sizes).bytes;
}

void attend_heads(const LinearCall& call, KeyHeads range, std::byte* memory) noexcept {
  if (call.out.dtype == DType::f64) {
    attend_heads_of<double>(call, range, memory);
  } else {
    attend_heads_of<float>(call, range, memory);
  }
}

}  // namespace rotary
