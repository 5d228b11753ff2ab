// SPDX-License-Identifier: Apache-2.0
// A library that waits for a thread while the dynamic linker loads it. The thread reads a file.
#include <cstdio>
#include <thread>

namespace {

[[gnu::constructor]] void read_in_a_thread() {
  std::thread([] {
    std::FILE* const stream = std::fopen("b", "r");
    if (stream == nullptr || std::fgetc(stream) != 'x') std::perror("b");
    std::fclose(stream);
  }).join();
}

}  // namespace
