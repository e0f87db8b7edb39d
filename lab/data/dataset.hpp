// SPDX-License-Identifier: Apache-2.0
// Dataset: training bytes, divided into documents, with a fixed part for validation. prepare.py
// makes folders of data sets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::lab {

struct Manifest {
  std::string name;
  std::string origin = {};                   // the user's source, or how it was made
  std::string licence = {};                  // as the user stated it, or "not stated"
  std::string sha256 = {};                   // of all bytes, in hexadecimal
  std::vector<std::int64_t> documents = {};  // bytes of each
  std::string pieces_sha256 = {};            // for pairs: hash of the pieces model
  std::vector<std::string> paths = {};  // path of each document in its source; empty if unknown
};

struct Dataset {
  Manifest manifest;
  std::string pieces = {};  // for pairs: the model for Pieces, made from the training part
  std::string train = {};
  std::string validation = {};
  // The bytes of each document, if data are split by documents; else empty.
  std::vector<std::int64_t> train_documents = {};
  std::vector<std::int64_t> validation_documents = {};
  // The path of each document, if data are split by documents and the manifest has paths.
  std::vector<std::string> train_paths = {};
  std::vector<std::string> validation_paths = {};
};

// Every 20th part is for validation. Parts are documents if there are at least 100, else 64 KiB.
[[nodiscard]] Dataset split(Manifest manifest, std::string_view text);

// Fails if the bytes do not match the manifest.
[[nodiscard]] Dataset load_dataset(const std::string& folder, const std::string& name);

[[nodiscard]] bool has_dataset(const std::string& folder, const std::string& name);

// Generated text, which language models may use in place of missing data.
inline constexpr std::string_view grammar_name = "grammar";

[[nodiscard]] std::string sha256_of(std::string_view bytes);

}  // namespace rotary::lab
