// SPDX-License-Identifier: Apache-2.0
// rotary explain: one head's rotation in five steps, on numbers that a person can check by hand.
// The steps are in double, from the library's frequencies; what its rotate() computes in float32 is
// compared with them. The last line shows what an exponent of i/d in place of 2i/d, a widely copied
// mistake, would give: the same norm, other angles, and no error anywhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/json_writer.hpp"
#include "cli/model_input.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli {
namespace {

constexpr std::size_t most_values = 4096;  // beyond any head; the text has 5 lines for each pair

struct Arguments {
  std::string values;
  std::string position;
  std::string pairing;
  std::string base = "10000";
};

struct Question {
  std::vector<double> values;
  std::int64_t position;
  double base;
  Pairing pairing;

  [[nodiscard]] std::int64_t head_dim() const { return static_cast<std::int64_t>(values.size()); }
};

struct Pair {
  std::size_t first_feature, second_feature;  // where the pair stands
  std::size_t first_result, second_result;    // and where what it becomes is written
  double inv_freq, angle_radians, cos, sin;
};

struct Answer {
  std::vector<Pair> pairs;
  std::vector<double> result;
  std::vector<float> library_result;  // of rotate(), in float32
  std::vector<double> result_of_wrong_exponent;
};

Question read_question(const Arguments& arguments) {
  Question question{.values = parse_doubles("--values", arguments.values),
                    .position = parse_int64("--position", arguments.position),
                    .base = parse_double("--base", arguments.base),
                    .pairing = *parse_pairing(arguments.pairing)};
  const std::size_t count = question.values.size();
  if (count % 2 != 0 || count > most_values) {
    throw Failure(ExitCode::usage, fmt::format("--values must be an even count, at most {}, got {}",
                                               most_values, count));
  }
  for (const double value : question.values) {
    if (!std::isfinite(static_cast<float>(value))) {
      throw Failure(ExitCode::usage, fmt::format("--values must fit float32, got {}", value));
    }
  }
  return question;
}

std::vector<Pair> pairs_at(const Frequencies& frequencies, std::int64_t position) {
  const auto pair_count = static_cast<std::size_t>(frequencies.window.pairs());
  const bool from_halves = frequencies.window.pairing.get() == Pairing::half;
  const bool to_halves = frequencies.window.pairing.get() != Pairing::interleaved;
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < pair_count; ++i) {
    // position * turns wraps to the fraction of a turn that is left, exactly, at any position.
    const std::uint64_t turned = static_cast<std::uint64_t>(position) * frequencies.turns[i];
    const double reduced_radians =
        static_cast<double>(static_cast<std::int64_t>(turned)) * 0x1p-63 * std::numbers::pi;
    pairs.push_back({.first_feature = from_halves ? i : 2 * i,
                     .second_feature = from_halves ? i + pair_count : 2 * i + 1,
                     .first_result = to_halves ? i : 2 * i,
                     .second_result = to_halves ? i + pair_count : 2 * i + 1,
                     .inv_freq = frequencies.inv_freq[i],
                     .angle_radians = static_cast<double>(position) * frequencies.inv_freq[i],
                     .cos = std::cos(reduced_radians),
                     .sin = std::sin(reduced_radians)});
  }
  return pairs;
}

std::vector<double> turned(const std::vector<double>& values, const std::vector<Pair>& pairs) {
  std::vector<double> result(values.size());
  for (const Pair& pair : pairs) {
    const double x = values[pair.first_feature];
    const double y = values[pair.second_feature];
    result[pair.first_result] = x * pair.cos - y * pair.sin;
    result[pair.second_result] = x * pair.sin + y * pair.cos;
  }
  return result;
}

std::vector<float> rotated(const Question& question, const Frequencies& frequencies) {
  const Rotations rotations = value_or_fail(
      make_rotations(frequencies, ConsecutivePositions{.first = question.position, .tokens = 1}));
  std::vector<float> result;
  for (const double value : question.values) result.push_back(static_cast<float>(value));
  const Extents extents{.tokens = 1, .heads = 1, .features = question.head_dim()};
  const HeadsView view{.data = result.data(),
                       .dtype = DType::f32,
                       .extents = extents,
                       .strides = strides_bthd(extents)};
  ok_or_fail(rotate(view, view, rotations));
  return result;
}

Frequencies wrong_frequencies(const HeadWindow& window, double base) {
  std::vector<double> inv_freq;
  for (std::int64_t i = 0; i < window.pairs(); ++i) {
    inv_freq.push_back(
        std::pow(base, -static_cast<double>(i) / static_cast<double>(window.rotary_dim)));
  }
  return value_or_fail(make_frequencies(window, std::move(inv_freq), 1));
}

