// SPDX-License-Identifier: Apache-2.0
#include "lab/data/pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
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

[[noreturn]] void fail(std::string_view program, std::string_view what) {
  throw Failure(ExitCode::unsupported,
                fmt::format("{} must {}; it is one of SentencePiece's programs: apt-get install "
                            "sentencepiece",
                            program, what));
}

std::string ask(const std::vector<std::string>& command, std::string_view what) {
  const std::string program = command.front();
  auto output = output_of(command);
  if (!output) fail(program, what);
  return *std::move(output);
}

// Splits text into `count` lines.
std::vector<std::string> lines_of(std::string_view text, std::size_t count) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.size() == count) return lines;
  throw Failure(ExitCode::internal,
                fmt::format("SentencePiece must answer {} lines, got {}", count, lines.size()));
}

Pieces::Tokens numbers_of(std::string_view line) {
  Pieces::Tokens numbers;
  const char* at = line.data();
  const char* const end = at + line.size();
  while (at != end) {
    std::int64_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc())
      throw Failure(ExitCode::internal,
                    fmt::format("SentencePiece must answer numbers, got {}", line));
    numbers.push_back(number);
    at = std::find_if(after, end, [](char c) { return c != ' '; });
  }
  return numbers;
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
