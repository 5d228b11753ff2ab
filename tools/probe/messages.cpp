// SPDX-License-Identifier: Apache-2.0
// Progress and failures as lines of JSON, whatever bytes a file name has.
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

// File names need not be UTF-8; a report must not fail because of one.
std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct ErrorText {
  std::string kind;
  std::string message;
};

std::string error_line(const ErrorText& wording, const Error& error) {
  nlohmann::json offset = nullptr;
  if (error.offset_bytes()) offset = *error.offset_bytes();
  const nlohmann::json details = {{"class", wording.kind},         {"operation", error.operation()},
                                  {"path", error.path()},          {"offset", std::move(offset)},
                                  {"errno", error.error_number()}, {"message", wording.message}};
  return dump({{"error", details}});
}

}  // namespace

void Progress::report(const ProgressStep& step) {
  if (progress_mode_ == ProgressMode::kSilent) return;
  const std::int64_t now = now_ms();
  if (step.done < step.total && now - last_report_ms_ < kPeriodMs) return;
  last_report_ms_ = now;
  const nlohmann::json line = {
      {"progress", step.done}, {"total", step.total}, {"unit", step.unit}, {"what", step.what}};
  std::fputs((dump(line) + "\n").c_str(), stderr);
}

std::string error_line(const Error& error) {
  return error_line({std::string(name_of(error.kind())), error.message()}, error);
}

std::string usage_error_line(const std::string& text) {
  return error_line({"usage", text}, Error({.kind = ErrorClass::kInvalidArgument,
                                            .operation = "read the command line",
                                            .cause = text}));
}

std::string document_text(const nlohmann::json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

int print_document(const Result<nlohmann::json>& document) {
  if (!document) return print_error(document.error());
  std::puts(document_text(*document).c_str());
  return kExitSuccess;
}

int print_error(const Error& error) {
  std::fprintf(stderr, "%s\n", error_line(error).c_str());
  return kExitFailure;
}

int print_usage_error(const std::string& text) {
  std::fprintf(stderr, "%s\n", usage_error_line(text).c_str());
  return kExitUsage;
}

}  // namespace forebay::probe
