// SPDX-License-Identifier: Apache-2.0
// Runs a target without libFuzzer, as a test for every compiler. FOLDER [INPUTS] runs each file of
// the folder, then INPUTS inputs drawn from the seeds 0, 1, 2, …
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/target.hpp"

namespace {

std::vector<std::filesystem::path> files_of(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::uint8_t> read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::uint8_t> drawn(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> input(64 + random() % 448);
  for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
  return input;
}

void run(const std::string& name, const std::vector<std::uint8_t>& input) {
  std::printf("%s\n", name.c_str());
  std::fflush(stdout);  // before a target that may end the process
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 1;
  const auto files = files_of(arguments[1]);
  for (const auto& path : files) run(path.string(), read(path));
  const std::uint64_t seeds = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    run("seed " + std::to_string(seed), drawn(seed));
  }
  return files.empty() ? 1 : 0;
}
