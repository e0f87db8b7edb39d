// SPDX-License-Identifier: Apache-2.0
// The files of a source, as documents.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace rotary::lab {

enum class Format {
  text = 1,
  manual = 2,  // pages of a manual, compressed or not: their words (manual_page.hpp)
};

struct SourceFiles {
  std::string path;    // a file, or a folder: each file in it is a document
  std::string suffix;  // of the files of a folder; "" for all
  Format format = Format::text;
};

// Takes a document: its path within the source, and its text. Returns the number of bytes left for
// others.
using TakeDocument = std::function<std::uint64_t(std::string path, std::string text)>;

// In the order of their paths. Left out: files that are empty or contain a byte of 0, and links to
// others of these files, which would repeat a document.
void read_documents(const SourceFiles& source, std::uint64_t limit_bytes, const TakeDocument& take);

}  // namespace rotary::lab
