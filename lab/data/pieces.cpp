// SPDX-License-Identifier: Apache-2.0
#include "lab/data/pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "lab/process/program.hpp"

namespace rotary::lab {
namespace {

using cli::ExitCode;
using cli::Failure;

std::string ask(const std::vector<std::string>& command, std::string_view what) {
  auto output = output_of(command);
  if (output) return *std::move(output);
  throw Failure(ExitCode::unsupported,
                fmt::format("{} must {}; it is one of SentencePiece's programs: apt-get install "
                            "sentencepiece",
                            command.front(), what));
}

// Splits text into `count` lines.
std::vector<std::string> lines_of(const std::string& text, std::size_t count) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(std::move(line));
  if (lines.size() == count) return lines;
  throw Failure(ExitCode::internal,
                fmt::format("SentencePiece must answer {} lines, got {}", count, lines.size()));
}

Pieces::Tokens numbers_of(const std::string& line) {
  std::istringstream words(line);
  Pieces::Tokens numbers;
  for (std::int64_t number = 0; words >> number;) numbers.push_back(number);
  if (words.eof()) return numbers;
  throw Failure(ExitCode::internal, fmt::format("SentencePiece must answer numbers, got {}", line));
}

}  // namespace

Pieces::Pieces(std::string_view model) : model_(folder_.write("pieces.model", std::string(model))) {
  const std::string vocabulary =
      ask({"spm_export_vocab", "--model=" + model_}, "read the model of the pieces");
  count_ = std::ranges::count(vocabulary, '\n');
  if (vocabulary.starts_with("<pad>\t") && vocabulary.find("\n<s>\t") != std::string::npos) return;
  throw Failure(ExitCode::malformed_input,
                "the pieces must be a model of SentencePiece as the lab makes them");
}

std::vector<Pieces::Tokens> Pieces::encode(std::span<const std::string_view> texts) const {
  if (texts.empty()) return {};
  std::string lines;
  for (const std::string_view text : texts) lines += std::string(text) + "\n";
  const std::string input = folder_.write("texts", std::move(lines));
  const std::string answer =
      ask({"spm_encode", "--model=" + model_, "--output_format=id", "--minloglevel=2", input},
          "encode the texts");
  std::vector<Tokens> encoded;
  for (const std::string& line : lines_of(answer, texts.size()))
    encoded.push_back(numbers_of(line));
  return encoded;
}

std::vector<std::string> Pieces::decode(std::span<const Tokens> texts) const {
  if (texts.empty()) return {};
  std::string lines;
  for (const Tokens& text : texts) {
    for (const std::int64_t token : text) {
      // A line end as a byte token would split one text in two.
      if (token > end_piece && token < count_ && token != end_piece + 1 + '\n')
        lines += fmt::format("{} ", token);
    }
    lines += "\n";
  }
  const std::string input = folder_.write("tokens", std::move(lines));
  return lines_of(
      ask({"spm_decode", "--model=" + model_, "--input_format=id", "--minloglevel=2", input},
          "decode the tokens"),
      texts.size());
}

}  // namespace rotary::lab
