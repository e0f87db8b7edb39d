// SPDX-License-Identifier: Apache-2.0
// Fused QKV, QK-norm, rotation and append in one call, with q or without, compared with separate
// CPU calls. Heads with a norm must be within the error bounds. All other heads must have equal
// bits.
#include <cmath>
#include <numbers>

#include "cases.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::cuda_tests {
namespace {

// Compares a tensor on the device and on the host. Each may be off by the bound of a normalised,
// rotated pair. The bound is tripled, because gains of a head differ by a factor below 3. So the
// tolerance is twice the tripled bound, plus one unit of bf16 or f16.
void expect_close(const Tensor& tensor, DType dtype, const char* what) {
  const test::Tensor got = tensor.from_device();
  const test::Tensor& wanted = tensor.on_host();
  const double unit = dtype == DType::f32 ? 0 : dtype == DType::bf16 ? 0x1p-7 : 0x1p-10;
  constexpr double floats =
      3 * 2 * (normalize_error_bound + (1 + std::numbers::sqrt2) * 4) * 0x1p-24;
  const std::int64_t features = wanted.extents().features;
  Extents heads = wanted.extents();
  heads.features = 1;
  test::for_each_element(heads, [&](const test::HeadIndex& at, std::int64_t) {
    double squares = 0;
    for (std::int64_t f = 0; f < features; ++f) squares += std::pow(wanted.at(at, f), 2);
    for (std::int64_t f = 0; f < features; ++f) {
      const double a = got.at(at, f), e = wanted.at(at, f);
      ASSERT_LE(std::abs(a - e), floats * std::sqrt(squares) + unit * std::abs(e))
          << what << " at " << at.batch << ", " << at.token << ", " << at.head << ", " << f << ": "
          << a << " and " << e;
    }
  });
}

struct WeightsCase {
  std::vector<float> numbers;
  std::unique_ptr<Bytes> memory;
  HeadNorm host;
  rotary_head_norm device = ROTARY_HEAD_NORM_INIT;
};

WeightsCase random_norm(Random& random, std::int64_t heads, std::int64_t features, bool over_all) {
  WeightsCase made;
  const bool weighted = one_of(random, 0, 3) != 0;
  if (weighted) {
    made.numbers.resize(static_cast<std::size_t>(over_all ? heads * features : features));
    for (float& each : made.numbers) each = static_cast<float>(0.5 + 0.75 * random.unit());
  }
  made.memory = std::make_unique<Bytes>(made.numbers);
  const double offset = weighted && one_of(random, 0, 1) == 0 ? 1 : 0;
  made.host = {.weight = made.numbers,
               .weight_offset = offset,
               .epsilon = 1e-6,
               .over = over_all ? NormOver::all_heads : NormOver::each_head};
  made.device.weight = weighted ? reinterpret_cast<const float*>(made.memory->device()) : nullptr;
  made.device.weight_count = made.numbers.size();
  made.device.weight_offset = offset;
  made.device.epsilon = 1e-6;
  made.device.over = static_cast<std::int32_t>(made.host.over);
  return made;
}

// One random call: rotary_cuda_prepare_attention or, without q, rotary_cuda_append. The number of
// q's heads is a multiple of k's.
class Preparing {
 public:
  explicit Preparing(Random& random)
      : of_(random_append(random)),
        with_q_(one_of(random, 0, 2) != 0),
        with_norms_(one_of(random, 0, 1) != 0),
        over_all_(one_of(random, 0, 1) == 0),
        order_(one_of(random, {NormOrder::before_rotation, NormOrder::after_rotation})),
        dtype_(one_of(random, all_dtypes)),
        stored_(dtype_ == DType::f32 ? one_of(random, all_dtypes) : dtype_),
        v_stored_(dtype_ == DType::f32 ? one_of(random, all_dtypes) : dtype_),
        q_heads_(of_.shape.heads * one_of(random, 1, 4)),
        frequencies_(random_frequencies(random, of_.window)),
        fused_(random, dtype_, fused_extents(), Layout::bthd),
        q_out_(random, dtype_,
               extents_of({of_.shape.batch, of_.shape.tokens, q_heads_}, head_dim()),
               one_of(random, cache_layouts)),
        k_cache_(random, stored_, of_.cache, one_of(random, cache_layouts)),
        v_cache_(random, v_stored_, v_extents(), one_of(random, cache_layouts)),
        positions_(random_positions(random, frequencies_, of_.shape.batch, of_.shape.tokens)),
        contiguous_(one_of(random, 0, 2) == 0),
        paged_(random_slots(random, of_.shape, of_.cache.batch * of_.cache.tokens)),
        q_norm_(random_norm(random, q_heads_, head_dim(), over_all_)),
        k_norm_(random_norm(random, of_.shape.heads, head_dim(), over_all_)) {}

