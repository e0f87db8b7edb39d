// SPDX-License-Identifier: Apache-2.0
// Shows why positions are not encoded as a plain number or as binary digits. Three requirements:
// (1) Numbers stay in a fixed range. (2) One step changes the vector by the same small amount
// everywhere. (3) A step of Δ is one linear map at every position, so that a layer can learn
// "Δ tokens back".
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rotary/absolute.hpp"

namespace {

constexpr int dim = 16;  // number of binary digits, and of sinusoidal features
using Vector = std::vector<double>;

Vector plain_number(std::int64_t position) { return {static_cast<double>(position)}; }

Vector binary_digits(std::int64_t position) {
  Vector digits(dim);
  for (int bit = 0; bit < dim; ++bit)
    digits[static_cast<std::size_t>(bit)] = (position >> bit & 1) != 0 ? 1 : 0;
  return digits;
}

const rotary::Sinusoidal& encoding() {
  static const auto made = rotary::make_sinusoidal(rotary::transformer_sinusoidal(dim));
  return *made;  // the spec is always valid
}

rotary::TokensView one_token(Vector& values) {
  return {.data = values.data(),
          .dtype = rotary::DType::f64,
          .extents = {.tokens = 1, .features = dim}};
}

Vector sinusoidal(std::int64_t position) {
  Vector values(dim);
  const auto status = rotary::fill_sinusoidal(one_token(values), encoding(),
                                              rotary::ConsecutivePositions{position, 1});
  if (!status) std::puts(status.error().message.c_str());
  return values;
}

double distance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

void show(const char* name, Vector (*encode)(std::int64_t)) {
  double largest = 0;
  double shortest_step = HUGE_VAL;
  double longest_step = 0;
  for (std::int64_t t = 0; t < 4096; ++t) {
    for (const double value : encode(t)) largest = std::fmax(largest, std::fabs(value));
    const double step = distance(encode(t), encode(t + 1));
    shortest_step = std::fmin(shortest_step, step);
    longest_step = std::fmax(longest_step, step);
  }
  std::printf("%-14s largest number %4.0f   one step changes it by %.3f to %.3f\n", name, largest,
              shortest_step, longest_step);
}

// The largest distance between M(Δ) p(t) and p(t + Δ): 0 except for rounding.
double error_of_the_map(std::int64_t by) {
  double farthest = 0;
  for (std::int64_t t = 0; t < 4096; ++t) {
    Vector moved = sinusoidal(t);
    const auto view = one_token(moved);
    const auto status =
        rotary::shift_sinusoidal(view, view, encoding(), rotary::ConsecutivePositions{by, 1});
    if (!status) std::puts(status.error().message.c_str());
    farthest = std::fmax(farthest, distance(moved, sinusoidal(t + by)));
  }
  return farthest;
}

}  // namespace

int main() {
  show("plain number", plain_number);
  show("binary digits", binary_digits);
  show("sinusoidal", sinusoidal);
  // The digits of 0 and 8 are closer to each other than those of the neighbours 7 and 8.
  std::printf("digits of 7 and 8 differ by %.3f, of 0 and 8 by %.3f\n",
              distance(binary_digits(7), binary_digits(8)),
              distance(binary_digits(0), binary_digits(8)));
  std::printf("sinusoids of 7 and 8 by %.3f, of 0 and 8 by %.3f\n",
              distance(sinusoidal(7), sinusoidal(8)), distance(sinusoidal(0), sinusoidal(8)));
  std::printf("one matrix moves every position by 100: %s\n",
              error_of_the_map(100) < 1e-12 ? "sinusoidal" : "none");
  return 0;
}
