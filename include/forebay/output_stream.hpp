// SPDX-License-Identifier: Apache-2.0
// OutputStream: writing behind a computation. The program fills a buffer and hands it over; agents
// write it, to any number of files on any number of devices, while the program fills the next one.
// Memory is bounded by the plan, errors come back where they can be handled, and a report says how
// close the run came to the best that overlap can give. docs/guides/writing.md has the whole story.
#pragma once

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

/// One buffer of a stream, borrowed from acquire() until it is submitted. Move-only; any thread may
/// fill, submit or release it. One that is destroyed without being submitted goes back unwritten.
class [[nodiscard]] OutputBuffer {
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

  /// Its memory: as many bytes as the plan says, with what the last owner left in them. Empty
  /// after it was submitted or released.
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// Gives it back unwritten; further calls do nothing.
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

/// When a new file can be seen under its name.
enum class Publication : std::uint8_t {
  kAtOnce,        ///< from create() on, with whatever is in it
  kWhenComplete,  ///< from OutputFile::publish() on: until then it is a TemporaryFile beside it,
                  ///< which is removed if it is never published
};

/// What becomes of bytes that a file of that name has already.
enum class Existing : std::uint8_t {
  kReplace,  ///< they are gone from the beginning
  kKeep,     ///< they stay where nothing is written; the file does not get shorter
};

/// Which processes write a file.
enum class Writers : std::uint8_t {
  kThisRuntime,     ///< streams of this Runtime: the file ends where they wrote last
  kOtherProcesses,  ///< other processes as well, with Existing::kKeep: the file is never shortened
};

struct CreateOptions {
  /// How many bytes will be written, as far as known: that much space is reserved before the first
  /// of them, so that a full disk is known early. 0: not known. The file may become longer or
  /// shorter all the same.
  std::uint64_t expected_bytes = 0;
  Publication publication = Publication::kAtOnce;
  Existing existing = Existing::kReplace;  ///< kKeep excludes kWhenComplete
  /// kOtherProcesses: create() reserves expected_bytes beyond the end of the file, and nothing more
  /// is reserved. publish() returns unused space; the other processes must have called sync() or
  /// drain() before. kKeep implies kOtherProcesses, and reserves nothing.
  Writers writers = Writers::kThisRuntime;
};

/// A file of a stream: a small handle, copyable, for any thread. It is closed by the first drain()
/// after its last handle is gone, or with its stream. Offsets count from its start.
class OutputFile {
 public:
  /// The name that was given to create().
  const std::string& path() const noexcept;
  /// Where its bytes are written: the temporary file until publish(), else path(). If it was
  /// created with Writers::kOtherProcesses, other processes may open it with Existing::kKeep to
  /// write a share of it; otherwise drain() and publish() may cut off what they wrote.
  const std::string& written_path() const noexcept;
  /// Its place in the order of create() calls of its stream, from 0.
  std::uint32_t number() const noexcept;
  /// How it is written, and why so.
  const OutputPlan& plan() const noexcept;

  /// As those of OutputStream, for the buffers of this file alone, from whatever stream; errors are
  /// those of its stream.
  Status drain() const;
  Status sync() const;

  /// sync(), and then the file has its name, durably (its folder is synced as well). Once. With
  /// Publication::kAtOnce it is just sync(). After an error the file is not published.
  Status publish() const;

 private:
  friend class OutputStream;
  friend class stream::StreamCore;
  OutputFile(std::shared_ptr<stream::StreamCore> core, std::shared_ptr<stream::FileCore> file)
      : core_(std::move(core)), file_(std::move(file)) {}

  std::shared_ptr<stream::StreamCore> core_;
  std::shared_ptr<stream::FileCore> file_;
};

/// A buffer that is written.
struct Written {
  std::uint64_t submission = 0;  ///< its place in the order of submit() calls of its stream, from 0
  std::uint32_t file = 0;        ///< OutputFile::number()
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

/// What one device did for a stream.
struct DeviceReport {
  std::string path = {};  ///< of the first file there
  Access access = Access::kBuffered;
  std::string backend = {};  ///< "ring", "threads", ...
  std::string reason = {};   ///< why this access, and these requests
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  bool registered = false;  ///< the stream's buffers are pinned there (io_uring, memlock limit)
};

/// What a stream did so far, and how that compares with T = C + W + (n - 1) max(C, W), the least
/// time in which n buffers can be computed and written when the two overlap. Times are in seconds.
struct StreamReport {
  std::uint64_t buffers = 0;  ///< n: written so far
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  double compute_s = 0;        ///< C: producing time for each buffer, without waiting here
  double write_s = 0;          ///< W: time for each buffer in which storage was at work
  double queue_wait_s = 0;     ///< for each buffer, from submit() to its first request
  double producer_wait_s = 0;  ///< in all, of all threads: in acquire(), write() and submit()
  double elapsed_s = 0;        ///< T as it was: from the first acquire() to the last buffer written
  double model_s = 0;          ///< T as it could be
  double efficiency = 0;       ///< model_s / elapsed_s; 0 before anything is written
  std::uint64_t copied_bytes = 0;    ///< moved in memory because they did not suit direct access
  std::uint64_t edge_blocks = 0;     ///< 4 KiB blocks put together from parts of buffers
  std::uint64_t partial_blocks = 0;  ///< of these, written in part: their neighbors did not arrive
  std::vector<DeviceReport> devices = {};
};

/// A write-behind stream over any number of files. Made by Runtime::output_stream().
///
///   auto out = runtime.output_stream({.buffer_bytes = 16_MiB, .buffers = 2});
///   auto file = out->create("result.bin", {.expected_bytes = bytes});
///   ... auto buffer = out->acquire(); fill(buffer->bytes());
///       out->submit(std::move(*buffer), *file, offset, count); ...
///   auto done = out->drain();
///
/// All calls from any thread, several at once. Submissions of one thread to one file are begun in
/// their order, and may overtake each other after that; what overlapping ones leave behind is
/// undefined.
///
/// The first error stays: storage is not asked for anything more, and from then on every call that
/// returns a Result gives that error, with the path and the offset where it happened, drain() among
/// them. What was submitted before may be in the files or not.
///
/// Move-only. Its end waits for what was submitted, as drain() does; an error that nobody was told
/// of is written to the log. Must not outlive its Runtime.
class OutputStream {
 public:
  OutputStream(OutputStream&& other) noexcept = default;
  OutputStream& operator=(OutputStream&& other) noexcept;
  ~OutputStream();

