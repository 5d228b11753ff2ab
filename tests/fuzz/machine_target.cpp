// SPDX-License-Identifier: Apache-2.0
// Gives any text to the parser of machine files and holds it to what it promises. The same function
// runs under libFuzzer and, over the corpus, in the ordinary tests.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "model/layout.hpp"
#include "model/machine.hpp"

namespace forebay::model {
namespace {

void hold(bool promise, const char* text) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", text);
  std::abort();
}

void hold_refusal(const Error& error) {
  hold(error.kind() == ErrorClass::kInvalidArgument, "a refusal is about the argument");
  hold(error.path() == "fuzzed", "a refusal names the path");
  hold(error.cause().starts_with("line "), "a refusal names the line");
}

void hold_machine(const Machine& machine) {
  hold(!machine.servers.empty(), "there is a server");
  hold(machine.server_count() <= kServersMax, "servers are within the limit");
  const Layout layout = layout_of_new_file(machine, 12345);
  hold(layout.stripe_count >= 1, "a file lies on a server");
  hold(layout.stripe_count <= machine.server_count(), "a file lies on servers that there are");
  hold(layout.first_server < machine.server_count(), "a file begins on a server that there is");
  const auto values = describe(machine);
  hold(std::ranges::none_of(values, [](const MachineValue& one) { return one.value.empty(); }),
       "every key has a value");
}

void hold_round_trip(const Machine& machine) {
  const std::string text = to_toml(machine);
  const Result<Machine> again = parse_machine(text, "again");
  hold(again.has_value(), "a machine that was written is read");
  hold(*again == machine, "a machine survives being written");
  hold(to_toml(*again) == text, "equal machines have equal texts");
}

}  // namespace
}  // namespace forebay::model

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::model;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const forebay::Result<Machine> machine = parse_machine(text, "fuzzed");
  if (machine) {
    hold_machine(*machine);
    hold_round_trip(*machine);
  } else {
    hold_refusal(machine.error());
  }
  return 0;
}
