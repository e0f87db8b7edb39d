// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "apps/safetensors/safetensors.hpp"
#include "cli/commands/commands.hpp"
#include "cli/identify/arrays.hpp"
#include "cli/identify/identification.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/identify.hpp"
#include "rotary/model_difference.hpp"

namespace rotary::cli {
namespace {

constexpr std::uint64_t most_frequencies = 1 << 16;  // in one tensor
constexpr std::size_t most_tensors = 4096;           // with frequencies, in one file
constexpr std::uint64_t most_tokenizer_bytes = std::uint64_t{16} << 20;

using Add = std::function<void(Severity, const std::string&)>;
using std::filesystem::path;

// The names of tensors, by severity and judgement.
using Judged = std::map<std::pair<Severity, std::string>, std::vector<std::string>>;

bool agree(const std::vector<double>& one, const std::vector<double>& other, double tolerance) {
  return one.size() == other.size() &&
         std::ranges::equal(one, other, [tolerance](double seen, double wanted) {
           return std::abs(seen - wanted) <= tolerance * std::abs(wanted);
         });
}

std::string mistake_in(const std::vector<double>& seen, const ModelSpec& model,
                       std::size_t rotary) {
  const auto found =
      identify_frequencies(seen, 1, {.model = model, .rotary = rotary, .context_tokens = 1});
  if (!found || found->verdict != Verdict::another_cause)
    return "is neither the config's nor a known mistake of it";
  return "is not the config's: " +
         names_text(found->explanations.front().causes, fields_text, "; and ");
}

// The fault of the frequencies; absent if an embedding of the model has them.
std::optional<std::pair<Severity, std::string>> judge(const FloatArray& array,
                                                      const ModelSpec& model) {
  const std::vector<double> seen = array.doubles();
  // Tolerances: for powers in float32, and for the rounding of a narrow type.
  constexpr double usual = 0x1p-18;
  const double narrow = array.dtype == DType::bf16 ? 0x1p-8 : 0x1p-10;
  bool is_rounded = false;
  std::optional<std::size_t> sized;
  for (std::size_t i = 0; i < model.rotary.size(); ++i) {
    const auto wanted = make_frequencies(model.rotary[i].spec, 1);
    if (!wanted || wanted->inv_freq.size() != seen.size()) continue;
    if (agree(seen, wanted->inv_freq, usual)) return {};
    if (array.dtype != DType::f32 && agree(seen, wanted->inv_freq, narrow)) is_rounded = true;
    if (!sized) sized = i;
  }
  const auto is_bad = [](double x) { return !std::isfinite(x); };
  if (std::ranges::any_of(seen, is_bad)) return {{Severity::error, "is not finite"}};
  if (std::ranges::all_of(seen, [](double x) { return x == 0; }))
    return {{Severity::error, "is all zero"}};
  if (is_rounded)
    return {{Severity::warning,
             fmt::format("is rounded to {}: an engine that loads it uses rounded frequencies",
                         to_string(array.dtype))}};
  if (!sized)
    return {{Severity::warning,
             fmt::format("has {} numbers, as no embedding of the config has", seen.size())}};
  return {{Severity::error, mistake_in(seen, model, *sized)}};
}

void check_shard(const path& file, const ModelSpec& model, const Add& add) {
  InputFile input(file.string());
  const auto start = read_safetensors_start(input);
  if (!start)
    return add(Severity::error,
               fmt::format("{}: {}", file.filename().string(), start.error().message));
  Judged judged;
  std::size_t count = 0;
  for (const SafetensorsTensor& tensor : start->header.tensors) {
    constexpr std::array types = {std::pair("F32", DType::f32), std::pair("F16", DType::f16),
                                  std::pair("BF16", DType::bf16)};
    const auto type = std::ranges::find_if(
        types, [&](const auto& each) { return each.first == tensor.type.name; });
    if (!tensor.name.ends_with("inv_freq") || type == types.end() || tensor.size_in_bytes() == 0)
      continue;
    if (tensor.size_in_bytes() > 4 * most_frequencies || ++count > most_tensors) continue;
    FloatArray array{.dtype = type->second, .shape = {}, .data = {}};
    array.data.resize(tensor.size_in_bytes());
    if (input.read_at(start->bytes.size() + tensor.begin, array.data) != array.data.size())
      continue;
    if (const auto found = judge(array, model)) judged[*found].push_back(tensor.name);
  }
  for (const auto& [found, names] : judged)
    add(found.first,
        fmt::format("{}: {}{} {}", file.filename().string(), names.front(),
                    names.size() > 1 ? fmt::format(" (and {} more)", names.size() - 1) : "",
                    found.second));
}

void check_other_config(const path& file, const ModelSpec& model, const Add& add) {
  const std::string name = file.filename().string();
  ModelSpec other;
  try {
    other = read_model(file.string(), ResolveOptions());
  } catch (const Failure& failure) {
    return add(Severity::warning, fmt::format("{}: {}", name, failure.what()));
  }
  // The pairing is ignored: other weights may have another order of features.
  for (ModelRotary& each : other.rotary) each.spec.pairing = model.rotary.front().spec.pairing;
  const auto difference = compare_models(model, other);
  if (!difference || !difference->differs()) return;
  std::set<std::string> fields;
  for (const RotaryDifference& each : difference->rotary)
    for (const FieldDifference& field : each.fields)
      fields.insert(fmt::format("{} {} -> {}", field.field, field.one, field.other));
  add(Severity::error, fmt::format("{} differs from the config: {}", name,
                                   fields.empty() ? "`rotary diff` shows where"
                                                  : fmt::format("{}", fmt::join(fields, ", "))));
}

void check_tokenizer(const path& file, const ModelSpec& model, const Add& add) {
  const SortedJson json = parse_json(read_file(file.string(), most_tokenizer_bytes));
  const auto found = json.is_object() ? json.find("model_max_length") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_number_integer()) return;
  const auto length = found->get<std::int64_t>();
  std::int64_t trained = 0;
  for (const ModelRotary& each : model.rotary)
    trained = std::max(trained, each.trained_context_tokens.value_or(0));
  constexpr std::int64_t no_limit = 1'000'000'000;  // tokenizers without a limit have at least this
  if (trained == 0 || length <= trained || length >= no_limit) return;
  add(Severity::warning,
      fmt::format("{}: model_max_length {} is beyond the trained context, {}; `rotary stretch` "
                  "lists settings for it",
                  file.filename().string(), length, trained));
}

}  // namespace

void check_folder(const std::string& folder, const ModelSpec& model, const Add& add) {
  std::error_code error;
  std::vector<path> files;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    files.push_back(entry->path());
  std::ranges::sort(files);
  const bool has_config =
      std::ranges::any_of(files, [](const path& file) { return file.filename() == "config.json"; });
  for (const path& file : files) {
    if (!std::filesystem::is_regular_file(file, error)) continue;
    if (file.extension() == ".safetensors") check_shard(file, model, add);
    const bool describes =
        file.extension() == ".gguf" || (has_config && file.filename() == "params.json");
    if (describes && !model.rotary.empty()) check_other_config(file, model, add);
    if (file.filename() == "tokenizer_config.json") check_tokenizer(file, model, add);
  }
}

}  // namespace rotary::cli
