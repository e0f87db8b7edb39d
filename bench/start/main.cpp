// SPDX-License-Identifier: Apache-2.0
// The main example: from a model's card to rotated q and k, every element verified, timed beside
// the roofline. Exit codes as the tool's: 0, 1 an element is wrong, 2 usage, 3 bad card, 4 no card.
#include <fmt/core.h>
#include <getopt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/measure.hpp"
#include "bench/operations/operations.hpp"
#include "bench/progress.hpp"
#include "bench/verification.hpp"
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

// 32 query and 8 key heads, as Llama 3.1 8B has them.
constexpr bench::HeadShape shape;

// Tokens that are verified together, so that there is progress to show; all dtypes share the
// reference's angles.
struct Slice {
  ConsecutivePositions positions;
  reference::AngleRows rows;
};

// Positions 0 … tokens-1.
std::vector<Slice> slices_of(const Frequencies& frequencies, std::int64_t tokens) {
  constexpr std::int64_t slice_tokens = 64;
  std::vector<Slice> slices;
  bench::Progress progress("computing the reference's angles", tokens);
  for (std::int64_t first = 0; first < tokens; first += slice_tokens) {
    const ConsecutivePositions positions{.first = first,
                                         .tokens = std::min(slice_tokens, tokens - first)};
    slices.push_back({positions, reference::AngleRows(positions, frequencies.inv_freq)});
    progress.advance(positions.tokens);
  }
  return slices;
}

ConstHeadsView tokens_of(ConstHeadsView view, const ConsecutivePositions& positions) {
  view.data = static_cast<const std::byte*>(view.data) +
              positions.first * view.strides.token * size_in_bytes(view.dtype);
  view.extents.tokens = positions.tokens;
  return view;
}

