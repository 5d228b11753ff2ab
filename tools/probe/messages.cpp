// SPDX-License-Identifier: Apache-2.0
// Progress and failure as lines of JSON, whatever bytes a file name has.
#include "tools/probe/messages.hpp"

#include <chrono>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace forebay::probe {
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

struct Wording {
  std::string kind;
  std::string message;
};

std::string error_line(const Wording& wording, const Error& error) {
  nlohmann::json offset = nullptr;
  if (error.offset_bytes()) offset = *error.offset_bytes();
  const nlohmann::json details = {{"class", wording.kind},         {"operation", error.operation()},
                                  {"path", error.path()},          {"offset", std::move(offset)},
                                  {"errno", error.error_number()}, {"message", wording.message}};
  return dump({{"error", details}});
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
  return error_line({std::string(name_of(error.kind())), error.message()}, error);
}

std::string usage_error_line(const std::string& complaint) {
  return error_line({"usage", complaint}, Error({.kind = ErrorClass::kInvalidArgument,
                                                 .operation = "read the command line",
                                                 .cause = complaint}));
}

std::string document_text(const nlohmann::json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

int print_document(const Result<nlohmann::json>& document) {
  if (!document) return print_error(document.error());
  std::puts(document_text(*document).c_str());
  return kExitDone;
}

int print_error(const Error& error) {
  std::fprintf(stderr, "%s\n", error_line(error).c_str());
  return kExitFailed;
}

int print_usage_error(const std::string& complaint) {
  std::fprintf(stderr, "%s\n", usage_error_line(complaint).c_str());
  return kExitUsage;
}

}  // namespace forebay::probe
