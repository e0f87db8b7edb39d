# SPDX-License-Identifier: Apache-2.0
"""Rules of includes between folders: ARCHITECTURE.md's invariants as data.

A file follows the rule with the longest folder that encloses it. A rule refuses whatever it does
not allow, so a new folder must state its dependencies here.
"""

import dataclasses

# Patterns of names. Standard headers of C++ have neither a folder nor an ending.
STANDARD = r"\w+"

# The core starts no thread, opens no file and prints nothing.
CORE = (
    r"(?!(?:barrier|condition_variable|cstdio|filesystem|fstream|future|iomanip|iostream|istream|"
    r"latch|mutex|ostream|semaphore|shared_mutex|sstream|stop_token|streambuf|syncstream|thread)$)"
    r"\w+"
)

# For code that only handles pointers and sizes.
PLAIN = (
    "algorithm|array|atomic|bit|climits|cmath|cstddef|cstdint|cstdlib|cstring|iterator|limits|"
    "numbers|span|string_view|type_traits|utility"
)


@dataclasses.dataclass(frozen=True)
class Rule:
    folder: str
    folders: tuple  # of this repository, or single files; the rule's own folder is always allowed
    system: str  # pattern of standard headers
    libraries: tuple = ()  # prefixes of other <headers>
    because: str = ""


PUBLIC = "include/rotary/"
NO_TENSOR = tuple(
    PUBLIC + name for name in ("frequencies.hpp", "result.hpp", "rotary_spec.hpp", "scaling.hpp")
)
# The layers under every encoding: errors, views and elements, phases, the choice of kernels, and
# splitting calls among threads.
FLOORS = ("src/base/", "src/tensor/", "src/phase/", "src/runtime/", "src/kernels/")
C_STANDARD = r"|(?:inttypes|math|stddef|stdint|stdio|stdlib|string)\.h"
SYSTEM = ("unistd.h", "fcntl.h", "getopt.h", "sched.h", "spawn.h", "sys/", "netinet/")
REACH = "tools reach the core through include/rotary alone"

