// SPDX-License-Identifier: Apache-2.0
// Passes any text to the parser of tuning profiles and checks its contract. The tests run it with
// the corpus and changes of it.
#include <cstdio>
#include <cstdlib>

#include "write/tuning_profile.hpp"

namespace forebay::write {
namespace {

void check(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

void check_profile(const TuningProfile& profile) {
  for (const TuningEntry& entry : profile.entries) {
    check(entry.scope.ranks >= 1, "an entry has a rank");
    check(entry.scope.nodes >= 1, "an entry has a node");
    check(entry.plan.writers >= 1, "a plan has a writer");
    check(entry.plan.files >= 1, "a plan has a file");
    TuningProfile merged = profile;
    merge(merged, entry);
    check(merged.entries.size() <= profile.entries.size(), "an entry replaces its equal");
  }
  const std::string text = to_toml(profile);
  const auto again = parse_tuning_profile(text, "again");
  check(again.has_value(), "a written profile can be parsed");
  check(again->entries == profile.entries, "writing keeps a profile");
}

}  // namespace
}  // namespace forebay::write

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::write;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = parse_tuning_profile(text, "fuzzed");
  if (profile) {
    check_profile(*profile);
  } else {
    check(profile.error().kind() == forebay::ErrorClass::kInvalidArgument, "class of an error");
    check(profile.error().path() == "fuzzed", "an error names the path");
  }
  return 0;
}
