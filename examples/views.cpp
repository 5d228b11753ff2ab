// SPDX-License-Identifier: Apache-2.0
// Reading without copying: views lend pieces of the session's window. The whole file passes through
// a window of bounded memory, piece by piece, each as soon as it is there.
#include <forebay/forebay.hpp>

#include <cstdint>
#include <iostream>

#include "input_file.hpp"

namespace {

using namespace forebay::literals;

constexpr std::uint64_t kCount = 1U << 20U;  // numbers in the file

int complain(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

}  // namespace

int main() {
  const examples::InputFile input(examples::numbers(kCount));
  forebay::Runtime runtime;
  const auto file = runtime.open(input.path());
  if (!file) return complain(file.error());
  const auto session = file->read_session();  // all of it
  if (!session) return complain(session.error());

  // Piece by piece in file order; a piece is at most one splinter long. Each View is given back
  // before the next one is taken, so the window's memory goes round.
  std::uint64_t sum = 0;
  std::size_t pieces = 0;
  const forebay::Status status =
      session->views(session->extent()).for_each([&](const forebay::View& piece) {
        sum += examples::sum_of(piece.bytes());
        ++pieces;
      });
  if (!status) return complain(status.error());
  if (sum != kCount * (kCount - 1) / 2) return 1;

  // One contiguous View, across a border between splinters: nobody has to put halves together. It
  // keeps its memory until it is released; others never wait for that.
  const std::uint64_t border = session->plan().splinter_bytes;
  forebay::Result<forebay::View> view =
      session->view({.offset = border - 4_KiB, .size = 8_KiB}).wait();
  if (!view) return complain(view.error());
  const std::uint64_t first = view->range().offset / sizeof(std::uint64_t);
  const std::uint64_t count = view->bytes().size() / sizeof(std::uint64_t);
  if (examples::sum_of(view->bytes()) != count * first + count * (count - 1) / 2) return 1;
  view->release();

  const forebay::SessionReport report = session->report();
  std::cout << pieces << " pieces of " << file->size() << " bytes passed through a window of "
            << report.window_bytes << "; " << report.private_copies << " private copies\n";
  return 0;
}
