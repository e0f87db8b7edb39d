// SPDX-License-Identifier: Apache-2.0
// The main example: reads a model's card, rotates q and k, and verifies every element. Exit codes:
// 0 success, 1 a wrong element, 2 usage, 3 a bad card, 4 no card, 5 unsupported, 70 a failure.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/progress.hpp"
#include "bench/verification.hpp"
#include "rotary/rotary.hpp"

namespace {

using namespace rotary;

constexpr std::int64_t tokens = 4096;
constexpr std::int64_t slice_tokens = 64;  // verified between two updates of the progress
constexpr std::int64_t query_heads = 32;   // as in Llama 3.1 8B
constexpr std::int64_t key_heads = 8;

int fail(const Error& error) {
  fmt::print(stderr, "rotary-start: {}\n", error.message);
  switch (error.code) {
    case ErrorCode::invalid_argument:
      return 2;
    case ErrorCode::malformed_input:
      return 3;
    case ErrorCode::unsupported:
      return 5;
    case ErrorCode::out_of_memory:
      break;
  }
  return 70;
}

ConsecutivePositions slice_at(std::int64_t first) {
  return {.first = first, .tokens = std::min(slice_tokens, tokens - first)};
}

// The angles of each slice. All dtypes share them.
std::vector<reference::AngleRows> angles_of(const Frequencies& frequencies) {
  std::vector<reference::AngleRows> rows;
  cli::Progress progress("computing the reference's angles", tokens);
  for (std::int64_t first = 0; first < tokens; first += slice_tokens) {
    rows.emplace_back(slice_at(first), frequencies.inv_freq);
    progress.advance(slice_tokens);
  }
  return rows;
}

ConstHeadsView tokens_of(ConstHeadsView view, const ConsecutivePositions& positions) {
  view.data = static_cast<const std::byte*>(view.data) +
              positions.first * view.strides.token * size_in_bytes(view.dtype);
  view.extents.tokens = positions.tokens;
  return view;
}

// Rotates q and k in place with the library and compares them with the reference.
Result<bench::Verification> rotate_and_verify(DType dtype, const Frequencies& frequencies,
                                              const std::vector<reference::AngleRows>& angles) {
  const auto tensor_of = [&](std::int64_t heads) {
    bench::Tensor tensor(
        dtype, {.tokens = tokens, .heads = heads, .features = frequencies.window.head_dim},
        bench::Layout::tokens_first);
    tensor.fill(2104'09864);
    return tensor;
  };
  const bench::Tensor q = tensor_of(query_heads);
  const bench::Tensor k = tensor_of(key_heads);
  const bench::Tensor q_before = q.copy();
  const bench::Tensor k_before = k.copy();
  const auto rotations = make_rotations(frequencies, ConsecutivePositions{.tokens = tokens});
  if (!rotations) return rotations.error();
  if (auto status = rotate_qk(q.view(), k.view(), *rotations); !status) {
    return std::move(status).error();
  }
  bench::Verification result;
  cli::Progress progress(fmt::format("verifying {}", to_string(dtype)), tokens);
  std::int64_t first = 0;
  for (const reference::AngleRows& rows : angles) {
    const ConsecutivePositions positions = slice_at(first);
    const bench::ExactRotation exact{
        .frequencies = frequencies, .rows = rows, .positions = positions};
    for (const auto& [before, after] : {std::pair(&q_before, &q), std::pair(&k_before, &k)}) {
      result.merge(verify({.before = tokens_of(before->view(), positions),
                           .after = tokens_of(after->view(), positions)},
                          exact));
    }
    progress.advance(positions.tokens);
    first += positions.tokens;
  }
  return result;
}

void print(DType dtype, const bench::Verification& v) {
  fmt::print(
      "  {:<5}{:>11} elements, {} wrong; largest error {:.6g} units, bound {:.6g} (position {}, "
      "head {}, feature {})\n",
      to_string(dtype), v.elements, v.wrong, v.worst, v.bound, v.worst_position, v.worst_head,
      v.worst_feature);
}

int run(const std::string& card) {
  const auto model = resolve(card);
  if (!model) return fail(model.error());
  const auto frequencies = make_frequencies(model->rotary.front().spec);
  if (!frequencies) return fail(frequencies.error());
  const auto set = instruction_set();
  if (!set) return fail(set.error());
  fmt::print(
      "\nRotating q and k of {} tokens, {}+{} heads x {}, packed [tokens, heads, head_dim], on "
      "{}.\n\nEvery element against the reference, in units of 2^-24 hypot(pair):\n",
      tokens, query_heads, key_heads, frequencies->window.head_dim, *set);
  const auto angles = angles_of(*frequencies);
  std::int64_t wrong = 0;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto verification = rotate_and_verify(dtype, *frequencies, angles);
    if (!verification) return fail(verification.error());
    print(dtype, *verification);
    wrong += verification->wrong;
  }
  fmt::print("\n{}\n",
             wrong > 0 ? "SOME ELEMENTS ARE WRONG." : "All elements are within the bound.");
  return wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    fmt::print(stderr, "usage: rotary-start [CARD]: a model's config.json\n");
    return 2;
  }
  const std::string path = argc > 1 ? argv[1] : "models/llama-3.1-8b.json";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream card;
  card << file.rdbuf();
  if (!file) {
    fmt::print(stderr, "rotary-start: cannot read the card '{}'\n", path);
    return 4;
  }
  return run(card.str());
}
