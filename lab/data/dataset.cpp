// SPDX-License-Identifier: Apache-2.0
#include "lab/data/dataset.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "lab/experiment/experiments.hpp"
#include "lab/experiment/json_object.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;
using nlohmann::json;

constexpr std::uint64_t bytes_limit = std::uint64_t{4} << 30;
constexpr std::int64_t validation_every = 20;
constexpr std::int64_t block_bytes = 64 << 10;
constexpr std::size_t documents_to_split_by = 100;

std::string file_in(const std::string& folder, const std::string& name, const char* file) {
  return (fs::path(folder) / name / file).string();
}

Manifest read_manifest(const std::string& folder, const std::string& name) {
  const std::string path = file_in(folder, name, "manifest.json");
  const json document = parse_json(cli::read_file(path, bytes_limit), path);
  JsonObject object(document, path);
  Manifest manifest;
  if (object.integer("schema_version", 1) != 1)
    throw Failure(ExitCode::malformed_input, path + ": schema_version must be 1");
  manifest.name = object.text("name");
  manifest.origin = object.text("origin");
  manifest.licence = object.text("licence");
  manifest.sha256 = object.text("sha256");
  for (const json& bytes : object.at("documents")) {
    if (!bytes.is_number_integer() || bytes.get<std::int64_t>() < 1)
      throw Failure(ExitCode::malformed_input, path + ": documents must be numbers of bytes");
    manifest.documents.push_back(bytes.get<std::int64_t>());
  }
  // Manifests of texts have no "kind".
  if (object.has("kind")) {
    if (object.text("kind") != "pairs")
      throw Failure(ExitCode::malformed_input, path + ": kind must be pairs or absent");
    manifest.pieces_sha256 = object.text("pieces_sha256");
  }
  if (object.has("paths")) {
    for (const json& each : object.at("paths"))
      manifest.paths.push_back(each.is_string() ? each.get<std::string>() : "");
    if (manifest.paths.size() != manifest.documents.size())
      throw Failure(ExitCode::malformed_input, path + ": paths must be one for each document");
  }
  object.finish();
  return manifest;
}

void check_sha256(const std::string& path, std::string_view bytes, const std::string& sha256) {
  if (sha256_of(bytes) == sha256) return;
  throw Failure(ExitCode::malformed_input,
                fmt::format("{} must have the SHA-256 of its manifest, {}", path, sha256));
}

std::vector<std::int64_t> pieces_of(const Manifest& manifest, std::int64_t bytes) {
  if (manifest.documents.size() >= documents_to_split_by) return manifest.documents;
  std::vector<std::int64_t> blocks;
  for (std::int64_t first = 0; first < bytes; first += block_bytes)
    blocks.push_back(std::min(block_bytes, bytes - first));
  return blocks;
}

}  // namespace

std::string sha256_of(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw Failure(ExitCode::internal, "SHA-256 failed");
  std::string text;
  for (unsigned int n = 0; n < size; ++n) text += fmt::format("{:02x}", digest[n]);
  return text;
}

Dataset split(Manifest manifest, std::string_view text) {
  Dataset dataset{.manifest = std::move(manifest)};
  const bool by_document = dataset.manifest.documents.size() >= documents_to_split_by;
  std::int64_t index = 0;
  std::size_t first = 0;
  for (const std::int64_t bytes : pieces_of(dataset.manifest, std::ssize(text))) {
    // Takes the last of every 20, so that a small data set has training pieces.
    const bool validates = index++ % validation_every == validation_every - 1;
    const auto size = static_cast<std::size_t>(bytes);
    (validates ? dataset.validation : dataset.train) += text.substr(first, size);
    if (by_document)
      (validates ? dataset.validation_documents : dataset.train_documents).push_back(bytes);
    if (by_document && !dataset.manifest.paths.empty()) {
      (validates ? dataset.validation_paths : dataset.train_paths)
          .push_back(dataset.manifest.paths[static_cast<std::size_t>(index - 1)]);
    }
    first += size;
  }
  if (!dataset.validation.empty()) return dataset;
  // With fewer than 20 pieces none validates, so the last twentieth of the bytes is for validation.
  const std::size_t kept = dataset.train.size() - dataset.train.size() / validation_every;
  dataset.validation = dataset.train.substr(kept);
  dataset.train.resize(kept);
  return dataset;
}

Dataset load_dataset(const std::string& folder, const std::string& name) {
  if (!is_plain_name(name)) {
    throw Failure(ExitCode::usage, fmt::format("the name of a data set must be {}, got '{}'",
                                               plain_name_requirement, name));
  }
  Manifest manifest = read_manifest(folder, name);
  const std::string path = file_in(folder, name, "text.bin");
  const std::string text = cli::read_file(path, bytes_limit);
  const std::int64_t stated =
      std::accumulate(manifest.documents.begin(), manifest.documents.end(), std::int64_t{0});
  if (stated != std::ssize(text))
    throw Failure(ExitCode::malformed_input,
                  fmt::format("{} must have the SHA-256 of its manifest, {}, and the bytes of its "
                              "documents, {}, got {}",
                              path, manifest.sha256, stated, text.size()));
  check_sha256(path, text, manifest.sha256);
  Dataset dataset = split(std::move(manifest), text);
  if (!dataset.manifest.pieces_sha256.empty()) {
    const std::string pieces = file_in(folder, name, "pieces.model");
    dataset.pieces = cli::read_file(pieces, bytes_limit);
    check_sha256(pieces, dataset.pieces, dataset.manifest.pieces_sha256);
  }
  return dataset;
}

bool has_dataset(const std::string& folder, const std::string& name) {
  return fs::exists(file_in(folder, name, "manifest.json"));
}

}  // namespace rotary::lab
