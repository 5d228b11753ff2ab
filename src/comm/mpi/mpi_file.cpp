// SPDX-License-Identifier: Apache-2.0
// MPI-IO in parts that an int can count. All ranks make the same number of collective calls, even
// if they have no bytes left or have failed: a missing rank would block the others.
#include "comm/mpi/mpi_file.hpp"

#include <algorithm>

#include "base/checked_cast.hpp"
#include "base/descriptor.hpp"
#include "base/no_space.hpp"
#include "comm/mpi/segment_types.hpp"
#include "comm/mpi/transfer_parts.hpp"
#include "comm/posix_collective_file.hpp"

namespace forebay::comm {

namespace {

/// State of a transfer in progress.
struct TransferProgress {
  FileTransfer transfer = {};     ///< a read is shortened at the end of the file
  std::size_t moved_bytes = 0;    ///< up to the first short part
  Status outcome = {};            ///< the first failure
  TransferPart active_part = {};  ///< of a split call
  bool has_begun = false;         ///< MPI has a split call in progress
};

class MpiFile final : public CollectiveFile {
 public:
  MpiFile(const MpiFileComm& file_comm, const std::string& path, FileIntent intent, MPI_File handle)
      : CollectiveFile(file_comm.ranks, path, intent),
        part_bytes_(file_comm.part_bytes),
        handle_(handle) {}
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile() override {
    if (is_open()) static_cast<void>(close_local());
  }

 private:
  Result<std::uint64_t> size_local() override;
  Result<std::size_t> transfer_local(const FileTransfer& transfer) override;
  Result<std::size_t> transfer_collective(const FileTransfer& transfer) override;
  Status write_segments(std::span<const FileSegment> segments) override;
  Status begin_collective(const FileTransfer& transfer) override;
  Result<std::size_t> end_collective() override;
  Status sync_local() override;
  Status close_local() override;

  ErrorDetails error_details(const char* operation) const {
    return {.operation = operation, .path = path()};
  }
  template <class Call>
  Status call(const ErrorDetails& details, Call call) const {
    return mpi_call(ranks().thread_support(), details, call);
  }
  TransferParts parts_of(const TransferProgress& progress) const {
    return TransferParts(progress.transfer.memory.size(), part_bytes_);
  }

  /// Calls of MPI for a part of a transfer.
  using Move = int (MpiFile::*)(const FileTransfer&, TransferPart, MPI_Status*) const;
  int move_independent(const FileTransfer& transfer, TransferPart part, MPI_Status* status) const;
  int move_collective(const FileTransfer& transfer, TransferPart part, MPI_Status* status) const;
  int begin_split(const FileTransfer& transfer, TransferPart part) const;
  int end_split(const FileTransfer& transfer, TransferPart part, MPI_Status* status) const;

  TransferProgress start_progress(const FileTransfer& transfer);
  void move_part(TransferProgress& progress, TransferPart part, Move move) const;
  Result<std::size_t> outcome_of(const TransferProgress& progress) const;
  Status begin_rounds(const FileTransfer& transfer);
  void move_rounds(std::uint64_t first);

  const std::uint64_t part_bytes_;
  MPI_File handle_;

