// SPDX-License-Identifier: Apache-2.0
// The part of rotary positions that is about batches of text: ids of padded, packed, chunked and
// decoded sequences, and ids of a program judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"

namespace rotary::cli {

// Fails where a terminal cannot take the tokens and there is no --out.
void check_printed_tokens(std::int64_t tokens, const OutputOption& output);

struct BatchOptions {
  std::optional<std::string> mask, ids;
  std::vector<std::int64_t> lengths, past;
  std::optional<std::int64_t> chunk;

  [[nodiscard]] bool are_given() const { return mask || ids || !lengths.empty(); }
};

// Excludes the options of prompts with images.
void declare_batch(OptionParser& parser, BatchOptions& options);

[[nodiscard]] Answer run_batch(const BatchOptions& options, const OutputOption& output,
                               OutputForm form);

}  // namespace rotary::cli
