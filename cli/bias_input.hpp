// SPDX-License-Identifier: Apache-2.0
// From a name, --heads, --set and --parameters to a relative bias. Failures name the option or the
// key, the requirement and what was got.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary::cli {

// "t5", "alibi", ...: those of to_string(RelativeBias), in its order.
[[nodiscard]] std::vector<std::string_view> bias_names();

// The encodings whose parameters are lists for each head, for help: "kerple_log: p, a;
// kerple_power: a, p". Their file of --parameters has the lists in this order.
[[nodiscard]] std::string bias_lists_help();

struct BiasOptions {
  std::string name;  // one of bias_names()
  std::optional<std::string> heads;
  std::vector<std::string> settings;      // KEY=VALUE
  std::optional<std::string> parameters;  // an NPY file
};

// KEY=VALUE as it was given, each asked for by name and none left over.
class BiasSettings {
 public:
  explicit BiasSettings(const std::vector<std::string>& settings);

  [[nodiscard]] std::optional<std::string> text(const std::string& key);
  [[nodiscard]] std::string required(const std::string& key, std::string_view meaning);
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t otherwise);
  [[nodiscard]] double number(const std::string& key, double otherwise);
  // [heads][units]; a single number serves all. Requires heads from 1 to 2^20, units from 1 to
  // 4096.
  [[nodiscard]] std::vector<double> numbers(const std::string& key, std::int64_t heads,
                                            std::int64_t units);

  // Fails when there is a key that nobody asked for.
  void check_all_used(std::string_view name) const;

 private:
  std::map<std::string, std::string> given_;
  std::vector<std::string> known_;
};

// A bias and, where it has one, the table that it views.
struct OwnedBias {
  RelativeBias bias;
  std::vector<double> table = {};
};

// The model's number of the first head: heads of a bias count from 0, but where they are a part of
// the model's.
[[nodiscard]] std::int64_t first_head(const RelativeBias& bias) noexcept;

[[nodiscard]] OwnedBias read_bias(const BiasOptions& options);

// The buckets of T5 alone, which need no table.
[[nodiscard]] T5Buckets read_t5_buckets(const BiasOptions& options);

}  // namespace rotary::cli
