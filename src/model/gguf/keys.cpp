// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/keys.hpp"

#include <algorithm>
#include <variant>

namespace rotary {
namespace {

std::string described(const GgufKey& key) {
  if (!key.element_type) return message("a value of type ", to_string(key.type));
  return message("an array of ", key.elements, " ", to_string(*key.element_type));
}

std::optional<double> as_number(const GgufValue& value) {
  if (const auto* const number = std::get_if<double>(&value)) return *number;
  if (const auto* const whole = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*whole);
  return {};
}

template <class T>
std::optional<T> as(const GgufValue& value) {
  const auto* const held = std::get_if<T>(&value);
  return held == nullptr ? std::nullopt : std::optional<T>(*held);
}

}  // namespace

const GgufKey* find_gguf_key(const GgufMetadata& metadata, std::string_view name) {
  const auto found = std::ranges::find(metadata.keys, name, &GgufKey::name);
  return found == metadata.keys.end() ? nullptr : &*found;
}

GgufKeys::GgufKeys(const GgufMetadata& metadata, std::string_view architecture, Findings& findings)
    : prefix_(message(architecture, ".")), findings_(findings) {
  by_name_.reserve(metadata.keys.size());
  for (const GgufKey& key : metadata.keys) by_name_.push_back(&key);
  // Keeps the order of equal names. (std::stable_sort allocates memory and hides a failure.)
  std::ranges::sort(by_name_, [](const GgufKey* one, const GgufKey* other) {
    return one->name != other->name ? one->name < other->name : one < other;
  });
}

const GgufKey* GgufKeys::find(const std::string& name) const {
  if (findings_.asked != nullptr) findings_.asked->insert(name);
  const auto found = std::ranges::lower_bound(by_name_, name, {}, &GgufKey::name);
  return found == by_name_.end() || (*found)->name != name ? nullptr : *found;
}

bool GgufKeys::is_array(std::string_view name) const {
  const GgufKey* const key = find(full(name));
  return key != nullptr && key->type == GgufType::array;
}

template <class T, class Convert>
Stated<T> GgufKeys::read(std::string_view name, std::string_view wanted, Convert convert) const {
  Stated<T> stated{.value = {}, .key = full(name)};
  const GgufKey* const key = find(stated.key);
  if (key == nullptr) return stated;
  stated.origin = Origin::stated;
  stated.value = convert(key->value);
  if (!stated.value) malformed(stated.key, " must be ", wanted, ", got ", described(*key));
  return stated;
}

Stated<std::int64_t> GgufKeys::integer(std::string_view name) const {
  return read<std::int64_t>(name, "an integer below 2^63", as<std::int64_t>);
}

Stated<double> GgufKeys::number(std::string_view name) const {
  return read<double>(name, "a number", as_number);
}

Stated<bool> GgufKeys::boolean(std::string_view name) const {
  return read<bool>(name, "a boolean", as<bool>);
}

Stated<std::string> GgufKeys::text(std::string_view name) const {
  return read<std::string>(name, "a string of at most 1024 bytes", as<std::string>);
}

Stated<std::vector<std::int64_t>> GgufKeys::integers(std::string_view name) const {
  using List = std::vector<std::int64_t>;
  return read<List>(name, "an array of at most 4096 integers or booleans", as<List>);
}

Stated<std::vector<std::int64_t>> GgufKeys::one_or_each(std::string_view name,
                                                        std::int64_t count) const {
  if (!is_array(name)) {
    const auto one = integer(name);
    Stated<std::vector<std::int64_t>> all{.value = {}, .origin = one.origin, .key = one.key};
    if (one.value) all.value.emplace(static_cast<std::size_t>(count), *one.value);
    return all;
  }
  auto each = integers(name);
  if (each.value && static_cast<std::int64_t>(each.value->size()) < count) {
    malformed(each.key, " must have one entry for each layer, ", count, "; got ",
              each.value->size());
    each.value.reset();
  }
  return each;
}

Stated<std::int64_t> GgufKeys::count(std::string_view name) const {
  auto stated = integer(name);
  if (findings_.failed()) return stated;
  if (!stated.value) {
    malformed(stated.key, " must be given, got none");
  } else if (*stated.value < 1) {
    malformed(stated.key, " must be >= 1, got ", *stated.value);
  }
  return stated;
}

}  // namespace rotary
