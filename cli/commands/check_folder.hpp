// SPDX-License-Identifier: Apache-2.0
// Files of a checkpoint beside its config: frequencies in shards, configs of other formats, the
// tokenizer's length.
#pragma once

#include <functional>
#include <string>

#include "rotary/model_spec.hpp"

namespace rotary::cli {

enum class FolderFinding { warning, error };

// Calls add(severity, message) for each finding; message begins with the name of the file.
void check_folder(const std::string& folder, const ModelSpec& model,
                  const std::function<void(FolderFinding, const std::string&)>& add);

}  // namespace rotary::cli
