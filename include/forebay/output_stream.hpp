// SPDX-License-Identifier: Apache-2.0
// OutputStream: writes behind a computation. The program fills a buffer and submits it. Agents
// write it, to any number of files on any number of devices, while the program fills the next one.
// The plan bounds the memory, errors are returned by later calls, and a report compares the run
// with the best possible overlap. docs/guides/writing.md is the guide.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>
#include <forebay/future.hpp>
#include <forebay/range.hpp>
#include <forebay/stream_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace forebay {

namespace stream {
class FileCore;
class StreamCore;
}  // namespace stream

/// A buffer of a stream, borrowed by acquire() until it is submitted. Move-only; any thread may
/// fill, submit or release it. The destructor releases it unwritten.
class FOREBAY_EXPORT [[nodiscard]] OutputBuffer {
 public:
  OutputBuffer(OutputBuffer&& other) noexcept
      : core_(std::move(other.core_)),
        index_(other.index_),
        bytes_(std::exchange(other.bytes_, {})) {}
  OutputBuffer& operator=(OutputBuffer&& other) noexcept {
    if (this != &other) {
      release();
      core_ = std::move(other.core_);
      index_ = other.index_;
      bytes_ = std::exchange(other.bytes_, {});
    }
    return *this;
  }
  ~OutputBuffer() { release(); }

  /// Its memory, of the size in the plan, with undefined content. Empty after submit() or
  /// release().
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// Returns the buffer unwritten. Further calls do nothing.
  void release() noexcept;

 private:
  friend class stream::StreamCore;
  OutputBuffer(std::shared_ptr<stream::StreamCore> core,
               std::uint32_t index,
               std::span<std::byte> bytes) noexcept
      : core_(std::move(core)), index_(index), bytes_(bytes) {}

  std::shared_ptr<stream::StreamCore> core_;  // null: an empty handle
  std::uint32_t index_;
  std::span<std::byte> bytes_;
};

/// When a new file is visible under its name.
enum class FileVisibility : std::uint8_t {
  kImmediate,  ///< from create() on, with partial content
  kOnPublish,  ///< from OutputFile::publish() on: until then it is a TemporaryFile in the same
               ///< directory, which is removed if it is never published
};

/// What happens to the content of an existing file.
enum class ExistingContent : std::uint8_t {
  kReplace,  ///< the written file begins empty; with kOnPublish the old one stays until publish()
  kKeep,     ///< it stays where nothing is written; the file never gets shorter
};

/// Which processes write a file.
enum class FileSharing : std::uint8_t {
  kExclusive,  ///< streams of this Runtime: the file ends after the last byte that they wrote
  kShared,  ///< other processes as well, with ExistingContent::kKeep: the file is never shortened
};

struct OutputFileOptions {
  /// Number of bytes that will be written, if known. That space is reserved before the first byte,
  /// so a full disk is detected early. 0: unknown. The file may become longer or shorter.
  std::uint64_t expected_bytes = 0;
  FileVisibility visibility = FileVisibility::kImmediate;
  ExistingContent existing_content = ExistingContent::kReplace;  ///< kKeep excludes kOnPublish
  /// kShared: create() reserves expected_bytes beyond the end of the file, and nothing more is
  /// reserved. publish() returns unused space; the other processes must have called sync() or
  /// drain() before. kKeep implies kShared, and reserves nothing.
  FileSharing sharing = FileSharing::kExclusive;
};

/// A file of a stream: a small handle, copyable, usable from any thread. It is closed by the first
/// drain() after its last handle is gone, or with its stream. Offsets count from its start.
class FOREBAY_EXPORT OutputFile {
 public:
  /// The name passed to create().
  const std::string& path() const noexcept;
  /// Path of the bytes: the temporary file until publish(), else path(). Of a file created with
  /// FileSharing::kShared, other processes may open it with ExistingContent::kKeep and write a
  /// share. Otherwise drain() and publish() may truncate what they wrote.
  const std::string& write_path() const noexcept;
  /// Number of this file in the order of create() calls of its stream, from 0.
  std::uint32_t number() const noexcept;
  /// How it is written, and why.
  const OutputPlan& plan() const noexcept;

