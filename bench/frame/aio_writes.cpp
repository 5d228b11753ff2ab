// SPDX-License-Identifier: Apache-2.0
#include "bench/frame/aio_writes.hpp"

#include <array>
#include <cerrno>
#include <utility>

namespace forebay::bench {

Status AioWrites::begin(int file,
                        const std::string& path,
                        std::uint64_t offset,
                        std::span<const std::byte> bytes,
                        std::shared_ptr<const void> owner) {
  auto write = std::make_unique<Write>(path, std::move(owner));
  write->block.aio_fildes = file;
  write->block.aio_buf = const_cast<std::byte*>(bytes.data());
  write->block.aio_nbytes = bytes.size();
  write->block.aio_offset = static_cast<off_t>(offset);
  if (::aio_write(&write->block) != 0)
    return failure(system_error({.operation = "begin to write", .path = path}, errno));
  writes_.push_back(std::move(write));
  return {};
}

Status AioWrites::collect() {
  Status done;
  std::erase_if(writes_, [&](const std::unique_ptr<Write>& write) {
    if (::aio_error(&write->block) == EINPROGRESS) return false;
    if (Status one = result_of(*write); done) done = one;
    return true;
  });
  return done;
}

void AioWrites::wait_for_oldest() const {
  if (writes_.empty()) return;
  const std::array<const aiocb*, 1> one{&writes_.front()->block};
  ::aio_suspend(one.data(), 1, nullptr);
}

Status AioWrites::wait_for_all() {
  Status done;
  while (!writes_.empty()) {
    wait_for_oldest();
    if (auto collected = collect(); !collected) done = collected;
  }
  return done;
}

Status AioWrites::result_of(Write& write) {
  const int reason = ::aio_error(&write.block);
  if (::aio_return(&write.block) == static_cast<ssize_t>(write.block.aio_nbytes)) return {};
  return failure(system_error({.operation = "write",
                               .path = write.path,
                               .offset_bytes = static_cast<std::uint64_t>(write.block.aio_offset)},
                              reason != 0 ? reason : EIO));
}

}  // namespace forebay::bench
