// SPDX-License-Identifier: Apache-2.0
#include "module/bias.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "module/arrays.hpp"
#include "module/errors.hpp"
#include "module/module.hpp"

namespace rotary::python {
namespace {

// Python's names of the enumerators, whose values count from 1.
template <class Enum>
std::vector<std::string_view> names_of() {
  if constexpr (std::is_same_v<Enum, AlibiForm>) return {"causal", "symmetric", "key_position"};
  if constexpr (std::is_same_v<Enum, T5Direction>) return {"bidirectional", "causal"};
  if constexpr (std::is_same_v<Enum, T5Rounding>) return {"transformers", "ggml"};
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string shown(const nb::object& value) {
  return nb::cast<std::string>(nb::str(nb::repr(value)));
}

// The value that a parameter must have, for messages.
std::string wanted(const std::vector<double>&) { return "a list of numbers"; }
std::string wanted(const double&) { return "a number"; }
template <class Count>
std::string wanted(const Count&) {
  return "a whole number";
}

// Sets the given parameters; other parameters keep their defaults. missing: the first parameter
// that must be given and is not.
struct ParameterSetter {
  const nb::dict& given;
  std::vector<double>& table;
  std::vector<std::string_view> known = {};
  std::string_view missing = {};

  template <class Member>
  void operator()(const ParameterFacts& facts, Member& member) {
    known.push_back(facts.name);
    const nb::str name(facts.name.data(), facts.name.size());
    if (given.contains(name)) return set(facts, member, given[name]);
    if (missing.empty() && is_required(facts, member)) missing = facts.name;
  }

 private:
  // A table must be given, and a parameter whose default is below its bounds or no enumerator.
  template <class Member>
  static bool is_required(const ParameterFacts& facts, const Member& member) {
    if constexpr (std::is_same_v<Member, ConstTableView>) return true;
    if constexpr (std::is_enum_v<Member>) return member == Member{};
    if constexpr (std::is_same_v<Member, std::int64_t>)
      return static_cast<double>(member) < facts.bounds.least;
    return false;
  }

  template <class Member>
  void set(const ParameterFacts& facts, Member& member, const nb::object& value) {
    if constexpr (std::is_enum_v<Member>) {
      const std::string text = nb::cast<std::string>(nb::str(value));
      const auto names = names_of<Member>();
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == text) {
          member = static_cast<Member>(i + 1);
          return;
        }
      }
      raise(std::string(facts.name) + " must be one of " + joined(names) + ", got '" + text + "'");
    } else if constexpr (std::is_same_v<Member, ConstTableView>) {
      set_table(member, value);
    } else if (nb::isinstance<nb::bool_>(value) || !nb::try_cast(value, member)) {
      raise(std::string(facts.name) + " must be " + wanted(member) + ", got " + shown(value));
    }
  }

  void set_table(ConstTableView& member, const nb::object& value) {
    std::vector<std::vector<double>> rows;
    if (!nb::try_cast(value, rows)) raise("table must be [buckets, heads], got " + shown(value));
    member = {.dtype = DType::f64, .rows = static_cast<std::int64_t>(rows.size())};
    member.features = rows.empty() ? 0 : static_cast<std::int64_t>(rows.front().size());
    member.row_stride = member.features;
    for (const auto& row : rows) {
      if (static_cast<std::int64_t>(row.size()) != member.features) {
        raise("table must be [buckets, heads], got rows of different lengths");
      }
      table.insert(table.end(), row.begin(), row.end());
    }
    member.data = table.data();
  }
};

OwnedBias make(std::string_view name, const nb::dict& parameters) {
  auto bias = relative_bias_named(name);
  if (!bias) {
    raise("name must be one of " + joined(relative_bias_names()) + ", got '" + std::string(name) +
          "'");
  }
  const auto table = std::make_shared<std::vector<double>>();
  OwnedBias owned{.value = *std::move(bias), .table = table};
  ParameterSetter setter{.given = parameters, .table = *table};
  for_each_parameter(owned.value,
                     [&](const ParameterFacts& facts, auto& member) { setter(facts, member); });
  for (const auto [key, value] : parameters) {
    const auto given = nb::cast<std::string>(key);
    if (std::ranges::find(setter.known, given) != setter.known.end()) continue;
    raise("parameters of " + std::string(name) + " must be of " + joined(setter.known) + "; got '" +
          given + "'");
  }
  if (!setter.missing.empty()) raise(std::string(setter.missing) + " must be given, got none");
  check(validate(owned.value));
  return owned;
}

void fill(const OwnedBias& bias, nb::handle out, std::int64_t first_query, std::int64_t first_key) {
  const Array array = array_to_write(out, "out");
  check(fill_bias(scores_of(array, "hqk", "out"), bias.value,
                  BiasRange{.first_query = first_query, .first_key = first_key}));
}

}  // namespace

void bind_bias(nb::module_& module) {
  nb::class_<OwnedBias>(module, "Bias")
      .def_static("make", make)
      .def("heads", [](const OwnedBias& self) { return head_count(self.value); })
      .def("fill", fill)
      .def("at",
           [](const OwnedBias& self, std::int64_t head, std::int64_t query, std::int64_t key) {
             return take(bias_at(self.value, {.head = head, .query = query, .key = key}));
           });
  module.def("bias_names", [] {
    const auto names = relative_bias_names();
    return std::vector(names.begin(), names.end());
  });
}

}  // namespace rotary::python
