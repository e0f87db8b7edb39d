// SPDX-License-Identifier: Apache-2.0
#include "runtime/key_fetching.hpp"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary {
namespace {

using kernels::KeyFetching;

constexpr const char* fetching_variable = "ROTARY_KEY_FETCHING";

// Nothing if the variable holds no known name.
std::optional<KeyFetching> find_fetching() noexcept {
  const char* const text = std::getenv(fetching_variable);
  const std::string_view wanted = text == nullptr ? "" : text;
  if (wanted.empty()) return kernels::usual_key_fetching();
  if (wanted == "lines") return KeyFetching::lines;
  if (wanted == "pages") return KeyFetching::pages;
  return {};
}

std::int64_t third_level_bytes() {
  constexpr std::int64_t usual = std::int64_t{32} << 20;
#ifdef _SC_LEVEL3_CACHE_SIZE
  const std::int64_t told = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return told > 0 ? told : usual;
#else
  return usual;
#endif
}

}  // namespace

Result<KeyFetching> chosen_fetching() {
  static const std::optional<KeyFetching> chosen = find_fetching();
  if (chosen) return *chosen;
  return unsupported(fetching_variable, " must be lines or pages");
}

std::int64_t bytes_beyond_caches() {
  static const std::int64_t bytes = third_level_bytes() / 2;
  return bytes;
}

Result<std::string_view> key_fetching() noexcept {
  return guarded([]() -> Result<std::string_view> {
    const auto chosen = chosen_fetching();
    if (!chosen) return chosen.error();
    return std::string_view(*chosen == KeyFetching::lines ? "lines" : "pages");
  });
}

}  // namespace rotary
