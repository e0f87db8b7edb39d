// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_options.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "bench/machine.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"

namespace rotary::cli {
namespace {

constexpr double most_seconds = 60;
constexpr std::int64_t most_memory_mib = std::int64_t{1} << 24;

Overwrite overwrite(const ReportOutput& output) {
  return output.force ? Overwrite::allow : Overwrite::refuse;
}

}  // namespace

std::int64_t parse_between(std::string_view option, std::string_view text,
                           const ValueRange& range) {
  const std::int64_t value = parse_int64(option, text);
  if (value < range.first || value > range.last) {
    throw Failure(ExitCode::usage, fmt::format("{} must be in [{}, {}], got {}", option,
                                               range.first, range.last, value));
  }
  return value;
}

DType parse_timed_dtype(std::string_view option, std::string_view text) {
  return choose<DType>(option, text,
                       {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}});
}

double parse_seconds(const std::string& text) {
  const double seconds = parse_double("--seconds", text);
  if (seconds <= 0 || seconds > most_seconds) {
    throw Failure(ExitCode::usage,
                  fmt::format("--seconds must be in (0, {}], got {}", most_seconds, seconds));
  }
  return seconds;
}

std::int64_t memory_limit(const std::optional<std::string>& text) {
  if (!text) return bench::available_memory_bytes() / 2;
  return parse_between("--memory", *text, {1, most_memory_mib}) << 20;
}

void ReportOutput::check() const {
  if (out) check_outputs(std::span(&*out, 1), overwrite(*this));
}

void ReportOutput::write(std::string bytes) const {
  if (!out) return;
  const OutputFile file{.path = *out, .bytes = std::move(bytes)};
  write_files(std::span(&file, 1), overwrite(*this));
}

}  // namespace rotary::cli
