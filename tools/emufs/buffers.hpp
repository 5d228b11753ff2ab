// SPDX-License-Identifier: Apache-2.0
// Memory for answers that wait with their bytes. Blocks are used again, so that no page is touched
// for the first time while somebody waits.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace forebay::emufs {

/// Any thread.
class Buffers {
 public:
  struct Return {
    Buffers* home = nullptr;
    std::size_t bytes = 0;
    void operator()(char* memory) const noexcept { home->give_back(memory, bytes); }
  };
  using Buffer = std::unique_ptr<char, Return>;

  Buffers() = default;
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// Memory that begins at a page. Outlived by this object.
  Buffer take(std::size_t bytes);

 private:
  /// Larger ones are the kernel's longest requests; smaller ones come from malloc.
  static constexpr std::size_t kBlockBytes = 1U << 20U;
  static constexpr std::size_t kSmallBytes = 32U << 10U;
  static constexpr std::size_t kKeptMost = 256;

  void give_back(char* memory, std::size_t bytes) noexcept;

  std::mutex mutex_;
  std::vector<char*> blocks_;
};

}  // namespace forebay::emufs
