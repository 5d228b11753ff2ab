// SPDX-License-Identifier: Apache-2.0
// MPI-IO in pieces that an int can count. All ranks make the same number of collective calls, even
// if they have no bytes left or have failed: a missing rank would block the others.
#include "comm/mpi/mpi_file.hpp"

#include <algorithm>

#include "base/checked_cast.hpp"
#include "base/descriptor.hpp"
#include "base/no_space.hpp"
#include "comm/mpi/piece_types.hpp"
#include "comm/mpi/pieces.hpp"
#include "comm/posix_collective_file.hpp"

namespace forebay::comm {

namespace {

/// State of a transfer in progress.
struct TransferProgress {
  FileTransfer transfer = {};   ///< a read is shortened at the end of the file
  std::size_t moved_bytes = 0;  ///< up to the first short piece
  Status outcome = {};          ///< the first failure
  Piece active_piece = {};      ///< of a split call
  bool has_begun = false;       ///< MPI has a split call in progress
};

class MpiFile final : public CollectiveFile {
 public:
  MpiFile(const MpiFileComm& file_comm, const std::string& path, FileIntent intent, MPI_File handle)
      : CollectiveFile(file_comm.ranks, path, intent),
        piece_bytes_(file_comm.piece_bytes),
        handle_(handle) {}
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile() override {
    if (is_open()) static_cast<void>(close_local());
  }

 private:
  Result<std::uint64_t> local_size() override;
  Result<std::size_t> transfer_local(const FileTransfer& transfer) override;
  Result<std::size_t> transfer_collective(const FileTransfer& transfer) override;
  Status write_pieces(std::span<const FilePiece> pieces) override;
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
  Pieces pieces_of(const TransferProgress& progress) const {
    return Pieces(progress.transfer.memory.size(), piece_bytes_);
  }

  /// Calls of MPI for a piece of a transfer.
  using Move = int (MpiFile::*)(const FileTransfer&, Piece, MPI_Status*) const;
  int move_independent(const FileTransfer& transfer, Piece piece, MPI_Status* status) const;
  int move_collective(const FileTransfer& transfer, Piece piece, MPI_Status* status) const;
  int begin_split(const FileTransfer& transfer, Piece piece) const;
  int end_split(const FileTransfer& transfer, Piece piece, MPI_Status* status) const;

  TransferProgress start_progress(const FileTransfer& transfer);
  void move_piece(TransferProgress& progress, Piece piece, Move move) const;
  Result<std::size_t> outcome_of(const TransferProgress& progress) const;
  Status begin_rounds(const FileTransfer& transfer);
  void move_rounds(std::uint64_t first);

  const std::uint64_t piece_bytes_;
  MPI_File handle_;

