// SPDX-License-Identifier: Apache-2.0
// What goes wrong in the world comes back as a value: a class to branch on, and one line for people
// that says what was done, to which file, where, and why it failed. Nothing throws or prints.
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

/// Prints what a user would see, and notes if it is not the failure that it should be.
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

  show(runtime.open(input.path() + ".missing"), ErrorClass::kNotFound);
  if (std::filesystem::exists(input.path() + ".missing")) return 1;  // reading creates nothing

  const auto file = runtime.open(input.path());
  if (!file) return 1;
  show(file->read_session({.offset = 1_MiB - 1, .size = 2}), ErrorClass::kOutOfRange);

  forebay::ReadPlan plan;
  plan.budget_bytes = 1_KiB;
  plan.splinter_bytes = 64_KiB;
  show(file->read_session({}, plan), ErrorClass::kInvalidArgument);

  plan = {};
  plan.eager_bytes = 0;  // read nothing before it is asked for, so that what follows is certain
  const auto session = file->read_session({.offset = 0, .size = 512_KiB}, plan);
  if (!session) return 1;
  std::array<std::byte, 100> into{};
  show(session->read(512_KiB, into).wait(), ErrorClass::kOutOfRange);

  // Somebody cuts the file while it is open: an Error for those who ask, never a signal.
  std::filesystem::resize_file(input.path(), 10'000);
  show(session->read(9'950, into).wait(), ErrorClass::kShortFile);
  if (!session->read(100, into).wait()) return 1;  // what is still there can be read

  session->close();
  show(session->read(100, into).wait(), ErrorClass::kClosed);
  return unexpected_count == 0 ? 0 : 1;
}
