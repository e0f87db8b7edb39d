// SPDX-License-Identifier: Apache-2.0
// Implements tests/support/called.hpp with the GPU's functions. Refused calls read no elements, so
// tensors are in host memory.
#include "tests/support/called.hpp"

#include <algorithm>

#include "cases.hpp"
#include "tests/support/cases.hpp"

namespace rotary::test {
namespace {

using cuda_tests::struct_of;

Status status_of(rotary_status status) {
  if (status == ROTARY_OK) return {};
  return Error{static_cast<ErrorCode>(status), rotary_last_error()};
}

// Checks that two functions refuse with the same code, and returns the first result.
Status alike(const Status& first, const Status& second) {
  EXPECT_TRUE(!first && !second && first.error().code == second.error().code)
      << (first ? "succeeded" : first.error().message) << "\n"
      << (second ? "succeeded" : second.error().message);
  return first;
}

Result<cuda_tests::DeviceFrequencies> uploaded(const Frequencies& frequencies) {
  const rotary_frequencies handle{frequencies};
  rotary_cuda_frequencies* made = nullptr;
  if (auto status = status_of(rotary_cuda_frequencies_make(&handle, &made)); !status)
    return std::move(status).error();
  return cuda_tests::DeviceFrequencies(made);
}

// Position 9 for every token, and frequencies for the rotations' window.
class At {
 public:
  explicit At(const Rotations& rotations)
      : At(rotations.window(), rotations.batch(), rotations.tokens()) {}
  At(const HeadWindow& window, std::int64_t batch, std::int64_t tokens)
      : frequencies_(*uploaded(frequencies_of(window))),
        positions_(struct_of(Positions(TokenArray<std::int64_t>{.data = &number_,
                                                                .batch = batch,
                                                                .tokens = tokens,
                                                                .batch_stride = 1,
                                                                .token_stride = 0}))) {
    at_.frequencies = frequencies_.get();
    at_.positions = &positions_;
  }
  At(const At&) = delete;
  At& operator=(const At&) = delete;
  ~At() = default;

  [[nodiscard]] const rotary_cuda_at* get() const { return &at_; }

 private:
  std::int64_t number_ = 9;
  cuda_tests::DeviceFrequencies frequencies_;
  rotary_positions positions_;
  rotary_cuda_at at_ = ROTARY_CUDA_AT_INIT;
};

rotary_cos_sin struct_of_rows(const CosSinView& from) {
  rotary_cos_sin to = ROTARY_COS_SIN_INIT;
  to.cos = from.cos;
  to.sin = from.sin;
  to.dtype = static_cast<std::int32_t>(from.dtype);
  to.batch = from.batch;
  to.tokens = from.tokens;
  to.batch_stride = from.batch_stride;
  to.token_stride = from.token_stride;
  to.pair_stride = from.pair_stride;
  to.attention_factor = from.attention_factor;
  return to;
}

rotary_cos_sin rows_of(const Rotations& rotations) {
  const std::int64_t row = rotations.row_stride();
  return struct_of_rows({.cos = rotations.cos(0, 0).data(),
                         .sin = rotations.sin(0, 0).data(),
                         .dtype = DType::f32,
                         .batch = rotations.batch(),
                         .tokens = rotations.tokens(),
                         .batch_stride = rotations.tokens() * row,
                         .token_stride = row,
                         .attention_factor = rotations.attention_factor()});
}

// The struct for heads or for a cache.
template <class Tensors>
class Kv {
 public:
  explicit Kv(const Tensors& from) : k_(struct_of(from.k)) {
    if (from.v) v_ = struct_of(*from.v);
    kv_ = cuda_tests::kv_of(k_, from.v ? &v_ : nullptr);
  }
  Kv(const Kv&) = delete;
  Kv& operator=(const Kv&) = delete;
  ~Kv() = default;

  [[nodiscard]] const rotary_kv* get() const { return &kv_; }

