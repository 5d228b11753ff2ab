// SPDX-License-Identifier: Apache-2.0
// One mount: a session of libfuse over a descriptor that we mounted, and the threads that take its
// requests and serve them.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>

#include "base/assert.hpp"
#include "base/service_thread.hpp"
#include "tools/emufs/call.hpp"
#include "tools/emufs/priority.hpp"

namespace forebay::emufs {

namespace {

/// Requests that nobody waits for in a system call (read-ahead, direct access) are bounded by the
/// kernel, silently: this is its largest bound.
constexpr unsigned kBackgroundMax = 65'535;

thread_local model::Time taken_at{};

void greet(void* user_data, fuse_conn_info* connection) {
  const FileSystem& file_system = static_cast<Client*>(user_data)->file_system();
  const model::Clients& client = file_system.settings.machine.client;
  const auto want = [connection](unsigned capability) {
    connection->want |= connection->capable & capability;
  };
  const auto refuse = [connection](unsigned capability) { connection->want &= ~capability; };
  connection->max_background = kBackgroundMax;
  connection->congestion_threshold = kBackgroundMax;
  if (client.read_ahead_bytes < connection->max_readahead) {
    connection->max_readahead = static_cast<unsigned>(client.read_ahead_bytes);
  }
  // We say when pages are old. Otherwise the kernel asks for attributes before each read.
  refuse(FUSE_CAP_AUTO_INVAL_DATA);
  want(FUSE_CAP_EXPLICIT_INVAL_DATA);
  // One mount's programs lock each other out without us, and then without asking.
  if (!file_system.has_several_clients()) refuse(FUSE_CAP_FLOCK_LOCKS | FUSE_CAP_POSIX_LOCKS);
  // Moving pages through pipes is slower than copying through memory that stays in the processor's
  // cache (docs/decisions/0006-an-emulated-storage-in-time.md).
  refuse(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
  add_to_next_reply(Addition::kGreeting);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops table{};
  table.init = greet;
  add_name_operations(table);
  add_attribute_operations(table);
  add_xattr_operations(table);
  add_folder_operations(table);
  add_open_operations(table);
  add_data_operations(table);
  add_lock_operations(table);
  return table;
}

/// Touches all of a buffer that libfuse has made: a write of 1 MiB would be late by the time that
/// 256 new pages take.
void warm(const fuse_buf& buffer, std::size_t used) {
  const std::size_t size = ::malloc_usable_size(buffer.mem);
  if (size > used) std::memset(static_cast<char*>(buffer.mem) + used, 0, size - used);
}

struct FreeBuffer {
  fuse_buf* buffer;
  ~FreeBuffer() { std::free(buffer->mem); }
};

}  // namespace

model::Time request_taken() noexcept { return taken_at; }

Client::Client(FileSystem& file_system,
               model::ClientId number,
               Descriptor device,
               std::string mount_point)
    : file_system_(file_system),
      number_(number),
      device_(std::move(device)),
      mount_point_(std::move(mount_point)) {}

void Client::join() {
  for (std::thread& thread : threads_)
    thread.join();
  threads_.clear();
}

Client::~Client() {
  join();
  errands_.reset();
  if (session_ != nullptr) fuse_session_destroy(session_);
}

Status Client::start(std::function<void()> ended) {
  ended_ = std::move(ended);
  const fuse_lowlevel_ops table = operations();
  char program[] = "forebay-emufs";
  char* words[] = {program, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, words);
  session_ = fuse_session_new(&arguments, &table, sizeof(table), this);
  fuse_opt_free_args(&arguments);
  // The session closes its descriptor when it ends.
  if (session_ == nullptr || fuse_session_custom_io(session_, &wire(), device_.release()) != 0) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "talk to FUSE for",
                    .path = mount_point_,
                    .cause = "memory ran out; close other programs"});
  }
  if (file_system_.has_several_clients()) {
    errands_ = std::make_unique<Errands>();
    if (auto started = errands_->start(); !started) return started;
  }
  running_ = file_system_.settings.threads;
  for (unsigned i = 0; i < file_system_.settings.threads; ++i) {
    auto thread = start_service_thread("emufs-requests", [this] { take_requests(); });
    if (!thread) {
      running_ -= file_system_.settings.threads - i;
      return failure(thread.error());
    }
    threads_.push_back(std::move(*thread));
  }
  return {};
}

void Client::take_requests() {
  prefer_this_thread();
  fuse_buf buffer{};
  const FreeBuffer free_later{&buffer};
  bool is_warm = false;
  while (fuse_session_exited(session_) == 0) {
    const int size = fuse_session_receive_buf(session_, &buffer);
    if (size == -EINTR || size == -EAGAIN) continue;
    if (size <= 0) break;
    taken_at = monotonic_now();
    if (!std::exchange(is_warm, true)) warm(buffer, static_cast<std::size_t>(size));
    fuse_session_process_buf(session_, &buffer);
  }
  if (--running_ > 0) return;
  file_system_.program_locks.ended(number_);
  if (ended_) ended_();
}

void Client::drop_pages(Inode& inode, ByteRange range) {
  const bool whole = range.size == all;
  fuse_lowlevel_notify_inval_inode(session_, file_system_.inodes.node_of(inode),
                                   static_cast<off_t>(range.offset),
                                   whole ? 0 : static_cast<off_t>(range.size));
}

void Client::tell_size(Inode& inode) {
  struct stat now{};
  if (::fstatat(inode.fd(), "", &now, AT_EMPTY_PATH) != 0) return;
  announce_size(fuse_session_fd(session_), file_system_.inodes.node_of(inode),
                static_cast<std::uint64_t>(now.st_size));
}

void Client::forget_name(const Inode& folder, const std::string& name) {
  if (errands_ == nullptr) return;
  // Only a number for the kernel: should the folder be gone by then, there is nothing to forget.
  errands_->add([session = session_, node = file_system_.inodes.node_of(folder), name] {
    fuse_lowlevel_notify_inval_entry(session, node, name.c_str(), name.size());
  });
}

}  // namespace forebay::emufs
