// SPDX-License-Identifier: Apache-2.0
#include "lab/process/startup.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace rotary::lab {
namespace {

constexpr const char* core_variable = "OPENBLAS_CORETYPE";
constexpr const char* guard_variable = "ROTARY_LAB_STARTED_AGAIN";

// The core (processor type) for which the loaded OpenBLAS chose its kernels; "" for another BLAS.
std::string openblas_core() {
  using CoreName = char* (*)();
  const auto core_name = reinterpret_cast<CoreName>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  return core_name == nullptr ? std::string() : std::string(core_name());
}

#if defined(__x86_64__)
std::string_view best_core() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell" : "";
}
#else
std::string_view best_core() { return ""; }
#endif

// The core that OpenBLAS should have chosen; "" if its choice is as good.
std::string_view better_core(std::string_view core) {
  using std::string_view_literals::operator""sv;
  constexpr std::array as_good = {"SkylakeX"sv, "Cooperlake"sv, "Sapphirerapids"sv,
                                  "Haswell"sv,  "Zen"sv,        "Excavator"sv};
  const std::string_view best = best_core();
  // The first three cores use AVX-512.
  const auto from = best == "SkylakeX" ? as_good.begin() + 3 : as_good.end();
  const bool is_good = std::find(as_good.begin(), from, core) != from;
  return core.empty() || is_good ? std::string_view() : best;
}

}  // namespace

void prepare_process(char** arguments) {
  if (best_core() == "SkylakeX") setenv("ATEN_CPU_CAPABILITY", "avx512", /*overwrite=*/0);
  // Keeps freed memory for the next step. 32 MiB is the C library's maximum.
  (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
  (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const std::string_view core = better_core(openblas_core());
  if (core.empty() || std::getenv(core_variable) != nullptr ||
      std::getenv(guard_variable) != nullptr) {
    return;
  }
  // OpenBLAS reads this variable when loaded. If restarting fails, the run is only slower.
  setenv(core_variable, std::string(core).c_str(), /*overwrite=*/1);
  setenv(guard_variable, "1", /*overwrite=*/1);
  (void)execv("/proc/self/exe", arguments);
}

std::string blas_in_use() {
  const std::string core = openblas_core();
  if (core.empty()) return "not OpenBLAS: steps may take 16 times longer";
  using Parallel = int (*)();
  const auto parallel = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "openblas_get_parallel"));
  const bool openmp = parallel != nullptr && parallel() == 2;
  return fmt::format("OpenBLAS {}{}", core,
                     openmp ? ", OpenMP" : ", not OpenMP: use one thread for each process");
}

}  // namespace rotary::lab
