// SPDX-License-Identifier: Apache-2.0
#include "bench/operations/operations.hpp"

#include <array>

namespace rotary::bench {
namespace {

constexpr std::array<std::int64_t, 1> one_token = {1};
constexpr std::array<std::int64_t, 5> decode_and_prefill = {1, 16, 64, 512, 4096};
constexpr std::array<std::int64_t, 3> few_and_many = {1, 512, 4096};
constexpr std::array<std::int64_t, 2> many_tokens = {512, 4096};
constexpr std::array<std::int64_t, 1> most_tokens = {32'768};
constexpr std::array<DType, 3> dtypes = {DType::f32, DType::bf16, DType::f16};
constexpr std::array<DType, 2> usual_dtypes = {DType::f32, DType::bf16};
constexpr std::array<Pairing, 2> pairings = {Pairing::half, Pairing::interleaved};
constexpr std::array<Pairing, 1> half = {Pairing::half};
constexpr std::array<std::int64_t, 1> one_thread = {1};
constexpr std::array<std::int64_t, 2> one_and_two_threads = {1, 2};

constexpr std::array<Axes, 3> rotate_lines = {
    Axes{decode_and_prefill, dtypes, pairings, one_thread},
    Axes{many_tokens, usual_dtypes, half, one_and_two_threads},
    Axes{most_tokens, usual_dtypes, half, one_thread},
};
constexpr std::array<Axes, 1> prepared_lines = {Axes{one_token, dtypes, pairings, one_thread}};
constexpr std::array<Axes, 1> out_of_place_lines = {Axes{many_tokens, dtypes, half, one_thread}};
constexpr std::array<Axes, 1> heads_first_lines = {
    Axes{many_tokens, usual_dtypes, half, one_thread}};
constexpr std::array<Axes, 1> few_lines = {Axes{few_and_many, usual_dtypes, half, one_thread}};
constexpr std::array<std::int64_t, 2> cached_tokens = {4096, 32'768};
constexpr std::array<Axes, 1> shift_lines = {Axes{cached_tokens, usual_dtypes, half, one_thread}};
constexpr std::array<std::int64_t, 3> row_tokens = {1, 64, 512};
constexpr std::array<DType, 1> f32 = {DType::f32};
constexpr std::array<std::int64_t, 1> patch_tokens = {16'384};
constexpr std::array<Axes, 1> patch_lines = {Axes{patch_tokens, usual_dtypes, half, one_thread}};
constexpr std::array<Axes, 1> row_lines = {Axes{row_tokens, f32, half, one_thread}};

constexpr std::array<Operation, 15> all = {{
    {.name = "rotate",
     .summary = "rows made, then q and k rotated in place by one call",
     .shape = {},
     .prepare = prepare_rotate,
     .usual = rotate_lines},
    {.name = "rotate-prepared",
     .summary = "q and k rotated in place, the rows made before (every layer but the first)",
     .shape = {},
     .rows = RowsAre::made_before,
     .prepare = prepare_rotate,
     .usual = prepared_lines},
    {.name = "backward",
     .summary = "the backward pass: the transpose, in place, the rows made before",
     .shape = {},
     .rows = RowsAre::made_before,
     .direction = Direction::transpose,
     .prepare = prepare_rotate,
     .usual = few_lines},
    {.name = "out-of-place",
     .summary = "rows made, then q and k rotated into other tensors",
     .shape = {},
     .family = Family::out_of_place,
     .roofline = RooflineKind::copy,
     .prepare = prepare_rotate,
     .usual = out_of_place_lines},
    {.name = "heads-first",
     .summary = "as rotate, in memory [heads, tokens, features]",
     .shape = {.layout = Layout::heads_first},
     .prepare = prepare_rotate,
     .usual = heads_first_lines},
    {.name = "head-dim-64",
     .summary = "as rotate, heads of 64 features",
     .shape = {.head_dim = 64, .rotary_dim = 64},
     .prepare = prepare_rotate,
     .usual = few_lines},
    {.name = "partial",
     .summary = "as rotate, 32 of 128 features rotated; the roofline scales only those",
     .shape = {.rotary_dim = 32},
     .prepare = prepare_rotate,
     .usual = few_lines},
    {.name = "append",
     .summary = "k rotated into the second half of a cache [heads, slots, features]",
     .shape = {.query_heads = 0},
     .rows = RowsAre::made_before,
     .family = Family::append,
     .roofline = RooflineKind::copy,
     .prepare = prepare_append,
     .usual = few_lines},
    {.name = "rotate-then-copy",
     .summary = "the alternative to append: k rotated in place, then copied to the cache",
     .shape = {.query_heads = 0},
     .rows = RowsAre::made_before,
     .family = Family::other,
     .roofline = RooflineKind::copy,
     .prepare = prepare_rotate_then_copy,
     .usual = few_lines},
    {.name = "append-tokens-first",
     .summary = "as append, into a cache [slots, heads, features], the keys' layout",
     .shape = {.query_heads = 0},
     .rows = RowsAre::made_before,
     .family = Family::append,
     .roofline = RooflineKind::copy,
     .cache_layout = Layout::tokens_first,
     .prepare = prepare_append,
     .usual = few_lines},
    {.name = "rotate-then-copy-tokens-first",
     .summary = "the alternative to append-tokens-first",
     .shape = {.query_heads = 0},
     .rows = RowsAre::made_before,
     .family = Family::other,
     .roofline = RooflineKind::copy,
     .cache_layout = Layout::tokens_first,
     .prepare = prepare_rotate_then_copy,
     .usual = few_lines},
    {.name = "shift",
     .summary = "cached keys [heads, tokens, features] moved by 7 positions, in place",
     .shape = {.query_heads = 0, .layout = Layout::heads_first},
     .rows = RowsAre::made_before,
     .family = Family::shift,
     .prepare = prepare_shift,
     .usual = shift_lines},
    {.name = "patches",
     .summary = "rows made, then an image's patches rotated in place: 16 heads of 80 features",
     .shape = {.query_heads = 16, .key_heads = 0, .head_dim = 80, .rotary_dim = 80},
     .family = Family::patches,
     .prepare = prepare_patches,
     .usual = patch_lines},
    {.name = "patches-prepared",
     .summary = "as patches, the rows made before (k, and every layer but the first)",
     .shape = {.query_heads = 16, .key_heads = 0, .head_dim = 80, .rotary_dim = 80},
     .rows = RowsAre::made_before,
     .family = Family::patches,
     .prepare = prepare_patches,
     .usual = patch_lines},
    {.name = "rows",
     .summary = "rows of cos and sin alone, 64 pairs",
     .shape = {.query_heads = 0, .key_heads = 0},
     .family = Family::rows,
     .roofline = RooflineKind::none,
     .prepare = prepare_rows,
     .usual = row_lines},
}};

}  // namespace

std::span<const Operation> operations() { return all; }

}  // namespace rotary::bench
