// SPDX-License-Identifier: Apache-2.0
#include "model/dialects/evidence.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "base/message.hpp"
#include "model/words.hpp"
#include "rotary/scaling.hpp"

namespace rotary {
namespace {

const Json* filled_object(const Json& part, std::string_view key) {
  const Json* const found = part.is_object() ? part.find(key) : nullptr;
  return found != nullptr && found->is_object() && !found->object().empty() ? found : nullptr;
}

bool is_stated(const Json& object, std::string_view key) {
  const Json* const found = object.is_object() ? object.find(key) : nullptr;
  return found != nullptr && !found->is_null();
}

std::string_view form_of(const Json* scaling, const Json* parameters) {
  if (scaling != nullptr && parameters != nullptr) return "both";
  if (scaling != nullptr)
    return is_stated(*scaling, "rope_type") ? "scaling_rope_type" : "scaling_type";
  if (parameters == nullptr) return "plain";
  const auto is_nested = [](const auto& member) { return member.second.is_object(); };
  return std::ranges::any_of(parameters->object(), is_nested) ? "parameters_nested"
                                                              : "parameters_flat";
}

std::string_view rule_of(const Scaling& scaling) {
  constexpr std::array<std::string_view, 6> known = {"default", "linear", "dynamic",
                                                     "yarn",    "llama3", "longrope"};
  const auto found = std::ranges::find(known, rope_type(scaling));
  return found == known.end() ? "other" : *found;
}

// Cells that evidence need not cover. A row decides about them only if it names them.
constexpr std::string_view own_head_dim = "own_head_dim", no_base = "no_base";

bool has_own_head_dim(const Json& part) {
  const auto size = [&](std::string_view key) {
    const Json* const found = part.is_object() ? part.find(key) : nullptr;
    return found != nullptr && found->is_number() ? found->number() : 0.0;
  };
  const double given = size("head_dim"), heads = size("num_attention_heads");
  return given > 0 && heads > 0 && size("hidden_size") > 0 && given * heads != size("hidden_size");
}

bool lacks_base(const ModelRotary& rotary) {
  return std::ranges::any_of(rotary.sources, [](const ValueSource& source) {
    return source.value == "base" && source.origin == Origin::class_default;
  });
}

// The cells of the table that this config belongs to: its form with each of its rules, and
// properties such as rope_theta in two places.
std::set<std::string> cells_of(const Json& part, const ModelSpec& model) {
  const Json* const scaling = filled_object(part, "rope_scaling");
  const Json* const parameters = filled_object(part, "rope_parameters");
  const std::string_view form = form_of(scaling, parameters);
  std::set<std::string> cells;
  for (const ModelRotary& rotary : model.rotary)
    cells.insert(message(form, ":", rule_of(rotary.spec.scaling)));
  if (cells.empty()) cells.insert(message(form, ":default"));
  for (const Json* dictionary : {scaling, parameters}) {
    if (dictionary == nullptr) continue;
    if (is_stated(*dictionary, "partial_rotary_factor")) cells.insert("partial_inner");
    if (is_stated(*dictionary, "rope_theta") && is_stated(part, "rope_theta"))
      cells.insert("two_thetas");
  }
  if (is_stated(part, "partial_rotary_factor")) cells.insert("partial_outer");
  if (has_own_head_dim(part)) cells.insert(std::string(own_head_dim));
  if (std::ranges::any_of(model.rotary, lacks_base)) cells.insert(std::string(no_base));
  return cells;
}

struct FormWords {
  std::string_view form;
  std::string_view words;
};

// A cell in words: "rope_scaling.rope_type yarn" for "scaling_rope_type:yarn".
std::string words_of(const std::string& cell) {
  constexpr std::array forms = {
      FormWords{"plain", "no rope_scaling,"},
      FormWords{"scaling_type", "rope_scaling.type"},
      FormWords{"scaling_rope_type", "rope_scaling.rope_type"},
      FormWords{"parameters_flat", "rope_parameters.rope_type"},
      FormWords{"parameters_nested", "rope_parameters of layer types,"},
      FormWords{"both", "rope_scaling beside rope_parameters,"},
      FormWords{"partial_inner", "partial_rotary_factor in the rope dictionary"},
      FormWords{"partial_outer", "partial_rotary_factor beside the rope dictionary"},
      FormWords{"two_thetas", "rope_theta twice"},
      FormWords{own_head_dim, "a head_dim that is not hidden_size / num_attention_heads"},
      FormWords{no_base, "the default base"}};
  const std::size_t colon = cell.find(':');
  const auto found = std::ranges::find(forms, cell.substr(0, colon), &FormWords::form);
  const std::string words(found == forms.end() ? cell : found->words);
  return colon == std::string::npos ? words : message(words, " ", cell.substr(colon + 1));
}

constexpr std::string_view every_config = " * ";
constexpr std::string_view own_code =
    "; a checkpoint's own code (trust_remote_code) was not looked at";

std::vector<const EvidenceRow*> rows_of(const ModelSpec& model, const Dialect& dialect) {
  const EngineVersion version = dialect.version.value_or(facts_of(dialect.engine).newest);
  std::vector<const EvidenceRow*> found;
  for (const EvidenceRow& row : evidence_rows()) {
    if (row.engine == dialect.engine && row.first <= version && version <= row.last &&
        has_word(row.families, model.model_type))
      found.push_back(&row);
  }
  return found;
}

bool was_looked_at(const Dialect& dialect) {
  const auto releases = facts_of(dialect.engine).releases;
  return !dialect.version || releases.empty() ||
         std::ranges::find(releases, *dialect.version) != releases.end();
}

// The nearest tried releases before and after an untried one: "4.45 and 4.48 were".
std::string nearest_releases(const Dialect& dialect) {
  const auto releases = facts_of(dialect.engine).releases;
  const auto after = std::ranges::find_if(
      releases, [&](const EngineVersion& each) { return each > *dialect.version; });
  if (after == releases.begin()) return message(version_text(releases.front()), " was");
  if (after == releases.end()) return message(version_text(releases.back()), " was");
  return message(version_text(*(after - 1)), " and ", version_text(*after), " were");
}

std::string name_of(const Dialect& dialect) {
  const EngineVersion version = dialect.version.value_or(facts_of(dialect.engine).newest);
  const std::string_view engine = to_string(dialect.engine);
  if (version == EngineVersion{}) return std::string(engine);
  return message(engine, " ", version_text(version));
}

// True if no release of Transformers has the family: its code is then in the checkpoint.
bool comes_with_checkpoint(std::string_view family, const Dialect& dialect) {
  return dialect.engine == Engine::transformers &&
         std::ranges::none_of(evidence_rows(), [&](const EvidenceRow& row) {
           return row.engine == dialect.engine && row.kind != Evidence::absent &&
                  has_word(row.families, family);
         });
}

}  // namespace

std::string version_text(const EngineVersion& version) {
  return message(version.major, ".", version.minor);
}

ReadingEvidence evidence_of(const Json& part, const ModelSpec& model, const Dialect& dialect) {
  const std::string engine = name_of(dialect);
  const std::string family = model.model_type.empty() ? "no model_type" : model.model_type;
  const auto rows = rows_of(model, dialect);
  const auto is_absent = [](const EvidenceRow* row) {
    return row->kind == Evidence::absent && row->cells == every_config;
  };
  if (std::ranges::any_of(rows, is_absent)) {
    const std::string has_none = message(engine, " has no ", family);
    if (!comes_with_checkpoint(family, dialect)) return {Evidence::absent, has_none};
    return {Evidence::none, has_none + std::string(own_code)};
  }
  if (!was_looked_at(dialect))
    return {Evidence::none, message(engine, " was not looked at: ", nearest_releases(dialect))};
  const std::string unseen = message(engine, " was not looked at for ", family);
  if (rows.empty()) return {Evidence::none, unseen};
  Evidence kind = Evidence::run;
  for (const std::string& cell : cells_of(part, model)) {
    const auto row = std::ranges::find_if(rows, [&](const EvidenceRow* each) {
      return each->cells == every_config || has_word(each->cells, cell);
    });
    const std::string where = message(" with ", words_of(cell));
    if (row == rows.end() && (cell == own_head_dim || cell == no_base)) continue;
    if (row == rows.end()) return {Evidence::none, unseen + where};
    if ((*row)->kind == Evidence::none)
      return {Evidence::none, message("numbers of ", engine, " for ", family, where,
                                      " are not those computed here")};
    if ((*row)->kind == Evidence::absent)
      return {Evidence::none,
              message(engine, " failed on the config of ", family, where, " that was tried")};
    if ((*row)->kind == Evidence::read) kind = Evidence::read;
  }
  const bool was_run = kind == Evidence::run;
  return {kind, was_run ? message("numbers of ", engine, " were compared for ", family)
                        : message("the source of ", engine, " was read for ", family)};
}

std::size_t families_looked_at(Engine engine) noexcept {
  std::size_t families = 0;
  const auto rows = evidence_rows();
  const auto is_known = [&](const EvidenceRow& row) {
    return row.engine == engine && (row.kind == Evidence::run || row.kind == Evidence::read);
  };
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    if (!is_known(*row)) continue;
    for_each_word(row->families, [&](std::string_view family) {
      const bool is_new = std::none_of(rows.begin(), row, [&](const EvidenceRow& before) {
        return is_known(before) && has_word(before.families, family);
      });
      if (is_new) ++families;
    });
  }
  return families;
}

}  // namespace rotary
