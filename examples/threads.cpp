// SPDX-License-Identifier: Apache-2.0
// Rotates packed documents, each with positions from 0, on a pool of threads. One thread must give
// the same bits.
// Run: threads
#include "rotary/threads.hpp"

#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main() {
  std::vector<std::int64_t> positions;  // [tokens]: three documents in one sequence
  for (const std::size_t length : {700U, 1300U, 48U}) {
    positions.resize(positions.size() + length);
    std::iota(positions.end() - static_cast<std::ptrdiff_t>(length), positions.end(), 0);
  }
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = 128, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return report(frequencies.error().message);
  const auto rotations = make_rotations(*frequencies, rotary::positions_of(positions));
  if (!rotations) return report(rotations.error().message);
  const auto threads = rotary::Threads::start(4);
  if (!threads) return report(threads.error().message);

  // [tokens, heads, head_dim], out of place
  const rotary::Extents extents{.tokens = rotations->tokens(), .heads = 8, .features = 128};
  const auto strides = strides_bthd(extents);
  std::vector<float> q(static_cast<std::size_t>(strides.batch));
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 61) / 32 - 1;
  std::vector<float> together(q.size());
  std::vector<float> alone(q.size());
  const rotary::ConstHeadsView from{q.data(), rotary::DType::f32, extents, strides};
  for (auto [values, executor] :
       {std::pair{&together, threads->executor()}, std::pair{&alone, rotary::Executor{}}}) {
    const auto status = rotate({values->data(), rotary::DType::f32, extents, strides}, from,
                               *rotations, {.executor = executor});
    if (!status) return report(status.error().message);
  }
  const bool same = std::memcmp(together.data(), alone.data(), q.size() * sizeof(float)) == 0;
  std::printf("%zu tokens: 4 threads and 1 give %s bits\n", positions.size(),
              same ? "the same" : "other");
  return same ? 0 : 1;
}
