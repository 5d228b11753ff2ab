// SPDX-License-Identifier: Apache-2.0
// Progress and failures as lines of JSON, whatever bytes a file name has.
#include "tools/probe/messages.hpp"

#include <cstdio>

#include "command/cli.hpp"

namespace forebay::probe {

std::string error_line(const Error& error) {
  return command::dump({{"error", command::to_json(error)}}, -1);
}

std::string document_text(const nlohmann::json& document) { return command::dump(document, 2); }

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
  print_error(command::usage_error(text));
  return kExitUsage;
}

}  // namespace forebay::probe
