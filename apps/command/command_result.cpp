// SPDX-License-Identifier: Apache-2.0
#include "command/command_result.hpp"

#include <cstdio>
#include <exception>
#include <vector>

namespace forebay::command {

namespace {

bool is_usage_error(const Error& error) { return error.operation() == "usage"; }

std::string line_of(const Error& error) { return dump({{"error", to_json(error)}}, -1) + '\n'; }

}  // namespace

Json to_json(const Error& error) {
  Json offset = nullptr;
  if (error.offset_bytes()) offset = *error.offset_bytes();
  // The cause of a usage error names the option, so that the operation would add nothing.
  const Error shown =
      is_usage_error(error) ? Error({.kind = error.kind(), .cause = error.cause()}) : error;
  return {{"class", is_usage_error(error) ? "usage" : name_of(error.kind())},
          {"operation", error.operation()},
          {"path", error.path()},
          {"offset", offset},
          {"errno", error.error_number()},
          {"message", shown.message()}};
}

std::string dump(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

CommandResult make_result(const Result<Json>& document) {
  if (!document) return make_failure(document.error());
  const bool ok = document->value("ok", true);
  return {ok ? kExitSuccess : kExitProblemsFound, dump(*document, 1) + '\n', {}};
}

CommandResult make_failure(const Error& error) {
  return {is_usage_error(error) ? kExitUsage : kExitFailure, {}, line_of(error)};
}

std::string describe_exception(std::string_view what) {
  return line_of(Error({.kind = ErrorClass::kException, .cause = std::string(what)}));
}

int run_and_print(int count,
                  char** arguments,
                  const std::function<CommandResult(std::span<const std::string_view>)>& run) {
  try {
    const CommandResult outcome =
        run(std::vector<std::string_view>(arguments + 1, arguments + count));
    std::fputs(outcome.output.c_str(), stdout);
    std::fputs(outcome.errors.c_str(), stderr);
    return std::fflush(stdout) == 0 ? outcome.exit_code : kExitFailure;
  } catch (const std::exception& caught) {
    const std::string text = describe_exception(caught.what());
    std::fputs(text.c_str(), stderr);
    return kExitFailure;
  }
}

}  // namespace forebay::command
