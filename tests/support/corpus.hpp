// SPDX-License-Identifier: Apache-2.0
// The files of fuzz/corpus/<target>/. Those named y_* must be accepted, those named n_* refused.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/source_path.hpp"

namespace rotary::test {

struct CorpusFile {
  std::string name;
  std::string bytes;
};

// Files whose name begins with `beginning`, sorted by name.
[[nodiscard]] inline std::vector<CorpusFile> corpus_files(std::string_view target,
                                                          std::string_view beginning) {
  std::vector<CorpusFile> files;
  const auto folder = std::filesystem::path(source_path("fuzz/corpus")) / target;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(beginning)) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files.push_back({name, {std::istreambuf_iterator<char>(file), {}}});
  }
  std::sort(files.begin(), files.end(),
            [](const CorpusFile& a, const CorpusFile& b) { return a.name < b.name; });
  if (files.empty()) throw std::runtime_error("the corpus has no file of this kind");
  return files;
}

}  // namespace rotary::test
