// SPDX-License-Identifier: Apache-2.0
#include "command/command_result.hpp"

#include <cstdio>
#include <exception>
#include <vector>

namespace forebay::command {

Json to_json(const Error& error, std::string_view class_name) {
  Json offset = nullptr;
  if (error.offset_bytes()) offset = *error.offset_bytes();
  const Json details{{"class", class_name.empty() ? name_of(error.kind()) : class_name},
                     {"operation", error.operation()},
                     {"path", error.path()},
                     {"offset", offset},
                     {"errno", error.error_number()},
                     {"message", error.message()}};
  return {{"error", details}};
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
  if (error.operation() != "usage") return {kExitFailure, {}, dump(to_json(error), -1) + '\n'};
  Json document = to_json(error, "usage");
  // The cause names the option, so that the operation would add nothing.
  document["error"]["message"] = Error({.kind = error.kind(), .cause = error.cause()}).message();
  return {kExitUsage, {}, dump(document, -1) + '\n'};
}

std::string describe_exception(std::string_view what) {
  const Error error({.kind = ErrorClass::kException, .cause = std::string(what)});
  return dump(to_json(error), -1) + '\n';
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