  /// As drain() and sync() of OutputStream, for the buffers of this file alone, of any stream.
  /// Errors are those of its stream.
  Status drain() const;
  Status sync() const;

  /// sync(), then gives the file its name durably: its directory is synced, too. Call once. With
  /// FileVisibility::kImmediate it is sync() alone. After an error the file is not published.
  Status publish() const;

 private:
  friend class OutputStream;
  friend class stream::StreamCore;
  OutputFile(std::shared_ptr<stream::StreamCore> core, std::shared_ptr<stream::FileCore> file)
      : core_(std::move(core)), file_(std::move(file)) {}

  std::shared_ptr<stream::StreamCore> core_;
  std::shared_ptr<stream::FileCore> file_;
};

/// A buffer that has been written.
struct WriteCompletion {
  std::uint64_t submission = 0;  ///< number in the order of submit() calls of its stream, from 0
  std::uint32_t file = 0;        ///< OutputFile::number()
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

/// What one device did for a stream.
struct DeviceReport {
  std::string path = {};  ///< path of the first file there
  Access access = Access::kBuffered;
  std::string backend = {};  ///< "io_uring", "threads", ...
  std::string reason = {};   ///< why this access and these requests
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  bool is_registered = false;  ///< the stream's buffers are registered with io_uring
                               ///< (RLIMIT_MEMLOCK permitting)
};

/// What a stream has done, compared with T = C + W + (n - 1) max(C, W): the least time in which n
/// buffers are computed and written with overlap, if all take the same time. Times are in seconds.
struct StreamReport {
  std::uint64_t buffers = 0;  ///< n: buffers written so far
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  double compute_s = 0;        ///< C: compute time for each buffer, without waits in this stream
  double write_s = 0;          ///< W: time for each buffer in which storage was busy
  double queue_wait_s = 0;     ///< for each buffer, from submit() to its first request
  double producer_wait_s = 0;  ///< total of all threads, in acquire(), write() and submit()
  double elapsed_s = 0;        ///< actual T: from the first acquire() to the last buffer written
  double model_s = 0;          ///< ideal T
  double efficiency = 0;       ///< model_s / elapsed_s; 0 before anything is written
  std::uint64_t copied_bytes = 0;    ///< moved in memory because they did not suit direct access
  std::uint64_t merged_blocks = 0;   ///< 4 KiB blocks assembled from parts of buffers
  std::uint64_t partial_blocks = 0;  ///< of merged_blocks: written in part, as their neighbors did
                                     ///< not arrive
  std::vector<DeviceReport> devices = {};
};

/// A write-behind stream over any number of files. Runtime::create_output_stream() makes one.
///
///   auto out = runtime.create_output_stream({.buffer_bytes = 16_MiB, .buffers = 2});
///   auto file = out->create("result.bin", {.expected_bytes = bytes});
///   ... auto buffer = out->acquire(); fill(buffer->bytes());
///       out->submit(std::move(*buffer), *file, offset, count); ...
///   auto done = out->drain();
///
/// All calls may come from any thread, several at once. Submissions of one thread to one file begin
/// in their order, and may overtake each other later. The result of overlapping writes is
/// undefined.
///
/// The first error is permanent: the stream starts no further request. Every later call that
/// returns a Result, including drain(), returns that error with its path and offset. Earlier
/// submissions may be in the files or not.
///
/// Move-only. The destructor waits for submitted buffers as drain() does. An error that no call has
/// returned is logged. Must not outlive its Runtime.
class FOREBAY_EXPORT OutputStream {
 public:
  OutputStream(OutputStream&& other) noexcept = default;
  OutputStream& operator=(OutputStream&& other) noexcept;
  ~OutputStream();

