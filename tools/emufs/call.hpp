// SPDX-License-Identifier: Apache-2.0
// A request of the kernel while it is served: whose it is, what it costs, and how it is answered.
#pragma once

#include <optional>
#include <utility>

#include "tools/emufs/file_system.hpp"

namespace forebay::emufs {

/// A client reads a file for as long as this lives.
class Reader {
 public:
  Reader() = default;
  Reader(Inode& inode, model::ClientId client) : inode_(inode.shared_from_this()), client_(client) {
    inode_->add_readers(client_, 1);
  }
  ~Reader() {
    if (inode_) inode_->add_readers(client_, -1);
  }
  Reader(Reader&&) = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  Reader& operator=(Reader&&) = delete;

 private:
  std::shared_ptr<Inode> inode_;
  model::ClientId client_ = 0;
};

/// A file that a program has open.
struct OpenFile {
  Descriptor descriptor;
  Inode* inode = nullptr;
  Reader reader = {};
};

/// The kernel has the address, and gives it back when the file is closed.
template <class Opened>
void leave_to_kernel(std::unique_ptr<Opened>& opened) {
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
  FileSystem& file_system() const noexcept { return file_system_; }
  Client& client() const noexcept { return client_; }
  Inode& inode(fuse_ino_t node) const noexcept { return file_system_.inodes.at(node); }
  uid_t user() const { return fuse_req_ctx(request_)->uid; }

  static OpenFile& open_file(const fuse_file_info* info) {
    return *reinterpret_cast<OpenFile*>(info->fh);
  }

  pid_t thread() const noexcept { return thread_; }
  /// The kernel asked for what it needed on the way to what this thread wants, and has its answer.
  void note_lookup() const;

  void fail(int error_number) const { fuse_reply_err(request_, error_number); }
  void done() const { fuse_reply_err(request_, 0); }
  /// 0 is success.
  void result(int error_number) const { fuse_reply_err(request_, error_number); }

  /// An operation on a name of a folder.
  model::Request on_name(model::RequestKind kind, const Inode& folder, const char* name) const;
  /// An operation on a file by whatever name.
  model::Request on_inode(model::RequestKind kind, const Inode& inode) const;
  model::Request on_bytes(model::RequestKind kind, Inode& inode, ByteRange range) const;

  /// Answers when the model says so: `send` then, or `refuse` before with an errno. Both end the
  /// request; what they hold is given back if they are never called.
  template <class Send, class Refuse>
  void answer(const model::Request& cost, Send send, Refuse refuse) const {
    submit(cost, make_answer(std::move(send), std::move(refuse)));
  }
  /// As above; refusing takes no more than saying so.
  template <class Send>
  void answer(const model::Request& cost, Send send) const {
    const fuse_req_t request = request_;
    answer(cost, std::move(send), [request](int error) { fuse_reply_err(request, error); });
  }
  /// The bytes of a file are others now, by an operation that takes no locks. This call's answer
  /// waits until the clients see it.
  void forget_pages_of_others(Inode& inode);

  /// This call has changed the bytes of a file. Its answer waits until the clients that read the
  /// file have a new size: their kernels copy (copy_file_range, sendfile) up to the size that they
  /// have, and ask for no other.
  void note_change(Inode& inode) const;

  /// The answer is success, or an errno that was found; failures cost nothing.
  void answer_result(const model::Request& cost, int error_number) const;

 private:
  void submit(const model::Request& cost, std::unique_ptr<Answer> answer) const;
  model::Time begun(const model::Request& cost, const Allowance& allowance) const;

  fuse_req_t request_;
  pid_t thread_;  ///< that asks; known here, as an answer that is sent takes the request with it
  Client& client_;
  FileSystem& file_system_;
  std::optional<model::FileId> changed_;
};

/// How long kernels may rely on what they were told of names and attributes.
struct Trust {
  double entry_s = 0;
  double attributes_s = 0;
};

/// Names hold where one client is all there is. Attributes of files are asked for each time, as
/// asking has a price, unless it has none; those of folders are not, as the kernel wants them for
/// each step on a path. `mode` is that of what is told of.
Trust trust_of(const FileSystem& file_system, mode_t mode);

/// The answer about a name that was looked up or made.
fuse_entry_param entry_of(const FileSystem& file_system, const Found& found);

/// The kernel knows a file so many times less. If nobody knows it any more and it is gone, the
/// model need not keep its locks.
void forget_file(FileSystem& file_system, Inode& inode, std::uint64_t times);

/// A regular file that was made, as it is whatever its name leads to by now.
struct NewFile {
  Descriptor descriptor;
  Found found;
};

/// Makes a regular file with the caller's rights and opens it as `flags` say. `record` has its name
/// and mode. The kernel is to be given `found`, or forget() it. EEXIST if the name is taken.
Outcome<NewFile> make_file(const Call& call, const Inode& folder, Record record, int flags);

/// Somebody without rights has changed the file's bytes: set-user-id bits go, as on local file
/// systems. The errno, or 0.
int without_set_user_id(const Call& call, const Inode& inode);

/// The tables of operations, one for each kind of thing.
void add_name_operations(fuse_lowlevel_ops& operations);
void add_attribute_operations(fuse_lowlevel_ops& operations);
void add_xattr_operations(fuse_lowlevel_ops& operations);
void add_folder_operations(fuse_lowlevel_ops& operations);
void add_open_operations(fuse_lowlevel_ops& operations);
void add_data_operations(fuse_lowlevel_ops& operations);
void add_lock_operations(fuse_lowlevel_ops& operations);

}  // namespace forebay::emufs
