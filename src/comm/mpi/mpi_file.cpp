// SPDX-License-Identifier: Apache-2.0
// MPI-IO in pieces that an int can count. All ranks make the same number of collective calls, also
// those that have nothing left to move or have failed: a rank that is missing stops the others.
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

/// A transfer, so far.
struct Progress {
  FileTransfer transfer = {};
  std::size_t moved_bytes = 0;
  Status outcome = {};
  Piece under_way = {};    ///< of a split call
  bool has_begun = false;  ///< a split call, for MPI
};

class MpiFile final : public CollectiveFile {
 public:
  MpiFile(const MpiFileRanks& of, const std::string& path, FileIntent intent, MPI_File handle)
      : CollectiveFile(of.ranks, path, intent), piece_bytes_(of.piece_bytes), handle_(handle) {}
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile() override {
    if (is_open()) static_cast<void>(close_here());
  }

 private:
  Result<std::uint64_t> size_here() override;
  Result<std::size_t> move_here(const FileTransfer& transfer) override;
  Result<std::size_t> move_all(const FileTransfer& transfer) override;
  Status write_pieces(std::span<const FilePiece> pieces) override;
  Status begin_all(const FileTransfer& transfer) override;
  Result<std::size_t> end_all() override;
  Status sync_here() override;
  Status close_here() override;

  ErrorDetails what(const char* operation) const {
    return {.operation = operation, .path = path()};
  }
  template <class Call>
  Status call(const ErrorDetails& details, Call call) const {
    return mpi_call(ranks().thread_support(), details, call);
  }
  Pieces pieces_of(const Progress& progress) const {
    return Pieces(progress.transfer.memory.size(), piece_bytes_);
  }

  /// Calls of MPI for a piece of a transfer.
  using Move = int (MpiFile::*)(const FileTransfer&, Piece, MPI_Status*) const;
  int move_alone(const FileTransfer& transfer, Piece piece, MPI_Status* status) const;
  int move_together(const FileTransfer& transfer, Piece piece, MPI_Status* status) const;
  int begin_split(const FileTransfer& transfer, Piece piece) const;
  int end_split(const FileTransfer& transfer, Piece piece, MPI_Status* status) const;

  Progress plan(const FileTransfer& transfer);
  void move_piece(Progress& progress, Piece piece, Move move) const;
  Result<std::size_t> outcome_of(const Progress& progress) const;
  Status begin_rounds(const FileTransfer& transfer);
  void move_rounds(std::uint64_t first);

  const std::uint64_t piece_bytes_;
  MPI_File handle_;

  // The collective transfer under way.
  Progress progress_;
  std::uint64_t rounds_ = 0;  ///< the same on all ranks
};

Result<std::uint64_t> MpiFile::size_here() {
  MPI_Offset bytes = 0;
  const Status asked =
      call(what("get the size of"), [&] { return MPI_File_get_size(handle_, &bytes); });
  if (!asked) return failure(asked.error());
  return checked_cast<std::uint64_t>(bytes);
}

MPI_Offset offset_of(const FileTransfer& transfer, Piece piece) {
  const std::uint64_t offset_bytes = transfer.offset_bytes + piece.first;
  return static_cast<MPI_Offset>(offset_bytes);  // MPI refuses what becomes negative
}

std::byte* memory_of(const FileTransfer& transfer, Piece piece) {
  return transfer.memory.data() + piece.first;
}

int MpiFile::move_alone(const FileTransfer& transfer, Piece piece, MPI_Status* status) const {
  const MPI_Offset at = offset_of(transfer, piece);
  std::byte* const memory = memory_of(transfer, piece);
  return transfer.reads() ? MPI_File_read_at(handle_, at, memory, piece.size, MPI_BYTE, status)
                          : MPI_File_write_at(handle_, at, memory, piece.size, MPI_BYTE, status);
}

