// SPDX-License-Identifier: Apache-2.0
#include "lab/data/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/utf8.hpp"
#include "lab/data/html_paragraphs.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;

constexpr std::uint64_t file_bytes_limit = std::uint64_t{1} << 30;
constexpr std::size_t least_pairs = 100;
constexpr std::size_t pages_to_be_documents = 100;

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = cli::utf8_sequence_length(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

// Without white space around it, and none but spaces in it.
std::string cleaned(std::string_view line) {
  std::string text;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t' || c == '\r';
    if (!space) text += c;
    if (space && !text.empty() && text.back() != ' ') text += ' ';
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::vector<std::string> lines_of(const std::string& path) {
  const std::string text = cli::read_file(path, file_bytes_limit);
  if (!is_utf8(text))
    throw Failure(ExitCode::malformed_input, fmt::format("{} must be UTF-8", path));
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t end = std::min(text.find('\n', first), text.size());
    lines.push_back(cleaned(std::string_view(text).substr(first, end - first)));
    first = end + 1;
  }
  return lines;
}

// By their paths relative to the innermost folder that they are all in.
std::map<std::string, fs::path> pages_of(const std::string& folder) {
  std::vector<fs::path> pages;
  for (const auto& entry :
       fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
    const std::string suffix = entry.path().extension().string();
    if (entry.is_regular_file() && (suffix == ".html" || suffix == ".htm"))
      pages.push_back(entry.path());
  }
  if (pages.empty())
    throw Failure(ExitCode::malformed_input, fmt::format("{}: no HTML pages in it", folder));
  fs::path common = pages.front().parent_path();
  for (const fs::path& page : pages) {
    while (*page.lexically_relative(common).begin() == "..") common = common.parent_path();
  }
  std::map<std::string, fs::path> named;
  for (const fs::path& page : pages)
    named.emplace(page.lexically_relative(common).generic_string(), page);
  return named;
}

class Collector {
 public:
  // Adds the pairs of one document.
  void add(const std::vector<std::string>& sources, const std::vector<std::string>& targets) {
    std::int64_t bytes = 0;
    for (std::size_t n = 0; n < sources.size(); ++n) {
      if (sources[n].empty() || targets[n].empty() || sources[n] == targets[n]) continue;
      std::string line = sources[n] + "\t" + targets[n] + "\n";
      if (!seen_.insert(line).second) continue;
      lines_.push_back(std::ssize(line));
      bytes += std::ssize(line);
      made_.text += line;
    }
    if (bytes > 0) made_.documents.push_back(bytes);
  }

  PairText finish() {
    if (lines_.size() < least_pairs) {
      throw Failure(ExitCode::malformed_input,
                    fmt::format("there must be at least {} pairs of a text and its translation, "
                                "got {}",
                                least_pairs, lines_.size()));
    }
    if (made_.documents.size() < pages_to_be_documents) made_.documents = std::move(lines_);
    return std::move(made_);
  }

 private:
  PairText made_;
  std::vector<std::int64_t> lines_;  // bytes of each pair
  std::unordered_set<std::string> seen_;
};

void add_lines(Collector& collector, const std::string& sources, const std::string& targets) {
  const auto of_sources = lines_of(sources);
  const auto of_targets = lines_of(targets);
  if (of_sources.size() == of_targets.size()) {
    collector.add(of_sources, of_targets);
    return;
  }
  throw Failure(ExitCode::malformed_input,
                fmt::format("{} must have as many lines as {}, {}, got {}", targets, sources,
                            of_sources.size(), of_targets.size()));
}

void add_pages(Collector& collector, const std::string& sources, const std::string& targets) {
  const auto translations = pages_of(targets);
  for (const auto& [name, page] : pages_of(sources)) {
    const auto translation = translations.find(name);
    if (translation == translations.end()) continue;
    const auto of_source = html_paragraphs(cli::read_file(page.string(), file_bytes_limit));
    const auto of_target =
        html_paragraphs(cli::read_file(translation->second.string(), file_bytes_limit));
    if (of_source.size() == of_target.size()) collector.add(of_source, of_target);
  }
}

}  // namespace

std::vector<Pair> pairs_of(std::string_view text) {
  std::vector<Pair> pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || line.find('\t', tab + 1) != std::string_view::npos) {
      throw Failure(ExitCode::malformed_input,
                    fmt::format("line {} of the pairs must have one tab", pairs.size() + 1));
    }
    pairs.push_back({.source = line.substr(0, tab), .target = line.substr(tab + 1)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pairs;
}

PairText collect_pairs(const std::string& sources, const std::string& targets) {
  for (const std::string& path : {sources, targets}) {
    if (!fs::exists(path))
      throw Failure(ExitCode::io, fmt::format("{}: no such file or folder", path));
  }
  if (fs::is_directory(sources) != fs::is_directory(targets)) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} and {} must be two files or two folders", sources, targets));
  }
  Collector collector;
  (fs::is_directory(sources) ? add_pages : add_lines)(collector, sources, targets);
  return collector.finish();
}

}  // namespace rotary::lab