 private:
  rotary_heads_view k_;
  rotary_heads_view v_ = ROTARY_HEADS_VIEW_INIT;
  rotary_kv kv_ = ROTARY_KV_INIT;
};

}  // namespace

Status called::rotate(const HeadsView& dst, const ConstHeadsView& src, const Rotations& rotations,
                      const RotateOptions& options) {
  const At at(rotations);
  const auto to = struct_of(dst), from = struct_of(src);
  const auto window = struct_of(rotations.window());
  const auto rows = rows_of(rotations);
  const auto how = cuda_tests::options_of(options.direction);
  return alike(status_of(rotary_cuda_rotate(&to, &from, at.get(), &how)),
               status_of(rotary_cuda_rotate_by_rows(&to, &from, &window, &rows, &how)));
}

Status called::rotate_qk(const HeadsView& q, const HeadsView& k, const Rotations& rotations) {
  const At at(rotations);
  const auto of_q = struct_of(q), of_k = struct_of(k);
  return status_of(rotary_cuda_rotate_qk(&of_q, &of_k, at.get(), nullptr));
}

Status called::append(const KvCache& cache, const KvHeads& heads, const Slots& slots,
                      const AppendOptions& options) {
  const Rotations& rotations = *options.rotations;
  const At at(rotations);
  const Kv to(cache);
  const Kv from(heads);
  const auto map = struct_of(slots);
  rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
  rotary_cuda_norms norms = ROTARY_CUDA_NORMS_INIT;
  if (options.k_norm) {
    const HeadNorm& given = options.k_norm->norm;
    norm.weight = given.weight.data();
    norm.weight_count = given.weight.size();
    norm.weight_offset = given.weight_offset;
    norm.epsilon = given.epsilon;
    norm.over = static_cast<std::int32_t>(given.over);
    norms.k = &norm;
    norms.order = static_cast<std::int32_t>(options.k_norm->order);
  }
  Tensor q = random_tensor({.extents = {.batch = 2,
                                        .tokens = rotations.tokens(),
                                        .heads = 1,
                                        .features = rotations.window().head_dim}},
                           77);
  const auto bytes = q.bytes();
  const auto of_q = struct_of(q.view());
  rotary_cuda_step step = ROTARY_CUDA_STEP_INIT;
  step.q = step.q_out = &of_q;
  step.heads = from.get();
  step.cache = to.get();
  step.slots = &map;
  step.norms = &norms;
  const Status alone =
      status_of(rotary_cuda_append(to.get(), from.get(), &map, at.get(), &norms, nullptr));
  const Status with_q = status_of(rotary_cuda_prepare_attention(&step, at.get(), nullptr));
  EXPECT_EQ(q.bytes(), bytes) << "q has been written";
  return alike(alone, with_q);
}

Status called::shift(const HeadsView& keys, const RotatedAt& from, const RotatedAt& to) {
  const auto view = struct_of(keys);
  const auto before = struct_of(from.positions), after = struct_of(to.positions);
  const auto of_before = uploaded(from.frequencies), of_after = uploaded(to.frequencies);
  if (!of_before) return Error{of_before.error().code, "from: " + of_before.error().message};
  if (!of_after) return Error{of_after.error().code, "to: " + of_after.error().message};
  rotary_cuda_at old_at = ROTARY_CUDA_AT_INIT, new_at = ROTARY_CUDA_AT_INIT;
  old_at.frequencies = of_before->get();
  old_at.positions = &before;
  new_at.frequencies = of_after->get();
  new_at.positions = &after;
  return status_of(rotary_cuda_shift(&view, &old_at, &new_at, nullptr));
}

// Passes the view as rows to write and as rows to rotate by. Rows are f32 here, so f64 becomes f32.
Status called::rows(const HeadWindow& window, const CosSinView& view) {
  rotary_cos_sin rows = struct_of_rows(view);
  if (view.dtype == DType::f64) rows.dtype = ROTARY_F32;
  const At at(window, std::max<std::int64_t>(view.batch, 1),
              std::max<std::int64_t>(view.tokens, 0));
  const auto none =
      struct_of(HeadsView{.dtype = DType::f32, .extents = {1, 0, 1, window.head_dim}});
  const auto within = struct_of(window);
  return alike(status_of(rotary_cuda_rows(&rows, at.get(), nullptr)),
               status_of(rotary_cuda_rotate_by_rows(&none, &none, &within, &rows, nullptr)));
}

}  // namespace rotary::test
