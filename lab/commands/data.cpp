// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <string>

#include "lab/commands/commands.hpp"
#include "lab/data/dataset.hpp"
#include "lab/encodings/encoding.hpp"

namespace rotary::lab {
namespace {

void print(const Manifest& manifest) {
  const std::int64_t bytes =
      std::accumulate(manifest.documents.begin(), manifest.documents.end(), std::int64_t{0});
  fmt::print("{}: {} bytes, {} documents, from {}, licence: {}, sha256 {}\n", manifest.name, bytes,
             manifest.documents.size(), manifest.origin, manifest.licence, manifest.sha256);
}

}  // namespace

int list_encodings() {
  for (const NamedEncoding& each : named_encodings()) {
    fmt::print("{:<13} {}\n{:<13} {}\n", each.name, each.summary, "",
               nlohmann::json::parse(each.settings).dump());
  }
  return 0;
}

int add_data(const DataArguments& arguments) {
  print(add_dataset(arguments.folder, arguments.name, arguments.source));
  return 0;
}

int list_data(const std::string& folder) {
  for (const Manifest& manifest : list_datasets(folder)) print(manifest);
  print(grammar_dataset().manifest);
  return 0;
}

}  // namespace rotary::lab
