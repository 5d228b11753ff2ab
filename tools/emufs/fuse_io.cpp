// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/fuse_io.hpp"

#include <utility>

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {

/// FUSE_DIRECT_IO_ALLOW_MMAP of Linux 6.6, in the second word of flags. Older kernels ignore it.
constexpr std::uint32_t kDirectIoAllowsMappings = 1U << (36 - 32);

thread_local ReplyFlags next_reply_flags = ReplyFlags::kNone;

void add_init_flags(const iovec& payload) {
  if (payload.iov_len < sizeof(fuse_init_out)) return;
  auto* init = static_cast<fuse_init_out*>(payload.iov_base);
  init->flags |= FUSE_HANDLE_KILLPRIV_V2;
  if ((init->flags & FUSE_INIT_EXT) != 0) init->flags2 |= kDirectIoAllowsMappings;
}

/// The reply to a create ends with the reply to an open.
void add_open_flags(const iovec& payload) {
  if (payload.iov_len < sizeof(fuse_open_out)) return;
  auto* end = static_cast<char*>(payload.iov_base) + payload.iov_len;
  reinterpret_cast<fuse_open_out*>(end - sizeof(fuse_open_out))->open_flags |=
      FOPEN_PARALLEL_DIRECT_WRITES;
}

ssize_t send_reply(int device, iovec* parts, int count, void*) {
  const ReplyFlags reply_flags = std::exchange(next_reply_flags, ReplyFlags::kNone);
  if (count >= 2 && reply_flags == ReplyFlags::kInit) add_init_flags(parts[1]);
  if (count >= 2 && reply_flags == ReplyFlags::kParallelWrites) add_open_flags(parts[1]);
  return ::writev(device, parts, count);
}

ssize_t receive(int device, void* buffer, size_t size, void*) {
  return ::read(device, buffer, size);
}

}  // namespace

void set_next_reply_flags(ReplyFlags reply_flags) noexcept { next_reply_flags = reply_flags; }

void notify_kernel_size(int device, std::uint64_t node, std::uint64_t bytes) {
  if (bytes == 0) return;
  fuse_notify_store_out store{.nodeid = node, .offset = bytes - 1, .size = 1, .padding = 0};
  fuse_out_header header{
      .len = sizeof(header) + sizeof(store) + 1, .error = FUSE_NOTIFY_STORE, .unique = 0};
  // The kernel sets the new end first. Then it fails to read the byte, so the page keeps its
  // content: our byte may be older than one that this client writes at the moment.
  iovec parts[] = {{&header, sizeof(header)}, {&store, sizeof(store)}, {nullptr, 1}};
  static_cast<void>(::writev(device, parts, 3) < 0);
}

const fuse_custom_io& fuse_io() noexcept {
  static const fuse_custom_io functions = {.writev = send_reply, .read = receive};
  return functions;
}

}  // namespace forebay::emufs
