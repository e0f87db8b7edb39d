// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "apps/failure.hpp"
#include "cli/plot/gnuplot.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has no header for it

namespace rotary::cli::plot {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Files instead of pipes, so that neither process waits for the other.
File scratch_file() {
  File file(std::tmpfile());
  if (!file) fail(ExitCode::io, "a temporary file: {}", std::strerror(errno));
  return file;
}

std::string contents(std::FILE* file) {
  std::string bytes;
  std::array<char, 65536> block{};
  std::rewind(file);
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), file))
    bytes.append(block.data(), count);
  return bytes;
}

// The exit status of gnuplot, or -1 with errno if it could not be started.
int spawn_gnuplot(std::FILE* in, std::FILE* out, std::FILE* errors) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  posix_spawn_file_actions_adddup2(&actions, ::fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(out), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(errors), STDERR_FILENO);
  // -d ignores the user's settings, so that a figure looks the same everywhere.
  std::array<std::string, 3> words = {"gnuplot", "-d", "-"};
  std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  if (error != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return 128;
  if (WEXITSTATUS(status) != 127) return WEXITSTATUS(status);
  // POSIX lets posix_spawn succeed and the child exit with 127 if the program cannot be started.
  errno = ENOENT;
  return -1;
}

std::string xml_text(std::string text) {
  return replaced(replaced(replaced(std::move(text), "&", "&amp;"), "<", "&lt;"), ">", "&gt;");
}

std::string run_gnuplot(const std::string& script) {
  const File in = scratch_file();
  const File out = scratch_file();
  const File errors = scratch_file();
  if (std::fwrite(script.data(), 1, script.size(), in.get()) != script.size() ||
      std::fflush(in.get()) != 0) {
    fail(ExitCode::io, "a temporary file: {}", std::strerror(errno));
  }
  std::rewind(in.get());
  const int status = spawn_gnuplot(in.get(), out.get(), errors.get());
  if (status == -1) {
    fail(ExitCode::unsupported,
         "drawing needs the program gnuplot ({}): apt-get install gnuplot-nox, or take the numbers "
         "by --csv or --json",
         std::strerror(errno));
  }
  std::string picture = contents(out.get());
  if (status != 0 || picture.empty()) {
    fail(ExitCode::internal, "gnuplot failed with status {}: {}", status, contents(errors.get()));
  }
  return picture;
}

}  // namespace

std::string replaced(std::string text, std::string_view old, std::string_view by) {
  for (std::size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + by.size()))
    text.replace(at, old.size(), by);
  return text;
}

std::string draw(const Figure& figure, const Drawing& drawing) {
  std::string picture = run_gnuplot(gnuplot_script(figure, drawing));
  if (drawing.picture == Picture::png) return picture;
  picture = replaced(std::move(picture), "<title>Gnuplot</title>",
                     fmt::format("<title>{}</title>", xml_text(figure.title)));
  const std::size_t begin = picture.find("<desc>");
  const std::size_t end = picture.find("</desc>");
  if (begin != std::string::npos && end != std::string::npos)
    picture.replace(begin, end - begin, "<desc>" + xml_text(figure.caption));
  // Browsers would blur the cells of a heat map.
  picture = replaced(std::move(picture), "<image ", "<image style='image-rendering:pixelated' ");
  // gnuplot writes an empty group for each pen setting: half of the picture's bytes.
  constexpr std::string_view empty_group = "miter\">\n</g>\n";
  for (auto at = picture.find(empty_group); at != std::string::npos;) {
    const std::size_t start = picture.rfind("<g ", at);
    picture.erase(start, at + empty_group.size() - start);
    at = picture.find(empty_group, start);
  }
  return picture;
}

}  // namespace rotary::cli::plot
