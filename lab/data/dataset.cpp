// SPDX-License-Identifier: Apache-2.0
#include "lab/data/dataset.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "lab/data/debian_package.hpp"
#include "lab/data/grammar.hpp"
#include "lab/data/pair_grammar.hpp"
#include "lab/data/pairs.hpp"
#include "lab/data/pieces.hpp"
#include "lab/experiment/json_object.hpp"
#include "lab/experiment/plain_name.hpp"

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

// The grammar of every run.
constexpr std::uint64_t grammar_seed = 1;
constexpr std::int64_t grammar_bytes = 4 << 20;
constexpr std::int64_t grammar_pairs = 20'000;

// For pairs: the number of pieces that both languages share.
constexpr std::int64_t piece_count = 4000;
constexpr std::int64_t grammar_piece_count = 600;

fs::path text_path(const std::string& folder, const std::string& name) {
  return fs::path(folder) / name / "text.bin";
}
fs::path pieces_path(const std::string& folder, const std::string& name) {
  return fs::path(folder) / name / "pieces.model";
}
fs::path manifest_path(const std::string& folder, const std::string& name) {
  return fs::path(folder) / name / "manifest.json";
}

void check_name(const std::string& name) {
  if (is_plain_name(name) && name != grammar_name && name != grammar_pairs_name) return;
  throw Failure(ExitCode::usage,
                fmt::format("the name of a data set must be {}, and not {} or {}, got '{}'",
                            plain_name_requirement, grammar_name, grammar_pairs_name, name));
}

std::string to_json(const Manifest& manifest) {
  json document = {{"schema_version", 1},       {"name", manifest.name},
                   {"origin", manifest.origin}, {"licence", manifest.licence},
                   {"sha256", manifest.sha256}, {"documents", manifest.documents}};
  if (manifest.kind == DataKind::pairs) {
    document["kind"] = "pairs";
    document["pieces_sha256"] = manifest.pieces_sha256;
  }
  if (!manifest.paths.empty()) document["paths"] = manifest.paths;
  return document.dump() + "\n";
}

