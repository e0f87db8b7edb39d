// SPDX-License-Identifier: Apache-2.0
// The main job: from a model's card to rotated q and k, every element verified, timed beside the
// roofline. Exit codes as the tool's: 0, 1 an element is wrong, 2 usage, 3 bad card, 4 no card.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>

#include "bench/start/measure.hpp"
#include "bench/start/verify.hpp"
#include "rotary/rotary.hpp"

namespace {

using namespace rotary;

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

// Positions 0 … tokens-1 of q and k, rotated in place by the library and by the reference.
Result<bench::Verification> rotate_and_verify(DType dtype, const Frequencies& frequencies,
                                              std::int64_t tokens,
                                              const reference::AngleRows& rows) {
  const bench::Workload before(dtype, tokens, frequencies.window.head_dim);
  const bench::Workload after = before.copy();
  const auto rotations =
      make_rotations(frequencies, ConsecutivePositions{.first = 0, .tokens = tokens});
  if (!rotations) return rotations.error();
  if (auto status = rotate_qk(after.q(tokens), after.k(tokens), *rotations); !status) {
    return std::move(status).error();
  }
  bench::Progress progress(fmt::format("verifying {}", to_string(dtype)),
                           tokens * (bench::query_heads + bench::key_heads));
  auto result =
      verify({.before = before.q(tokens), .after = after.q(tokens)}, frequencies, rows, progress);
  result.merge(
      verify({.before = before.k(tokens), .after = after.k(tokens)}, frequencies, rows, progress));
  return result;
}

void print(DType dtype, const bench::Verification& v) {
  fmt::print(
      "  {:<5}{:>11} elements, {} wrong; largest error {:.6g} units, bound {:.6g} (token {}, head "
      "{}, feature {})\n",
      to_string(dtype), v.elements, v.wrong, v.worst, v.bound, v.worst_head.token,
      v.worst_head.head, v.worst_feature);
}

Status print_timing(DType dtype, const Frequencies& frequencies, std::int64_t tokens) {
  const bench::Workload workload(dtype, tokens, frequencies.window.head_dim);
  const auto timing = bench::measure(workload, frequencies, tokens);
  if (!timing) return timing.error();
  fmt::print("  {:<6}{:>7} {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f} {:>9.2f}\n", to_string(dtype),
             tokens, timing->rows_ns, timing->rotate_ns, timing->both_ns, timing->scale_ns,
             timing->ratio());
  return {};
}

Result<std::string> read_card(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    return Error{ErrorCode::invalid_argument, fmt::format("cannot read the card '{}'", path)};
  return text.str();
}

int run(const std::string& card_path, std::int64_t tokens) {
  const auto card = read_card(card_path);
  if (!card) {
    fmt::print(stderr, "rotary-start: {}\n", card.error().message);
    return 4;
  }
  const auto model = resolve(*card);
  if (!model) return fail(model.error());
  const auto frequencies = make_frequencies(model->rotary.front().spec);
  if (!frequencies) return fail(frequencies.error());
  const auto set = instruction_set();
  if (!set) return fail(set.error());
  fmt::print(
      "\nRotating q and k of {} tokens, {}+{} heads x {}, packed [tokens, heads, head_dim], on "
      "{}.\n\n",
      tokens, bench::query_heads, bench::key_heads, frequencies->window.head_dim, *set);

  fmt::print("Every element against the reference, in units of 2^-24 hypot(pair):\n");
  bench::Progress angles("computing the reference's angles", 1);
  const reference::AngleRows rows(ConsecutivePositions{.first = 0, .tokens = tokens},
                                  frequencies->inv_freq);
  std::int64_t wrong = 0;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto verification = rotate_and_verify(dtype, *frequencies, tokens, rows);
    if (!verification) return fail(verification.error());
    print(dtype, *verification);
    wrong += verification->wrong;
  }

  fmt::print("\nNanoseconds for each token, one thread, minima of interleaved rounds:\n");
  fmt::print("  dtype  tokens       rows     rotate       both   in-place   ratio to\n");
  fmt::print("                   (cos,sin) (q and k)              scale      scale\n");
  for (const std::int64_t count : {std::int64_t{512}, tokens}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      if (auto status = print_timing(dtype, *frequencies, count); !status)
        return fail(status.error());
    }
  }
  fmt::print("\n{}\n",
             wrong == 0 ? "All elements are within the bound." : "SOME ELEMENTS ARE WRONG.");
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Rotates q and k of a real model, verifies every element, and times it.");
  std::string card = "models/llama-3.1-8b.json";
  std::int64_t tokens = 4096;
  app.add_option("card", card, "a model's config.json")->capture_default_str();
  app.add_option("--tokens", tokens, "tokens to rotate")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(card, tokens);
}