  // The collective transfer in progress.
  TransferProgress progress_;
  std::uint64_t rounds_ = 0;  ///< the same on all ranks
};

Result<std::uint64_t> MpiFile::local_size() {
  MPI_Offset bytes = 0;
  const Status status =
      call(error_details("get the size of"), [&] { return MPI_File_get_size(handle_, &bytes); });
  if (!status) return failure(status.error());
  return checked_cast<std::uint64_t>(bytes);
}

MPI_Offset offset_of(const FileTransfer& transfer, Piece piece) {
  const std::uint64_t offset_bytes = transfer.offset_bytes + piece.first;
  return static_cast<MPI_Offset>(offset_bytes);  // MPI refuses what becomes negative
}

std::byte* memory_of(const FileTransfer& transfer, Piece piece) {
  return transfer.memory.data() + piece.first;
}

int MpiFile::move_independent(const FileTransfer& transfer, Piece piece, MPI_Status* status) const {
  const MPI_Offset at = offset_of(transfer, piece);
  std::byte* const memory = memory_of(transfer, piece);
  return transfer.is_read() ? MPI_File_read_at(handle_, at, memory, piece.size, MPI_BYTE, status)
                            : MPI_File_write_at(handle_, at, memory, piece.size, MPI_BYTE, status);
}

int MpiFile::move_collective(const FileTransfer& transfer, Piece piece, MPI_Status* status) const {
  const MPI_Offset at = offset_of(transfer, piece);
  std::byte* const memory = memory_of(transfer, piece);
  return transfer.is_read()
             ? MPI_File_read_at_all(handle_, at, memory, piece.size, MPI_BYTE, status)
             : MPI_File_write_at_all(handle_, at, memory, piece.size, MPI_BYTE, status);
}

int MpiFile::begin_split(const FileTransfer& transfer, Piece piece) const {
  const MPI_Offset at = offset_of(transfer, piece);
  std::byte* const memory = memory_of(transfer, piece);
  return transfer.is_read()
             ? MPI_File_read_at_all_begin(handle_, at, memory, piece.size, MPI_BYTE)
             : MPI_File_write_at_all_begin(handle_, at, memory, piece.size, MPI_BYTE);
}

int MpiFile::end_split(const FileTransfer& transfer, Piece piece, MPI_Status* status) const {
  std::byte* const memory = memory_of(transfer, piece);
  return transfer.is_read() ? MPI_File_read_at_all_end(handle_, memory, status)
                            : MPI_File_write_at_all_end(handle_, memory, status);
}

/// Shortens a read at the end of the file: not every MPI-IO returns the correct count there.
TransferProgress MpiFile::start_progress(const FileTransfer& transfer) {
  TransferProgress progress{.transfer = transfer};
  if (!transfer.is_read()) return progress;
  const Result<std::uint64_t> end = local_size();
  if (!end) progress.outcome = failure(end.error());
  const std::uint64_t first = std::min(transfer.offset_bytes, end.value_or(0));
  const std::uint64_t left = end.value_or(0) - first;
  progress.transfer.offset_bytes = first;
  progress.transfer.memory =
      transfer.memory.first(std::min<std::uint64_t>(transfer.memory.size(), left));
  return progress;
}

/// Moves one piece by one call of MPI, and records the outcome in `progress`.
void MpiFile::move_piece(TransferProgress& progress, Piece piece, Move move) const {
  ErrorDetails details = error_details(progress.transfer.operation());
  details.offset_bytes = progress.transfer.offset_bytes + piece.first;
  MPI_Status status;
  int moved = 0;
  const Status done = call(details, [&] {
    const int code = (this->*move)(progress.transfer, piece, &status);
    return code == MPI_SUCCESS ? MPI_Get_count(&status, MPI_BYTE, &moved) : code;
  });
  if (!progress.outcome) return;  // report the first failure
  progress.outcome = done;
  if (!done)
    progress.outcome =
        failure(with_free_space(done.error(), checked_cast<std::uint64_t>(piece.size)));
  // Bytes after a short piece do not count as moved.
  if (done && progress.moved_bytes == piece.first) {
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
  const Pieces pieces = pieces_of(progress);
  for (std::uint64_t i = 0; i < pieces.count() && progress.outcome; ++i)
    move_piece(progress, pieces.at(i), &MpiFile::move_independent);
  return outcome_of(progress);
}

/// Collective. Sets rounds_, the number of MPI calls of every rank, to the largest number of
/// pieces. A failure needs no agree(): it is one of communication, which agree() needs, too.
Status MpiFile::begin_rounds(const FileTransfer& transfer) {
  progress_ = start_progress(transfer);
  const Result<std::uint64_t> rounds =
      ranks().all_reduce(Reduction::kMax, pieces_of(progress_).count());
  if (!rounds) return failure(rounds.error());
  rounds_ = *rounds;
  return {};
}

void MpiFile::move_rounds(std::uint64_t first) {
  const Pieces pieces = pieces_of(progress_);
  for (std::uint64_t i = first; i < rounds_; ++i)
    move_piece(progress_, pieces.at(i), &MpiFile::move_collective);
}

Result<std::size_t> MpiFile::transfer_collective(const FileTransfer& transfer) {
  if (Status begun = begin_rounds(transfer); !begun) return failure(begun.error());
  move_rounds(0);
  return agree_on(outcome_of(progress_));
}

/// Describes memory and file by MPI datatypes, so that one call moves all pieces. Makes all calls
/// even if one fails: they are collective.
Status MpiFile::write_pieces(std::span<const FilePiece> pieces) {
  int moved = 0;
  ErrorDetails details = error_details("write");
  if (!pieces.empty()) details.offset_bytes = pieces.front().offset_bytes;
  Status mine = call(details, [&] {
    const PieceTypes types(pieces);
    MPI_Status status;
    const int viewed =
        MPI_File_set_view(handle_, 0, MPI_BYTE, types.file(), "native", MPI_INFO_NULL);
    const int written =
        MPI_File_write_at_all(handle_, 0, MPI_BOTTOM, types.count(), types.memory(), &status);
    const int reset = MPI_File_set_view(handle_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    const int code = viewed != MPI_SUCCESS ? viewed : written != MPI_SUCCESS ? written : reset;
    return code == MPI_SUCCESS ? MPI_Get_elements(&status, MPI_BYTE, &moved) : code;
  });
  if (!mine) mine = failure(with_free_space(mine.error(), bytes_of(pieces)));
  if (mine && checked_cast<std::uint64_t>(moved) < bytes_of(pieces))
    mine = failure({.kind = ErrorClass::kIo,
                    .operation = "write",
                    .path = path(),
                    .offset_bytes = details.offset_bytes,
                    .cause = "MPI-IO accepted no more bytes and returned no error"});
  return ranks().agree(mine);
}

/// Starts the first round. end_collective() reports its failure, so that all ranks call that.
Status MpiFile::begin_collective(const FileTransfer& transfer) {
  if (Status begun = begin_rounds(transfer); !begun) return begun;
  const Piece piece = pieces_of(progress_).at(0);
  progress_.active_piece = piece;
  ErrorDetails details = error_details(progress_.transfer.operation());
  details.offset_bytes = progress_.transfer.offset_bytes;
  const Status started = call(details, [&] { return begin_split(progress_.transfer, piece); });
  progress_.has_begun = started.has_value();
  if (progress_.outcome) progress_.outcome = started;
  return {};
}

Result<std::size_t> MpiFile::end_collective() {
  if (progress_.has_begun) move_piece(progress_, progress_.active_piece, &MpiFile::end_split);
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
Status check_openable(const std::string& path, const CollectiveOpenOptions& how) {
  if (Status good = check_hints(path, how.hints); !good) return good;
  return try_open(path, how.intent);
}

}  // namespace

Result<std::unique_ptr<CollectiveFile>> open_mpi_file(const MpiFileComm& file_comm,
                                                      const std::string& path,
                                                      const CollectiveOpenOptions& how) {
  if (Status all = file_comm.ranks->agree(check_openable(path, how)); !all) {
    return failure(all.error());
  }
  const int mode =
      how.intent == FileIntent::kRead ? MPI_MODE_RDONLY : MPI_MODE_RDWR | MPI_MODE_CREATE;
  MPI_File handle = MPI_FILE_NULL;
  const ErrorDetails what{.operation = "open", .path = path};
  const Status mine = mpi_call(file_comm.ranks->thread_support(), what, [&] {
    Info info;
    const StandardDescriptorGuard guard;
    if (const int code = info.set(how.hints); code != MPI_SUCCESS) return code;
    const int code = MPI_File_open(file_comm.handle, path.c_str(), mode, info.get(), &handle);
    if (code == MPI_SUCCESS) MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
    return code;
  });
  // If only some ranks could open it, their handles stay open: MPI_File_close() is collective.
  if (Status all = file_comm.ranks->agree(mine); !all) return failure(all.error());
  return std::make_unique<MpiFile>(file_comm, path, how.intent, handle);
}

}  // namespace forebay::comm