int MpiFile::move_together(const FileTransfer& transfer, Piece piece, MPI_Status* status) const {
  const MPI_Offset at = offset_of(transfer, piece);
  std::byte* const memory = memory_of(transfer, piece);
  return transfer.reads()
             ? MPI_File_read_at_all(handle_, at, memory, piece.size, MPI_BYTE, status)
             : MPI_File_write_at_all(handle_, at, memory, piece.size, MPI_BYTE, status);
}

int MpiFile::begin_split(const FileTransfer& transfer, Piece piece) const {
  const MPI_Offset at = offset_of(transfer, piece);
  std::byte* const memory = memory_of(transfer, piece);
  return transfer.reads() ? MPI_File_read_at_all_begin(handle_, at, memory, piece.size, MPI_BYTE)
                          : MPI_File_write_at_all_begin(handle_, at, memory, piece.size, MPI_BYTE);
}

int MpiFile::end_split(const FileTransfer& transfer, Piece piece, MPI_Status* status) const {
  std::byte* const memory = memory_of(transfer, piece);
  return transfer.reads() ? MPI_File_read_at_all_end(handle_, memory, status)
                          : MPI_File_write_at_all_end(handle_, memory, status);
}

/// A read is cut at the end of the file: not every MPI-IO says how much of it was past that.
Progress MpiFile::plan(const FileTransfer& transfer) {
  Progress progress{.transfer = transfer};
  if (!transfer.reads()) return progress;
  const Result<std::uint64_t> end = size_here();
  if (!end) progress.outcome = failure(end.error());
  const std::uint64_t first = std::min(transfer.offset_bytes, end.value_or(0));
  const std::uint64_t left = end.value_or(0) - first;
  progress.transfer.offset_bytes = first;
  progress.transfer.memory =
      transfer.memory.first(std::min<std::uint64_t>(transfer.memory.size(), left));
  return progress;
}

/// One call of MPI that moves one piece; what comes of it goes into `progress`.
void MpiFile::move_piece(Progress& progress, Piece piece, Move move) const {
  ErrorDetails details = what(progress.transfer.operation());
  details.offset_bytes = progress.transfer.offset_bytes + piece.first;
  MPI_Status status;
  int moved = 0;
  const Status done = call(details, [&] {
    const int code = (this->*move)(progress.transfer, piece, &status);
    return code == MPI_SUCCESS ? MPI_Get_count(&status, MPI_BYTE, &moved) : code;
  });
  if (!progress.outcome) return;  // the first failure is the one to tell
  progress.outcome = done;
  if (!done)
    progress.outcome = failure(with_space(done.error(), checked_cast<std::uint64_t>(piece.size)));
  // What lies behind a piece that came short is not part of what was moved.
  if (done && progress.moved_bytes == piece.first) {
    progress.moved_bytes += checked_cast<std::size_t>(moved);
  }
}

/// What `progress` came to. A read of less than was asked found a file that was cut meanwhile.
Result<std::size_t> MpiFile::outcome_of(const Progress& progress) const {
  if (!progress.outcome) return failure(progress.outcome.error());
  const FileTransfer& transfer = progress.transfer;
  const bool is_short = progress.moved_bytes < transfer.memory.size();
  if (!is_short || transfer.reads()) return progress.moved_bytes;
  return failure({.kind = ErrorClass::kIo,
                  .operation = transfer.operation(),
                  .path = path(),
                  .offset_bytes = transfer.offset_bytes + progress.moved_bytes,
                  .cause = "MPI-IO took no more bytes and gave no reason"});
}

Result<std::size_t> MpiFile::move_here(const FileTransfer& transfer) {
  Progress progress = plan(transfer);
  const Pieces pieces = pieces_of(progress);
  for (std::uint64_t i = 0; i < pieces.count() && progress.outcome; ++i)
    move_piece(progress, pieces.at(i), &MpiFile::move_alone);
  return outcome_of(progress);
}

/// All ranks make as many calls as the one that has most to move.
Status MpiFile::begin_rounds(const FileTransfer& transfer) {
  progress_ = plan(transfer);
  const Result<std::uint64_t> rounds =
      ranks().all_reduce(Reduction::kMax, pieces_of(progress_).count());
  if (!rounds) return failure(rounds.error());
  rounds_ = *rounds;
  return {};
}

