// SPDX-License-Identifier: Apache-2.0
// Dataset: bytes to train on, cut into documents, with a fixed part of them for validation. A
// folder of data sets holds what prepare.py makes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::lab {

enum class DataKind : std::uint8_t {
  text = 1,
  pairs = 2,  // pair_batches.hpp
};

struct Manifest {
  std::string name;
  DataKind kind = DataKind::text;
  std::string origin = {};                   // what the user gave, or how it was made
  std::string licence = {};                  // as the user said; "not stated"
  std::string sha256 = {};                   // of all bytes, hexadecimal
  std::vector<std::int64_t> documents = {};  // bytes of each
  std::string pieces_sha256 = {};            // of pairs: of the model of their pieces
  std::vector<std::string> paths = {};       // of each in its source; empty if unknown
};

struct Dataset {
  Manifest manifest;
  std::string pieces = {};  // of pairs: the model, for Pieces, made of the part to train on
  std::string train = {};
  std::string validation = {};
  // Bytes of each document in them, if data are split by documents; empty otherwise.
  std::vector<std::int64_t> train_documents = {};
  std::vector<std::int64_t> validation_documents = {};
  // The path of each, likewise; empty if the manifest has none.
  std::vector<std::string> train_paths = {};
  std::vector<std::string> validation_paths = {};
};

// Every 20th piece is validation: a document where there are 100 of them or more, otherwise 64 KiB.
[[nodiscard]] Dataset split(Manifest manifest, std::string_view text);

// Fails when the bytes are not those of the manifest.
[[nodiscard]] Dataset load_dataset(const std::string& folder, const std::string& name);

[[nodiscard]] bool has_dataset(const std::string& folder, const std::string& name);

// Generated text, which can replace that of language models where there is no other.
inline constexpr std::string_view grammar_name = "grammar";

[[nodiscard]] std::string sha256_of(std::string_view bytes);

}  // namespace rotary::lab
