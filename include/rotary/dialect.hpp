// SPDX-License-Identifier: Apache-2.0
// read_as: a model as an engine reads it, by rules for each deviation from a config.
//
//   const DialectReading reading = *read_as(config_json, *parse_dialect("transformers@4.51"));
//   reading.model.rotary.front().spec;   // as the engine reads it
//   reading.acted.front()->sentence;     // why
//   reading.evidence.kind;               // how the reading is known
#ifndef ROTARY_DIALECT_HPP
#define ROTARY_DIALECT_HPP

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/export.h"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// A program that reads configs.
enum class Engine : std::int32_t {
  transformers = 1,  // Hugging Face Transformers since 4.33
  llama_cpp = 2,     // llama.cpp with the GGUF file of its own converter
  vllm = 3,
  mlx = 4,          // mlx-lm
  onnxruntime = 5,  // ONNX Runtime with caches made by onnxruntime-genai
  sglang = 6,       // only one version is known
};

// Every enumerator, in order.
inline constexpr std::array all_engines = {Engine::transformers, Engine::llama_cpp,
                                           Engine::vllm,         Engine::mlx,
                                           Engine::onnxruntime,  Engine::sglang};

// "transformers", "llama.cpp", "vllm", "mlx", "onnxruntime", "sglang".
[[nodiscard]] ROTARY_API std::string_view to_string(Engine engine) noexcept;

// A release: 4.51 is {4, 51}.
struct EngineVersion {
  std::int32_t major = 0;
  std::int32_t minor = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 reads the 0 of a default as a pointer
  friend constexpr auto operator<=>(const EngineVersion&, const EngineVersion&) = default;
};

// One version of an engine.
struct Dialect {
  Engine engine = Engine::transformers;
  std::optional<EngineVersion> version = {};  // absent: the newest known

  friend bool operator==(const Dialect&, const Dialect&) = default;
};

// "transformers@4.51", "vllm@0.33"; "llama.cpp" and "sglang" have no versions. Error:
// invalid_argument, with the engines or versions that exist.
[[nodiscard]] ROTARY_API Result<Dialect> parse_dialect(std::string_view text) noexcept;
[[nodiscard]] ROTARY_API Result<std::string> to_string(const Dialect& dialect) noexcept;

// Ways to know what an engine does.
enum class Evidence : std::int32_t {
  run = 1,     // its code was run and compared with the reading
  read = 2,    // its source was read
  absent = 3,  // it has no such model
  none = 4,    // nobody looked, it failed on the tried config, or no rule explains its numbers
};

// "run", "read", "absent", "none".
[[nodiscard]] ROTARY_API std::string_view to_string(Evidence evidence) noexcept;

// The inputs of a rule's functions; internal to the library.
struct RuleTarget;
struct ConfigEdit;

// One deviation of an engine from the config. The texts live as long as the program.
struct DialectRule {
  std::string_view name;      // "yarn_factor_of_lengths"; unique within the engine
  std::string_view sentence;  // for people
  std::string_view source;    // file and version, or pull request
  Evidence evidence = Evidence::read;
  Engine engine = Engine::transformers;
  EngineVersion first = {};  // first and last are inclusive; 0.0: every version
  EngineVersion last = {};
  void (*apply)(RuleTarget&) = nullptr;
  // Changes keys of the config before it is resolved; returns whether it did. Null: changes no key.
  bool (*edit)(ConfigEdit&) = nullptr;
};

// The known facts about an engine.
struct EngineFacts {
  Engine engine = Engine::transformers;
  std::string_view source;  // the version or commit that was read
  EngineVersion oldest = {};
  EngineVersion newest = {};            // 0.0: only one version
  Numerics numerics = Numerics::exact;  // reproduces the engine's rounding
  std::string_view looked_at = {};      // the date, "2026-11-27"
  // The releases that were run or read, in order. Empty: only the version in `source`.
  std::span<const EngineVersion> releases = {};
};
// The facts of one engine. They live as long as the program.
[[nodiscard]] ROTARY_API const EngineFacts& facts_of(Engine engine) noexcept;

// Number of families for which some release of the engine was run or read.
[[nodiscard]] ROTARY_API std::size_t families_looked_at(Engine engine) noexcept;

// The rules of all versions of an engine, in the order in which they apply.
[[nodiscard]] ROTARY_API std::span<const DialectRule> rules_of(Engine engine) noexcept;

// Evidence for how a release reads configs. It covers one family, one rope_type, and one key that
// gives the rope_type: rope_scaling or rope_parameters.
struct ReadingEvidence {
  Evidence kind = Evidence::none;
  std::string sentence;  // "transformers 4.48 was not looked at for qwen2"
};

// A config as one engine reads it, and how that is known.
struct DialectReading {
  ModelSpec model;
  // The context lengths that the engine passes to rules.
  LengthPolicy lengths = LengthPolicy::each_call;
  std::vector<const DialectRule*> acted;  // rules that changed something, in order
  // Why the engine does not run the model; later rules were then not applied.
  std::optional<std::string> refusal;
  ReadingEvidence evidence = {};
  // resolve()'s warnings that this engine differs, except where a rule changed `model` accordingly.
  std::vector<std::string> disputes = {};
};

// Reads a model without its config. Rules that read keys do not apply, and the evidence is none.
[[nodiscard]] ROTARY_API Result<DialectReading> read_as(const ModelSpec& model,
                                                        const Dialect& dialect) noexcept;

// Reads a config.json. Errors: as resolve().
[[nodiscard]] ROTARY_API Result<DialectReading> read_as(
    std::string_view config_json, const Dialect& dialect,
    const ResolveOptions& options = {}) noexcept;

// Applies one rule of any version, to test whether an unknown engine follows it. `acted` is empty
// if the rule changed nothing, or changes keys only.
[[nodiscard]] ROTARY_API Result<DialectReading> apply_rule(const DialectRule& rule,
                                                           const ModelSpec& model) noexcept;

}  // namespace rotary

#endif  // ROTARY_DIALECT_HPP
