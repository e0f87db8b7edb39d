// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstring>

#include "fuzz/check.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/relative/bias_case.hpp"
#include "fuzz/relative/relative_cases.hpp"
#include "fuzz/strided.hpp"
#include "reference/relative.hpp"
#include "rotary/shaw.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::int64_t most_heads = 64;  // for which the reference computes slopes

void check_slopes(const Alibi& alibi) {
  const Answer expected = expected_of(alibi);
  const bool is_large = expected != Answer::refuse && alibi.heads > most_heads;
  if (is_large) return;
  const auto slopes = alibi_slopes(alibi);
  if (!slopes) {
    check_error(slopes.error());
    if (expected == Answer::accept) fail("slopes must be made", slopes.error().message);
    return;
  }
  if (expected == Answer::refuse) fail("this ALiBi must be refused");
  if (slopes->size() != static_cast<std::size_t>(alibi.heads)) fail("each head must have a slope");
  if (alibi.model_heads.value_or(alibi.heads) > most_heads) return;
  const auto exact = reference::alibi_slopes(alibi);
  for (std::size_t h = 0; h < slopes->size(); ++h) {
    if (!(std::abs((*slopes)[h] - exact[h]) <= bias_error_bound * std::abs(exact[h]))) {
      fail("a slope must be within the bound");
    }
  }
}

void check_bucket(std::int64_t relative_position, const T5Buckets& buckets) {
  const auto bucket = t5_bucket(relative_position, buckets);
  if (bucket.has_value() != (expected_of(buckets) == Answer::accept)) {
    fail("buckets must be accepted exactly if they are valid");
  }
  if (!bucket) {
    check_error(bucket.error());
    return;
  }
  if (*bucket < 0 || *bucket >= buckets.buckets) fail("a bucket must exist");
  constexpr std::int64_t most_buckets = 512;  // cases with more are not compared
  if (buckets.buckets > most_buckets) return;
  const auto exact = reference::t5_bucket(relative_position, buckets);
  if (std::abs(*bucket - exact.bucket) > (exact.on_edge ? 1 : 0)) {
    fail("a distance must fall into its bucket");
  }
}

void check_row(std::int64_t relative_position, const ShawWindow& window) {
  const std::int64_t most = std::int64_t{1} << 40;
  const bool is_valid =
      window.left >= 0 && window.left <= most && window.right >= 0 && window.right <= most;
  const auto row = shaw_row(relative_position, window);
  if (row.has_value() != is_valid) fail("a window must be accepted exactly if it is valid");
  if (!row) {
    check_error(row.error());
    return;
  }
  const auto relative = static_cast<int128>(relative_position);
  const int128 clipped = relative < -window.left   ? -window.left
                         : relative > window.right ? window.right
                                                   : relative;
  if (*row != static_cast<std::int64_t>(clipped) + window.left) fail("a row must be clipped");
}

void check_key_positions(Bytes& input, Buffers& buffers) {
  fill(buffers.buffer(), DType::f32, Noise::any, input.bits());
  const std::size_t size = input.byte() % std::size_t{24};
  const std::size_t mask_size = input.once_in(8) ? input.byte() % std::size_t{24} : size;
  auto* const positions = reinterpret_cast<std::int64_t*>(buffers.buffer().data());
  std::array<std::uint8_t, 24> mask{};
  for (std::uint8_t& each : mask) each = input.mask_element(16);
  const Memory memory = buffers.keep();
  const auto status = alibi_key_positions({positions, size}, {mask.data(), mask_size});
  if (!is_accepted(status, size == mask_size ? Answer::accept : Answer::refuse, memory)) return;
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (mask[i] != 0) ++seen;
    if (positions[i] != (mask[i] != 0 ? seen - 1 : 0)) fail("a position must count the tokens");
  }
  std::memcpy(positions, memory.before.data(), size * sizeof *positions);
  check_unchanged(memory, "bytes that belong to no position must stay");
}

}  // namespace

void fuzz_numbers(Bytes& input, Buffers& buffers) {
  check_key_positions(input, buffers);
  Places places(buffers.buffer());
  const std::int64_t relative_position =
      input.once_in(2) ? input.integer() : input.number(-128, 127);
  check_row(relative_position, {.left = input.once_in(4) ? input.integer() : input.number(0, 60),
                                .right = input.once_in(4) ? input.integer() : input.number(0, 60)});
  const auto bias = decode_bias(input, places);
  if (!bias) return;
  if (const auto* const t5 = std::get_if<T5Bias>(&*bias))
    check_bucket(relative_position, t5->buckets);
  if (const auto* const alibi = std::get_if<Alibi>(&*bias)) check_slopes(*alibi);
}

}  // namespace rotary::fuzz
