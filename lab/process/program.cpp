// SPDX-License-Identifier: Apache-2.0

#include "lab/process/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/failure.hpp"
#include "cli/files.hpp"

namespace rotary::lab {

namespace {

// Between fork and exec: nothing but system calls.
[[noreturn]] void become(char* const* arguments, const char* folder, int output) {
  if (chdir(folder) != 0) _exit(127);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  (void)dup2(nothing, STDIN_FILENO);
  (void)dup2(nothing, STDERR_FILENO);
  (void)dup2(output, STDOUT_FILENO);
  execvp(arguments[0], arguments);
  _exit(127);
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer = {};
  while (true) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::optional<std::string> output_of(std::vector<std::string> command, const std::string& folder) {
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  std::array<int, 2> pipe_ends = {};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) become(arguments.data(), folder.empty() ? "." : folder.c_str(), pipe_ends[1]);
  close(pipe_ends[1]);
  std::string text = child > 0 ? read_all(pipe_ends[0]) : std::string();
  close(pipe_ends[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return std::nullopt;
}

ScratchFolder::ScratchFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "rotary-lab-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr)
    throw cli::Failure(cli::ExitCode::io, fmt::format("{}: cannot make it", path));
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(std::string_view name, std::string bytes) const {
  const std::array files = {cli::OutputFile{.path = *this / name, .bytes = std::move(bytes)}};
  cli::write_files(files, cli::Overwrite::allow);
  return *this / name;
}

namespace {

using nlohmann::json;

// Null where the program is absent or did not answer so.
json ask(const std::string& references, std::span<const std::string> hypotheses,
         std::string_view how) {
  const char* const chosen = std::getenv("ROTARY_LAB_SACREBLEU");
  std::vector<std::string> command = {chosen == nullptr ? "sacrebleu" : chosen, references, "-i"};
  command.insert(command.end(), hypotheses.begin(), hypotheses.end());
  // Six digits of the score; a seed for the bootstrap of its own is sacreBLEU's default, 12345.
  for (const std::string_view option :
       {std::string_view("--metrics"), std::string_view("bleu"), std::string_view("--width"),
        std::string_view("6"), std::string_view("--format"), std::string_view("json"), how}) {
    command.emplace_back(option);
  }
  const auto answer = output_of(std::move(command));
  return answer ? json::parse(*answer, nullptr, /*allow_exceptions=*/false) : json();
}

// Absent where there is none.
std::optional<double> number_at(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return std::nullopt;
  return object[key].get<double>();
}

}  // namespace

std::optional<BleuScore> score_bleu(const std::string& references, const std::string& hypotheses) {
  const json answer = ask(references, std::span(&hypotheses, 1), "--confidence");
  const auto bleu = number_at(answer, "score");
  const auto half_width = number_at(answer, "confidence_var");
  if (!bleu || !half_width) return std::nullopt;
  return BleuScore{.bleu = *bleu, .half_width = *half_width};
}

std::optional<std::vector<ComparedBleu>> compare_bleu(const std::string& references,
                                                      std::span<const std::string> hypotheses) {
  const json answer = ask(references, hypotheses, "--paired-bs");
  if (!answer.is_array() || answer.size() != hypotheses.size()) return std::nullopt;
  std::vector<ComparedBleu> compared;
  for (const json& each : answer) {
    const json& of_system = each.contains("BLEU") ? each["BLEU"] : each;
    const auto bleu = number_at(of_system, "score");
    const auto half_width = number_at(of_system, "ci");
    if (!bleu || !half_width) return std::nullopt;
    compared.push_back({.score = {.bleu = *bleu, .half_width = *half_width},
                        .p_value = number_at(of_system, "p_value")});
  }
  return compared;
}

}  // namespace rotary::lab