Answer answer(const Question& question) {
  const auto frequencies = value_or_fail(make_frequencies(RotarySpec{
      .head_dim = question.head_dim(), .base = question.base, .pairing = question.pairing}));
  const Frequencies wrong = wrong_frequencies(frequencies.window, question.base);
  Answer answer;
  answer.pairs = pairs_at(frequencies, question.position);
  answer.result = turned(question.values, answer.pairs);
  answer.library_result = rotated(question, frequencies);
  answer.result_of_wrong_exponent = turned(question.values, pairs_at(wrong, question.position));
  return answer;
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double library_difference(const Answer& answer) {
  double largest = 0;
  for (std::size_t i = 0; i < answer.result.size(); ++i) {
    largest = std::max(largest,
                       std::abs(static_cast<double>(answer.library_result[i]) - answer.result[i]));
  }
  return largest;
}

std::string six_decimals(const std::vector<double>& values) {
  return fmt::format("[{:.6f}]", fmt::join(values, ", "));
}

std::string pairs_and_frequencies(const Question& question, const Answer& answer) {
  std::string text;
  auto out = std::back_inserter(text);
  const std::int64_t d = question.head_dim();
  fmt::format_to(out, "1  Pairs: which features turn together\n");
  for (std::size_t i = 0; i < answer.pairs.size(); ++i) {
    const Pair& pair = answer.pairs[i];
    fmt::format_to(out, "     pair {}   (x{}, x{}) = ({}, {})\n", i, pair.first_feature,
                   pair.second_feature, question.values[pair.first_feature],
                   question.values[pair.second_feature]);
  }
  fmt::format_to(out, "\n2  Frequencies: how far each pair turns per position, base^(-2i/d)\n");
  for (std::size_t i = 0; i < answer.pairs.size(); ++i) {
    fmt::format_to(out, "     pair {}   {}^(-{}/{}) = {:.9g} radians\n", i, question.base, 2 * i, d,
                   answer.pairs[i].inv_freq);
  }
  return text;
}

std::string angles_and_rotations(const Question& question, const Answer& answer) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\n3  Angles: position x frequency\n");
  for (std::size_t i = 0; i < answer.pairs.size(); ++i) {
    fmt::format_to(out, "     pair {}   {} x {:.9g} = {:.9g} radians\n", i, question.position,
                   answer.pairs[i].inv_freq, answer.pairs[i].angle_radians);
  }
  fmt::format_to(out, "\n4  Cosine and sine of each angle\n");
  for (std::size_t i = 0; i < answer.pairs.size(); ++i) {
    fmt::format_to(out, "     pair {}   cos = {:9.6f}   sin = {:9.6f}\n", i, answer.pairs[i].cos,
                   answer.pairs[i].sin);
  }
  fmt::format_to(out, "\n5  Turn each pair: (x cos - y sin, x sin + y cos)\n");
  for (std::size_t i = 0; i < answer.pairs.size(); ++i) {
    const Pair& pair = answer.pairs[i];
    fmt::format_to(out, "     pair {}   ({}, {}) -> ({:.6f}, {:.6f})", i,
                   question.values[pair.first_feature], question.values[pair.second_feature],
                   answer.result[pair.first_result], answer.result[pair.second_result]);
    if (question.pairing == Pairing::interleaved_to_half) {
      fmt::format_to(out, " as x{} and x{}", pair.first_result, pair.second_result);
    }
    text += '\n';
  }
  return text;
}

std::string text_of(const Question& question, const Answer& answer) {
  return fmt::format(
      "x = [{}] at position {}\n"
      "d = {} features, {} pairing, base {}\n\n"
      "{}{}\n"
      "Result   {}\n"
      "Norm     {:.6f} before, {:.6f} after: turning keeps it\n"
      "Library  rotate() in float32 differs by at most {:.1e}\n"
      "Beware   the exponent i/d, widely copied in place of 2i/d, would give\n"
      "         {}\n",
      fmt::join(question.values, ", "), question.position, question.head_dim(),
      to_string(question.pairing), question.base, pairs_and_frequencies(question, answer),
      angles_and_rotations(question, answer), six_decimals(answer.result), norm(question.values),
      norm(answer.result), library_difference(answer),
      six_decimals(answer.result_of_wrong_exponent));
}

std::string json_of(const Question& question, const Answer& answer) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.array("values", question.values);
  json.member("position", question.position);
  json.member("base", question.base);
  json.member("pairing", to_string(question.pairing));
  json.key("pairs");
  json.begin_array();
  for (const Pair& pair : answer.pairs) {
    json.begin_object();
    json.array("features", std::vector{pair.first_feature, pair.second_feature});
    json.array("result_features", std::vector{pair.first_result, pair.second_result});
    json.member("inv_freq", pair.inv_freq);
    json.member("angle_radians", pair.angle_radians);
    json.member("cos", pair.cos);
    json.member("sin", pair.sin);
    json.end_object();
  }
  json.end_array();
  json.array("result", answer.result);
  json.array("library_result_f32", answer.library_result);
  json.member("norm_before", norm(question.values));
  json.member("norm_after", norm(answer.result));
  json.array("result_of_exponent_i_over_d", answer.result_of_wrong_exponent);
  json.end_object();
  return std::move(json).finish();
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser.add_option("--values", arguments->values, "the features of one head: an even count")
      .required()
      .type_name("X,Y,...");
  parser.add_option("--position", arguments->position, "where the token stands: any integer")
      .required()
      .type_name("N");
  parser
      .add_option("--pairing", arguments->pairing,
                  "half, interleaved or interleaved_to_half: which features turn together")
      .required()
      .type_name("P");
  parser.add_option("--base", arguments->base, "rope_theta (10000)").type_name("B");
  return [arguments](OutputForm form) {
    const Question question = read_question(*arguments);
    const Answer computed = answer(question);
    return form == OutputForm::json ? json_of(question, computed) : text_of(question, computed);
  };
}

}  // namespace

constinit const Command explain_command{
    .name = "explain",
    .summary = "Rotate a few numbers step by step, as if by hand",
    .examples =
        "  rotary explain --values 0.5,-1,1.5,2 --position 3 --pairing interleaved\n"
        "  rotary explain --values 1,0,0,0,0,0 --position -7 --pairing half --base 500000\n",
    .usage =
        "  rotary explain --values X,Y,... --position N\n"
        "                 --pairing half|interleaved|interleaved_to_half [--base B] [--json]\n",
    .declare = declare,
};

}  // namespace rotary::cli
