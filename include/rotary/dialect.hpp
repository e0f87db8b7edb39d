// SPDX-License-Identifier: Apache-2.0
// read_as: a model as an engine reads it. A table of rules, each with its source, lists where
// engines deviate from a config.
//
//   const DialectReading reading = *read_as(config_json, *parse_dialect("transformers@4.51"));
//   reading.model.rotary.front().spec;   // with YaRN's factor replaced
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
  transformers = 1,  // Hugging Face Transformers, every version since 4.33 that has wheels
  llama_cpp = 2,     // llama.cpp, with the GGUF file that its converter makes of the config
  vllm = 3,
  mlx = 4,          // mlx-lm
  onnxruntime = 5,  // ONNX Runtime, with the caches that the builder of onnxruntime-genai makes
  sglang = 6,       // one version only, as for llama.cpp
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

// An engine, in one version of it.
struct Dialect {
  Engine engine = Engine::transformers;
  std::optional<EngineVersion> version = {};  // absent: the newest that the table knows

  friend bool operator==(const Dialect&, const Dialect&) = default;
};

// "transformers@4.51", "vllm@0.33"; "llama.cpp" and "sglang" have no versions. Error:
// invalid_argument, with the engines or versions that exist.
[[nodiscard]] ROTARY_API Result<Dialect> parse_dialect(std::string_view text) noexcept;
[[nodiscard]] ROTARY_API Result<std::string> to_string(const Dialect& dialect) noexcept;

// Ways to know what an engine does.
enum class Evidence : std::int32_t {
  run = 1,     // its own code was run, and its numbers were compared with the reading
  read = 2,    // its source was read
  absent = 3,  // it has no such model
  none = 4,    // nobody looked, it failed on the config that was tried, or it computes something
               // that no rule explains
};

// "run", "read", "absent", "none".
[[nodiscard]] ROTARY_API std::string_view to_string(Evidence evidence) noexcept;

// The object that a rule reads and changes; internal to the library.
struct RuleTarget;
struct ConfigEdit;

// One deviation of an engine from the config. The texts live as long as the program.
struct DialectRule {
  std::string_view name;      // "yarn_factor_of_lengths"; unique within the engine
  std::string_view sentence;  // for people
  std::string_view source;    // file and version, or change
  Evidence evidence = Evidence::read;
  Engine engine = Engine::transformers;
  EngineVersion first = {};  // first and last are inclusive; 0.0: every version
  EngineVersion last = {};
  void (*apply)(RuleTarget&) = nullptr;
  // Changes the config's object before it is resolved, and returns whether it did. Null: the rule
  // changes no key.
  bool (*edit)(ConfigEdit&) = nullptr;
};

// An engine, as far as it is known.
struct EngineFacts {
  Engine engine = Engine::transformers;
  std::string_view source;  // what was read: version, commit
  EngineVersion oldest = {};
  EngineVersion newest = {};            // 0.0: one version alone
  Numerics numerics = Numerics::exact;  // the ones that reproduce the engine's rounding
  std::string_view looked_at = {};      // when, "2026-11-27"
  // The releases that were looked at, in order; any release between two of them has Evidence::none.
  // Empty: only the version of `source`.
  std::span<const EngineVersion> releases = {};
};
// The facts of one engine; static.
[[nodiscard]] ROTARY_API const EngineFacts& facts_of(Engine engine) noexcept;

// Number of families for which some release of the engine was run or read.
[[nodiscard]] ROTARY_API std::size_t families_looked_at(Engine engine) noexcept;

// The rules of an engine, of all its versions, in the order in which they apply.
[[nodiscard]] ROTARY_API std::span<const DialectRule> rules_of(Engine engine) noexcept;

// Evidence for a reading of one family in one release, with a config of this form: whether it has
// rope_scaling or rope_parameters, and its rope_type.
struct ReadingEvidence {
  Evidence kind = Evidence::none;
  std::string sentence;  // "transformers 4.48 was not looked at for qwen2"
};

// A config as one engine reads it, and how that is known.
struct DialectReading {
  ModelSpec model;
  // Lengths that the engine passes to rules that depend on the context.
  LengthPolicy lengths = LengthPolicy::each_call;
  std::vector<const DialectRule*> acted;  // rules that changed something, in order
  std::optional<std::string> refusal;     // why the engine does not run the model; rules after
                                          // the refusing one were not applied to `model`
  ReadingEvidence evidence = {};
  // Warnings of resolve() about this engine, if `model` does not show what they warn of.
  std::vector<std::string> disputes = {};
};

// Reads a model without its config: rules see its spec only, and the evidence is none.
[[nodiscard]] ROTARY_API Result<DialectReading> read_as(const ModelSpec& model,
                                                        const Dialect& dialect) noexcept;

// Reads a config.json. More rules apply, because an engine may read keys that resolve() does not
// read for the family. Errors: as resolve().
[[nodiscard]] ROTARY_API Result<DialectReading> read_as(
    std::string_view config_json, const Dialect& dialect,
    const ResolveOptions& options = {}) noexcept;

// Applies one rule, whatever versions it is for, to test whether an unknown engine follows it.
// `acted` is empty if the rule found nothing to change, or changes only configs.
[[nodiscard]] ROTARY_API Result<DialectReading> apply_rule(const DialectRule& rule,
                                                           const ModelSpec& model) noexcept;

}  // namespace rotary

#endif  // ROTARY_DIALECT_HPP
