// SPDX-License-Identifier: Apache-2.0
// Pieces: the tokens of translation, parts of words that a model of SentencePiece (Kudo and
// Richardson 2018) knows, the same for both languages. The tokens of all other tasks are bytes.
//
// SentencePiece runs as programs of Debian's package sentencepiece, because its library conflicts
// with libtorch's protobuf in one process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/process/program.hpp"

namespace rotary::lab {

// Tokens that occur in no text, in every model that prepare.py trains.
inline constexpr std::int64_t padding_piece = 0;
inline constexpr std::int64_t begin_piece = 2;
inline constexpr std::int64_t end_piece = 3;

class Pieces {
 public:
  using Tokens = std::vector<std::int64_t>;

  // Fails if these are not the bytes of such a model.
  explicit Pieces(std::string_view model);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  // The tokens of each text, without a beginning and an end; a text has no line end.
  [[nodiscard]] std::vector<Tokens> encode(std::span<const std::string_view> texts) const;
  // Inverts encode() for texts whose words are one space apart. Tokens that no text has are
  // skipped.
  [[nodiscard]] std::vector<std::string> decode(std::span<const Tokens> texts) const;

 private:
  ScratchFolder folder_;
  std::string model_;  // a file in it
  std::int64_t count_ = 0;
};

}  // namespace rotary::lab
