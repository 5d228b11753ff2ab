// SPDX-License-Identifier: Apache-2.0
// Reading without a copy: views borrow parts of the session's window. The whole file passes through
// a window of bounded memory, in views that are available as soon as they are loaded.
#include <forebay/forebay.hpp>

#include <cstdint>
#include <iostream>

#include "input_file.hpp"

namespace {

using namespace forebay::literals;

constexpr std::uint64_t kCount = 1U << 20U;  // numbers in the file

int print_error(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

}  // namespace

int main() {
  const examples::InputFile input(examples::numbers(kCount));
  forebay::Runtime runtime;
  const auto file = runtime.open_file(input.path());
  if (!file) return print_error(file.error());
  const auto session = file->read_session();  // the whole file
  if (!session) return print_error(session.error());

  // Views in file order, each at most one splinter long. Each View is released before the next one
  // is taken, so the memory of the window is reused.
  std::uint64_t sum = 0;
  std::size_t views = 0;
  const forebay::Status status =
      session->views(session->extent()).for_each([&](const forebay::View& view) {
        sum += examples::sum_of(view.bytes());
        ++views;
      });
  if (!status) return print_error(status.error());
  if (sum != kCount * (kCount - 1) / 2) return 1;

  // One contiguous View across a boundary between splinters, so the program need not join two
  // halves. It pins its memory until it is released; other requests never wait for that.
  const std::uint64_t border = session->plan().tuning.splinter_bytes;
  forebay::Result<forebay::View> view =
      session->view({.offset = border - 4_KiB, .size = 8_KiB}).wait();
  if (!view) return print_error(view.error());
  const std::uint64_t first = view->range().offset / sizeof(std::uint64_t);
  const std::uint64_t count = view->bytes().size() / sizeof(std::uint64_t);
  if (examples::sum_of(view->bytes()) != count * first + count * (count - 1) / 2) return 1;
  view->release();

  const forebay::SessionReport report = session->report();
  std::cout << views << " views of " << file->size() << " bytes passed through a window of "
            << report.window_bytes << "; " << report.private_copies << " private copies\n";
  return 0;
}
