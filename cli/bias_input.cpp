// SPDX-License-Identifier: Apache-2.0
#include "cli/bias_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <type_traits>
#include <utility>

#include "apps/failure.hpp"
#include "cli/arguments.hpp"
#include "cli/tensor_input.hpp"
#include "cli/values.hpp"

namespace rotary::cli {
namespace {

constexpr NpyLimit most_parameters{.elements = std::uint64_t{1} << 26};

// The name of a setting in messages: "--set buckets".
std::string option_of(std::string_view key) { return fmt::format("--set {}", key); }

// The KEY=VALUE settings. check_all_used() refuses settings that the encoding did not read.
class BiasSettings {
 public:
  explicit BiasSettings(const std::vector<ConfigOverride>& settings) {
    for (const ConfigOverride& each : settings)
      require(given_.emplace(each.key, each.value).second, "{} is given twice",
              option_of(each.key));
  }

  [[nodiscard]] std::optional<std::string> text(const std::string& key) {
    known_.push_back(key);
    const auto found = given_.find(key);
    return found == given_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::string required(const std::string& key, std::string_view meaning) {
    if (const auto value = text(key)) return *value;
    fail_usage("{}=... is required: {}", option_of(key), meaning);
  }
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t otherwise) {
    const auto value = text(key);
    return value ? parse_int64(option_of(key), *value) : otherwise;
  }
  [[nodiscard]] double number(const std::string& key, double otherwise) {
    const auto value = text(key);
    return value ? parse_double(option_of(key), *value) : otherwise;
  }
  // [heads][units]; a single number is used for all. heads must be in [1, 2^20], units in [1,
  // 4096].
  [[nodiscard]] std::vector<double> numbers(const std::string& key, std::int64_t heads,
                                            std::int64_t units) {
    auto values =
        list_of(cli::number())
            .read(option_of(key), required(key, "one number, or one for each head between commas"));
    const auto count = static_cast<std::size_t>(heads * units);
    if (values.size() == 1) values.resize(count, values.front());
    if (values.size() == count) return values;
    const std::string each = units == 1 ? "one" : fmt::format("{} numbers", units);
    fail_usage("{} must have one number, or {} for each of {} heads; got {}", option_of(key), each,
               heads, values.size());
  }

  void check_all_used(std::string_view name) const {
    for (const auto& [key, value] : given_) {
      require(!known_.empty(), "{} takes no --set here, got '{}'", name, key);
      require(std::ranges::find(known_, key) != known_.end(),
              "--set of {} must be one of {}, got '{}'", name, fmt::join(known_, ", "), key);
    }
  }

 private:
  std::map<std::string, std::string> given_;
  std::vector<std::string> known_;
};

T5Buckets t5_buckets(BiasSettings& settings) {
  const auto direction = settings.required("direction", "bidirectional (encoders) or causal");
  return {.buckets = settings.integer("buckets", 32),
          .max_distance = settings.integer("max_distance", 128),
          .direction = one_named<T5Direction>({{"bidirectional", T5Direction::bidirectional},
                                               {"causal", T5Direction::causal}})
                           .read(option_of("direction"), direction),
          .rounding =
              one_named<T5Rounding>(
                  {{"transformers", T5Rounding::transformers}, {"ggml", T5Rounding::ggml}})
                  .read(option_of("rounding"), settings.text("rounding").value_or("transformers"))};
}

std::vector<double> numbers_of(const NpyArray& array) {
  require(array.type == NpyType::f32 || array.type == NpyType::f64,
          "--parameters must have the type '<f4' or '<f8', got '{}'", descr_of(array.type));
  return array.doubles();
}

struct Source {
  const BiasOptions& options;
  BiasSettings& settings;

