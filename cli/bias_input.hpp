// SPDX-License-Identifier: Apache-2.0
// Makes a relative bias from a name, --heads, --set and --parameters. Failures name the option or
// the key, the requirement and the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::cli {

// "t5", "alibi", ...: the names of to_string(RelativeBias), in its order.
[[nodiscard]] std::vector<std::string_view> bias_names();

// Help about the lists of parameters that some encodings have for each head: "kerple_log: p, a;
// kerple_power: a, p". A file of --parameters has the lists in this order.
[[nodiscard]] std::string bias_lists_help();

inline constexpr std::int64_t most_heads = std::int64_t{1} << 20;

struct BiasOptions {
  std::string name;  // one of bias_names()
  std::optional<std::int64_t> heads;
  std::vector<ConfigOverride> settings;   // of --set
  std::optional<std::string> parameters;  // an NPY file
};

// A bias, and the table that it views, if any.
struct OwnedBias {
  RelativeBias bias;
  std::vector<double> table = {};
};

// The index of the bias's first head in the model. A bias may have only some of the model's heads.
[[nodiscard]] std::int64_t first_head(const RelativeBias& bias) noexcept;

[[nodiscard]] OwnedBias read_bias(const BiasOptions& options);

// T5's buckets without a table.
[[nodiscard]] T5Buckets read_t5_buckets(const BiasOptions& options);

// The least distance in the last bucket, which also has all greater distances.
[[nodiscard]] std::int64_t first_of_last_bucket(const T5Buckets& buckets);

}  // namespace rotary::cli