  // The collective transfer in progress.
  TransferProgress progress_;
  std::uint64_t rounds_ = 0;  ///< the same on all ranks
};

Result<std::uint64_t> MpiFile::size_local() {
  MPI_Offset bytes = 0;
  const Status status =
      call(error_details("get the size of"), [&] { return MPI_File_get_size(handle_, &bytes); });
  if (!status) return failure(status.error());
  return checked_cast<std::uint64_t>(bytes);
}

MPI_Offset offset_of(const FileTransfer& transfer, TransferPart part) {
  const std::uint64_t offset_bytes = transfer.offset_bytes + part.first;
  return static_cast<MPI_Offset>(offset_bytes);  // MPI refuses what becomes negative
}

std::byte* memory_of(const FileTransfer& transfer, TransferPart part) {
  return transfer.memory.data() + part.first;
}

int MpiFile::move_independent(const FileTransfer& transfer,
                              TransferPart part,
                              MPI_Status* status) const {
  const MPI_Offset at = offset_of(transfer, part);
  std::byte* const memory = memory_of(transfer, part);
  return transfer.is_read() ? MPI_File_read_at(handle_, at, memory, part.size, MPI_BYTE, status)
                            : MPI_File_write_at(handle_, at, memory, part.size, MPI_BYTE, status);
}

int MpiFile::move_collective(const FileTransfer& transfer,
                             TransferPart part,
                             MPI_Status* status) const {
  const MPI_Offset at = offset_of(transfer, part);
  std::byte* const memory = memory_of(transfer, part);
  return transfer.is_read()
             ? MPI_File_read_at_all(handle_, at, memory, part.size, MPI_BYTE, status)
             : MPI_File_write_at_all(handle_, at, memory, part.size, MPI_BYTE, status);
}

int MpiFile::begin_split(const FileTransfer& transfer, TransferPart part) const {
  const MPI_Offset at = offset_of(transfer, part);
  std::byte* const memory = memory_of(transfer, part);
  return transfer.is_read() ? MPI_File_read_at_all_begin(handle_, at, memory, part.size, MPI_BYTE)
                            : MPI_File_write_at_all_begin(handle_, at, memory, part.size, MPI_BYTE);
}

int MpiFile::end_split(const FileTransfer& transfer, TransferPart part, MPI_Status* status) const {
  std::byte* const memory = memory_of(transfer, part);
  return transfer.is_read() ? MPI_File_read_at_all_end(handle_, memory, status)
                            : MPI_File_write_at_all_end(handle_, memory, status);
}

/// Shortens a read at the end of the file: not every MPI-IO returns the correct count there.
TransferProgress MpiFile::start_progress(const FileTransfer& transfer) {
  TransferProgress progress{.transfer = transfer};
  if (!transfer.is_read()) return progress;
  const Result<std::uint64_t> end = size_local();
  if (!end) progress.outcome = failure(end.error());
  const std::uint64_t first = std::min(transfer.offset_bytes, end.value_or(0));
  const std::uint64_t left = end.value_or(0) - first;
  progress.transfer.offset_bytes = first;
  progress.transfer.memory =
      transfer.memory.first(std::min<std::uint64_t>(transfer.memory.size(), left));
  return progress;
}

/// Moves one part by one call of MPI, and records the outcome in `progress`.
void MpiFile::move_part(TransferProgress& progress, TransferPart part, Move move) const {
  ErrorDetails details = error_details(progress.transfer.operation());
  details.offset_bytes = progress.transfer.offset_bytes + part.first;
  MPI_Status status;
  int moved = 0;
  const Status done = call(details, [&] {
    const int code = (this->*move)(progress.transfer, part, &status);
    return code == MPI_SUCCESS ? MPI_Get_count(&status, MPI_BYTE, &moved) : code;
  });
  if (!progress.outcome) return;  // report the first failure
  progress.outcome = done;
  if (!done)
    progress.outcome =
        failure(with_free_space(done.error(), checked_cast<std::uint64_t>(part.size)));
  // Bytes after a short part do not count as moved.
  if (done && progress.moved_bytes == part.first) {
    progress.moved_bytes += checked_cast<std::size_t>(moved);
  }
}

/// The result of the transfer. A short read is success: the file was truncated meanwhile.
Result<std::size_t> MpiFile::outcome_of(const TransferProgress& progress) const {
  if (!progress.outcome) return failure(progress.outcome.error());
  const FileTransfer& transfer = progress.transfer;
  const bool is_short = progress.moved_bytes < transfer.memory.size();
  if (!is_short || transfer.is_read()) return progress.moved_bytes;
  return failure({.kind = ErrorClass::kIo,
                  .operation = transfer.operation(),
                  .path = path(),
                  .offset_bytes = transfer.offset_bytes + progress.moved_bytes,
                  .cause = "MPI-IO accepted no more bytes and returned no error"});
}

Result<std::size_t> MpiFile::transfer_local(const FileTransfer& transfer) {
  TransferProgress progress = start_progress(transfer);
  const TransferParts parts = parts_of(progress);
  for (std::uint64_t i = 0; i < parts.count() && progress.outcome; ++i)
    move_part(progress, parts.at(i), &MpiFile::move_independent);
  return outcome_of(progress);
}

/// Collective. Sets rounds_, the number of MPI calls of every rank, to the largest number of
/// parts. A failure needs no agree(): it is one of communication, which agree() needs, too.
Status MpiFile::begin_rounds(const FileTransfer& transfer) {
  progress_ = start_progress(transfer);
  const Result<std::uint64_t> rounds =
      ranks().all_reduce(Reduction::kMax, parts_of(progress_).count());
  if (!rounds) return failure(rounds.error());
  rounds_ = *rounds;
  return {};
}

void MpiFile::move_rounds(std::uint64_t first) {
  const TransferParts parts = parts_of(progress_);
  for (std::uint64_t i = first; i < rounds_; ++i)
    move_part(progress_, parts.at(i), &MpiFile::move_collective);
}

Result<std::size_t> MpiFile::transfer_collective(const FileTransfer& transfer) {
  if (Status begun = begin_rounds(transfer); !begun) return failure(begun.error());
  move_rounds(0);
  return agree_on(outcome_of(progress_));
}

/// Describes memory and file by MPI datatypes, so that one call moves all segments. Makes all calls
/// even if one fails: they are collective.
Status MpiFile::write_segments(std::span<const FileSegment> segments) {
  int moved = 0;
  ErrorDetails details = error_details("write");
  if (!segments.empty()) details.offset_bytes = segments.front().offset_bytes;
  Status outcome = call(details, [&] {
    const SegmentTypes types(segments);
    MPI_Status status;
    const int viewed =
        MPI_File_set_view(handle_, 0, MPI_BYTE, types.file(), "native", MPI_INFO_NULL);
    const int written =
        MPI_File_write_at_all(handle_, 0, MPI_BOTTOM, types.count(), types.memory(), &status);
    const int reset = MPI_File_set_view(handle_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    const int code = viewed != MPI_SUCCESS ? viewed : written != MPI_SUCCESS ? written : reset;
    return code == MPI_SUCCESS ? MPI_Get_elements(&status, MPI_BYTE, &moved) : code;
  });
  if (!outcome) outcome = failure(with_free_space(outcome.error(), bytes_of(segments)));
  if (outcome && checked_cast<std::uint64_t>(moved) < bytes_of(segments))
    outcome = failure({.kind = ErrorClass::kIo,
                       .operation = "write",
                       .path = path(),
                       .offset_bytes = details.offset_bytes,
                       .cause = "MPI-IO accepted no more bytes and returned no error"});
  return ranks().agree(outcome);
}

/// Starts the first round. end_collective() reports its failure, so that all ranks call that.
Status MpiFile::begin_collective(const FileTransfer& transfer) {
  if (Status begun = begin_rounds(transfer); !begun) return begun;
  const TransferPart part = parts_of(progress_).at(0);
  progress_.active_part = part;
  ErrorDetails details = error_details(progress_.transfer.operation());
  details.offset_bytes = progress_.transfer.offset_bytes;
  const Status started = call(details, [&] { return begin_split(progress_.transfer, part); });
  progress_.has_begun = started.has_value();
  if (progress_.outcome) progress_.outcome = started;
  return {};
}

Result<std::size_t> MpiFile::end_collective() {
  if (progress_.has_begun) move_part(progress_, progress_.active_part, &MpiFile::end_split);
  move_rounds(1);
  return agree_on(outcome_of(progress_));
}

Status MpiFile::sync_local() {
  return call(error_details("sync"), [this] { return MPI_File_sync(handle_); });
}

Status MpiFile::close_local() {
  return call(error_details("close"), [this] { return MPI_File_close(&handle_); });
}

/// Hints as an MPI_Info.
class Info {
 public:
  Info() { MPI_Info_create(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() { MPI_Info_free(&info_); }

  int set(const std::vector<Hint>& hints) {
    for (const Hint& hint : hints) {
      const int code = MPI_Info_set(info_, hint.key.c_str(), hint.value.c_str());
      if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
  }
  MPI_Info get() const noexcept { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Rejects hints on which MPI_Info_set() aborts: its errors go to the error handler of
/// MPI_COMM_WORLD (MPI_COMM_SELF since MPI-4).
Status check_hints(const std::string& path, const std::vector<Hint>& hints) {
  for (const Hint& hint : hints) {
    const bool key_fits = !hint.key.empty() && hint.key.size() <= MPI_MAX_INFO_KEY;
    const bool value_fits = !hint.value.empty() && hint.value.size() <= MPI_MAX_INFO_VAL;
    if (key_fits && value_fits) continue;
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "open",
                    .path = path,
                    .cause = "the hint '" + hint.key + "' or its value is empty or too long"});
  }
  return {};
}

/// Checks without MPI-IO, whose errors are less clear.
Status check_openable(const std::string& path, const CollectiveOpenOptions& options) {
  if (Status checked = check_hints(path, options.hints); !checked) return checked;
  return try_open(path, options.intent);
}

}  // namespace

Result<std::unique_ptr<CollectiveFile>> open_mpi_file(const MpiFileComm& file_comm,
                                                      const std::string& path,
                                                      const CollectiveOpenOptions& options) {
  if (Status agreed = file_comm.ranks->agree(check_openable(path, options)); !agreed) {
    return failure(agreed.error());
  }
  const int mode =
      options.intent == FileIntent::kRead ? MPI_MODE_RDONLY : MPI_MODE_RDWR | MPI_MODE_CREATE;
  MPI_File handle = MPI_FILE_NULL;
  const ErrorDetails what{.operation = "open", .path = path};
  const Status outcome = mpi_call(file_comm.ranks->thread_support(), what, [&] {
    Info info;
    const StandardDescriptorGuard guard;
    if (const int code = info.set(options.hints); code != MPI_SUCCESS) return code;
    const int code = MPI_File_open(file_comm.handle, path.c_str(), mode, info.get(), &handle);
    if (code == MPI_SUCCESS) MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
    return code;
  });
  // If only some ranks could open it, their handles stay open: MPI_File_close() is collective.
  if (Status agreed = file_comm.ranks->agree(outcome); !agreed) return failure(agreed.error());
  return std::make_unique<MpiFile>(file_comm, path, options.intent, handle);
}

}  // namespace forebay::comm
