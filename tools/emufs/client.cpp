// SPDX-License-Identifier: Apache-2.0
// One mount: a session of libfuse over a descriptor that emufs mounted, and the threads that
// receive and serve its requests.
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

/// The kernel silently bounds requests for which no system call waits (readahead, direct access):
/// this is its largest bound.
constexpr unsigned kBackgroundMax = 65'535;

thread_local model::Time arrival{};

void on_init(void* user_data, fuse_conn_info* connection) {
  const EmulatedFileSystem& file_system = static_cast<Client*>(user_data)->file_system();
  const model::Clients& client = file_system.settings.machine.client;
  const auto enable = [connection](unsigned capability) {
    connection->want |= connection->capable & capability;
  };
  const auto disable = [connection](unsigned capability) { connection->want &= ~capability; };
  connection->max_background = kBackgroundMax;
  connection->congestion_threshold = kBackgroundMax;
  if (client.read_ahead_bytes < connection->max_readahead) {
    connection->max_readahead = static_cast<unsigned>(client.read_ahead_bytes);
  }
  // emufs notifies the kernel of stale pages. Otherwise the kernel requests attributes before each
  // read.
  disable(FUSE_CAP_AUTO_INVAL_DATA);
  enable(FUSE_CAP_EXPLICIT_INVAL_DATA);
  // The kernel handles locks between programs of one mount, without requests to emufs.
  if (!file_system.has_several_clients()) disable(FUSE_CAP_FLOCK_LOCKS | FUSE_CAP_POSIX_LOCKS);
  // Moving pages through pipes is slower than copying through memory that stays in the processor's
  // cache (docs/decisions/0006-an-emulated-storage-in-time.md).
  disable(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
  set_next_reply_flags(ReplyFlags::kInit);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops table{};
  table.init = on_init;
  add_name_operations(table);
  add_attribute_operations(table);
  add_xattr_operations(table);
  add_directory_operations(table);
  add_open_operations(table);
  add_data_operations(table);
  add_lock_operations(table);
  return table;
}

/// Touches all of a buffer that libfuse has allocated: else 256 page faults would delay a write of
/// 1 MiB.
void prefault_buffer(const fuse_buf& buffer, std::size_t used) {
  const std::size_t size = ::malloc_usable_size(buffer.mem);
  if (size > used) std::memset(static_cast<char*>(buffer.mem) + used, 0, size - used);
}

struct FreeBuffer {
  fuse_buf* buffer;
  ~FreeBuffer() { std::free(buffer->mem); }
};

}  // namespace

model::Time request_arrival() noexcept { return arrival; }

Client::Client(EmulatedFileSystem& file_system,
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
  task_queue_.reset();
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
  if (session_ == nullptr || fuse_session_custom_io(session_, &fuse_io(), device_.release()) != 0) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "open a FUSE session for",
                    .path = mount_point_,
                    .cause = "out of memory; close other programs"});
  }
  if (file_system_.has_several_clients()) {
    task_queue_ = std::make_unique<TaskQueue>();
    if (auto started = task_queue_->start(); !started) return started;
  }
  running_threads_ = file_system_.settings.threads;
  for (unsigned i = 0; i < file_system_.settings.threads; ++i) {
    auto thread = start_service_thread("emufs-requests", [this] { serve_requests(); });
    if (!thread) {
      running_threads_ -= file_system_.settings.threads - i;
      return failure(thread.error());
    }
    threads_.push_back(std::move(*thread));
  }
  return {};
}

void Client::serve_requests() {
  raise_thread_priority();
  fuse_buf buffer{};
  const FreeBuffer free_later{&buffer};
  bool is_prefaulted = false;
  while (fuse_session_exited(session_) == 0) {
    const int size = fuse_session_receive_buf(session_, &buffer);
    if (size == -EINTR || size == -EAGAIN) continue;
    if (size <= 0) break;
    arrival = monotonic_now();
    if (!std::exchange(is_prefaulted, true))
      prefault_buffer(buffer, static_cast<std::size_t>(size));
    fuse_session_process_buf(session_, &buffer);
  }
  if (--running_threads_ > 0) return;
  file_system_.file_locks.release_client(number_);
  if (ended_) ended_();
}

void Client::invalidate_pages(Inode& inode, ByteRange range) {
  const bool whole = range.size == kAll;
  fuse_lowlevel_notify_inval_inode(session_, file_system_.inodes.node_of(inode),
                                   static_cast<off_t>(range.offset),
                                   whole ? 0 : static_cast<off_t>(range.size));
}

void Client::notify_size(Inode& inode) {
  struct stat now{};
  if (::fstatat(inode.fd(), "", &now, AT_EMPTY_PATH) != 0) return;
  notify_kernel_size(fuse_session_fd(session_), file_system_.inodes.node_of(inode),
                     static_cast<std::uint64_t>(now.st_size));
}

void Client::invalidate_name(const Inode& directory, const std::string& name) {
  if (task_queue_ == nullptr) return;
  // Only a number for the kernel: if the directory no longer exists by then, there is nothing to
  // invalidate.
  task_queue_->add([session = session_, node = file_system_.inodes.node_of(directory), name] {
    fuse_lowlevel_notify_inval_entry(session, node, name.c_str(), name.size());
  });
}

}  // namespace forebay::emufs
