// SPDX-License-Identifier: Apache-2.0
// Times the kernels of attention alone, beside the limits of the machine's multipliers and memory.
// For work on the kernels, without reference and public API. Not a test. Usage: rotary_attend_speed
// [seconds for each line] [instruction set]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <string_view>
#include <vector>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/kernels.hpp"

namespace rotary::kernels {
namespace {

constexpr std::int64_t head_dim = 64;
constexpr std::int64_t heads = 8;
constexpr float log2_e = std::numbers::log2e_v<float>;

class Floats {
 public:
  explicit Floats(std::int64_t count)
      : data_(static_cast<float*>(std::aligned_alloc(
            attend_alignment, static_cast<std::size_t>(rounded_up(count * 4 + 64, 64))))) {
    std::fill_n(data_.get(), count, 0.0F);
  }
  float* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  std::unique_ptr<float[], Free> data_;
};

double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

std::vector<double> interleaved_minima(const std::vector<std::function<void()>>& contenders,
                                       double seconds) {
  std::vector<double> least(contenders.size(), std::numeric_limits<double>::infinity());
  const double end = now_ns() + 1e9 * seconds;
  for (int round = 0; round < 5 || now_ns() < end; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const double start = now_ns();
      contenders[i]();
      least[i] = std::min(least[i], now_ns() - start);
    }
  }
  return least;
}

// 512 bits. Inline assembly, so that nothing is folded.
using Wide = float __attribute__((vector_size(64)));

constexpr int peak_steps = 20000;
constexpr double peak_operations = 2.0 * 16 * 16 * peak_steps;
volatile float sink;

// Eight independent sums.
void multiply_and_add_512() {
  for (int step = 0; step < 2 * peak_steps; ++step) {
    asm volatile(
        "vfmadd231ps %%zmm15, %%zmm15, %%zmm0\n\t"
        "vfmadd231ps %%zmm15, %%zmm15, %%zmm1\n\t"
        "vfmadd231ps %%zmm15, %%zmm15, %%zmm2\n\t"
        "vfmadd231ps %%zmm15, %%zmm15, %%zmm3\n\t"
        "vfmadd231ps %%zmm15, %%zmm15, %%zmm4\n\t"
        "vfmadd231ps %%zmm15, %%zmm15, %%zmm5\n\t"
        "vfmadd231ps %%zmm15, %%zmm15, %%zmm6\n\t"
        "vfmadd231ps %%zmm15, %%zmm15, %%zmm7\n\t"
        :
        :
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm15");
  }
}

void multiply_and_add_256() {
  for (int step = 0; step < 4 * peak_steps; ++step) {
    asm volatile(
        "vfmadd231ps %%ymm15, %%ymm15, %%ymm0\n\t"
        "vfmadd231ps %%ymm15, %%ymm15, %%ymm1\n\t"
        "vfmadd231ps %%ymm15, %%ymm15, %%ymm2\n\t"
        "vfmadd231ps %%ymm15, %%ymm15, %%ymm3\n\t"
        "vfmadd231ps %%ymm15, %%ymm15, %%ymm4\n\t"
        "vfmadd231ps %%ymm15, %%ymm15, %%ymm5\n\t"
        "vfmadd231ps %%ymm15, %%ymm15, %%ymm6\n\t"
        "vfmadd231ps %%ymm15, %%ymm15, %%ymm7\n\t"
        :
        :
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm15");
  }
}

// Reads the bytes as fast as one thread can.
[[gnu::target("avx512f")]] void read_512(const float* data, std::int64_t floats) {
  Wide sums[4] = {};
  for (std::int64_t i = 0; i < floats; i += 64) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      asm volatile("vorps %1, %0, %0"
                   : "+v"(sums[v])
                   : "m"(*reinterpret_cast<const Wide*>(data + i + 16 * v)));
    }
  }
  for (const auto& sum : sums) sink = sum[0];
}

enum class Encoding { none, rope, alibi, toeplitz };

// Causal attention of [heads][tokens][head_dim], as a caller of the kernels would write it.
class Prefill {
 public:
  Prefill(const KernelTable& table, std::int64_t tokens)
      : table_(table),
        n_(tokens),
        q_(size()),
        k_(size()),
        v_(size()),
        out_(size()),
        rows_(tokens * head_dim),
        bias_(heads * (2 * tokens + 4 * keys_of_panel)) {
    std::uint32_t state = 1;
    for (float* data : {q_.get(), k_.get(), v_.get()}) {
      for (std::int64_t i = 0; i < size(); ++i) {
        state = state * 1664525U + 1013904223U;
        data[i] = static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;
      }
    }
    std::fill_n(rows_.get(), tokens * head_dim, std::sqrt(0.5F));
  }

  void run(Encoding encoding) {
    HeadRotation rotation;
    if (encoding == Encoding::rope) {
      rotation = {.order = PairOrder::half,
                  .rows = rows_.get(),
                  .row_stride = head_dim,
                  .lane_stride = head_dim / 2,
                  .pairs = head_dim / 2};
    }
    for (std::int64_t h = 0; h < heads; ++h) {
      pack(h * n_ * head_dim, rotation);
      const float* const bias = bias_of(encoding, h);
      for (std::int64_t first = 0; first < n_; first += tile_rows) {
        attend_tile(h * n_ * head_dim, first, rotation, bias);
      }
    }
  }

