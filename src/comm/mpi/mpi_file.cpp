// SPDX-License-Identifier: Apache-2.0
// MPI-IO in pieces that an int can count. All ranks make the same number of collective calls, also
// those that have nothing left to move or have failed: a rank that is missing stops the others.
#include "comm/mpi/mpi_file.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/checked_cast.hpp"
#include "comm/mpi/pieces.hpp"
#include "comm/posix_collective_file.hpp"

namespace forebay::comm {

namespace {

using Split = CollectiveState::Split;

/// A transfer, so far.
struct Progress {
  const char* operation = "";
  std::uint64_t offset_bytes = 0;  ///< in the file
  std::size_t asked_bytes = 0;
  std::size_t moved_bytes = 0;
  Status outcome = {};
  Piece under_way = {};    ///< of a split call
  bool has_begun = false;  ///< a split call, for MPI
};

class MpiFile final : public CollectiveFile {
 public:
  MpiFile(MpiFileRanks of, CollectiveState state, MPI_File handle)
      : of_(std::move(of)), state_(std::move(state)), handle_(handle) {}
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile() override {
    if (state_.is_open()) static_cast<void>(close_here());
  }

  const std::string& path() const noexcept override { return state_.path(); }
  Result<std::uint64_t> size() override;
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;
  Result<std::size_t> read_at_all(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at_all(std::span<const std::byte> from,
                                   std::uint64_t offset_bytes) override;
  Status read_at_all_begin(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> read_at_all_end() override;
  Status write_at_all_begin(std::span<const std::byte> from, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at_all_end() override;
  Status sync() override;
  Status close() override;

 private:
  ErrorDetails what(const char* operation) const {
    return {.operation = operation, .path = path()};
  }
  template <class Call>
  Status call(const ErrorDetails& details, Call call) const {
    return mpi_call(of_.ranks->thread_support(), details, call);
  }
  MPI_Offset offset_of(const Progress& progress, Piece piece) const {
    const std::uint64_t offset_bytes = progress.offset_bytes + piece.first;
    return static_cast<MPI_Offset>(offset_bytes);  // MPI refuses what becomes negative
  }
  Pieces pieces_of(const Progress& progress) const {
    return Pieces(progress.asked_bytes, of_.piece_bytes);
  }

  Progress plan_read(std::span<std::byte> into, std::uint64_t offset_bytes);
  template <class Move>
  void move_piece(Progress& progress, Piece piece, Move move);
  template <class Move>
  Result<std::size_t> move_alone(Progress progress, Move move);
  Status begin_rounds();
  template <class Start>
  Status begin_split(Split split, Start start);
  template <class Move>
  void move_rounds(std::uint64_t first, Move move);
  Result<std::size_t> agreed();
  Status close_here();

  auto collective_read() {
    return [this](MPI_Offset at, Piece piece, MPI_Status* status) {
      return MPI_File_read_at_all(handle_, at, into_.data() + piece.first, piece.size, MPI_BYTE,
                                  status);
    };
  }
  auto collective_write() {
    return [this](MPI_Offset at, Piece piece, MPI_Status* status) {
      return MPI_File_write_at_all(handle_, at, from_.data() + piece.first, piece.size, MPI_BYTE,
                                   status);
    };
  }

  const MpiFileRanks of_;
  CollectiveState state_;
  MPI_File handle_;

  // The collective transfer under way.
  Progress progress_;
  std::uint64_t rounds_ = 0;  ///< the same on all ranks
  std::span<std::byte> into_;
  std::span<const std::byte> from_;
};

Result<std::uint64_t> MpiFile::size() {
  if (Status open = state_.check_open("get the size of"); !open) {
    return tl::unexpected<Error>(open.error());
  }
  MPI_Offset bytes = 0;
  const Status asked =
      call(what("get the size of"), [&] { return MPI_File_get_size(handle_, &bytes); });
  if (!asked) return tl::unexpected<Error>(asked.error());
  return checked_cast<std::uint64_t>(bytes);
}

/// Cut at the end of the file: not every MPI-IO says how much of a read was past it.
Progress MpiFile::plan_read(std::span<std::byte> into, std::uint64_t offset_bytes) {
  Progress progress{.operation = "read", .offset_bytes = offset_bytes};
  const Result<std::uint64_t> end = size();
  if (!end) {
    progress.outcome = tl::unexpected<Error>(end.error());
  } else {
    progress.offset_bytes = std::min(offset_bytes, *end);
    progress.asked_bytes = std::min<std::uint64_t>(into.size(), *end - progress.offset_bytes);
  }
  return progress;
}

/// One call of MPI that moves one piece; what comes of it goes into `progress`.
template <class Move>
void MpiFile::move_piece(Progress& progress, Piece piece, Move move) {
  ErrorDetails details = what(progress.operation);
  details.offset_bytes = progress.offset_bytes + piece.first;
  MPI_Status status;
  int moved = 0;
  const Status done = call(details, [&] {
    const int code = move(offset_of(progress, piece), piece, &status);
    return code == MPI_SUCCESS ? MPI_Get_count(&status, MPI_BYTE, &moved) : code;
  });
  if (!progress.outcome) return;  // the first failure is the one to tell
  progress.outcome = done;
  // What lies behind a piece that came short is not part of what was moved.
  if (done && progress.moved_bytes == piece.first) {
    progress.moved_bytes += checked_cast<std::size_t>(moved);
  }
}

/// What `progress` came to. A read of less than was asked found a file that was cut meanwhile.
Result<std::size_t> outcome_of(const Progress& progress, const std::string& path) {
  if (!progress.outcome) return tl::unexpected<Error>(progress.outcome.error());
  const bool is_short = progress.moved_bytes < progress.asked_bytes;
  if (!is_short || std::string_view(progress.operation) == "read") return progress.moved_bytes;
  return failure({.kind = ErrorClass::kIo,
                  .operation = progress.operation,
                  .path = path,
                  .offset_bytes = progress.offset_bytes + progress.moved_bytes,
                  .cause = "MPI-IO took no more bytes and gave no reason"});
}

template <class Move>
Result<std::size_t> MpiFile::move_alone(Progress progress, Move move) {
  if (Status open = state_.check_open(progress.operation); !open) {
    return tl::unexpected<Error>(open.error());
  }
  const Pieces pieces = pieces_of(progress);
  for (std::uint64_t i = 0; i < pieces.count() && progress.outcome; ++i)
    move_piece(progress, pieces.at(i), move);
  return outcome_of(progress, path());
}

Result<std::size_t> MpiFile::read_at(std::span<std::byte> into, std::uint64_t offset_bytes) {
  const auto move = [&](MPI_Offset at, Piece piece, MPI_Status* status) {
    return MPI_File_read_at(handle_, at, into.data() + piece.first, piece.size, MPI_BYTE, status);
  };
  return move_alone(plan_read(into, offset_bytes), move);
}

Result<std::size_t> MpiFile::write_at(std::span<const std::byte> from, std::uint64_t offset_bytes) {
  if (Status allowed = state_.check_write(); !allowed) {
    return tl::unexpected<Error>(allowed.error());
  }
  const auto move = [&](MPI_Offset at, Piece piece, MPI_Status* status) {
    return MPI_File_write_at(handle_, at, from.data() + piece.first, piece.size, MPI_BYTE, status);
  };
  return move_alone(
      {.operation = "write", .offset_bytes = offset_bytes, .asked_bytes = from.size()}, move);
}

/// All ranks make as many calls as the one that has most to move.
Status MpiFile::begin_rounds() {
  const Result<std::uint64_t> rounds =
      of_.ranks->all_reduce(Reduction::kMax, pieces_of(progress_).count());
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  rounds_ = *rounds;
  return {};
}

template <class Move>
void MpiFile::move_rounds(std::uint64_t first, Move move) {
  const Pieces pieces = pieces_of(progress_);
  for (std::uint64_t i = first; i < rounds_; ++i)
    move_piece(progress_, pieces.at(i), move);
}

Result<std::size_t> MpiFile::agreed() {
  const Result<std::size_t> mine = outcome_of(progress_, path());
  const Status outcome = mine ? Status() : Status(tl::unexpected<Error>(mine.error()));
  if (Status all = of_.ranks->agree(outcome); !all) return tl::unexpected<Error>(all.error());
  return mine;
}

Result<std::size_t> MpiFile::read_at_all(std::span<std::byte> into, std::uint64_t offset_bytes) {
  if (Status free = state_.check_collective("read"); !free) {
    return tl::unexpected<Error>(free.error());
  }
  into_ = into;
  progress_ = plan_read(into, offset_bytes);
  if (Status begun = begin_rounds(); !begun) return tl::unexpected<Error>(begun.error());
  move_rounds(0, collective_read());
  return agreed();
}

Result<std::size_t> MpiFile::write_at_all(std::span<const std::byte> from,
                                          std::uint64_t offset_bytes) {
  if (Status free = state_.check_collective("write"); !free) {
    return tl::unexpected<Error>(free.error());
  }
  if (Status allowed = state_.check_write(); !allowed) {
    return tl::unexpected<Error>(allowed.error());
  }
  from_ = from;
  progress_ = {.operation = "write", .offset_bytes = offset_bytes, .asked_bytes = from.size()};
  if (Status begun = begin_rounds(); !begun) return tl::unexpected<Error>(begun.error());
  move_rounds(0, collective_write());
  return agreed();
}

/// Starts the first of the rounds; `start(offset, piece)` is a call of MPI. What fails now is told
/// at the end, so that all ranks get there.
template <class Start>
Status MpiFile::begin_split(Split split, Start start) {
  if (Status begun = begin_rounds(); !begun) {
    static_cast<void>(state_.end(split));
    return begun;
  }
  const Piece piece = pieces_of(progress_).at(0);
  progress_.under_way = piece;
  ErrorDetails details = what(progress_.operation);
  details.offset_bytes = progress_.offset_bytes;
  const Status started = call(details, [&] { return start(offset_of(progress_, piece), piece); });
  progress_.has_begun = started.has_value();
  if (progress_.outcome) progress_.outcome = started;
  return {};
}

Status MpiFile::read_at_all_begin(std::span<std::byte> into, std::uint64_t offset_bytes) {
  if (Status begun = state_.begin(Split::kRead); !begun) return begun;
  into_ = into;
  progress_ = plan_read(into, offset_bytes);
  return begin_split(Split::kRead, [this](MPI_Offset at, Piece piece) {
    return MPI_File_read_at_all_begin(handle_, at, into_.data(), piece.size, MPI_BYTE);
  });
}

Status MpiFile::write_at_all_begin(std::span<const std::byte> from, std::uint64_t offset_bytes) {
  if (Status begun = state_.begin(Split::kWrite); !begun) return begun;
  from_ = from;
  progress_ = {.operation = "write", .offset_bytes = offset_bytes, .asked_bytes = from.size()};
  return begin_split(Split::kWrite, [this](MPI_Offset at, Piece piece) {
    return MPI_File_write_at_all_begin(handle_, at, from_.data(), piece.size, MPI_BYTE);
  });
}

Result<std::size_t> MpiFile::read_at_all_end() {
  if (Status ended = state_.end(Split::kRead); !ended) {
    return tl::unexpected<Error>(ended.error());
  }
  const auto end = [this](MPI_Offset, Piece, MPI_Status* status) {
    return MPI_File_read_at_all_end(handle_, into_.data(), status);
  };
  if (progress_.has_begun) move_piece(progress_, progress_.under_way, end);
  move_rounds(1, collective_read());
  return agreed();
}

Result<std::size_t> MpiFile::write_at_all_end() {
  if (Status ended = state_.end(Split::kWrite); !ended) {
    return tl::unexpected<Error>(ended.error());
  }
  const auto end = [this](MPI_Offset, Piece, MPI_Status* status) {
    return MPI_File_write_at_all_end(handle_, from_.data(), status);
  };
  if (progress_.has_begun) move_piece(progress_, progress_.under_way, end);
  move_rounds(1, collective_write());
  return agreed();
}

Status MpiFile::sync() {
  if (Status free = state_.check_collective("sync"); !free) return free;
  return of_.ranks->agree(call(what("sync"), [this] { return MPI_File_sync(handle_); }));
}

Status MpiFile::close_here() {
  state_.close();
  return call(what("close"), [this] { return MPI_File_close(&handle_); });
}

Status MpiFile::close() {
  if (Status free = state_.check_collective("close"); !free) return free;
  return of_.ranks->agree(close_here());
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

Result<std::unique_ptr<CollectiveFile>> open_mpi_file(MpiFileRanks of,
                                                      const std::string& path,
                                                      const CollectiveOpen& how) {
  if (Status all = of.ranks->agree(check_before(path, how)); !all) {
    return tl::unexpected<Error>(all.error());
  }
  const int mode =
      how.intent == FileIntent::kRead ? MPI_MODE_RDONLY : MPI_MODE_RDWR | MPI_MODE_CREATE;
  MPI_File handle = MPI_FILE_NULL;
  const ErrorDetails what{.operation = "open", .path = path};
  const Status mine = mpi_call(of.ranks->thread_support(), what, [&] {
    Info info;
    if (const int code = info.set(how.hints); code != MPI_SUCCESS) return code;
    const int code = MPI_File_open(of.handle, path.c_str(), mode, info.get(), &handle);
    if (code == MPI_SUCCESS) MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
    return code;
  });
  // Where only some could open it, theirs stays open: closing needs all ranks.
  if (Status all = of.ranks->agree(mine); !all) return tl::unexpected<Error>(all.error());
  return std::make_unique<MpiFile>(std::move(of), CollectiveState(path, how.intent), handle);
}

}  // namespace forebay::comm
