// SPDX-License-Identifier: Apache-2.0
// The C functions for frequencies, rows and rotation. They launch kernels only after all checks.
#include <array>
#include <utility>

#include "base/message.hpp"
#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/values.hpp"
#include "device.hpp"
#include "plan.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "rotation/rows/cos_sin_checks.hpp"
#include "tensor/view_checks.hpp"
#include "values.hpp"

namespace rotary::cuda {
namespace {

// Checks and converts the caller's rows, which a call reads or writes.
Result<Rows> given_rows(const CosSinView& from, const HeadWindow& window) {
  if (auto status = validate(window); !status) return std::move(status).error();
  if (auto status = check_rows(window, from, RowDType::f32); !status)
    return blamed(status.error().code, "rows: ", status.error());
  if (from.dtype != DType::f32) {
    return invalid_argument("rows: dtype must be f32, got ", to_string(from.dtype));
  }
  Rows rows{};
  rows.kind = RowKind::given;
  rows.cos = static_cast<const float*>(from.cos);
  rows.sin = static_cast<const float*>(from.sin);
  rows.batch_stride = from.batch == 1 ? 0 : from.batch_stride;
  rows.token_stride = from.token_stride;
  rows.pair_stride = from.pair_stride;
  return rows;
}

// Checks rows to write: elements must be distinct and overlap nothing that the call reads.
Status check_written(const CosSinView& rows, const HeadWindow& window, const At& at) {
  if (auto checked = given_rows(rows, window); !checked) return std::move(checked).error();
  const Tokens tokens = tokens_of(at);
  if (rows.tokens != tokens.tokens || rows.batch != tokens.batch) {
    return invalid_argument("rows: batch and tokens must be those of the positions, ", tokens.batch,
                            " and ", tokens.tokens, "; got ", rows.batch, " and ", rows.tokens);
  }
  const auto cos = heads_view(rows.cos, rows, window.pairs());
  const auto sin = heads_view(rows.sin, rows, window.pairs());
  const auto positions = read_of("positions", at.positions).view;
  if (auto status = check_distinct("rows", cos); !status) return status;
  if (auto status = check_apart("cos", cos, "sin", sin); !status) return status;
  if (auto status = check_apart("cos", cos, "positions", positions); !status) return status;
  if (auto status = check_apart("sin", sin, "positions", positions); !status) return status;
  return check_count(rows.batch, rows.tokens);
}

Status rotate_between(const HeadsView& dst, const HeadsView& src, const HeadWindow& window,
                      const Tokens& tokens, const Launching& how) {
  if (dst.dtype != src.dtype) {
    return invalid_argument("dst and src must have the same dtype, got ", to_string(dst.dtype),
                            " and ", to_string(src.dtype));
  }
  const Transfer transfer{.src_name = "src", .src = src, .dst_name = "dst", .dst = dst};
  return checked_launch(std::array{transfer}, window, tokens, how);
}

}  // namespace
}  // namespace rotary::cuda

using namespace rotary;
using namespace rotary::cuda;

rotary_status rotary_cuda_frequencies_make(const rotary_frequencies* frequencies,
                                           rotary_cuda_frequencies** out) {
  return c_api::run([&]() -> Status {
    if (out == nullptr) return c_api::null_argument("out");
    *out = nullptr;
    const auto held = c_api::held_by("frequencies", frequencies);
    if (!held) return held.error();
    auto made = upload(held->get());
    if (!made) return std::move(made).error();
    *out = new rotary_cuda_frequencies(*std::move(made));
    return {};
  });
}

void rotary_cuda_frequencies_free(rotary_cuda_frequencies* frequencies) { delete frequencies; }

rotary_status rotary_cuda_rotate(const rotary_heads_view* dst, const rotary_heads_view* src,
                                 const rotary_cuda_at* at, const rotary_cuda_options* options) {
  const auto rotate = [](const HeadsView& to, const HeadsView& from, const At& where,
                         const Options& how) {
    return rotate_between(to, from, where.frequencies.window, tokens_of(where),
                          launching(where, how));
  };
  return c_api::run([&] {
    return c_api::with(rotate, view_of("dst", dst), view_of("src", src), at_of("at", at),
                       options_of(options));
  });
}

rotary_status rotary_cuda_rotate_qk(const rotary_heads_view* q, const rotary_heads_view* k,
                                    const rotary_cuda_at* at, const rotary_cuda_options* options) {
  const auto rotate = [](const HeadsView& of_q, const HeadsView& of_k, const At& where,
                         const Options& how) {
    return checked_launch(std::array{in_place("q", of_q), in_place("k", of_k)},
                          where.frequencies.window, tokens_of(where), launching(where, how));
  };
  return c_api::run([&] {
    return c_api::with(rotate, view_of("q", q), view_of("k", k), at_of("at", at),
                       options_of(options));
  });
}

rotary_status rotary_cuda_rows(const rotary_cos_sin* rows, const rotary_cuda_at* at,
                               const rotary_cuda_options* options) {
  const auto write = [](const CosSinView& to, const At& where, const Options& how) -> Status {
    const HeadWindow& window = where.frequencies.window;
    if (auto status = check_forward(how); !status) return status;
    if (auto status = check_written(to, window, where); !status) return status;
    if (to.tokens == 0) return {};
    // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): rotary_cos_sin is for reading elsewhere
    return launch({.rows = rows_at(where),
                   .batch = to.batch,
                   .tokens = to.tokens,
                   .pairs = static_cast<std::int32_t>(window.pairs()),
                   .cos = const_cast<float*>(static_cast<const float*>(to.cos)),
                   .sin = const_cast<float*>(static_cast<const float*>(to.sin)),
                   .batch_stride = to.batch_stride,
                   .token_stride = to.token_stride,
                   .pair_stride = to.pair_stride},
                  how.stream);
    // NOLINTEND(cppcoreguidelines-pro-type-const-cast)
  };
  return c_api::run([&] {
    return c_api::with(write, c_api::cos_sin(rows), at_of("at", at), options_of(options));
  });
}

rotary_status rotary_cuda_rotate_by_rows(const rotary_heads_view* dst, const rotary_heads_view* src,
                                         const rotary_window* window, const rotary_cos_sin* rows,
                                         const rotary_cuda_options* options) {
  const auto rotate = [](const HeadsView& to, const HeadsView& from, const HeadWindow& within,
                         const CosSinView& by, const Options& how) -> Status {
    const auto given = given_rows(by, within);
    if (!given) return given.error();
    Launching launching{.rows = *given,
                        .window = window_of(within, how.direction),
                        .reads = {{{"cos", heads_view(by.cos, by, within.pairs())},
                                   {"sin", heads_view(by.sin, by, within.pairs())}}},
                        .stream = how.stream};
    set_scales(launching.rows, how.direction, by.attention_factor);
    return rotate_between(to, from, within, {by.batch, by.tokens}, launching);
  };
  return c_api::run([&] {
    return c_api::with(rotate, view_of("dst", dst), view_of("src", src), c_api::window(window),
                       c_api::cos_sin(rows), options_of(options));
  });
}
