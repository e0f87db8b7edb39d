// SPDX-License-Identifier: Apache-2.0
// `rotary positions` for batches of text (padded, packed, chunked or decoded) and checks of ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"

namespace rotary::cli {

// Fails if there are too many tokens to print and no --out.
void check_printed_tokens(std::int64_t tokens, const OutputOption& output);

struct BatchOptions {
  std::optional<std::string> mask, ids;
  std::vector<std::int64_t> lengths, past;
  std::optional<std::int64_t> chunk;

  [[nodiscard]] bool are_given() const { return mask || ids || !lengths.empty(); }
};

// Batch options exclude the options for prompts with images.
void declare_batch(OptionParser& parser, BatchOptions& options);

[[nodiscard]] Answer run_batch(const BatchOptions& options, const OutputOption& output,
                               OutputForm form);

}  // namespace rotary::cli
