// SPDX-License-Identifier: Apache-2.0
// Calls that read configs, specs and GGUF files, and calls about scaling rules and names.
#include <utility>

#include "public_calls/call.hpp"
#include "rotary/gguf.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/spec_json.hpp"
#include "support/corpus.hpp"
#include "support/gguf_bytes.hpp"
#include "support/resolving.hpp"
#include "support/source_path.hpp"

namespace rotary::test {
namespace {

struct Config {
  std::string what;
  std::string json;
  ResolveOptions options = {};
};

// A config that fills every member of ModelRotary that owns memory.
std::string sections_beside_factors() {
  std::string factors = "1";
  for (int pair = 1; pair < 32; ++pair) factors += ", 1";
  return model_with("qwen2_vl_text",
                    R"("original_max_position_embeddings": 1024, "rope_theta": 1e4,)"
                    R"( "rope_scaling": {"rope_type": "longrope", "factor": 4,)"
                    R"( "mrope_section": [8, 12, 12], "short_factor": [)" +
                        factors + R"(], "long_factor": [)" + factors + "]}");
}

std::string with_tower() {
  return model_with("qwen2_vl",
                    R"("vision_config": {"depth": 3, "embed_dim": 64, "num_heads": 2})");
}

// Configs that take different paths through src/model, some with large trees, and configs that
// are refused at different depths.
std::vector<Config> configs() {
  const std::string long_name(80, 'x');
  return {
      {"llama", llama_with(R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0,)"
                           R"( "original_max_position_embeddings": 1024})")},
      {"a family that is not known", model_with("no_family_of_this_name")},
      {"a pairing that is asked for",
       model_with("no_family_of_this_name", R"("rope_theta": 10000.0)"),
       {.pairing = Pairing::half}},
      {"warnings",
       llama_with(R"("rope_scaling": {"type": "linear", "factor": 0.5})"),
       {.pairing = Pairing::interleaved, .context_tokens = 1 << 20}},
      {"overrides",
       llama_with(""),
       {.overrides = {{"rope_scaling.factor", "4"},
                      {"rope_scaling.rope_type", "linear"},
                      {"a.b.c." + long_name, R"([{"d": [1, 2]}, null, "a long text, beyond"])"}}}},
      {"an override of what is no object",
       llama_with(""),
       {.overrides = {{"hidden_size." + long_name, "1"}}}},
      {"an override of nothing", llama_with(""), {.overrides = {{long_name + "..a", "1"}}}},
      {"two bases", model_with("gemma3_text", R"("sliding_window_pattern": 2)")},
      {"one dictionary for each layer type",
       model_with("gemma3_text",
                  R"("layer_types": ["full_attention", "sliding_attention", "full_attention",)"
                  R"( "sliding_attention"], "rope_parameters": {"full_attention":)"
                  R"( {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},)"
                  R"( "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})")},
      {"a list for each layer",
       model_with("step3p5",
                  R"("layer_types": ["full_attention", "sliding_attention", "full_attention",)"
                  R"( "sliding_attention"], "rope_theta": [1e6, 1e4, 1e6, 1e4])")},
      {"bases of layers",
       model_with("granitemoehybrid", R"("layer_rope_theta": [1e6, 0, 1e4, 0])")},
      {"sections beside factors", sections_beside_factors()},
      {"main and compress", model_with("deepseek_v4", R"("compress_ratios": [0, 4, 128, 0])")},
      {"a wrapped language model",
       R"({"model_type": "llava", "rope_theta": 7, "text_config": )" + llama_with("") + "}"},
      {"a wrapped language model that is a list",
       R"({"model_type": "llava", "text_config": [[[1], [2]], [3]]})"},
      {"params.json of Meta", R"({"dim": 4096, "n_heads": 32, "n_layers": 4, "multiple_of": 256,)"
                              R"( "use_scaled_rope": true, "model_type": "transformer"})"},
      {"params.json of Mistral",
       R"({"dim": 4096, "n_heads": 32, "n_layers": 4, "rope_theta": 1e6, "yarn": {"factor": 4,)"
       R"( "original_max_position_embeddings": 8192}})"},
      {"a model_type that is no text",
       R"({"model_type": [["transformer"]], "dim": 1, "n_heads": 1})"},
      {"a rope key that nobody knows",
       llama_with(R"("rope_)" + long_name + R"(": {"a": [1, {}]})")},
      {"a key of another rule",
       llama_with(R"("rope_scaling": {"rope_type": "linear", "factor": 4, ")" + long_name +
                  R"(": [[["a long text that has memory of its own"]]]})")},
      {"a tree that ends too early",
       R"({"a": [[{"b": [{"c": {"d": "a long text, it is long"}}]}]])"},
      {"a key twice", R"({"a": [[1, 2], [3]], "b": {"c": {"d": 1, "d": [2]}}})"},
      {"no object", R"([[1], [[2]], {"a": []}])"},
      {"a NUL byte", std::string("{\0}", 3)},
      {"options out of range", llama_with(""), {.context_tokens = -1}},
  };
}