RULES = (
    Rule(
        "include/rotary/", (), CORE + r"|(?:stddef|stdint)\.h",
        because="a public header needs the standard library alone",
    ),
    Rule("src/", (PUBLIC,) + FLOORS, CORE),
    Rule("src/base/", (PUBLIC,), CORE + "|cstdio"),
    Rule("src/tensor/", (PUBLIC, "src/base/"), CORE, because="views know no encoding"),
    Rule("src/phase/", (PUBLIC, "src/base/"), CORE, because="phases know no encoding"),
    Rule("src/positions/", (PUBLIC, "src/base/"), CORE, because="coordinates know no encoding"),
    Rule(
        "src/runtime/", (PUBLIC, "src/base/", "src/kernels/"), CORE, ("unistd.h",),
        because="only this folder asks the system, for the size of its caches",
    ),
    Rule(
        "src/kernels/", (), PLAIN, ("hwy/", "immintrin.h", "cpuid.h"),
        because="kernels know no spec, no model, no Result",
    ),
    Rule(
        "src/rotation/scaling/", NO_TENSOR + ("src/base/",), CORE,
        because="a scaling rule sees no tensor, dtype or device",
    ),
    Rule(
        "src/attention/", (PUBLIC, "src/rotation/", "src/relative/") + FLOORS, CORE,
        because="attention rotates heads and adds biases; neither knows attention",
    ),
    Rule("src/c_api/", (PUBLIC, "src/base/"), CORE, because="the C ABI wraps the C++ API"),
    Rule(
        "src/threads/", (PUBLIC, "src/base/"), STANDARD, ("pthread.h", "sched.h"),
        because="threads are a separate library on the public headers",
    ),
    Rule(
        "src/model/", (PUBLIC, "src/base/"),
        CORE, ("nlohmann/",), because="a model names encodings and never touches a kernel",
    ),
    Rule(
        "src/load/", (PUBLIC, "src/base/", "src/model/json/"), STANDARD,
        because="a loader opens files and leaves their meaning to resolve()",
    ),
    Rule(
        "src/identify/",
        (PUBLIC, "src/base/", "src/tensor/", "src/rotation/", "src/model/difference/"), CORE,
        because="identify predicts dumps in double and touches no kernel",
    ),
    Rule(
        "reference/", (PUBLIC,), STANDARD, ("mpfr.h", "gmp.h"),
        because="the reference shares types with the library and no formula",
    ),
    Rule(
        "check/", (PUBLIC, "reference/"), STANDARD,
        because="a check does not depend on who made the call",
    ),
    Rule("apps/", (PUBLIC,), STANDARD, ("fmt/", "nlohmann/") + SYSTEM, REACH),
    Rule(
        "cli/", (PUBLIC, "apps/", "src/base/spelling.hpp"), STANDARD,
        ("CLI/", "fmt/", "nlohmann/", "zip.h") + SYSTEM, REACH,
    ),
    # rotary bench verifies what it times, so it may use bench/, and through it the reference.
    Rule(
        "cli/commands/bench", (PUBLIC, "apps/", "bench/", "cli/"), STANDARD,
        ("CLI/", "fmt/") + SYSTEM, REACH,
    ),
    Rule("bench/", (PUBLIC, "reference/", "check/"), STANDARD, ("hwy/", "fmt/") + SYSTEM, REACH),
    Rule("bench/start/", (PUBLIC, "apps/progress.hpp", "bench/"), STANDARD, ("fmt/",), REACH),
    Rule(
        "conformance/peers/native/", (PUBLIC, "bench/scale/", "bench/attention/peaks.hpp"),
        STANDARD + C_STANDARD + r"|time\.h", ("ggml",), REACH,
    ),
    Rule(
        "lab/", (PUBLIC, "apps/"), STANDARD,
        ("CLI/", "fmt/", "gtest/", "nlohmann/", "openssl/", "dlfcn.h", "malloc.h") + SYSTEM,
        REACH,
    ),
    Rule(
        "lab/torch/", (PUBLIC, "lab/", "apps/failure.hpp"), STANDARD,
        ("fmt/", "nlohmann/", "torch/"), REACH,
    ),
    Rule(
        "lab/tests/", (PUBLIC, "lab/", "apps/failure.hpp"), STANDARD,
        ("fmt/", "gtest/", "nlohmann/", "torch/") + SYSTEM, REACH,
    ),
    Rule("python/", (PUBLIC,), STANDARD, ("nanobind/",), REACH),
    # Nothing includes cuda/. It uses the library's checks of calls and repeats its arithmetic.
    Rule(
        "cuda/",
        (PUBLIC, "cuda/include/rotary/", "src/base/", "src/c_api/", "src/rotation/", "src/tensor/",
         "src/kernels/turn_polynomials.hpp", "src/attention/cache/norm_checks.hpp",
         "src/attention/cache/shift_checks.hpp", "src/attention/cache/slot_checks.hpp"),
        CORE, ("cuda_",), because="only this folder knows GPUs",
    ),
    Rule("cuda/emulation/", (), STANDARD, ("ucontext.h",), "CUDA's part, on the CPU"),
    Rule(
        "cuda/tests/",
        (PUBLIC, "cuda/include/rotary/", "src/c_api/handles.hpp", "tests/support/"),
        STANDARD, ("cuda_", "gtest/"), REACH,
    ),
    Rule("conformance/golden/", (PUBLIC, "apps/", "cli/"), STANDARD, (), REACH),
    Rule("examples/", (PUBLIC,), STANDARD + C_STANDARD, (), REACH),
    Rule(
        "fuzz/",
        (PUBLIC, "reference/", "check/", "apps/", "cli/", "tests/identify/", "tests/support/"),
        STANDARD,
        ("sanitizer/",), REACH,
    ),
    Rule(
        "tests/", (PUBLIC, "src/", "reference/", "check/", "apps/", "cli/", "bench/"),
        STANDARD + C_STANDARD,
        ("gtest/", "gmock/", "rapidcheck", "nlohmann/", "mpfr.h", "gmp.h",
         "dlfcn.h", "pthread.h") + SYSTEM,
    ),
)
