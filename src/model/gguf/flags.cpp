// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/flags.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/message.hpp"
#include "base/spelling.hpp"
#include "model/json/config_json.hpp"
#include "model/json/overrides.hpp"

namespace rotary {
namespace {

struct NumberFlag {
  std::string_view name;
  std::string_view parameter;
  std::optional<double> LlamaCppFlags::*value;
  double unset;  // the file's value stays for numbers up to this one
};
// NumberFlag::unset of flags that llama.cpp ignores only if they are negative.
constexpr double below_zero = -0x1p-149;
constexpr std::array number_flags = {
    NumberFlag{"--rope-scale", "factor", &LlamaCppFlags::factor, 0},
    NumberFlag{"--rope-freq-scale", "factor", &LlamaCppFlags::factor, 0},
    NumberFlag{"--rope-freq-base", "base", &LlamaCppFlags::base, 0},
    NumberFlag{"--yarn-ext-factor", "ext_factor", &LlamaCppFlags::ext_factor, below_zero},
    NumberFlag{"--yarn-attn-factor", "attention_factor", &LlamaCppFlags::attn_factor, below_zero},
    NumberFlag{"--yarn-beta-slow", "beta_slow", &LlamaCppFlags::beta_slow, below_zero},
    NumberFlag{"--yarn-beta-fast", "beta_fast", &LlamaCppFlags::beta_fast, below_zero}};
constexpr std::string_view scaling_flag = "--rope-scaling";
constexpr std::string_view original_flag = "--yarn-orig-ctx";

std::vector<std::string_view> flag_names() {
  std::vector<std::string_view> names = {scaling_flag, original_flag};
  for (const NumberFlag& each : number_flags) names.push_back(each.name);
  return names;
}

// "--rope-scale" for "--rope-scale", "rope-scale" and "rope_scale".
std::string flag_named(std::string_view key) {
  const std::size_t begin = std::min(key.find_first_not_of('-'), key.size());
  std::string flag = message("--", key.substr(begin));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

Status set_flag(const std::string& name, const Json& value, LlamaCppFlags& flags) {
  const auto refuse = [&](std::string_view wanted) {
    return invalid_argument(name, " must be ", wanted, ", got ", describe(value));
  };
  if (name == scaling_flag) {
    constexpr std::array<std::string_view, 3> types = {"none", "linear", "yarn"};
    if (!value.is_string() || std::ranges::find(types, value.string()) == types.end())
      return refuse("none, linear or yarn");
    flags.scaling = value.string();
    return {};
  }
  if (name == original_flag) {
    constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
    if (!value.is_integer() || value.integer() < 0 || value.integer() > most)
      return refuse("an integer from 0 to 2^31 - 1");
    flags.original_context_tokens =
        value.integer() == 0 ? std::nullopt : std::optional(value.integer());
    return {};
  }
  const auto names = flag_names();
  const auto flag = std::ranges::find(number_flags, name, &NumberFlag::name);
  if (flag == number_flags.end())
    return invalid_argument("a flag of llama.cpp about rope must be one of ", join(names), ", got ",
                            shorten(name), did_you_mean(name, names));
  if (!value.is_number() || !std::isfinite(value.number())) return refuse("a finite number");
  double number = value.number();
  const bool must_be_positive = flag->unset == 0;
  if ((must_be_positive && number < 0) || (name == "--rope-scale" && number == 0))
    return refuse(name == "--rope-scale" ? "> 0" : ">= 0");
  const bool is_set = number > flag->unset;
  if (is_set && name == "--rope-freq-scale") number = 1 / number;
  flags.*(flag->value) = is_set ? std::optional(number) : std::nullopt;
  return {};
}

struct ValueOfKey {
  GgufType type;
  GgufValue value;
};

std::optional<ValueOfKey> file_value(const Json& value) {
  if (value.is_boolean()) return ValueOfKey{GgufType::boolean, value.boolean()};
  if (value.is_string()) return ValueOfKey{GgufType::string, value.string()};
  if (value.is_unsigned() && value.integer() < 0) return {};  // beyond int64
  if (value.is_integer()) return ValueOfKey{GgufType::int64, value.integer()};
  if (value.is_number()) return ValueOfKey{GgufType::float64, value.number()};
  if (!value.is_array()) return {};
  std::vector<std::int64_t> list;
  for (const Json& each : value.array()) {
    if (!each.is_integer() && !each.is_boolean()) return {};
    list.push_back(each.is_boolean() ? std::int64_t{each.boolean()} : each.integer());
  }
  return ValueOfKey{GgufType::array, std::move(list)};
}

Status set_key(const std::string& name, const Json& value, GgufMetadata& metadata) {
  auto found = std::ranges::find(metadata.keys, name, &GgufKey::name);
  if (value.is_null()) {
    if (found != metadata.keys.end()) metadata.keys.erase(found);
    return {};
  }
  auto changed = file_value(value);
  if (!changed)
    return invalid_argument("a key of a GGUF file must be set to a number, a boolean, a text or a ",
                            "list of integers or booleans, got ", describe(value), " for ", name);
  if (found == metadata.keys.end()) {
    metadata.keys.push_back({.name = name});
    found = metadata.keys.end() - 1;
  }
  found->type = changed->type;
  found->element_type.reset();
  if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&changed->value)) {
    found->element_type = GgufType::int64;
    found->elements = list->size();
  }
  found->value = std::move(changed->value);
  return {};
}

}  // namespace

std::string_view flag_of(const LlamaCppFlags& flags, std::string_view parameter) {
  if (parameter == "rope_type") return flags.scaling ? scaling_flag : std::string_view();
  if (parameter == "original_max_position_embeddings")
    return flags.original_context_tokens ? original_flag : std::string_view();
  const auto found = std::ranges::find(number_flags, parameter, &NumberFlag::parameter);
  const bool is_given = found != number_flags.end() && flags.*(found->value);
  return is_given ? found->name : std::string_view();
}

Result<GgufChanges> apply_gguf_overrides(std::span<const ConfigOverride> overrides,
                                         std::string_view architecture, GgufMetadata& metadata) {
  GgufChanges changes;
  for (const ConfigOverride& each : overrides) {
    if (!each.from.empty())
      return invalid_argument("a GGUF file has no keys of other names, got ", each.from, " for ",
                              each.key);
    const Json value = override_value(each.value);
    Status status;
    const std::string flag = flag_named(each.key);
    const auto names = flag_names();
    if (each.key.starts_with('-') || std::ranges::find(names, flag) != names.end()) {
      status = set_flag(flag, value, changes.flags);
    } else {
      const bool is_full = each.key.starts_with(message(architecture, "."));
      changes.keys.push_back(
          {.key = is_full ? each.key : message(architecture, ".", each.key), .value = each.value});
      status = set_key(changes.keys.back().key, value, metadata);
    }
    if (!status) return std::move(status).error();
  }
  return changes;
}

}  // namespace rotary