Manifest read_manifest(const std::string& folder, const std::string& name) {
  const std::string path = manifest_path(folder, name).string();
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
  // The manifest of a text does not say it.
  if (object.has("kind")) {
    if (object.text("kind") != "pairs")
      throw Failure(ExitCode::malformed_input, path + ": kind must be pairs, where it is given");
    manifest.kind = DataKind::pairs;
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

// pieces: "" of a text.
void keep(const std::string& folder, const Manifest& manifest, std::string text,
          std::string pieces) {
  fs::create_directories(fs::path(folder) / manifest.name);
  std::vector<cli::OutputFile> files = {
      {.path = text_path(folder, manifest.name).string(), .bytes = std::move(text)}};
  if (manifest.kind == DataKind::pairs)
    files.push_back(
        {.path = pieces_path(folder, manifest.name).string(), .bytes = std::move(pieces)});
  files.push_back(
      {.path = manifest_path(folder, manifest.name).string(), .bytes = to_json(manifest)});
  // The manifest is last, and makes them a data set: what lies here without one was cut off.
  cli::write_files(files, cli::Overwrite::allow);
}

// Adds the documents of a source to the text.
void append_documents(Manifest& manifest, std::string& text, const SourceFiles& source) {
  read_documents(source, bytes_limit - text.size(), [&](std::string path, std::string document) {
    text += document;
    manifest.documents.push_back(std::ssize(document));
    manifest.paths.push_back(std::move(path));
    return bytes_limit - std::min<std::uint64_t>(bytes_limit, text.size());
  });
}

constexpr std::string_view package_prefix = "deb:";

// "deb:one,deb:another" is two; the second prefix is needless.
std::vector<std::string> sources_of(std::string_view list) {
  if (!list.starts_with(package_prefix)) return {std::string(list)};
  std::vector<std::string> sources;
  while (true) {
    if (list.starts_with(package_prefix)) list.remove_prefix(package_prefix.size());
    const std::size_t end = list.find(',');
    sources.push_back(std::string(package_prefix) + std::string(list.substr(0, end)));
    if (end == std::string_view::npos) return sources;
    list.remove_prefix(end + 1);
  }
}

// A source as a path: of deb:PACKAGE where the package is unpacked, as long as this lives.
struct OpenedSource {
  std::unique_ptr<UnpackedPackage> package;
  std::string path;
  std::string origin;
};

OpenedSource open_source(const std::string& path) {
  if (!path.starts_with(package_prefix)) return {.package = {}, .path = path, .origin = path};
  auto package = std::make_unique<UnpackedPackage>(path.substr(package_prefix.size()));
  const std::string folder = package->folder();
  const std::string archive = package->archive();
  return {.package = std::move(package), .path = folder, .origin = archive};
}

Manifest add_text(const std::string& folder, const std::string& name, const Source& source) {
  Manifest manifest{.name = name, .licence = source.licence};
  std::string text;
  for (const std::string& each : sources_of(source.path)) {
    const OpenedSource opened = open_source(each);
    manifest.origin += (manifest.origin.empty() ? "" : ", ") + opened.origin;
    append_documents(manifest, text,
                     {.path = opened.path, .suffix = source.suffix, .format = source.format});
  }
  if (text.empty())
    throw Failure(ExitCode::malformed_input, fmt::format("{}: no text in it", source.path));
  manifest.sha256 = sha256_of(text);
  keep(folder, manifest, std::move(text), {});
  return manifest;
}

Manifest add_pairs(const std::string& folder, const std::string& name, const Source& source) {
  const OpenedSource sources = open_source(source.path);
  const OpenedSource targets = open_source(source.translation);
  PairText made = collect_pairs(sources.path, targets.path);
  Manifest manifest{.name = name,
                    .kind = DataKind::pairs,
                    .origin = fmt::format("{} and {}", sources.origin, targets.origin),
                    .licence = source.licence,
                    .sha256 = sha256_of(made.text),
                    .documents = std::move(made.documents),
                    .pieces_sha256 = {}};
  std::string pieces = train_pieces(split(manifest, made.text).train, piece_count);
  manifest.pieces_sha256 = sha256_of(pieces);
  keep(folder, manifest, std::move(made.text), std::move(pieces));
  return manifest;
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
    // The last of each 20, so that small data has something to train on first.
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
  // Fewer than 20 pieces: the last twentieth of the bytes.
  const std::size_t kept = dataset.train.size() - dataset.train.size() / validation_every;
  dataset.validation = dataset.train.substr(kept);
  dataset.train.resize(kept);
  return dataset;
}

Manifest add_dataset(const std::string& folder, const std::string& name, const Source& source) {
  check_name(name);
  if (fs::exists(manifest_path(folder, name))) {
    throw Failure(ExitCode::io, fmt::format("{} exists; choose another name, or remove it",
                                            (fs::path(folder) / name).string()));
  }
  return source.translation.empty() ? add_text(folder, name, source)
                                    : add_pairs(folder, name, source);
}

Dataset load_dataset(const std::string& folder, const std::string& name) {
  if (name == grammar_name) return grammar_dataset();
  if (name == grammar_pairs_name) {
    Dataset dataset = grammar_pairs_dataset();
    dataset.pieces = train_pieces(dataset.train, grammar_piece_count);
    dataset.manifest.pieces_sha256 = sha256_of(dataset.pieces);
    return dataset;
  }
  check_name(name);
  Manifest manifest = read_manifest(folder, name);
  const std::string path = text_path(folder, name).string();
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
  if (dataset.manifest.kind == DataKind::pairs) {
    const std::string pieces = pieces_path(folder, name).string();
    dataset.pieces = cli::read_file(pieces, bytes_limit);
    check_sha256(pieces, dataset.pieces, dataset.manifest.pieces_sha256);
  }
  return dataset;
}

std::vector<Manifest> list_datasets(const std::string& folder) {
  std::vector<Manifest> manifests;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / "manifest.json"))
      manifests.push_back(read_manifest(folder, entry.path().filename().string()));
  }
  std::ranges::sort(manifests, {}, &Manifest::name);
  return manifests;
}

Dataset grammar_dataset() {
  GrammarText made = generate_text(grammar_seed, grammar_bytes);
  Manifest manifest{.name = std::string(grammar_name),
                    .origin = fmt::format("generated, seed {}", grammar_seed),
                    .licence = "none needed",
                    .sha256 = sha256_of(made.text),
                    .documents = std::move(made.documents)};
  return split(std::move(manifest), made.text);
}

Dataset grammar_pairs_dataset() {
  PairText made = generate_pairs(grammar_seed, grammar_pairs);
  Manifest manifest{.name = std::string(grammar_pairs_name),
                    .kind = DataKind::pairs,
                    .origin = fmt::format("generated, seed {}", grammar_seed),
                    .licence = "none needed",
                    .sha256 = sha256_of(made.text),
                    .documents = std::move(made.documents),
                    .pieces_sha256 = {}};
  return split(std::move(manifest), made.text);
}

}  // namespace rotary::lab
