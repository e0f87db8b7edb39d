// SPDX-License-Identifier: Apache-2.0
// Options that the commands which time something share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cli {

struct ValueRange {
  std::int64_t first;
  std::int64_t last;
};

[[nodiscard]] std::int64_t parse_between(std::string_view option, std::string_view text,
                                         const ValueRange& range);

// Absent when the option is; parse reads one part between commas.
template <class Parse>
[[nodiscard]] auto parse_list(const std::optional<std::string>& text, Parse parse) {
  std::optional<std::vector<decltype(parse(std::string_view()))>> values;
  if (!text) return values;
  values.emplace();
  for (const std::string_view part : split_at_commas(*text)) values->push_back(parse(part));
  return values;
}

// One of those that kernels take: f32, bf16, f16.
[[nodiscard]] DType parse_timed_dtype(std::string_view option, std::string_view text);

// Of --seconds.
[[nodiscard]] double parse_seconds(const std::string& text);

// Of --memory, in bytes; half of what is free where it is absent.
[[nodiscard]] std::int64_t memory_limit(const std::optional<std::string>& text);

// --out and --force.
struct ReportOutput {
  std::optional<std::string> out;
  bool force = false;

  void check() const;
  void write(std::string bytes) const;
};

}  // namespace rotary::cli