  [[nodiscard]] std::int64_t heads() const {
    require(options.heads.has_value(), "{} needs --heads", options.name);
    return *options.heads;
  }
  // --heads, or else the count of the file's numbers divided by `for_each`, rounded up.
  [[nodiscard]] std::int64_t heads_of(const std::vector<double>& numbers,
                                      std::size_t for_each) const {
    if (options.heads || numbers.empty()) return heads();
    return static_cast<std::int64_t>((numbers.size() + for_each - 1) / for_each);
  }
  [[nodiscard]] NpyArray file(std::string_view what) const {
    require(options.parameters.has_value(), "{} needs --parameters FILE: {}", options.name, what);
    return read_npy_file(*options.parameters, most_parameters);
  }
};

OwnedBias t5(const Source& source) {
  const T5Buckets buckets = t5_buckets(source.settings);
  const NpyArray array = source.file(
      "the table, [buckets, heads] (`rotary bias t5 --list` "
      "shows the buckets without it)");
  require(array.shape.size() == 2, "--parameters must be [buckets, heads], got {}",
          shape_text(array.shape));
  const std::int64_t heads = array.shape[1];
  const std::int64_t given = source.options.heads ? source.heads() : heads;
  require(given == heads, "--heads must be those of the table, {}; got {}", heads, given);
  OwnedBias owned{.bias = {}, .table = numbers_of(array)};
  owned.bias = T5Bias{.buckets = buckets,
                      .table = {.data = owned.table.data(),
                                .dtype = DType::f64,
                                .rows = array.shape[0],
                                .features = heads,
                                .row_stride = heads}};
  return owned;
}

Alibi alibi(const Source& source) {
  BiasSettings& settings = source.settings;
  const bool has_file = source.options.parameters.has_value();
  std::vector<double> slopes;
  if (has_file) slopes = numbers_of(source.file(""));
  // An empty file is refused, because an Alibi without slopes would use its formula.
  require(!has_file || !slopes.empty(), "--parameters must hold a slope for each head, got none");
  Alibi bias{.heads = source.heads_of(slopes, 1), .first_head = settings.integer("first_head", 0)};
  // A file makes bias_max useless, so --set bias_max is then refused as unused.
  if (!has_file) bias.bias_max = settings.number("bias_max", bias.bias_max);
  if (const auto all = settings.text("model_heads"))
    bias.model_heads = parse_int64(option_of("model_heads"), *all);
  bias.form = one_named<AlibiForm>({{"causal", AlibiForm::causal},
                                    {"symmetric", AlibiForm::symmetric},
                                    {"key_position", AlibiForm::key_position}})
                  .read(option_of("form"), settings.text("form").value_or("causal"));
  bias.slopes = std::move(slopes);
  return bias;
}

// The file has parameter_count() numbers in order. Its length determines the width.
Fire fire(const Source& source) {
  const auto all = numbers_of(source.file(
      "c, threshold, hidden_weight, hidden_bias, output_weight [heads, width], output_bias"));
  const auto heads = source.heads();
  const auto rest = static_cast<std::int64_t>(all.size()) - 2 - heads;
  require(rest >= 2 + heads && rest % (2 + heads) == 0,
          "--parameters must hold 2 + 2 W + W H + H numbers for H = {} heads, got {}", heads,
          all.size());
  const std::int64_t width = rest / (2 + heads);
  auto at = all.begin() + 2;
  const auto take = [&](std::int64_t count) {
    const auto begin = at;
    at += static_cast<std::ptrdiff_t>(count);
    return std::vector<double>(begin, at);
  };
  Fire bias{.c = all[0], .threshold = all[1]};
  bias.epsilon = source.settings.number("epsilon", bias.epsilon);
  bias.hidden_weight = take(width);
  bias.hidden_bias = take(width);
  bias.output_weight = take(heads * width);
  bias.output_bias = take(heads);
  return bias;
}

Sandwich sandwich(const Source& source) {
  require(!source.options.parameters, "sandwich has no --parameters: nothing in it is learned");
  const auto dim = source.settings.required("dim", "of one head");
  return {.dim = parse_int64(option_of("dim"), dim),
          .base = source.settings.number("base", 10000),
          .heads = source.heads()};
}

// An encoding's lists per head, and how many numbers a head has in each list.
struct Lists {
  std::vector<std::pair<std::string, std::vector<double>*>> of_names;
  std::int64_t units = 1;
};

Lists lists_of(RelativeBias& bias, BiasSettings& settings) {
  Lists lists;
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    const std::string name(facts.name);
    if constexpr (std::is_same_v<Member, std::int64_t>) {
      constexpr std::int64_t most_units = 4096;
      member = parse_int64(option_of(name), settings.required(name, facts.meaning));
      require(member >= 1 && member <= most_units, "{} must be from 1 to {}, got {}",
              option_of(name), most_units, member);
      lists.units = member;
    }
    if constexpr (std::is_same_v<Member, std::vector<double>>)
      lists.of_names.emplace_back(name, &member);
  });
  return lists;
}

