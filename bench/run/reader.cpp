// SPDX-License-Identifier: Apache-2.0
// forebay-bench-reader FILE SIGNATURE: reads a file with lseek() and read(), as a program without
// Forebay does, and prints a checksum. With SIGNATURE --pread READS: the time of a cached pread()
// in nanoseconds instead.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "trace/signature_cursor.hpp"

namespace {

constexpr int kUsage = 2;

int time_preads(int file, long reads) {
  std::vector<char> into(1024);
  const auto begin = std::chrono::steady_clock::now();
  for (long i = 0; i < reads; ++i) {
    if (::pread(file, into.data(), into.size(), i % 1000 * 1024) != 1024) return 1;
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.3f\n", took.count() / static_cast<double>(reads));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  using namespace forebay;
  if (count < 3) return kUsage;
  const int file = ::open(words[1], O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;
  if (std::string_view(words[2]) == "--pread") return time_preads(file, std::atol(words[3]));
  auto signature = trace::parse_signature(words[2]);
  if (!signature) return kUsage;
  std::uint64_t sum = 0;
  std::vector<unsigned char> into;
  trace::SignatureCursor cursor(std::make_shared<const trace::Signature>(std::move(*signature)));
  for (; !cursor.is_done(); cursor.advance()) {
    const trace::Access access = cursor.current();
    into.resize(access.size);
    if (::lseek(file, static_cast<off_t>(access.offset), SEEK_SET) < 0 ||
        ::read(file, into.data(), into.size()) != static_cast<ssize_t>(into.size()))
      return 1;
    for (const unsigned char one : into)
      sum = sum * 31 + one;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
  return 0;
}
