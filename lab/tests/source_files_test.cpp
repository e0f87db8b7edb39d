// SPDX-License-Identifier: Apache-2.0
#include "lab/data/source_files.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.hpp"
#include "lab/data/dataset.hpp"
#include "lab/data/gzip.hpp"
#include "lab/data/manual_page.hpp"
#include "lab/tests/temporary_folder.hpp"

namespace rotary::lab {
namespace {

// zlib's own.
std::string compress_gzip(const std::string& path, std::string_view text) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned int>(text.size()));
  gzclose(file);
  return read_text(path);
}

bool refuses(std::string_view bytes, std::uint64_t limit_bytes) {
  try {
    (void)decompress_gzip(bytes, limit_bytes, "page.gz");
  } catch (const cli::Failure& failure) {
    return std::string(failure.what()).find("page.gz must be a whole gzip file") == 0;
  }
  return false;
}

TEST(Gzip, GivesBackWhatWasCompressed) {
  const TemporaryFolder folder;
  std::string text;
  for (int n = 0; n < 50'000; ++n) text += std::to_string(n * 7919);
  const std::string whole = compress_gzip(folder / "a.gz", text);
  EXPECT_TRUE(is_gzip(whole));
  EXPECT_EQ(decompress_gzip(whole, text.size(), "a"), text);
  // Two members, one after the other, are one file.
  EXPECT_EQ(decompress_gzip(whole + whole, 2 * text.size(), "a"), text + text);
  EXPECT_EQ(decompress_gzip(compress_gzip(folder / "b.gz", ""), 0, "b"), "");
}

TEST(Gzip, RefusesWhatIsDamagedOrTooLong) {
  const TemporaryFolder folder;
  // No letter for long: in a run of one, distances are all the same to the bytes that come out.
  std::string text;
  for (int n = 0; n < 200; ++n) text += std::to_string(n * 7919);
  const std::string whole = compress_gzip(folder / "a.gz", text);
  EXPECT_TRUE(refuses(whole, text.size() - 1));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(refuses(std::string_view(whole).substr(0, size), text.size())) << size;
  for (std::size_t at = 12; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    EXPECT_TRUE(refuses(damaged, text.size())) << at;
  }
  EXPECT_TRUE(refuses(whole + "tail", text.size()));
}

constexpr std::string_view open_page = R"(.\" Copyright
.TH OPEN 2 2023-02-05 "Linux man-pages 6.03"
.SH NAME
open \- open a file
.SH SYNOPSIS
.BI "int open(const char *" pathname ", int " flags \
", mode_t " mode );
.PP
/* See \fBopenat2\fP(2): \(lqit\(rq */ \" not this
.SH RETURN VALUE
.BR open ()
returns a \s-1FILE\s0 descriptor \(em or
.B \-1
on error, \e and
.IR a " b" .
.TS
tab(:);
l l.
E:x
.TE
'\" end
)";

TEST(ManualPage, IsItsWordsWithoutTitleAndName) {
  EXPECT_EQ(words_of_manual(open_page),
            "SYNOPSIS\n"
            "int open(const char *pathname, int flags, mode_t mode);\n"
            "/* See openat2(2): \"it\" */ \n"
            "RETURN VALUE\n"
            "open()\n"
            "returns a FILE descriptor - or\n"
            "-1\n"
            "on error, \\ and\n"
            "a b.\n"
            "E:x\n");
  EXPECT_EQ(words_of_manual(".so man2/open.2\n"), "");
  EXPECT_EQ(words_of_manual(".Dd May 1\n.Dt X 3\n.Os\n.Sh NAME\n.Nm x\n.Sh USE\n.Fn x y\n"),
            "USE\nx y\n");
}

TEST(ManualPage, EndsWhereverTheTextDoes) {
  // Every beginning of a page, escapes and requests cut anywhere among them.
  for (std::size_t size = 0; size <= open_page.size(); ++size)
    EXPECT_LE(words_of_manual(open_page.substr(0, size)).size(), open_page.size());
  for (const char* text : {"\\", "\\(", "\\([", "\\f", "\\s(", "\\h'", "\\*[", ".B \"", ".BR \\",
                           ".", "'", ". ", "\\s-", "\\["}) {
    EXPECT_EQ(words_of_manual(text), "") << text;
    (void)words_of_manual(".SH A\n.SH B\n" + std::string(text));
  }
}

TEST(SourceFiles, OfAManualKeepTheirPathsAndLeaveLinksOut) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "from/man2");
  std::filesystem::create_directories(folder / "from/man3");
  const std::string page = ".SH NAME\nn\n.SH TEXT\nwords\n";
  (void)compress_gzip(folder / "from/man2/b.2.gz", page);
  write_text(folder / "from/man3/a.3", ".SH NAME\nn\n.SH OTHER\n");
  write_text(folder / "from/man3/again.3", ".so man3/a.3\n");
  std::filesystem::create_symlink("../man2/b.2.gz", folder / "from/man3/c.3.gz");
  write_text(folder / "elsewhere", page);
  std::filesystem::create_symlink(folder / "elsewhere", folder / "from/man3/d.3");
  const Source source{
      .path = folder / "from", .suffix = "", .licence = "mine", .format = Format::manual};
  const Manifest manifest = add_dataset(folder / "data", "pages", source);
  const std::vector<std::string> paths = {"man2/b.2.gz", "man3/a.3", "man3/d.3"};
  EXPECT_EQ(manifest.paths, paths);
  EXPECT_EQ(read_text(folder / "data/pages/text.bin"), "TEXT\nwords\nOTHER\nTEXT\nwords\n");
  EXPECT_EQ(load_dataset(folder / "data", "pages").manifest.paths, paths);
}

TEST(SourceFiles, OfADatasetSplitWithItsDocuments) {
  Manifest manifest{.name = "many"};
  for (int n = 0; n < 100; ++n) {
    manifest.documents.push_back(1);
    manifest.paths.push_back(std::to_string(n));
  }
  const Dataset dataset = split(manifest, std::string(100, 'x'));
  EXPECT_EQ(dataset.validation_paths, (std::vector<std::string>{"19", "39", "59", "79", "99"}));
  EXPECT_EQ(dataset.train_paths.size(), 95U);
  EXPECT_EQ(dataset.train_paths[19], "20");
}

}  // namespace
}  // namespace rotary::lab
