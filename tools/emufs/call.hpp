// SPDX-License-Identifier: Apache-2.0
// A request of the kernel while it is served: its caller, its cost, and its reply.
#pragma once

#include <optional>
#include <utility>

#include "tools/emufs/file_system.hpp"

namespace forebay::emufs {

/// Counts the client as a reader of the file while it exists.
class ReaderRegistration {
 public:
  ReaderRegistration() = default;
  ReaderRegistration(Inode& inode, model::ClientId client)
      : inode_(inode.shared_from_this()), client_(client) {
    inode_->add_readers(client_, 1);
  }
  ~ReaderRegistration() {
    if (inode_) inode_->add_readers(client_, -1);
  }
  ReaderRegistration(ReaderRegistration&&) = default;
  ReaderRegistration(const ReaderRegistration&) = delete;
  ReaderRegistration& operator=(const ReaderRegistration&) = delete;
  ReaderRegistration& operator=(ReaderRegistration&&) = delete;

 private:
  std::shared_ptr<Inode> inode_;
  model::ClientId client_ = 0;
};

/// State of a file that a program has open.
struct OpenFile {
  Descriptor descriptor;
  Inode* inode = nullptr;
  ReaderRegistration registration = {};
};

/// Passes ownership to the kernel, which holds the address and returns it when the file is closed.
template <class Opened>
void release_to_kernel(std::unique_ptr<Opened>& opened) {
  [[maybe_unused]] const Opened* kept = opened.release();
}

class Call {
 public:
  explicit Call(fuse_req_t request)
      : request_(request),
        thread_(fuse_req_ctx(request)->pid),
        client_(*static_cast<Client*>(fuse_req_userdata(request))),
        file_system_(client_.file_system()) {}

  fuse_req_t request() const noexcept { return request_; }
  EmulatedFileSystem& file_system() const noexcept { return file_system_; }
  Client& client() const noexcept { return client_; }
  Inode& inode(fuse_ino_t node) const noexcept { return file_system_.inodes.at(node); }
  uid_t user() const { return fuse_req_ctx(request_)->uid; }

  static OpenFile& open_file(const fuse_file_info* info) {
    return *reinterpret_cast<OpenFile*>(info->fh);
  }

  pid_t thread() const noexcept { return thread_; }
  /// Records that the kernel looked up a name for this thread's system call, and has the reply.
  void record_lookup() const;

  void fail(int error_number) const { fuse_reply_err(request_, error_number); }
  void done() const { fuse_reply_err(request_, 0); }
  /// 0 is success.
  void result(int error_number) const { fuse_reply_err(request_, error_number); }

  /// Cost of an operation on a name in a directory.
  model::Request name_request(model::RequestKind kind,
                              const Inode& directory,
                              const char* name) const;
  /// Cost of an operation on a file, whatever its name.
  model::Request inode_request(model::RequestKind kind, const Inode& inode) const;
  model::Request data_request(model::RequestKind kind, Inode& inode, ByteRange range) const;

  /// Replies when the model has completed the request: calls `send` then, or `on_error` with an
  /// errno before. Both end the request. If neither is called, destroying them releases what they
  /// hold.
  template <class Send, class SendError>
  void reply(const model::Request& cost, Send send, SendError on_error) const {
    submit(cost, make_reply(std::move(send), std::move(on_error)));
  }
  /// As above, where an error reply releases nothing.
  template <class Send>
  void reply(const model::Request& cost, Send send) const {
    const fuse_req_t request = request_;
    reply(cost, std::move(send), [request](int error) { fuse_reply_err(request, error); });
  }
  /// The bytes of a file have been changed by an operation that takes no locks. The reply to this
  /// call waits until all clients see the change.
  void invalidate_other_clients(Inode& inode);

  /// This call has changed the bytes of a file. Its reply waits until the clients that read the
  /// file have a new size. Their kernels copy (copy_file_range, sendfile) only up to the size that
  /// they hold, and do not request the size again.
  void record_change(Inode& inode) const;

  /// Replies with success, or with an errno that the operation returned. Failures cost nothing.
  void reply_result(const model::Request& cost, int error_number) const;

 private:
  void submit(const model::Request& cost, std::unique_ptr<Reply> reply) const;
  model::Time start_time(const model::Request& cost, const FuseOverhead& overhead) const;

  fuse_req_t request_;
  pid_t thread_;  ///< the caller's; stored here because a sent reply frees the request
  Client& client_;
  EmulatedFileSystem& file_system_;
  std::optional<model::FileId> changed_file_;
};

/// How long kernels may cache names and attributes.
struct CacheTimeouts {
  double entry_s = 0;
  double attributes_s = 0;
};

/// Names stay cached only with a single client. Attributes of files are requested each time,
/// because a request has a cost, unless the machine has no costs. Attributes of directories stay
/// cached, because the kernel needs them for each component of a path. `mode` is the file's.
CacheTimeouts cache_timeouts(const EmulatedFileSystem& file_system, mode_t mode);

/// The reply about a name that was looked up or created.
fuse_entry_param entry_of(const EmulatedFileSystem& file_system, const LookupResult& found);

/// Drops `times` references of the kernel to a file. Without references, if the file is also
/// removed, the model removes it.
void forget_file(EmulatedFileSystem& file_system, Inode& inode, std::uint64_t times);

/// A regular file that was created, whatever its name refers to by now.
struct NewFile {
  Descriptor descriptor;
  LookupResult found;
};

/// Creates a regular file with the caller's rights and opens it with `flags`. `record` has its name
/// and mode. The caller must pass `found` to the kernel, or forget() it. EEXIST if the name is
/// taken.
ErrnoResult<NewFile> make_file(const Call& call, const Inode& directory, Record record, int flags);

/// An unprivileged caller has changed the file's bytes: clears set-user-id bits, as local file
/// systems do. Returns the errno, or 0.
int clear_set_user_id_recorded(const Call& call, const Inode& inode);

/// Tables of operations, one for each kind of object.
void add_name_operations(fuse_lowlevel_ops& operations);
void add_attribute_operations(fuse_lowlevel_ops& operations);
void add_xattr_operations(fuse_lowlevel_ops& operations);
void add_directory_operations(fuse_lowlevel_ops& operations);
void add_open_operations(fuse_lowlevel_ops& operations);
void add_data_operations(fuse_lowlevel_ops& operations);
void add_lock_operations(fuse_lowlevel_ops& operations);

}  // namespace forebay::emufs