  // Treats q_out as a cache: append() normalises and rotates q into it, with one rounding.
  void on_the_cpu() {
    const auto rotations = make_rotations(frequencies_.host(), positions_.host());
    ASSERT_TRUE(rotations);
    if (with_q_) {
      const auto of_q =
          append({.k = q_out_.host()}, {.k = part(fused_.host(), 0, q_heads_, head_dim())},
                 ConsecutiveSlots{}, options(q_norm_, *rotations));
      ASSERT_TRUE(of_q) << of_q.error().message;
    }
    const auto of_kv = append(
        KvCache{k_cache_.host(), v_cache_.host()},
        KvHeads{part(fused_.host(), k_first(), of_.shape.heads, head_dim()),
                part(fused_.host(), v_first(), of_.shape.heads, of_.v_features)},
        contiguous_ ? Slots(ConsecutiveSlots{}) : paged_.slots(), options(k_norm_, *rotations));
    ASSERT_TRUE(of_kv) << of_kv.error().message;
  }

  void on_the_device() {
    const auto positions = positions_.device();
    const auto at = at_of(frequencies_, positions);
    const HeadsView fused = fused_.on_device();
    const auto q = struct_of(part(fused, 0, q_heads_, head_dim()));
    const auto k = struct_of(part(fused, k_first(), of_.shape.heads, head_dim()));
    const auto v = struct_of(part(fused, v_first(), of_.shape.heads, of_.v_features));
    const auto q_to = q_out_.device(), k_to = k_cache_.device(), v_to = v_cache_.device();
    const rotary_kv heads = kv_of(k, &v);
    const rotary_kv cache = kv_of(k_to, &v_to);
    const rotary_slots from_0 = ROTARY_SLOTS_INIT;
    const rotary_slots slots = contiguous_ ? from_0 : paged_.device_slots();
    rotary_cuda_norms norms = ROTARY_CUDA_NORMS_INIT;
    norms.k = &k_norm_.device;
    norms.order = static_cast<std::int32_t>(order_);
    if (!with_q_) {
      expect_ok(
          rotary_cuda_append(&cache, &heads, &slots, &at, with_norms_ ? &norms : nullptr, nullptr));
      return;
    }
    norms.q = &q_norm_.device;
    rotary_cuda_step step = ROTARY_CUDA_STEP_INIT;
    step.q = &q;
    step.q_out = &q_to;
    step.heads = &heads;
    step.cache = &cache;
    step.slots = &slots;
    step.norms = with_norms_ ? &norms : nullptr;
    expect_ok(rotary_cuda_prepare_attention(&step, &at, nullptr));
  }

  void compare() {
    ASSERT_TRUE(fused_.agree());
    ASSERT_TRUE(v_cache_.agree());
    if (with_norms_) {
      expect_close(q_out_, dtype_, "q");
      expect_close(k_cache_, stored_, "k");
      return;
    }
    ASSERT_TRUE(q_out_.agree());
    ASSERT_TRUE(k_cache_.agree());
  }

  [[nodiscard]] std::string words() const {
    return testing::PrintToString(with_q_) + " q, " + testing::PrintToString(with_norms_) +
           " norms over all " + testing::PrintToString(over_all_) + ", order " +
           std::to_string(static_cast<int>(order_)) + ", head_dim " + std::to_string(head_dim()) +
           ", " + std::string(to_string(dtype_)) + " to " + std::string(to_string(stored_)) +
           " and " + std::string(to_string(v_stored_));
  }