  /// Makes a file, or opens the one of that name. Blocks as open(2) does. Fails with kNotFound
  /// (the folder), kPermission, ..., kUnsupported if the plan says direct and the file system
  /// cannot, kNoSpace where Writers::kOtherProcesses has no room for expected_bytes, and with
  /// kInvalidArgument for a name that is being written by this Runtime already and
  /// would be emptied, or in another way. Such failures leave the stream as it was.
  Result<OutputFile> create(const std::string& path, const CreateOptions& options = {});
  Result<OutputFile> create(const std::string& path, std::uint64_t expected_bytes) {
    return create(path, CreateOptions{.expected_bytes = expected_bytes});
  }

  /// A buffer to fill. Waits until one is free: who computes faster than storage writes is slowed
  /// down here, and memory never grows. A thread that holds all buffers itself would wait for ever.
  Result<OutputBuffer> acquire();
  /// The same for bytes that will be written at `offset_bytes` of `file`: where it is written
  /// directly, the address suits the offset, and nothing has to be moved in memory. Fails with
  /// kInvalidArgument for a file of another stream.
  Result<OutputBuffer> acquire_at(const OutputFile& file, std::uint64_t offset_bytes);
  /// A buffer if one is free. Never waits.
  Result<std::optional<OutputBuffer>> try_acquire();
  /// A Future of a buffer; for coroutines and loops. Dropping it takes the request back.
  Future<OutputBuffer> acquire_async();

  /// Hands over a buffer: its first `size_bytes` bytes, by default all, are to be written at
  /// `offset_bytes`. Returns at once; the buffer is the stream's from here on, also on failure.
  /// Fails with the stream's first error; with kOutOfRange if size_bytes is more than the buffer
  /// has; with kInvalidArgument for a buffer or a file of another stream; with kLimit while 65536
  /// entries wait to be taken by written(). The last three leave the stream as it was.
  Status submit(OutputBuffer buffer,
                const OutputFile& file,
                std::uint64_t offset_bytes,
                std::uint64_t size_bytes = all);

  /// The same for bytes of the caller's: copies them through buffers of the stream, as many as it
  /// takes. They are free when it returns. Waits as acquire() does.
  Status write(const OutputFile& file,
               std::uint64_t offset_bytes,
               std::span<const std::byte> bytes);

  /// Waits until all that was submitted before is written and files have their true size. "Written"
  /// is what write(2) means by it: other programs see it, a power failure may take it. The stream
  /// goes on afterwards.
  Status drain();
  /// drain(), and what was written is on stable storage, with the names of new files: whatever was
  /// drained before, too, but for files that an earlier drain() has closed (see OutputFile).
  Status sync();

  /// Takes what was written since the last call, as the plan's `completions` says; returns how many
  /// entries it stored. Never waits. Fails with the stream's error once all entries are taken. A
  /// buffer counts as written when its memory is free again; of one written directly, up to 4 KiB
  /// at each end may still be waiting for their neighbours then, or for drain().
  Result<std::size_t> written(std::span<Written> into);

  /// Ends the stream: every wait, on whichever thread, and every later call ends with kCancelled.
  /// What is at storage already is finished, the rest is dropped. Never waits; no harm if called
  /// twice.
  void cancel() noexcept;

  /// What memory it has and what it was given.
  const StreamPlan& plan() const noexcept;
  StreamReport report() const;

 private:
  friend class stream::StreamCore;
  explicit OutputStream(std::shared_ptr<stream::StreamCore> core) : core_(std::move(core)) {}
  void end() noexcept;

  std::shared_ptr<stream::StreamCore> core_;
};

}  // namespace forebay