bench::Tensor tensor_of(DType dtype, std::int64_t tokens, std::int64_t heads,
                        const Frequencies& frequencies) {
  bench::Tensor tensor(
      dtype,
      {.batch = 1, .tokens = tokens, .heads = heads, .features = frequencies.window.head_dim},
      shape.layout);
  tensor.fill(2104'09864);
  return tensor;
}

// q and k rotated in place by the library and compared with the reference.
Result<bench::Verification> rotate_and_verify(DType dtype, const Frequencies& frequencies,
                                              std::int64_t tokens,
                                              const std::vector<Slice>& slices) {
  const bench::Tensor q = tensor_of(dtype, tokens, shape.query_heads, frequencies);
  const bench::Tensor k = tensor_of(dtype, tokens, shape.key_heads, frequencies);
  const bench::Tensor q_before = q.copy();
  const bench::Tensor k_before = k.copy();
  const auto rotations =
      make_rotations(frequencies, ConsecutivePositions{.first = 0, .tokens = tokens});
  if (!rotations) return rotations.error();
  if (auto status = rotate_qk(q.view(), k.view(), *rotations); !status) {
    return std::move(status).error();
  }
  bench::Verification result;
  bench::Progress progress(fmt::format("verifying {}", to_string(dtype)), tokens);
  for (const auto& [positions, rows] : slices) {
    const bench::ExactRotation exact{
        .frequencies = frequencies, .rows = rows, .positions = positions};
    result.merge(verify(
        {.before = tokens_of(q_before.view(), positions), .after = tokens_of(q.view(), positions)},
        exact));
    result.merge(verify(
        {.before = tokens_of(k_before.view(), positions), .after = tokens_of(k.view(), positions)},
        exact));
    progress.advance(positions.tokens);
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

// On one thread, in half a second.
Result<bench::LineTiming> time_line(const bench::Operation& operation, const bench::Line& line,
                                    const Frequencies& frequencies) {
  const bench::Setup setup{.line = {.operation = &operation,
                                    .tokens = line.tokens,
                                    .dtype = line.dtype,
                                    .pairing = line.pairing},
                           .frequencies = frequencies};
  const auto job = operation.prepare(setup);
  if (!job) return job.error();
  const auto measurement = bench::measure(**job, 1, 0.5);
  if (!measurement) return measurement.error();
  if (!measurement->timing) {
    return Error{ErrorCode::unsupported, "results must be within their bound to be timed"};
  }
  return *measurement->timing;
}

Status print_timing(const bench::Operation& rotate, const bench::Line& line,
                    const Frequencies& frequencies) {
  bench::Operation rows = rotate;
  rows.roofline = bench::RooflineKind::none;
  rows.prepare = bench::prepare_rows;
  bench::Operation prepared = rotate;
  prepared.rows = bench::RowsAre::made_before;
  const auto rows_time = time_line(rows, line, frequencies);
  if (!rows_time) return rows_time.error();
  const auto rotate_time = time_line(prepared, line, frequencies);
  if (!rotate_time) return rotate_time.error();
  const auto both = time_line(rotate, line, frequencies);
  if (!both) return both.error();
  const auto tokens = static_cast<double>(line.tokens);
  fmt::print("  {:<6}{:>7} {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f} {:>9.2f}\n",
             to_string(line.dtype), line.tokens, rows_time->ns_per_call / tokens,
             rotate_time->ns_per_call / tokens, both->ns_per_call / tokens,
             both->roofline_ns_per_call.value_or(0) / tokens, both->ratio().value_or(0));
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
      tokens, shape.query_heads, shape.key_heads, frequencies->window.head_dim, *set);

  fmt::print("Every element against the reference, in units of 2^-24 hypot(pair):\n");
  const std::vector<Slice> slices = slices_of(*frequencies, tokens);
  std::int64_t wrong = 0;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto verification = rotate_and_verify(dtype, *frequencies, tokens, slices);
    if (!verification) return fail(verification.error());
    print(dtype, *verification);
    wrong += verification->wrong;
  }
  if (wrong > 0) {
    fmt::print("\nSOME ELEMENTS ARE WRONG; nothing was timed.\n");
    return 1;
  }

  fmt::print("\nNanoseconds for each token, one thread, minima of interleaved rounds:\n");
  fmt::print("  dtype  tokens       rows     rotate       both   in-place   ratio to\n");
  fmt::print("                   (cos,sin) (q and k)              scale      scale\n");
  const HeadWindow& window = frequencies->window;
  const bench::Operation rotate{
      .name = "rotate",
      .summary = "rows made, then q and k rotated in place",
      .shape = {.head_dim = window.head_dim, .rotary_dim = window.rotary_dim},
      .prepare = bench::prepare_rotate,
      .usual = {}};
  for (const std::int64_t count : {std::int64_t{512}, tokens}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const bench::Line line{
          .operation = &rotate, .tokens = count, .dtype = dtype, .pairing = window.pairing};
      if (auto status = print_timing(rotate, line, *frequencies); !status) {
        return fail(status.error());
      }
    }
  }
  fmt::print("\nAll elements are within the bound.\n");
  return 0;
}

constexpr std::int64_t most_tokens = 65'536;

void print_help() {
  fmt::print(
      "Rotates q and k of a real model, verifies every element, and times it.\n\n"
      "  rotary-start\n"
      "  rotary-start models/qwen2.5-7b.json --tokens 1024\n\n"
      "CARD        a model's config.json (models/llama-3.1-8b.json)\n"
      "--tokens N  tokens to rotate, 1 to {} (4096)\n",
      most_tokens);
}

int usage_failure(std::string_view message) {
  fmt::print(stderr, "rotary-start: {}; --help shows its options\n", message);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr std::array<option, 3> options = {{{"tokens", required_argument, nullptr, 't'},
                                                     {"help", no_argument, nullptr, 'h'},
                                                     {nullptr, 0, nullptr, 0}}};
  std::int64_t tokens = 4096;
  for (int given = 0; (given = getopt_long(argc, argv, "h", options.data(), nullptr)) != -1;) {
    if (given == 'h') {
      print_help();
      return 0;
    }
    if (given != 't') return 2;  // getopt_long has said why
    const std::string_view text = optarg;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
    if (error != std::errc() || end != text.data() + text.size() || tokens < 1 ||
        tokens > most_tokens) {
      return usage_failure(fmt::format("--tokens must be 1 to {}, got '{}'", most_tokens, text));
    }
  }
  if (argc - optind > 1) return usage_failure("one card can be given");
  return run(optind < argc ? argv[optind] : "models/llama-3.1-8b.json", tokens);
}