// Configs without a language model, or without rotary embeddings.
std::vector<Config> other_configs() {
  return {
      {"an encoder with sinusoids",
       R"({"model_type": "whisper", "d_model": 384, "encoder_layers": 4, "decoder_layers": 4})"},
      {"a sinusoidal table", R"({"model_type": "m2m_100", "d_model": 64, "encoder_layers": 2})"},
      {"buckets", R"({"model_type": "t5", "num_heads": 4, "num_layers": 2})"},
      {"slopes", R"({"model_type": "falcon", "alibi": true, "num_hidden_layers": 2,)"
                 R"( "num_attention_heads": 4, "hidden_size": 256})"},
      {"a tower", with_tower(), {.part = ModelPart::vision}},
      {"a part that is not there", with_tower(), {.part = ModelPart::audio}},
      {"a diffusion transformer",
       R"({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [16, 56, 56]})"},
      {"a diffusion transformer that is refused", R"({"_class_name": "MochiTransformer3DModel"})"},
  };
}

std::vector<std::string> specs() {
  return {
      R"({"head_dim": 128, "base": 500000, "pairing": "half"})",
      R"({"head_dim": 64, "base": 10000, "pairing": "interleaved", "scaling": {"rope_type":)"
      R"( "longrope", "factor": 4, "original_max_position_embeddings": 1024, "switch":)"
      R"( "always_long", "short_factor": [1, 1.5], "long_factor": [2, 3]}})",
      R"({"head_dim": 64, "base": 10000, "pairing": "half", "xpos": {"scale_base": 512,)"
      R"( "center": 0}, "numerics": "exact", "rounding": "result", "sense": "negative"})",
      R"({"head_dim": 64, "base": 10000, "pairing": "a name that is none of them, and is long"})",
      R"({"head_dim": 64, "base": 10000, "pairing": "half", "rope_theta": 10000})",
      R"({"head_dim": 64, "base": 10000, "pairing": "half", "scaling": [{"a": {"b": [1]}}]})",
      R"({"head_dim": 64, "base": 10000, "pairing": "half", "scaling": {"rope_type": "ntk",)"
      R"( "alpha": 8, "a key that nobody knows and is long": [[{}]]}})",
      R"([{"head_dim": 64}])",
  };
}

Calls values() {
  return {
      {"rotary::depends_on_context(", [] { return depends_on_context(NtkScaling{}); }},
      {"rotary::rope_type(", [] { return rope_type(YarnScaling{}); }},
      {"rotary::rope_types(", rope_types},
      {"rotary::scaling_named(", [] { return scaling_named("longrope"); }},
      {"rotary::sentence(", [] { return sentence(YarnScaling{}); }},
      {"rotary::validate(rotary::Scaling", [] { return validate(YarnScaling{}); }},
      {"rotary::validate(rotary::Scaling", "linear",
       [] { return validate(LinearScaling{.factor = 2}); }},
      {"rotary::to_string(rotary::LayerEncoding)", [] { return to_string(LayerEncoding::none); }},
      {"rotary::to_string(rotary::ModelPart)", [] { return to_string(ModelPart::vision); }},
      {"rotary::to_string(rotary::Numerics)", [] { return to_string(Numerics::ggml); }},
      {"rotary::to_string(rotary::Origin)", [] { return to_string(Origin::class_default); }},
      {"rotary::to_string(rotary::Pairing)", [] { return to_string(Pairing::half); }},
      {"rotary::to_string(rotary::Rounding)", [] { return to_string(Rounding::double_angle); }},
      {"rotary::to_string(rotary::Sense)", [] { return to_string(Sense::negative); }},
      {"rotary::to_string(rotary::GgufType)", [] { return to_string(GgufType::array); }},
      {"rotary::to_string(rotary::ProjectionRows)",
       [] { return to_string(ProjectionRows::permuted); }},
      {"rotary::query_factor(",
       [] { return query_factor(LognTemperature{.trained_tokens = 7}, 70); }},
      {"rotary::known_families()", known_families},
      {"rotary::gguf_commit(", gguf_commit},
      {"rotary::byte_source(", [] { return byte_source({}).size_bytes; }},
  };
}

