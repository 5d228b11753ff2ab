// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tune_session.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "model/candidate_tuner.hpp"

namespace forebay::model_tool {

namespace {

using model::CandidateTuner;
using model::TunerCandidate;
using nlohmann::json;

constexpr std::array<std::string_view, 4> kPhaseNames{"start", "search", "confirm", "use"};
constexpr std::size_t kCandidatesMax = 100'000;

Error invalid_input(std::size_t line, const std::string& cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "tune",
                .path = "standard input",
                .cause = "line " + std::to_string(line) + ": " + cause});
}

/// Lines of JSON objects.
class Lines {
 public:
  explicit Lines(std::istream& input) : input_(input) {}

  /// No value at the end of the input.
  Result<std::optional<json>> next() {
    std::string text;
    ++number_;
    if (!std::getline(input_, text)) return std::nullopt;
    json value = json::parse(text, nullptr, false);
    if (!value.is_object()) return failure(invalid_input(number_, "write one JSON object"));
    return std::optional(std::move(value));
  }
  Error error(const std::string& cause) const { return invalid_input(number_, cause); }

 private:
  std::istream& input_;
  std::size_t number_ = 0;
};

bool is_positive(const json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
}

/// A cause of failure if the value is no candidate with `feature_count` features.
std::optional<std::string> check_candidate(const json& value, std::size_t feature_count) {
  if (!value.is_object() || !value.contains("features") || !value["features"].is_array())
    return "each candidate needs an array of features";
  if (value["features"].size() != feature_count) return "give all candidates equally many features";
  for (const json& feature : value["features"])
    if (!feature.is_number()) return "features are numbers";
  if (!is_positive(value.value("predicted_s", json(1)))) return "predicted_s must be above 0";
  return std::nullopt;
}

Result<std::vector<TunerCandidate>> read_candidates(const json& first, const Lines& lines) {
  const json list = first.value("candidates", json::array());
  if (!list.is_array() || list.empty() || list.size() > kCandidatesMax)
    return failure(lines.error("candidates must be an array of 1 to 100000 objects"));
  const json& front = list.front();
  const std::size_t features =
      front.is_object() && front.contains("features") ? front["features"].size() : 0;
  std::vector<TunerCandidate> candidates;
  for (const json& value : list) {
    if (const auto cause = check_candidate(value, features)) return failure(lines.error(*cause));
    candidates.push_back({value["features"].get<std::vector<double>>(),
                          value.value("predicted_s", json(1)).get<double>()});
  }
  return candidates;
}

Result<std::uint64_t> read_seed(const json& first, const Lines& lines) {
  const json value = first.value("seed", json(0));
  const bool is_valid = value.is_number() && value.get<double>() >= 0 && value.get<double>() < 1e9;
  if (!is_valid) return failure(lines.error("seed must be a number from 0 to 10^9"));
  return value.get<std::uint64_t>();
}

void write_line(std::ostream& output, const json& line) { output << line.dump() << std::endl; }

/// Applies the reply of the caller. Returns false at the end.
Result<bool> apply_reply(CandidateTuner& tuner, std::size_t candidate, Lines& lines) {
  const auto reply = lines.next();
  if (!reply) return failure(reply.error());
  if (!*reply || (*reply)->contains("end")) return false;
  if ((*reply)->contains("failed")) {
    tuner.record_failure(candidate);
    return true;
  }
  const json seconds = (*reply)->value("seconds", json());
  if (!is_positive(seconds))
    return failure(lines.error("write seconds above 0, or failed, or end"));
  tuner.record(candidate, seconds.get<double>());
  return true;
}

}  // namespace

Status tune(std::istream& input, std::ostream& output) {
  Lines lines(input);
  const auto first = lines.next();
  if (!first) return failure(first.error());
  const auto candidates = read_candidates(first->value_or(json::object()), lines);
  if (!candidates) return failure(candidates.error());
  const auto seed = read_seed(**first, lines);
  if (!seed) return failure(seed.error());
  CandidateTuner tuner(*candidates, {.seed = *seed});
  for (Result<bool> goes_on = true; *goes_on;) {
    const std::size_t candidate = tuner.next();
    write_line(output, {{"candidate", candidate},
                        {"best", tuner.best()},
                        {"phase", kPhaseNames.at(static_cast<std::size_t>(tuner.phase()))}});
    goes_on = apply_reply(tuner, candidate, lines);
    if (!goes_on) return failure(goes_on.error());
  }
  write_line(output,
             {{"best", tuner.best()}, {"noise", tuner.noise()}, {"why", tuner.explanation()}});
  return {};
}

}  // namespace forebay::model_tool
