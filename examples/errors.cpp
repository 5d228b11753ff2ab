// SPDX-License-Identifier: Apache-2.0
// Failures of the environment are values: a class to branch on, and one line for people with
// operation, file, offset and cause. Nothing throws or prints.
#include <forebay/forebay.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <iostream>

#include "input_file.hpp"

namespace {

using namespace forebay::literals;
using forebay::ErrorClass;

int unexpected_count = 0;

/// Prints the text for a user, and counts results other than the expected failure.
template <class T>
void show(const forebay::Result<T>& result, ErrorClass expected) {
  const bool right = !result && result.error().kind() == expected;
  if (!right) ++unexpected_count;
  if (result) {
    std::cout << "no error at all\n";
  } else {
    std::cout << name_of(result.error().kind()) << ":\n    " << result.error().message() << '\n';
  }
}

}  // namespace

int main() {
  const examples::InputFile input(examples::numbers(1U << 17U));  // 1 MiB
  forebay::Runtime runtime;

  show(runtime.open_file(input.path() + ".missing"), ErrorClass::kNotFound);
  if (std::filesystem::exists(input.path() + ".missing")) return 1;  // reading creates nothing

  const auto file = runtime.open_file(input.path());
  if (!file) return 1;
  show(file->read_session({.offset = 1_MiB - 1, .size = 2}), ErrorClass::kOutOfRange);

  forebay::ReadPlan plan;
  plan.budget_bytes = 1_KiB;
  plan.tuning.splinter_bytes = 64_KiB;
  show(file->read_session({}, plan), ErrorClass::kInvalidArgument);

  plan = {};
  plan.readahead_bytes = 0;  // no readahead, so that the following reads have a certain result
  const auto session = file->read_session({.offset = 0, .size = 512_KiB}, plan);
  if (!session) return 1;
  std::array<std::byte, 100> into{};
  show(session->read(512_KiB, into).wait(), ErrorClass::kOutOfRange);

  // The file is truncated while it is open: requests for missing bytes get an Error, never a
  // signal.
  std::filesystem::resize_file(input.path(), 10'000);
  show(session->read(9'950, into).wait(), ErrorClass::kShortFile);
  if (!session->read(100, into).wait()) return 1;  // remaining bytes can be read

  session->close();
  show(session->read(100, into).wait(), ErrorClass::kClosed);
  return unexpected_count == 0 ? 0 : 1;
}