void add_resolve(Calls& calls, const Config& config) {
  calls.emplace_back("rotary::resolve(", config.what,
                     [config] { return resolve(config.json, config.options); });
}

void add_spec(Calls& calls, std::string_view what, const std::string& spec) {
  calls.emplace_back("rotary::parse_rotary_spec(", what,
                     [spec] { return parse_rotary_spec(spec); });
}

void add_corpora(Calls& calls) {
  for (const CorpusFile& file : corpus_files("config", "")) {
    add_resolve(calls, {file.name, file.bytes});
  }
  for (const CorpusFile& file : corpus_files("spec", "")) {
    add_spec(calls, file.name, file.bytes);
    if (auto spec = parse_rotary_spec(file.bytes)) {
      calls.emplace_back("rotary::to_json[abi:cxx11](", file.name,
                         [spec = *std::move(spec)] { return to_json(spec); });
    }
  }
}

GgufFile gguf_with_everything() {
  return GgufFile::small("gemma4")
      .text("$.rope.scaling.type", "yarn")
      .f32("$.rope.scaling.factor", 4)
      .f32("$.rope.scaling.yarn_beta_fast", 16)
      .u32("$.attention.sliding_window", 512)
      .booleans("$.attention.sliding_window_pattern", {true, false})
      .texts("tokenizer.ggml.tokens", {"a", "b"})
      .tensor("rope_freqs.weight", std::vector<float>(32, 2.0F));
}

void add_gguf(Calls& calls, const GgufFile& file) {
  const std::string bytes = file.bytes();
  const auto source = [](const std::string& of) { return byte_source(as_byte_span(of)); };
  const Adding add{calls, std::to_string(bytes.size())};
  add("rotary::read_gguf_metadata(", [=] { return read_gguf_metadata(source(bytes)); });
  add("rotary::resolve_gguf(rotary::ByteSource", [=] { return resolve_gguf(source(bytes)); });
  add("rotary::resolve_gguf(rotary::GgufMetadata",
      [metadata = value_of(read_gguf_metadata(source(bytes)))] { return resolve_gguf(metadata); });
}

}  // namespace

Calls model_calls() {
  Calls calls = values();
  add_gguf(calls, gguf_with_everything());
  add_gguf(calls, GgufFile::small("no architecture of this name"));
  add_gguf(calls, GgufFile::small("llama").text("$.rope.freq_base", "no number"));
  add_gguf(calls, GgufFile().u32("a name that is longer than a string's own buffer", 1));
  for (const auto all : {configs, other_configs}) {
    for (const Config& config : all()) add_resolve(calls, config);
  }
  for (const std::string& spec : specs()) add_spec(calls, spec, spec);
  for (const std::string& config : {with_tower(), std::string("[]")}) {
    calls.emplace_back("rotary::model_parts(", config, [config] { return model_parts(config); });
  }
  for (const std::string_view card : {"llama-3.1-8b", "gemma-3-1b", "no card"}) {
    const std::string path = source_path("models/" + std::string(card) + ".json");
    const auto loaded = load_model(path);
    const ModelSpec model = loaded ? *loaded : ModelSpec{};
    calls.emplace_back("rotary::load_model(", path, [path] { return load_model(path); });
    calls.emplace_back("rotary::ModelSpec::only_rotary(", path,
                       [model] { return model.only_rotary(); });
  }
  for (const FamilyInfo& family : value_of(known_families())) {
    const std::string config = model_with(family.model_type);
    add_resolve(calls, {config, config});
  }
  add_corpora(calls);
  for (const std::int64_t interval : {8192, -1}) {
    const QueryTemperature rule = StepTemperature{.scale = 1, .interval_tokens = interval};
    calls.emplace_back("rotary::validate(std::variant<rotary::NoTemperature",
                       std::to_string(interval), [rule] { return validate(rule); });
  }
  return calls;
}

}  // namespace rotary::test
