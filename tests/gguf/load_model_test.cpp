// SPDX-License-Identifier: Apache-2.0
// load_model() must equal resolve() or resolve_gguf() of the file's bytes. Tests only_rotary() too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "rotary/model_spec.hpp"
#include "support/gguf_bytes.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr std::string_view two_embeddings = R"({"model_type": "gemma3_text", "head_dim": 8,
    "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 12,
    "rope_theta": 1000000, "rope_local_base_freq": 10000})";

class LoadModel : public testing::Test {
 protected:
  LoadModel() {
    std::string name = testing::TempDir() + "rotary-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~LoadModel() override { std::filesystem::remove_all(folder_); }
  LoadModel(const LoadModel&) = delete;
  LoadModel& operator=(const LoadModel&) = delete;

  [[nodiscard]] std::string file(std::string_view name, std::string_view bytes) const {
    std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  [[nodiscard]] std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

TEST_F(LoadModel, ReadsAConfigByFileAndByFolder) {
  const std::string path = file("config.json", two_embeddings);
  const ModelSpec expected = test::value_of(rotary::resolve(two_embeddings));
  for (const std::string& each : {path, folder()}) {
    const ModelSpec model = test::value_of(load_model(each));
    ASSERT_EQ(model.rotary.size(), expected.rotary.size());
    EXPECT_EQ(model.rotary[0].spec.base.get(), expected.rotary[0].spec.base.get());
  }
}

TEST_F(LoadModel, ReadsAGgufFileByItsFirstBytes) {
  const std::string path = file("model.bin", test::GgufFile::small("llama").bytes());
  ResolveOptions options;
  options.overrides = {{"rope.freq_base", "500000"}};
  const ModelSpec model = test::value_of(load_model(path, options));
  EXPECT_TRUE(model.gguf.has_value());
  EXPECT_EQ(test::value_of(model.only_rotary()).spec.base.get(), 500000);
  options.pairing = Pairing::half;
  EXPECT_EQ(load_model(path, options).error().message,
            "pairing and part must be left out for a GGUF file");
}

TEST_F(LoadModel, RefusesPathsThatAreNoFiles) {
  const std::string missing = folder() + "/config.json";
  for (const std::string& each : {missing, folder()}) {
    EXPECT_EQ(load_model(each).error().message,
              "path must be a config.json, a GGUF file or a folder with a config.json, got " +
                  missing + ": No such file or directory");
  }
  EXPECT_EQ(load_model(file("empty.json", "")).error().code, ErrorCode::malformed_input);
  EXPECT_EQ(rotary::resolve(missing).error().message,
            "config must be JSON text, got what looks like a path (" + missing +
                "): load_model() reads files");
}

TEST(OnlyRotary, RefusesSeveralEmbeddingsAndNamesTheirLayerTypes) {
  EXPECT_EQ(test::value_of(rotary::resolve(two_embeddings)).only_rotary().error().message,
            "this model (gemma3_text) must have one rotary embedding, got 2 (full_attention, "
            "sliding_attention): choose by ModelSpec::layers");
}

TEST(OnlyRotary, RefusesAModelWithoutRotary) {
  const ModelSpec model = test::value_of(
      rotary::resolve(R"({"model_type": "bloom", "hidden_size": 64, "n_head": 4, "n_layer": 2})"));
  EXPECT_EQ(model.only_rotary().error().message,
            "this model (bloom) must rotate in some layer, got none");
}

}  // namespace
}  // namespace rotary
