// SPDX-License-Identifier: Apache-2.0
#include "cli/permute/weight_index.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "apps/failure.hpp"
#include "apps/json.hpp"
#include "apps/printable.hpp"

namespace rotary::cli {
namespace {

constexpr std::size_t most_tensors = std::size_t{1} << 20;
constexpr std::size_t most_levels = 64;

bool is_plain_name(std::string_view name) {
  constexpr std::size_t longest = 255;  // NAME_MAX of Linux
  return !name.empty() && name.size() <= longest && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

// Takes weight_map from the parser's events and skips all other members.
class IndexEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  [[nodiscard]] const std::string& requirement() const noexcept { return requirement_; }
  [[nodiscard]] FilesOfIndex take() { return std::move(files_); }
  [[nodiscard]] bool has_map() const noexcept { return has_map_; }

  bool start_object(std::size_t) override {
    if (level_ == 1 && is_map_) {
      if (std::exchange(has_map_, true)) return refuse("have the member weight_map once");
      return open();
    }
    return level_ == 0 ? open() : other() && open();
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return other() && open(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (level_ == 1) is_map_ = name == "weight_map";
    if (is_entry()) tensor_ = std::move(name);
    return true;
  }

  bool string(std::string& text) override {
    if (!is_entry()) return other();
    if (!is_plain_name(text)) return refuse_entry();
    if (++tensors_ > most_tensors)
      return refuse(fmt::format("name at most {} tensors", most_tensors));
    files_[text].push_back(std::move(tensor_));
    return true;
  }

  bool number_unsigned(std::uint64_t) override { return other(); }
  bool number_integer(std::int64_t) override { return other(); }
  bool number_float(double, const std::string&) override { return other(); }
  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool binary(nlohmann::json::binary_t&) override { return other(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  [[nodiscard]] bool is_entry() const noexcept { return level_ == 2 && is_map_; }

  // Handles a value other than a tensor's file name.
  bool other() {
    if (is_entry()) return refuse_entry();
    return level_ > 1 || (level_ == 1 && !is_map_);
  }
  bool open() {
    if (++level_ <= most_levels) return true;
    return refuse(fmt::format("not nest deeper than {} levels", most_levels));
  }
  bool close() {
    --level_;
    return true;
  }
  bool refuse(std::string requirement) {
    requirement_ = std::move(requirement);
    return false;
  }
  bool refuse_entry() {
    return refuse(fmt::format("name a file of its own folder for '{}'", shown_name(tensor_)));
  }

  FilesOfIndex files_;
  std::string requirement_ = "be a JSON object with the member weight_map, an object";
  std::string tensor_;
  std::size_t tensors_ = 0;
  std::size_t level_ = 0;
  bool is_map_ = false;  // reading the top-level member weight_map
  bool has_map_ = false;
};

}  // namespace

FilesOfIndex parse_weight_index(std::string_view json, const std::string& path) {
  IndexEvents events;
  const bool parsed = parse_events(json, events);
  const auto fail = [&path](std::string_view requirement) -> Failure {
    return {ExitCode::malformed_input, fmt::format("{}: an index must {}", path, requirement)};
  };
  if (!parsed || !events.has_map()) throw fail(events.requirement());
  FilesOfIndex files = events.take();
  if (files.empty()) throw fail("name a file");
  return files;
}

}  // namespace rotary::cli