void MpiFile::move_rounds(std::uint64_t first) {
  const Pieces pieces = pieces_of(progress_);
  for (std::uint64_t i = first; i < rounds_; ++i)
    move_piece(progress_, pieces.at(i), &MpiFile::move_together);
}

Result<std::size_t> MpiFile::move_all(const FileTransfer& transfer) {
  if (Status begun = begin_rounds(transfer); !begun) return failure(begun.error());
  move_rounds(0);
  return agreed(outcome_of(progress_));
}

/// Memory and file as types of MPI, so that one call moves all pieces. All ranks make all calls.
Status MpiFile::write_pieces(std::span<const FilePiece> pieces) {
  int moved = 0;
  ErrorDetails details = what("write");
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
  if (!mine) mine = failure(with_space(mine.error(), bytes_of(pieces)));
  if (mine && checked_cast<std::uint64_t>(moved) < bytes_of(pieces))
    mine = failure({.kind = ErrorClass::kIo,
                    .operation = "write",
                    .path = path(),
                    .offset_bytes = details.offset_bytes,
                    .cause = "MPI-IO took no more bytes and gave no reason"});
  return ranks().agree(mine);
}

/// Starts the first of the rounds. What fails now is told at the end, so that all ranks get there.
Status MpiFile::begin_all(const FileTransfer& transfer) {
  if (Status begun = begin_rounds(transfer); !begun) return begun;
  const Piece piece = pieces_of(progress_).at(0);
  progress_.under_way = piece;
  ErrorDetails details = what(progress_.transfer.operation());
  details.offset_bytes = progress_.transfer.offset_bytes;
  const Status started = call(details, [&] { return begin_split(progress_.transfer, piece); });
  progress_.has_begun = started.has_value();
  if (progress_.outcome) progress_.outcome = started;
  return {};
}

Result<std::size_t> MpiFile::end_all() {
  if (progress_.has_begun) move_piece(progress_, progress_.under_way, &MpiFile::end_split);
  move_rounds(1);
  return agreed(outcome_of(progress_));
}

Status MpiFile::sync_here() {
  return call(what("sync"), [this] { return MPI_File_sync(handle_); });
}

Status MpiFile::close_here() {
  return call(what("close"), [this] { return MPI_File_close(&handle_); });
}

/// Hints as MPI wants them.
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

/// MPI aborts on a hint that is too long: its own communicator's handler decides.
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

/// What can be found out without MPI-IO, which is less clear about why a file does not open.
Status check_before(const std::string& path, const CollectiveOpen& how) {
  if (Status good = check_hints(path, how.hints); !good) return good;
  return try_open(path, how.intent);
}

}  // namespace

Result<std::unique_ptr<CollectiveFile>> open_mpi_file(const MpiFileRanks& of,
                                                      const std::string& path,
                                                      const CollectiveOpen& how) {
  if (Status all = of.ranks->agree(check_before(path, how)); !all) {
    return failure(all.error());
  }
  const int mode =
      how.intent == FileIntent::kRead ? MPI_MODE_RDONLY : MPI_MODE_RDWR | MPI_MODE_CREATE;
  MPI_File handle = MPI_FILE_NULL;
  const ErrorDetails what{.operation = "open", .path = path};
  const Status mine = mpi_call(of.ranks->thread_support(), what, [&] {
    Info info;
    const StandardNumbersTaken taken;
    if (const int code = info.set(how.hints); code != MPI_SUCCESS) return code;
    const int code = MPI_File_open(of.handle, path.c_str(), mode, info.get(), &handle);
    if (code == MPI_SUCCESS) MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
    return code;
  });
  // Where only some could open it, theirs stays open: closing needs all ranks.
  if (Status all = of.ranks->agree(mine); !all) return failure(all.error());
  return std::make_unique<MpiFile>(of, path, how.intent, handle);
}

}  // namespace forebay::comm