 private:
  [[nodiscard]] std::int64_t head_dim() const { return of_.window.head_dim; }
  [[nodiscard]] std::int64_t k_first() const { return q_heads_ * head_dim(); }
  [[nodiscard]] std::int64_t v_first() const { return k_first() + of_.shape.heads * head_dim(); }
  // One buffer [tokens][q, k, v] with three views.
  [[nodiscard]] Extents fused_extents() const {
    return {of_.shape.batch, of_.shape.tokens, 1, v_first() + of_.shape.heads * of_.v_features};
  }
  [[nodiscard]] Extents v_extents() const {
    Extents extents = of_.cache;
    extents.features = of_.v_features;
    return extents;
  }
  [[nodiscard]] HeadsView part(HeadsView view, std::int64_t first, std::int64_t heads,
                               std::int64_t features) const {
    view.data = static_cast<std::byte*>(view.data) + first * size_in_bytes(dtype_);
    view.extents.heads = heads;
    view.extents.features = features;
    view.strides.head = features;
    return view;
  }
  [[nodiscard]] AppendOptions options(const WeightsCase& norm, const Rotations& rotations) const {
    AppendOptions made{.rotations = &rotations};
    if (with_norms_) made.k_norm = KeyNorm{norm.host, order_};
    return made;
  }

  AppendShape of_;
  bool with_q_;
  bool with_norms_;
  bool over_all_;
  NormOrder order_;
  DType dtype_;
  DType stored_;
  DType v_stored_;
  std::int64_t q_heads_;
  BothFrequencies frequencies_;
  Tensor fused_;
  Tensor q_out_;
  Tensor k_cache_;
  Tensor v_cache_;
  Numbers positions_;
  bool contiguous_;
  Numbers paged_;
  WeightsCase q_norm_;
  WeightsCase k_norm_;
};

TEST_F(Cuda, PrepareAttentionAndAppendMatchSeparateCalls) {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    Preparing call(random);
    SCOPED_TRACE("round " + std::to_string(round) + ", " + call.words());
    call.on_the_cpu();
    call.on_the_device();
    call.compare();
    if (HasFatalFailure()) return;
  }
}

// 80 tokens use other kernels than 560 tokens, but must give the same bits.
TEST_F(Cuda, NormsHaveTheSameBitsInShortAndLongCalls) {
  Random random(11);
  constexpr std::int64_t tokens = 560;
  for (const DType dtype : all_dtypes) {
    const Pairing pairing = dtype == DType::bf16 ? Pairing::interleaved : Pairing::half;
    const HeadWindow window = window_of({128, 128, 0}, pairing);
    const BothFrequencies frequencies(window, powers(64, 1e4), 1);
    const WeightsCase weights = random_norm(random, 32, 128, false);
    Tensor keys(random, dtype, {1, tokens, 32, 128}, Layout::bthd);
    Tensor of_many(random, dtype, {1, tokens, 32, 128}, Layout::bthd);
    Tensor of_one(random, dtype, {1, tokens, 32, 128}, Layout::bthd);
    rotary_cuda_norms norms = ROTARY_CUDA_NORMS_INIT;
    norms.k = &weights.device;
    norms.order =
        pairing == Pairing::half ? ROTARY_NORM_BEFORE_ROTATION : ROTARY_NORM_AFTER_ROTATION;
    const auto append = [&](Tensor& cache, std::int64_t first, std::int64_t count) {
      rotary_heads_view from = keys.device();
      from.data = static_cast<std::byte*>(from.data) + first * 4096 * size_in_bytes(dtype);
      from.extents[1] = count;
      const auto positions = consecutive(1000 + first, count);
      const auto at = at_of(frequencies, positions);
      const auto to = cache.device();
      const rotary_kv heads = kv_of(from, nullptr), stored = kv_of(to, nullptr);
      rotary_slots slots = ROTARY_SLOTS_INIT;
      slots.first = first;
      expect_ok(rotary_cuda_append(&stored, &heads, &slots, &at, &norms, nullptr));
    };
    append(of_many, 0, tokens);
    for (std::int64_t first = 0; first < tokens; first += 80) append(of_one, first, 80);
    EXPECT_EQ(of_many.from_device().all_bits(), of_one.from_device().all_bits())
        << to_string(dtype);
  }
}

}  // namespace
}  // namespace rotary::cuda_tests
