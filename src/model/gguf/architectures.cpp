// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/architectures.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "model/gguf/architecture_rows.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

auto all_groups() {
  return std::array{interleaved_gguf_architectures(), half_gguf_architectures(),
                    other_gguf_architectures()};
}

}  // namespace

std::optional<GgufArchitecture> find_gguf_architecture(std::string_view name) {
  for (const auto group : all_groups()) {
    for (GgufArchitecture row : group) {
      row.name = find_word(row.name, name);
      if (!row.name.empty()) return row;
    }
  }
  return {};
}

std::vector<std::string_view> gguf_architecture_names() {
  std::vector<std::string_view> names;
  for (const auto group : all_groups()) {
    for (const GgufArchitecture& row : group)
      for_each_word(row.name, [&](std::string_view name) { names.push_back(name); });
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view name_of(RopeType type) {
  switch (type) {
    case RopeType::none:
      return "none";
    case RopeType::norm:
    case RopeType::norm_or_mrope:
      return "norm";
    case RopeType::neox:
    case RopeType::neox_or_mrope:
      return "neox";
    case RopeType::mrope:
      return "mrope";
    case RopeType::imrope:
      return "imrope";
  }
  return "none";
}

}  // namespace rotary
