// SPDX-License-Identifier: Apache-2.0
// Differences between releases, a known defect of the id rule, and refusals. The fuzz target
// `positions` compares ids with their definition. tests/golden has ids of published classes.
#include "rotary/m_rope.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace rotary {
namespace {

using test::value_of;

MRopeConvention named(std::string_view name) { return value_of(m_rope_convention(name)); }

// Text ids continue after the ids of rows and columns. The frames of a long video have larger ids.
TEST(MRope, TextAfterALongVideoHasSmallerIdsThanItsFrames) {
  const std::vector<TokenGroup> prompt = {TextTokenRun{3}, VideoPatches{8, 4, 4, 2.0},
                                          TextTokenRun{2}};
  const auto grid = value_of(m_rope_positions(prompt, named("qwen2.5-vl")));
  EXPECT_EQ(grid.positions.at(0, 34), 31);  // the last frame: 3 + 7 * 4
  EXPECT_EQ(grid.positions.at(0, 35), 5);   // the text after it
  EXPECT_EQ(grid.delta, 32 - 37);           // decoding continues after the video
  const auto highest = value_of(m_rope_positions(prompt, named("qwen2.5-vl-4.57")));
  EXPECT_EQ(highest.positions.at(0, 35), 32);
}

// In Transformers 5.3 every frame has the time id 15 * 2. A row's id is repeated for all frames
// before the next row's id.
TEST(MRope, Transformers53GivesAllFramesOneTimeId) {
  const std::vector<TokenGroup> prompt = {TextTokenRun{15}, VideoPatches{4, 8, 12, 1.0},
                                          TextTokenRun{10}};
  const auto ids = value_of(m_rope_positions(prompt, named("qwen2.5-vl-5.3"))).positions;
  EXPECT_EQ(ids.at(0, 15), 30);
  EXPECT_EQ(ids.at(0, 110), 30);
  EXPECT_EQ(ids.at(1, 15 + 23), 15);
  EXPECT_EQ(ids.at(1, 15 + 24), 16);
  EXPECT_EQ(ids.at(0, 111), 21);
  EXPECT_EQ(named("qwen2.5-vl-5.3").name, "qwen2.5-vl-5.4");
  EXPECT_EQ(named("qwen2.5-vl-4.50").name, "qwen2.5-vl-vllm");
  EXPECT_EQ(named("qwen2-vl-5.24").name, "qwen2-vl");
  for (const std::string_view none :
       {"qwen2.5-vl-4.48", "qwen3-vl-5.3", "qwen2-vl-5.x", "qwen2-vl-"})
    EXPECT_EQ(m_rope_convention(none).error().code, ErrorCode::invalid_argument) << none;
  const std::vector<TokenGroup> both = {ImagePatches{4, 4}, VideoPatches{1, 4, 4, 1.0}};
  EXPECT_EQ(m_rope_positions(both, named("qwen2.5-vl-5.3")).error().code, ErrorCode::unsupported);
  const std::vector<TokenGroup> far = {TextTokenRun{(1 << 21) + 1}, VideoPatches{1, 2, 2, 65536.0}};
  MRopeConvention fast = named("qwen2.5-vl-5.5");
  fast.ids_per_second = 1 << 16;
  EXPECT_EQ(m_rope_positions(far, fast).error().message,
            "ids must be at most 2^53, got "
            "9007199254740993");
}

TEST(MRope, ReleasesDifferIfAFrameLastsAFractionOfASecond) {
  const std::vector<TokenGroup> prompt = {VideoPatches{4, 2, 2, 1.3}};
  const auto times = [&prompt](std::string_view name) {
    const auto ids = value_of(m_rope_positions(prompt, named(name))).positions;
    return std::vector(ids.numbers.begin(), ids.numbers.begin() + 4);
  };
  EXPECT_EQ(times("qwen2.5-vl"), (std::vector<std::int64_t>{0, 2, 5, 7}));
  EXPECT_EQ(times("qwen2.5-vl-5.17"), (std::vector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(times("qwen2.5-vl-vllm"), (std::vector<std::int64_t>{0, 2, 5, 7}));
  const std::vector<TokenGroup> prompt_of_omni = {VideoPatches{2, 2, 2, 0.1}, TextTokenRun{1}};
  const auto real = value_of(m_rope_coordinates(prompt_of_omni, named("qwen3-omni")));
  EXPECT_EQ(real.positions.at(0, 1), static_cast<double>(13 * 0.1F));
  EXPECT_EQ(real.positions.at(2, 2), static_cast<double>(13 * 0.1F + 1));
}

// The expected ids are those of Qwen2_5_VLModel and Qwen3-Omni in Transformers 5.23. The group
// after a video follows its last audio token, even if the video's rows have higher ids.
TEST(MRope, FrameTimesAndTheNextGroupFollowTransformers) {
  MRopeConvention convention = named("qwen2.5-vl");
  convention.ids_per_second = 25;
  const std::vector<TokenGroup> video = {VideoPatches{7, 2, 2, 0.7}};
  const auto rate_first = value_of(m_rope_positions(video, convention)).positions;
  EXPECT_EQ(rate_first.at(0, 6), 105);
  convention.frame_times = FrameTimes::seconds_first;
  EXPECT_EQ(value_of(m_rope_positions(video, convention)).positions.at(0, 6), 104);
  const std::vector<TokenGroup> sound = {
      TextTokenRun{1}, VideoPatches{.frames = 1, .rows = 14, .columns = 2, .audio_tokens = 2},
      TextTokenRun{1}};
  const auto ids = value_of(m_rope_coordinates(sound, named("qwen3-omni")));
  EXPECT_EQ(ids.positions.at(1, 9), 9);
  EXPECT_EQ(ids.positions.at(1, 14), 7);
  EXPECT_EQ(ids.delta, -5);
}

// Qwen3-Omni in Transformers 5.23 computes 18 + 1 * 47.56 in float32. Optimised code of gcc 12 once
// omitted the last rounding.
TEST(MRope, RealNumbersAreRoundedToFloat32) {
  MRopeConvention convention = named("qwen3-omni");
  convention.ids_per_second = 2;
  const std::vector<TokenGroup> prompt = {
      TextTokenRun{4}, ImagePatches{8, 8}, TextTokenRun{8},
      VideoPatches{
          .frames = 43, .rows = 2, .columns = 2, .seconds_per_frame = 23.78, .audio_tokens = 2}};
  const auto ids = value_of(m_rope_coordinates(prompt, convention)).positions;
  EXPECT_EQ(ids.at(0, 33), 65.55999755859375);
  for (const double id : ids.numbers) EXPECT_EQ(id, static_cast<double>(static_cast<float>(id)));
}

// In torch 2.15 on a CPU torch.linspace(0, 7, 27).round()[13] is 3 and torch.linspace(0, 13,
// 23).round()[11] is 7. The exact numbers, 3.5 and 6.5, would round to 4 and 6.
TEST(MRope, ThumbnailRowsRoundLikeTorchLinspace) {
  MRopeConvention convention = named("minicpm-v-4.7");
  convention.merge = 1;
  const auto row_of = [&convention](std::int64_t rows, std::int64_t canvas, std::int64_t row) {
    const std::vector<TokenGroup> prompt = {SlicedImage{{rows, 1}, canvas, 1, {1, 1}}};
    return value_of(m_rope_positions(prompt, convention)).positions.at(1, 1 + row);
  };
  EXPECT_EQ(row_of(27, 8, 13), 3);
  EXPECT_EQ(row_of(23, 14, 11), 7);
  EXPECT_EQ(row_of(5, 9, 4), 8);
}

TEST(MRope, AnEmptyPromptHasNoIds) {
  const auto got = value_of(m_rope_positions({}, named("qwen2-vl")));
  EXPECT_EQ(got.positions.tokens, 0);
  EXPECT_EQ(got.delta, 0);
}

ErrorCode refusal(const TokenGroup& group, const MRopeConvention& convention) {
  const auto got = m_rope_positions(std::span(&group, 1), convention);
  return got ? ErrorCode{} : got.error().code;
}

TEST(MRope, InvalidGroupsAreRefused) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const MRopeConvention qwen = named("qwen2.5-vl");
  for (const TokenGroup& group : std::vector<TokenGroup>{
           TextTokenRun{-1}, TextTokenRun{huge}, ImagePatches{1, 4}, ImagePatches{4, -4},
           ImagePatches{huge, huge}, ImagePatches{1 << 20, 1 << 20}, VideoPatches{0, 4, 4},
           VideoPatches{huge, 4, 4}, VideoPatches{1 << 27, 4, 4},
           VideoPatches{2, 4, 4, std::numeric_limits<double>::quiet_NaN()},
           VideoPatches{2, 4, 4, -1}, VideoPatches{2, 4, 4, 1e300}})
    EXPECT_EQ(refusal(group, qwen), ErrorCode::invalid_argument);
  for (const TokenGroup& group : std::vector<TokenGroup>{
           SlicedImage{.thumbnail = {4, 4}},
           VideoPatches{.frames = 2, .rows = 4, .columns = 4, .text_between_frames = 1},
           VideoPatches{.frames = 2, .rows = 4, .columns = 4, .audio_tokens = 1}})
    EXPECT_EQ(refusal(group, qwen), ErrorCode::unsupported);
  EXPECT_EQ(refusal(VideoPatches{2, 4, 4}, named("glm-image")), ErrorCode::unsupported);
  const MRopeConvention canvas = named("minicpm-v-4.7");
  for (const SlicedImage& image :
       {SlicedImage{{8, 8}, 2, 0, {8, 8}}, SlicedImage{{8, 8}, huge, huge, {8, 8}},
        SlicedImage{{8, 8}, 1, 1, {1, 8}}, SlicedImage{{8, 8}, 0, 0, {}, -1},
        SlicedImage{{8, 8}, 1 << 16, 1 << 16, {8, 8}}, SlicedImage{{0, 0}}})
    EXPECT_EQ(refusal(image, canvas), ErrorCode::invalid_argument);
}

TEST(MRope, InvalidConventionsAreRefused) {
  const TokenGroup text = TextTokenRun{1};
  const auto changed = [](auto change) {
    MRopeConvention convention;
    change(convention);
    return convention;
  };
  for (const MRopeConvention& convention :
       {changed([](auto& it) { it.axes = 5; }), changed([](auto& it) { it.merge = 0; }),
        changed([](auto& it) { it.temporal_merge = -1; }),
        changed([](auto& it) { it.ids_per_second = 0; }),
        changed([](auto& it) { it.ids_per_chunk = 0; }),
        changed([](auto& it) { it.counts[3] = static_cast<IdAxis>(6); }),
        changed([](auto& it) { it.next = static_cast<NextPosition>(3); }),
        changed([](auto& it) { it.vision = static_cast<VisionTokens>(-1); }),
        changed([](auto& it) { it.vision = VisionTokens::canvas; }), changed([](auto& it) {
          it.vision = VisionTokens::lines;
          it.sound = SoundOfVideo::by_chunk;
        }),
        changed([](auto& it) {
          it.frames = VideoFrames::own_groups;
          it.sound = SoundOfVideo::by_token;
        }),
        named("qwen3-omni")})
    EXPECT_EQ(refusal(text, convention), ErrorCode::invalid_argument);
  const auto unknown = m_rope_convention("qwen1-vl");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().message.ends_with("such as qwen2.5-vl-5.3; got 'qwen1-vl'"));
}

}  // namespace
}  // namespace rotary
