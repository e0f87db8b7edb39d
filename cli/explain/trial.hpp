// SPDX-License-Identifier: Apache-2.0
// Experiments with the keys of configs and GGUF files: the model before and after a change. Files
// have a size limit, because the model is resolved several times for each key.
#pragma once

#include <cstddef>
#include <string_view>

#include "cli/explain/explain_config.hpp"

namespace rotary::cli::explain {

struct Limit {
  std::size_t most = 0;
  std::string_view what;
};
inline constexpr Limit most_keys{.most = 500, .what = "keys"};
inline constexpr Limit most_bytes{.most = std::size_t{1} << 18, .what = "bytes"};

// Fails as wrong usage above the limit. subject: "a config". or_more: " or more" if `got` may be
// too low.
void check_limit(std::string_view subject, const Limit& limit, std::size_t got,
                 std::string_view or_more = {});

// The model after a change.
struct Trial {
  Outcome outcome;
  std::vector<std::string> lost_warnings = {};  // warnings that the change removed
  bool warns_equally = false;

  [[nodiscard]] bool is_same() const { return outcome && outcome->empty(); }
};

// The model before any change.
class Baseline {
 public:
  // Fails as wrong usage above 2048 pairs of features over all layer types.
  Baseline(std::string_view subject, const ModelSpec& model,
           std::optional<std::int64_t> context_tokens);

  [[nodiscard]] Trial compare(const Result<ModelSpec>& changed) const;

 private:
  std::optional<std::int64_t> context_tokens_;
  std::vector<Fact> facts_;
  std::vector<std::string> warnings_;
};

// The key with its use. The trial without the key determines the use.
[[nodiscard]] ConfigKey judged_key(std::string path, Json value, const Trial& without);

// True if the answer also shows the key with another value.
[[nodiscard]] bool shows_other_value(const ConfigKey& key) noexcept;

}  // namespace rotary::cli::explain
