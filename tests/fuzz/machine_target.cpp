// SPDX-License-Identifier: Apache-2.0
// Passes any text to the parser of machine files and checks its contract. The same function runs
// under libFuzzer and, with the corpus, in the ordinary tests.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "model/layout.hpp"
#include "model/machine.hpp"

namespace forebay::model {
namespace {

void check(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

void check_refusal(const Error& error) {
  check(error.kind() == ErrorClass::kInvalidArgument, "an error is of class kInvalidArgument");
  check(error.path() == "fuzzed", "an error names the path");
  check(error.cause().starts_with("line "), "an error names the line");
}

void check_machine(const Machine& machine) {
  check(!machine.servers.empty(), "a machine has a server");
  check(machine.server_count() <= kServersMax, "servers are within the limit");
  const Layout layout = layout_of_new_file(machine, 12345);
  check(layout.stripe_count >= 1, "a file has a stripe");
  check(layout.stripe_count <= machine.server_count(), "stripes are on existing servers");
  check(layout.first_server < machine.server_count(), "the first server exists");
  const auto values = describe(machine);
  check(std::ranges::none_of(values, [](const MachineValue& one) { return one.value.empty(); }),
        "every key has a value");
}

void check_round_trip(const Machine& machine) {
  const std::string text = to_toml(machine);
  const Result<Machine> again = parse_machine(text, "again");
  check(again.has_value(), "a written machine can be parsed");
  check(*again == machine, "writing keeps a machine");
  check(to_toml(*again) == text, "equal machines have equal texts");
}

}  // namespace
}  // namespace forebay::model

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::model;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const forebay::Result<Machine> machine = parse_machine(text, "fuzzed");
  if (machine) {
    check_machine(*machine);
    check_round_trip(*machine);
  } else {
    check_refusal(machine.error());
  }
  return 0;
}
