// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/prompt.hpp"

namespace rotary::cli {
namespace {

// "4x6": n numbers, each 0 or more.
template <std::size_t n>
std::array<std::int64_t, n> parse_sides(const PromptOption& option, std::string_view text,
                                        std::string_view form) {
  std::array<std::int64_t, n> sides = {};
  std::string_view rest = text;
  for (std::size_t i = 0; i < n; ++i) {
    const auto end = rest.find('x');
    require((end == std::string_view::npos) == (i + 1 == n), "{} must be {}, got '{}'", option.name,
            form, option.value);
    sides[i] = parse_between(option.name, rest.substr(0, end), {0, most_axis_tokens});
    if (end != std::string_view::npos) rest.remove_prefix(end + 1);
  }
  return sides;
}

VideoPatches parse_video(const PromptOption& option) {
  const std::string_view text = option.value;
  const auto at = text.find('@');
  const auto sides =
      parse_sides<3>(option, text.substr(0, at), "FRAMESxROWSxCOLUMNS or FRAMESxROWSxCOLUMNS@S");
  VideoPatches video{.frames = sides[0], .rows = sides[1], .columns = sides[2]};
  if (at != std::string_view::npos)
    video.seconds_per_frame = parse_double(option.name, text.substr(at + 1));
  return video;
}

template <class Group>
Group& group_before(std::vector<TokenGroup>& groups, const PromptOption& option,
                    std::string_view kind) {
  if (groups.empty() || !std::holds_alternative<Group>(groups.back()))
    fail_usage("{} must come after {}", option.name, kind);
  return std::get<Group>(groups.back());
}

// Returns the last group as a sliced image. A plain image becomes its thumbnail.
SlicedImage& image_before(std::vector<TokenGroup>& groups, const PromptOption& option) {
  const auto* const plain = groups.empty() ? nullptr : std::get_if<ImagePatches>(&groups.back());
  if (plain != nullptr) groups.back() = SlicedImage{.thumbnail = *plain};
  return group_before<SlicedImage>(groups, option, "--image");
}

void add_group(Prompt& prompt, const PromptOption& option) {
  std::vector<TokenGroup>& groups = prompt.groups;
  std::vector<Prompt::Grid>& grids = prompt.grids;
  const auto count = [&option] {
    return parse_between(option.name, option.value, {0, most_axis_tokens});
  };
  if (option.name == "--text" || option.name == "--audio") {
    groups.emplace_back(TextTokenRun{count()});
  } else if (option.name == "--image") {
    const auto sides = parse_sides<2>(option, option.value, "ROWSxCOLUMNS");
    groups.emplace_back(ImagePatches{sides[0], sides[1]});
    grids.push_back({option, sides[0], sides[1]});
  } else if (option.name == "--video") {
    const VideoPatches video = parse_video(option);
    groups.emplace_back(video);
    grids.push_back({option, video.rows, video.columns, video.frames});
  } else if (option.name == "--frame-text") {
    group_before<VideoPatches>(groups, option, "--video").text_between_frames = count();
  } else if (option.name == "--sound") {
    group_before<VideoPatches>(groups, option, "--video").audio_tokens = count();
  } else if (option.name == "--newlines") {
    image_before(groups, option).newlines_after = count();
  } else {
    const auto sides = parse_sides<4>(option, option.value, "DOWNxACROSSxROWSxCOLUMNS");
    SlicedImage& image = image_before(groups, option);
    image.slices_down = sides[0];
    image.slices_across = sides[1];
    image.slice = {sides[2], sides[3]};
    grids.push_back({option, sides[2], sides[3]});
  }
}

}  // namespace

void check_grids(const Prompt& prompt, const MRopeConvention& by) {
  for (const auto& [option, rows, columns, frames] : prompt.grids) {
    require(rows % by.merge == 0 && columns % by.merge == 0,
            "{} must have rows and columns of patches that {} divides (--merge), got {}",
            option.name, by.merge, option.value);
    require(frames % by.temporal_merge == 0,
            "{} must have frames that {} divides (--temporal-merge), got {}", option.name,
            by.temporal_merge, option.value);
  }
}

void declare_prompt(OptionParser& parser, Prompt& prompt) {
  const auto read = [&prompt](const std::string& name, const std::string& value) {
    add_group(prompt, {name, value});
    if (prompt.groups.size() > prompt.options.size())
      prompt.options.push_back({name, value});
    else
      prompt.options.back().value += fmt::format(" {} {}", name, value);
  };
  const auto add = [&](const std::string& form, std::string help) {
    parser.add_stored(form, std::move(help), OptionParser::Repeats::yes, read);
  };
  add("--text N",
      "tokens of text, and of markers around images. The prompt is these options in their order "
      "on the command line");
  add("--image HxW", "an image: rows and columns of patches, before merging (image_grid_thw)");
  add("--video TxHxW@S",
      "a video: frames of patches, rows and columns before merging (video_grid_thw), and the "
      "seconds from one frame to the next (second_per_grid_ts; @S may be missing: 1)");
  add("--audio N", "sound without video: one id for each of its tokens");
  add("--frame-text N",
      "of the --video before it: tokens of text between two frames, such as timestamps, for models "
      "whose frames are groups of their own (0)");
  add("--sound N",
      "of the --video before it: tokens of its own sound, interleaved, for the Omni models");
  add("--slices DxAxHxW",
      "of the --image before it, which is the thumbnail: slices down and across, rows and columns "
      "of patches of each; for models with a canvas");
  add("--newlines N", "of the --image before it: newline tokens after it, on its canvas (0)");
}

}  // namespace rotary::cli