  /// Creates a file, or opens an existing one. Blocks as open(2) does. Fails with kNotFound (the
  /// directory), kPermission, ... Fails with kUnsupported if the plan is direct and the file system
  /// has no direct access. Fails with kNoSpace if FileSharing::kShared cannot reserve
  /// expected_bytes. Fails with kInvalidArgument if this Runtime is already writing that file, and
  /// this call would truncate it or the plan sets the other access method. These failures do not
  /// affect the stream.
  Result<OutputFile> create(const std::string& path, const OutputFileOptions& options = {});
  Result<OutputFile> create(const std::string& path, std::uint64_t expected_bytes) {
    return create(path, OutputFileOptions{.expected_bytes = expected_bytes});
  }

  /// A buffer to fill. Blocks until one is free, so a computation that outruns storage is slowed
  /// down here, and memory never grows. A thread that holds all buffers blocks without limit.
  Result<OutputBuffer> acquire();
  /// The same for bytes that will be written at `offset_bytes` of `file`. If the file is written
  /// directly, the address suits the offset, and nothing is moved in memory. Fails with
  /// kInvalidArgument for a file of another stream.
  Result<OutputBuffer> acquire_at(const OutputFile& file, std::uint64_t offset_bytes);
  /// A buffer if one is free. Never blocks.
  Result<std::optional<OutputBuffer>> try_acquire();
  /// A Future of a buffer, for coroutines and event loops. Dropping it cancels the request.
  Future<OutputBuffer> acquire_async();

  /// Submits a buffer: its first `size_bytes` bytes, by default all, are written at `offset_bytes`.
  /// Returns at once. The stream owns the buffer afterwards, also on failure. Fails with the
  /// stream's first error; with kOutOfRange if size_bytes exceeds the buffer; with kInvalidArgument
  /// for a buffer or a file of another stream; with kLimit while 65536 completions await
  /// poll_completions(). The last three do not affect the stream.
  Status submit(OutputBuffer buffer,
                const OutputFile& file,
                std::uint64_t offset_bytes,
                std::uint64_t size_bytes = kAll);

  /// The same for memory of the caller: copies it through as many buffers of the stream as needed.
  /// The memory is free when the call returns. Blocks as acquire() does.
  Status write(const OutputFile& file,
               std::uint64_t offset_bytes,
               std::span<const std::byte> bytes);
  template <ReadableRange R>
  Status write(const OutputFile& file, std::uint64_t offset_bytes, R&& values) {
    return write(file, offset_bytes, std::as_bytes(std::span(values)));
  }

  /// Waits until all earlier submissions are written and files have their true size, without
  /// reserved space. "Written" is meant as in write(2): other programs see the bytes, a power
  /// failure may lose them. The stream continues afterwards.
  Status drain();
  /// drain(), then makes everything written durable, including names of new files. That includes
  /// bytes of earlier drains, except in files that an earlier drain() has closed (see OutputFile).
  Status sync();

  /// Takes the completions since the last call, in the order of the plan's `completion_order`.
  /// Returns the number of entries stored. Never blocks. Fails with the stream's error once all
  /// entries are taken. A buffer is complete when its memory is free again. Of a directly written
  /// buffer, up to 4 KiB at each end may then still wait for adjacent bytes or for drain().
  Result<std::size_t> poll_completions(std::span<WriteCompletion> into);

  /// Cancels the stream: every wait on any thread, and every later call, returns kCancelled.
  /// Requests already at storage are finished, the others are dropped. Never blocks; may be called
  /// twice.
  void cancel() noexcept;

  /// Its memory, and the values passed at creation.
  const StreamPlan& plan() const noexcept;
  StreamReport report() const;

 private:
  friend class stream::StreamCore;
  explicit OutputStream(std::shared_ptr<stream::StreamCore> core) : core_(std::move(core)) {}
  void end() noexcept;

  std::shared_ptr<stream::StreamCore> core_;
};

}  // namespace forebay