  double operations() const {
    const auto n = static_cast<double>(n_);
    return 4.0 * head_dim * heads * n * (n + 1) / 2;
  }

 private:
  static constexpr std::int64_t tile_rows = 96;

  std::int64_t size() const { return heads * n_ * head_dim; }

  std::int64_t bias_count() const { return n_ + tile_rows + 2 * keys_of_panel; }

  // Entry i is of distance key - query = i - keys_of_panel - n. Null: no bias.
  const float* bias_of(Encoding encoding, std::int64_t head) {
    float* const bias = bias_.get() + head * bias_count();
    const float slope = std::exp2(-static_cast<float>(head + 1)) * log2_e;
    for (std::int64_t i = 0; i < bias_count(); ++i) {
      if (encoding == Encoding::alibi) bias[i] = slope * static_cast<float>(i - keys_of_panel - n_);
      if (encoding == Encoding::toeplitz) bias[i] = static_cast<float>(i % 37) * 0.1F;
    }
    return encoding == Encoding::alibi || encoding == Encoding::toeplitz ? bias : nullptr;
  }

  void attend_tile(std::int64_t at, std::int64_t first, HeadRotation rotation, const float* bias) {
    const AttendKernels& kernels = *table_.attend;
    const std::int64_t rows = std::min(tile_rows, n_ - first);
    rotation.rows += first * rotation.row_stride;
    for (std::int64_t r = 0; r < rows; ++r) {
      heads_[r] = q_.get() + at + (first + r) * head_dim;
      out_heads_[r] = out_.get() + at + (first + r) * head_dim;
      scales_[r] = 0.125F * log2_e;
      limits_[r] = {.first_key = 0,
                    .end_key = first + r + 1,
                    .bias = bias,
                    .bias_of_key_0 = keys_of_panel + n_ - (first + r),
                    .bias_count = bias_count()};
    }
    kernels.f32.load_queries({.heads = heads_,
                              .rows = rows,
                              .head_dim = head_dim,
                              .rotation = rotation,
                              .scales = scales_,
                              .loaded = loaded_.get(),
                              .packed = packed_q_.get()});
    const SoftmaxState softmax{max_.get(), sum_.get(), sums_.get()};
    std::fill_n(max_.get(), rows, -std::numeric_limits<float>::infinity());
    std::fill_n(sum_.get(), rows, 0.0F);
    std::fill_n(sums_.get(), rows * head_dim, 0.0F);
    kernels.accumulate({.queries = packed_q_.get(),
                        .limits = limits_,
                        .rows = rows,
                        .head_dim = head_dim,
                        .features = head_dim,
                        .keys = packed_k_.get(),
                        .values = packed_v_.get(),
                        .first_key = 0,
                        .count = first + rows,
                        .state = softmax,
                        .scratch = scratch_.get()});
    kernels.f32.finish({.state = softmax, .rows = rows, .features = head_dim, .heads = out_heads_});
  }

  void pack(std::int64_t at, const HeadRotation& rotation) {
    const void* rows[keys_of_tile];
    for (const bool keys : {true, false}) {
      for (std::int64_t first = 0; first < n_; first += keys_of_tile) {
        const std::int64_t count = std::min(keys_of_tile, n_ - first);
        for (std::int64_t i = 0; i < count; ++i) {
          rows[i] = (keys ? k_ : v_).get() + at + (first + i) * head_dim;
        }
        PackJob job{.heads = rows,
                    .first = first,
                    .count = count,
                    .features = head_dim,
                    .rotation = {},
                    .packed = (keys ? packed_k_ : packed_v_).get(),
                    .scratch = scratch_.get()};
        if (keys) {
          job.rotation = rotation;
          job.rotation.rows += first * rotation.row_stride;
          table_.attend->f32.pack_keys(job);
        } else {
          table_.attend->f32.pack_values(job);
        }
      }
    }
  }

  const KernelTable& table_;
  std::int64_t n_;
  Floats q_, k_, v_, out_, rows_, bias_;
  Floats packed_k_{packed_keys_size(n_, head_dim)};
  Floats packed_v_{packed_values_size(n_, head_dim)};
  Floats loaded_{loaded_queries_size(tile_rows, head_dim)};
  Floats packed_q_{packed_queries_size(tile_rows, head_dim)};
  Floats scratch_{std::max(accumulate_scratch_size, pack_scratch_size(head_dim))};
  Floats max_{tile_rows}, sum_{tile_rows}, sums_{tile_rows * head_dim};
  const void* heads_[tile_rows];
  void* out_heads_[tile_rows];
  float scales_[tile_rows];
  RowLimits limits_[tile_rows];
};

// One token of `group` query heads for each of 8 kv heads, [heads][keys][head_dim].
class Decode {
 public:
  Decode(const KernelTable& table, std::int64_t keys, std::int64_t group, bool bf16)
      : table_(table),
        n_(keys),
        group_(group),
        bf16_(bf16),
        k_(heads * keys * head_dim / (bf16 ? 2 : 1)),
        v_(heads * keys * head_dim / (bf16 ? 2 : 1)),
        loaded_(loaded_queries_size(group, head_dim)),
        scratch_(stream_scratch_size(group, head_dim)),
        max_(group),
        sum_(group),
        sums_(group * head_dim) {
    std::fill_n(loaded_.get(), group * head_dim, 0.01F);
  }