// Reads the lists from --set, or all of them from the file. Reads the file once, because it may be
// standard input.
OwnedBias by_lists(const Source& source) {
  OwnedBias owned{.bias = relative_bias_named(source.options.name).value()};
  const Lists lists = lists_of(owned.bias, source.settings);
  if (!source.options.parameters) {
    const std::int64_t heads = source.heads();
    for (const auto& [name, numbers] : lists.of_names)
      *numbers = source.settings.numbers(name, heads, lists.units);
    return owned;
  }
  const auto all = numbers_of(source.file(""));
  const auto per_head = lists.of_names.size() * static_cast<std::size_t>(lists.units);
  const std::int64_t heads = source.heads_of(all, per_head);
  require(all.size() == per_head * static_cast<std::size_t>(heads),
          "--parameters must hold {} numbers for each of {} heads, got {}", per_head, heads,
          all.size());
  auto from = all.begin();
  for (const auto& [name, numbers] : lists.of_names) {
    const auto to = from + static_cast<std::ptrdiff_t>(heads * lists.units);
    numbers->assign(from, to);
    from = to;
  }
  return owned;
}

constexpr std::array<std::pair<std::string_view, OwnedBias (*)(const Source&)>, 4> own_makers = {{
    {"t5", t5},
    {"alibi", [](const Source& source) -> OwnedBias { return {.bias = alibi(source)}; }},
    {"fire", [](const Source& source) -> OwnedBias { return {.bias = fire(source)}; }},
    {"sandwich", [](const Source& source) -> OwnedBias { return {.bias = sandwich(source)}; }},
}};

// The encoding's row of own_makers; nullptr if by_lists() makes it.
const auto* own_maker(std::string_view name) {
  const auto* const row =
      std::ranges::find(own_makers, name, [](const auto& each) { return each.first; });
  return row == own_makers.end() ? nullptr : row;
}

}  // namespace

std::string bias_lists_help() {
  std::vector<std::string> lines;
  for (const std::string_view name : relative_bias_names()) {
    if (own_maker(name) != nullptr) continue;
    const RelativeBias bias = relative_bias_named(name).value();
    std::vector<std::string_view> members;
    for_each_parameter(
        bias, [&](const ParameterFacts& facts, const auto&) { members.push_back(facts.name); });
    lines.push_back(fmt::format("{}: {}", name, fmt::join(members, ", ")));
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

std::vector<std::string_view> bias_names() {
  const auto names = relative_bias_names();
  return {names.begin(), names.end()};
}

std::int64_t first_head(const RelativeBias& bias) noexcept {
  const auto* const alibi = std::get_if<Alibi>(&bias);
  return alibi == nullptr ? 0 : alibi->first_head;
}

OwnedBias read_bias(const BiasOptions& options) {
  if (!relative_bias_named(options.name)) fail_choice("NAME", options.name, bias_names());
  BiasSettings settings(options.settings);
  const Source source{.options = options, .settings = settings};
  const auto* const own = own_maker(options.name);
  OwnedBias owned = own == nullptr ? by_lists(source) : own->second(source);
  settings.check_all_used(options.name);
  ok_or_fail(validate(owned.bias), options.name);
  return owned;
}

T5Buckets read_t5_buckets(const BiasOptions& options) {
  BiasSettings settings(options.settings);
  const T5Buckets buckets = t5_buckets(settings);
  settings.check_all_used(options.name);
  static_cast<void>(value_or_fail(t5_bucket(0, buckets), options.name));
  return buckets;
}

std::int64_t first_of_last_bucket(const T5Buckets& buckets) {
  const auto bucket = [&](std::int64_t distance) {
    return value_or_fail(t5_bucket(-distance, buckets));
  };
  const std::int64_t last = bucket(buckets.max_distance);
  std::int64_t before = 0;
  std::int64_t within = buckets.max_distance;
  while (within - before > 1) {
    const std::int64_t middle = before + (within - before) / 2;
    (bucket(middle) == last ? within : before) = middle;
  }
  return within;
}

}  // namespace rotary::cli
