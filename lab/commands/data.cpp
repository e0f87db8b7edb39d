// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <string>

#include "cli/failure.hpp"
#include "cli/printable.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/print.hpp"
#include "lab/data/dataset.hpp"
#include "lab/data/defaults.hpp"
#include "lab/encodings/encoding.hpp"

namespace rotary::lab {
namespace {

void print(const Manifest& manifest) {
  const std::int64_t bytes =
      std::accumulate(manifest.documents.begin(), manifest.documents.end(), std::int64_t{0});
  print_answer("{}: {}{} bytes, {} documents, from {}, licence: {}, sha256 {}\n", manifest.name,
               manifest.kind == DataKind::pairs ? "pairs, " : "", bytes, manifest.documents.size(),
               cli::printable(manifest.origin), cli::printable(manifest.licence), manifest.sha256);
}

std::string default_names() {
  std::string names;
  for (const DefaultData& each : default_data())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  return names;
}

}  // namespace

int list_encodings() {
  for (const NamedEncoding& each : named_encodings()) {
    print_answer("{:<13} {}\n{:<13} {}\n", each.name, each.summary, "",
                 nlohmann::json::parse(each.settings).dump());
  }
  return 0;
}

int add_data(const DataArguments& arguments) {
  Source source = arguments.source;
  if (source.path.empty()) {
    const DefaultData* const known = find_default(arguments.name);
    if (known == nullptr) {
      throw cli::Failure(cli::ExitCode::usage,
                         fmt::format("--from must say where {} comes from; without it there are {}",
                                     arguments.name, default_names()));
    }
    source = known->source;
  }
  print(add_dataset(arguments.folder, arguments.name, source));
  return 0;
}

int add_default_data(const std::string& folder) {
  std::string failed;
  for (const DefaultData& each : default_data()) {
    const std::string& name = each.name;
    if (has_dataset(folder, name)) {
      print_answer("{}: there already\n", name);
      continue;
    }
    try {
      print(add_dataset(folder, name, each.source));
    } catch (const cli::Failure& failure) {
      print_note("{}: {}\n", name, cli::printable(failure.what()));
      failed += (failed.empty() ? "" : ", ") + name;
    }
  }
  if (failed.empty()) return 0;
  throw cli::Failure(cli::ExitCode::io, fmt::format("{} could not be had", failed));
}

int list_data(const std::string& folder) {
  for (const Manifest& manifest : list_datasets(folder)) print(manifest);
  print(grammar_dataset().manifest);
  print(grammar_pairs_dataset().manifest);
  for (const DefaultData& each : default_data()) {
    if (!has_dataset(folder, each.name))
      print_answer("{}: not here; rotary-lab data add {}: {}\n", each.name, each.name, each.what);
  }
  return 0;
}

}  // namespace rotary::lab
