// SPDX-License-Identifier: Apache-2.0
// Attention over two documents packed in one row. 4 query heads share 2 key heads. Each document's
// positions start at 0. attend() rotates q and k. Its output is compared with double arithmetic.
// Run: attention
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

constexpr std::int64_t heads = 4, kv_heads = 2, head_dim = 32, half = head_dim / 2;
constexpr double base = 10000;
const double scale = 1 / std::sqrt(double{head_dim});

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// [tokens, heads, head_dim], the layout of a projection.
struct Tensor {
  Tensor(std::int64_t tokens, std::int64_t of_heads)
      : extents{.tokens = tokens, .heads = of_heads, .features = head_dim},
        numbers(static_cast<std::size_t>(tokens * of_heads * head_dim)) {}

  [[nodiscard]] rotary::HeadsView view() {
    return {numbers.data(), rotary::DType::f32, extents, strides_bthd(extents)};
  }
  [[nodiscard]] const float* head(std::int64_t token, std::int64_t index) const {
    return numbers.data() + (token * extents.heads + index) * head_dim;
  }

  rotary::Extents extents;
  std::vector<float> numbers;
};

// A query's score for the key `distance` tokens before it. Each rotated pair adds the real part of
// q conj(k) e^(i distance frequency), so positions matter only by distance.
double score(const float* q, const float* k, std::int64_t distance) {
  double sum = 0;
  for (std::int64_t i = 0; i < half; ++i) {
    const double angle =
        static_cast<double>(distance) * std::pow(base, -2.0 * static_cast<double>(i) / head_dim);
    sum += std::real(std::complex<double>(q[i], q[i + half]) *
                     std::conj(std::complex<double>(k[i], k[i + half])) * std::polar(1.0, angle));
  }
  return scale * sum;
}

// One feature of softmax(scores) v, for a query that sees tokens first, first + 1, …, token.
double expected(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t first,
                std::int64_t token, std::int64_t head, std::int64_t feature) {
  const std::int64_t kv_head = head / (heads / kv_heads);
  double weights = 0, sum = 0;
  for (std::int64_t key = first; key <= token; ++key) {
    const double weight = std::exp(score(q.head(token, head), k.head(key, kv_head), token - key));
    weights += weight;
    sum += weight * v.head(key, kv_head)[feature];
  }
  return sum / weights;
}

}  // namespace

int main() {
  std::mt19937 generator(7);
  Tensor q(8, heads), k(8, kv_heads), v(8, kv_heads), out(8, heads);
  for (Tensor* tensor : {&q, &k, &v})
    for (float& x : tensor->numbers) x = static_cast<float>(generator() >> 16) / 32768 - 1;

  const auto frequencies = rotary::make_frequencies(
      {.head_dim = head_dim, .base = base, .pairing = rotary::Pairing::half});
  if (!frequencies) return report(frequencies.error().message);
  const std::vector<std::int32_t> positions = {0, 1, 2, 3, 4, 0, 1, 2};
  const auto rotations = make_rotations(*frequencies, rotary::positions_of(positions));
  if (!rotations) return report(rotations.error().message);

  // In other libraries: cu_seqlens 0, 5, 8.
  const std::array<rotary::AttentionSequence, 2> documents = {{
      {.first_query = 0, .queries = 5, .first_key = 0, .keys = 5},
      {.first_query = 5, .queries = 3, .first_key = 5, .keys = 3},
  }};
  const rotary::AttendOptions options{
      .scale = scale,
      .mask = {.order = rotary::AttentionOrder::causal},
      .encoding = {.q_rotations = &*rotations, .k_rotations = &*rotations},
      .sequences = documents};
  if (auto status = attend(out.view(), q.view(), k.view(), v.view(), options); !status)
    return report(status.error().message);

  double farthest = 0;
  for (std::int64_t token = 0; token < 8; ++token) {
    const std::int64_t first = token < 5 ? 0 : 5;
    for (std::int64_t i = 0; i < heads * head_dim; ++i) {
      const double wanted = expected(q, k, v, first, token, i / head_dim, i % head_dim);
      farthest = std::max(farthest, std::abs(double{out.head(token, 0)[i]} - wanted));
    }
    std::printf("document %d, position %d: %7.4f %7.4f %7.4f …\n", token < 5 ? 0 : 1,
                static_cast<int>(token - first), double{out.head(token, 0)[0]},
                double{out.head(token, 0)[1]}, double{out.head(token, 0)[2]});
  }
  const bool same = farthest < 1e-6;
  std::printf("%s\n", same ? "equal to the definition" : "not equal to the definition");
  return same ? 0 : 1;
}
