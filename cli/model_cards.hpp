// SPDX-License-Identifier: Apache-2.0
// The cards of models/ inside the tool: configs of public models, reduced to what concerns
// positions, each with the source of its values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::cli {

struct ModelCard {
  std::string_view name;        // "llama-3.1-8b"
  std::string_view model_type;  // of the config; empty for the forms of params.json
  std::string_view source;      // repository, commit, path
  std::string_view json;        // the card's file
};

// Sorted by name.
[[nodiscard]] std::span<const ModelCard> model_cards() noexcept;

// The card of that name in any case, or nullptr.
[[nodiscard]] const ModelCard* find_model_card(std::string_view name) noexcept;

// The card that the id of a model on the Hub names: "Qwen/Qwen2.5-7B" is qwen2.5-7b; or nullptr.
[[nodiscard]] const ModelCard* find_card_of_id(std::string_view id);

// Names that text may have meant, nearest first, at most 5. Case, separators and an ending .json do
// not count; the name may be a part of text, as in meta-llama/Llama-3.1-8B-Instruct.
[[nodiscard]] std::vector<std::string_view> near_card_names(std::string_view text);

// "; the nearest names: llama-3-8b, llama-3.1-8b", or where all of them are listed.
[[nodiscard]] std::string near_card_names_text(std::string_view text);

// Fails: it names neither a file nor a card; nor ends the message.
[[noreturn]] void fail_unknown_card(std::string_view text, std::string_view nor);

}  // namespace rotary::cli
