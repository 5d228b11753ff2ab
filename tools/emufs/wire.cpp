// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/wire.hpp"

#include <utility>

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {

/// FUSE_DIRECT_IO_ALLOW_MMAP of Linux 6.6, in the second word of flags. Older kernels ignore it.
constexpr std::uint32_t kDirectIoAllowsMappings = 1U << (36 - 32);

thread_local Addition next_addition = Addition::kNone;

void add_to_greeting(const iovec& payload) {
  if (payload.iov_len < sizeof(fuse_init_out)) return;
  auto* greeting = static_cast<fuse_init_out*>(payload.iov_base);
  greeting->flags |= FUSE_HANDLE_KILLPRIV_V2;
  if ((greeting->flags & FUSE_INIT_EXT) != 0) greeting->flags2 |= kDirectIoAllowsMappings;
}

/// The answer to an open is at the end of that to a create.
void add_to_opened(const iovec& payload) {
  if (payload.iov_len < sizeof(fuse_open_out)) return;
  auto* end = static_cast<char*>(payload.iov_base) + payload.iov_len;
  reinterpret_cast<fuse_open_out*>(end - sizeof(fuse_open_out))->open_flags |=
      FOPEN_PARALLEL_DIRECT_WRITES;
}

ssize_t send_reply(int device, iovec* parts, int count, void*) {
  const Addition addition = std::exchange(next_addition, Addition::kNone);
  if (count >= 2 && addition == Addition::kGreeting) add_to_greeting(parts[1]);
  if (count >= 2 && addition == Addition::kParallelWrites) add_to_opened(parts[1]);
  return ::writev(device, parts, count);
}

ssize_t receive(int device, void* buffer, size_t size, void*) {
  return ::read(device, buffer, size);
}

}  // namespace

void add_to_next_reply(Addition addition) noexcept { next_addition = addition; }

void announce_size(int device, std::uint64_t node, std::uint64_t bytes) {
  if (bytes == 0) return;
  fuse_notify_store_out store{.nodeid = node, .offset = bytes - 1, .size = 1, .padding = 0};
  fuse_out_header header{
      .len = sizeof(header) + sizeof(store) + 1, .error = FUSE_NOTIFY_STORE, .unique = 0};
  // The kernel takes the new end first. Then it fails to read the byte, so that the page stays as
  // it is: our byte may be older than one that this client writes at the moment.
  iovec parts[] = {{&header, sizeof(header)}, {&store, sizeof(store)}, {nullptr, 1}};
  static_cast<void>(::writev(device, parts, 3) < 0);
}

const fuse_custom_io& wire() noexcept {
  static const fuse_custom_io functions = {.writev = send_reply, .read = receive};
  return functions;
}

}  // namespace forebay::emufs