  double bytes() const {
    return 2.0 * static_cast<double>(heads * n_ * head_dim) * (bf16_ ? 2 : 4);
  }

  void run() {
    const std::int64_t bytes = head_dim * (bf16_ ? 2 : 4);
    const AttendTypeKernels& kernels = bf16_ ? table_.attend->bf16 : table_.attend->f32;
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto* const k = reinterpret_cast<const char*>(k_.get()) + h * n_ * bytes;
      const auto* const v = reinterpret_cast<const char*>(v_.get()) + h * n_ * bytes;
      for (std::int64_t r = 0; r < group_; ++r) {
        limits_[r] = {
            .first_key = 0, .end_key = n_, .bias = nullptr, .bias_of_key_0 = 0, .bias_count = 0};
      }
      const SoftmaxState softmax{max_.get(), sum_.get(), sums_.get()};
      std::fill_n(max_.get(), group_, -std::numeric_limits<float>::infinity());
      std::fill_n(sum_.get(), group_, 0.0F);
      std::fill_n(sums_.get(), group_ * head_dim, 0.0F);
      for (std::int64_t first = 0; first < n_; first += chunk) {
        const std::int64_t count = std::min(chunk, n_ - first);
        const void* const keys = k + first * bytes;
        const void* const values = v + first * bytes;
        kernels.stream({.queries = loaded_.get(),
                        .limits = limits_,
                        .rows = group_,
                        .head_dim = head_dim,
                        .features = head_dim,
                        .keys = {&keys, count, head_dim, 0, n_ - first},
                        .rotation = {},
                        .values = {&values, count, head_dim, 0, n_ - first},
                        .first_key = first,
                        .count = count,
                        .state = softmax,
                        .scratch = scratch_.get()});
      }
      sink = sums_.get()[0];
    }
  }

  void read() const {
    const std::int64_t floats = heads * n_ * head_dim / (bf16_ ? 2 : 1);
    read_512(k_.get(), floats);
    read_512(v_.get(), floats);
  }

 private:
  static constexpr std::int64_t chunk = 4096;
  const KernelTable& table_;
  std::int64_t n_, group_;
  bool bf16_;
  Floats k_, v_;
  Floats loaded_, scratch_, max_, sum_, sums_;
  RowLimits limits_[16];
};

int run(double seconds, std::string_view wanted, std::int64_t decode_keys) {
  for (const KernelTable* table : supported_tables()) {
    if (!wanted.empty() && wanted != table->instruction_set()) continue;
    std::printf("%s\n", table->instruction_set());
    const bool wide = std::string_view(table->instruction_set()).starts_with("AVX3");
    for (const std::int64_t n : {512, 1024, 2048, 4096, 8192}) {
      if (decode_keys != 32768) continue;
      Prefill prefill(*table, n);
      const auto times = interleaved_minima(
          {wide ? multiply_and_add_512 : multiply_and_add_256, [&] { prefill.run(Encoding::none); },
           [&] { prefill.run(Encoding::rope); }, [&] { prefill.run(Encoding::alibi); },
           [&] { prefill.run(Encoding::toeplitz); }},
          seconds);
      const double peak = peak_operations / times[0];
      std::printf(
          "N %5lld  peak %.0f GF/s  none %.2f ms, %.1f %% of peak  rope %.3f  alibi %.3f"
          "  toeplitz %.3f\n",
          static_cast<long long>(n), peak, times[1] * 1e-6,
          100 * prefill.operations() / times[1] / peak, times[2] / times[1], times[3] / times[1],
          times[4] / times[1]);
      std::fflush(stdout);
    }
    for (const bool bf16 : {false, true}) {
      for (const std::int64_t group : {1, 4, 8}) {
        Decode decode(*table, decode_keys, group, bf16);
        const auto times =
            interleaved_minima({[&] { decode.read(); }, [&] { decode.run(); }}, seconds);
        std::printf("decode %s group %lld: read %.1f GB/s, %.1f %% of it\n", bf16 ? "bf16" : "f32",
                    static_cast<long long>(group), decode.bytes() / times[0],
                    100 * times[0] / times[1]);
        std::fflush(stdout);
      }
    }
    if (wanted.empty()) break;
  }
  return 0;
}

}  // namespace
}  // namespace rotary::kernels

int main(int argc, char** argv) {
  return rotary::kernels::run(argc > 1 ? std::atof(argv[1]) : 1, argc > 2 ? argv[2] : "",
                              argc > 3 ? std::atoll(argv[3]) : 32768);
}
