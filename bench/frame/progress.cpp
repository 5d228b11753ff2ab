// SPDX-License-Identifier: Apache-2.0
// Progress and failure as lines of JSON.
#include "bench/frame/progress.hpp"

#include <chrono>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace forebay::bench {
namespace {

constexpr std::int64_t kPeriodMs = 50;

std::int64_t now_ms() {
  using std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

// File names need not be UTF-8; a report must never fail because of one.
std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void Progress::report(const Step& step) {
  if (telling_ == Telling::kSilent) return;
  const std::int64_t now = now_ms();
  if (step.done < step.total && now - told_at_ms_ < kPeriodMs) return;
  told_at_ms_ = now;
  const nlohmann::json line = {
      {"progress", step.done}, {"total", step.total}, {"unit", step.unit}, {"what", step.what}};
  std::fputs((dump(line) + "\n").c_str(), stderr);
}

std::string error_line(const Error& error) {
  nlohmann::json offset = nullptr;
  if (error.offset_bytes()) offset = *error.offset_bytes();
  const nlohmann::json details = {
      {"class", name_of(error.kind())}, {"operation", error.operation()},
      {"path", error.path()},           {"offset", std::move(offset)},
      {"errno", error.error_number()},  {"message", error.message()}};
  return dump({{"error", details}});
}

}  // namespace forebay::bench
