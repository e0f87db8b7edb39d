// SPDX-License-Identifier: Apache-2.0
// The page of a report about configs and their layers' encodings, and the JSON document for its
// script.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "cli/model_input.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::page {

// A config under its given name.
struct NamedModel {
  std::string name;
  ConfigFile file;
  ResolveOptions options;  // of the command line
  ModelSpec model;         // resolved from both
};

// The data of the page:
//   version
//   context   the context shown first
//   stops     the contexts that a reader can choose, in order
//   configs   name, summary, sentences, layers (if they differ), warnings, keys
//   subjects  the encodings: name, kind, trained_context_tokens, of_patches (coordinates instead
//             of tokens), fields (rows of a table), formula (base, rotary_dim, rope_type and
//             parameters, or null) and ranges: first and last context (null: none),
//             inv_freq, figures with their section
//   remarks   sentences that compare the first config with every other
// The command adds
//   differences  one, other, same, sentences: differences of two configs or engines
// Figures are those of `rotary plot --json` with 7 digits, enough to draw them. context_tokens is
// --context. Throws Failure.
[[nodiscard]] Json make_contents(const std::vector<NamedModel>& models,
                                 std::optional<std::int64_t> context_tokens);

// The page with this document as its data: one HTML file with its style, scripts and chart library.
// Characters that HTML could read as markup are escaped as in JSON.
[[nodiscard]] std::string page_with(std::string_view json);

// Defined in words.cpp. Rows (label, value, meaning) of the table of fields, for the layers that
// use model.rotary[index] or an encoding that does not rotate.
[[nodiscard]] Json rotary_fields(const ModelSpec& model, std::size_t index,
                                 const Frequencies& frequencies);
[[nodiscard]] Json encoding_fields(const ModelSpec& model, LayerEncoding encoding);

// Sentences for readers who do not know configs. encoding_sentence() returns "" for rotary.
[[nodiscard]] std::vector<std::string> rotary_sentences(const ModelSpec& model, std::size_t index,
                                                        const Frequencies& frequencies);
[[nodiscard]] std::string encoding_sentence(LayerEncoding encoding);

// Each key that is read, with its effect on positions (cli/explain/explain_config.hpp). Empty if
// keys_of_config() or keys_of_gguf() finds the file too large.
[[nodiscard]] Json key_rows(const NamedModel& named);

}  // namespace rotary::cli::page
