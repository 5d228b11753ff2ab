// SPDX-License-Identifier: Apache-2.0
#include "restore/dataset_read_request.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "format/codec.hpp"

namespace forebay::restore {

namespace {

/// Loads in flight of one request: enough to keep a device busy. Sessions set lower limits by their
/// memory.
constexpr std::size_t kInFlightMax = 16;
/// Requests of this size and more keep a device busy, and get a window for that.
constexpr std::uint64_t kLargeWindowBytesMin = 2_MiB;

PieceReadMode read_mode_of(const StepReaderCore& step) {
  return step.verification() == Verification::kOn ? PieceReadMode::kWhole
                                                  : PieceReadMode::kRequestedOnly;
}

/// A list of a single range is a request for which no adjacent bytes are read.
read::SegmentCursor cursor_over(ByteRange range, bool exact) {
  if (!exact) return read::SegmentCursor(range);
  return read::SegmentCursor::of_ranges(std::array{range});
}

}  // namespace

DatasetReadRequest::DatasetReadRequest(std::shared_ptr<const StepReaderCore> step,
                                       BlockRequestList list,
                                       std::span<std::byte> into)
    : step_(std::move(step)),
      list_(std::move(list)),
      into_(into),
      read_mode_(read_mode_of(*step_)),
      cursor_(list_, read_mode_),
      is_sparse_(!is_dense(list_)),
      permit_(step_->sessions().limiter()) {
  FOREBAY_ASSERT(into_.size() >= list_.bytes);
}

bool DatasetReadRequest::start() {
  issue_loads(IssueMode::kIfRoom);
  const bool is_small = !next_ && cursor_.is_done() && in_flight_.size() <= 1;
  return is_small ? advance() : is_finished();
}

bool DatasetReadRequest::advance() {
  while (!is_finished()) {
    issue_loads(IssueMode::kAlways);
    if (is_finished()) break;
    if (in_flight_.empty()) return false;  // this rank has no permit
    InFlightLoad& front = in_flight_.front();
    if (front.read && !front.read->advance()) return false;
    if (const Status completed = complete_load(front); !completed) {
      fail(completed.error());
    } else {
      if (front.scratch) free_scratch_.push_back(std::move(front.scratch));
      in_flight_.pop_front();
    }
  }
  permit_.release();
  return true;
}

bool DatasetReadRequest::arm(detail::Waiter& waiter) {
  if (is_finished()) return false;
  return in_flight_.empty() ? permit_.arm(waiter) : in_flight_.front().read->arm(waiter);
}

void DatasetReadRequest::disarm(detail::Waiter& waiter) noexcept {
  if (in_flight_.empty()) return permit_.disarm(waiter);
  in_flight_.front().read->disarm(waiter);
}

bool DatasetReadRequest::help(detail::Help how) {
  return !in_flight_.empty() && in_flight_.front().read->help(how);
}

ErrorDetails DatasetReadRequest::describe() const {
  const format::StepCatalog& catalog = step_->catalog();
  return {.operation = "read step " + std::to_string(catalog.entry().step),
          .path = in_flight_.empty() ? std::string()
                                     : catalog.files()[in_flight_.front().load.file].path};
}

Result<ByteCount> DatasetReadRequest::take() {
  if (error_) return failure(*error_);
  return list_.bytes;
}

void DatasetReadRequest::issue_loads(IssueMode mode) {
  while (!error_ && in_flight_.size() < kInFlightMax) {
    if (!next_ && !cursor_.is_done()) next_ = cursor_.next();
    if (!next_ || !permit_.try_acquire() || !issue_load(mode)) return;
  }
}

/// False if the load has to wait.
bool DatasetReadRequest::issue_load(IssueMode mode) {
  const std::optional<PieceKey> key = cache_key_of(*next_);
  if (key && take_cached(*key)) return true;
  const bool is_last = cursor_.is_done() && in_flight_.empty();
  if (key && is_last && mode == IssueMode::kIfRoom && step_->pieces().is_loading(*key))
    return false;
  const WindowSize window_size =
      list_.bytes < kLargeWindowBytesMin ? WindowSize::kSmall : WindowSize::kLarge;
  auto session = step_->sessions().acquire(step_->catalog().files()[next_->file], window_size);
  if (!session) return issue_without_session(mode, session.error());
  const std::uint64_t bytes = next_->stored.size;
  if (in_flight_.empty() && mode == IssueMode::kAlways) {
    (*session)->reserve(bytes);
  } else if (!(*session)->try_reserve(bytes)) {
    return false;
  }
  InFlightLoad& in_flight = in_flight_.emplace_back(std::move(*next_));
  next_.reset();
  in_flight.session = std::move(*session);
  if (key) in_flight.loading.emplace(step_->pieces(), *key);
  assign_buffer(in_flight);
  in_flight.read = std::make_unique<read::GatherRead>(
      in_flight.session->core(), cursor_over(in_flight.load.stored, is_sparse_), in_flight.bytes);
  in_flight.read->advance();
  return true;
}

/// The key of a load that is one whole piece, if only a part of it is requested.
std::optional<PieceKey> DatasetReadRequest::cache_key_of(const PieceLoad& load) const {
  if (load.pieces.size() > 1) return std::nullopt;
  const PieceRequest& piece = load.pieces.front();
  const format::Block block = step_->catalog().block(piece.block_request->location);
  if (piece.raw == block.raw_range(piece.piece) || piece.stored != block.stored_range(piece.piece))
    return std::nullopt;
  return PieceKey{step_->catalog().entry().step, load.file, piece.stored.offset};
}

/// True if the piece of `next_` is in the cache; then it is done.
bool DatasetReadRequest::take_cached(PieceKey key) {
  const PieceCache::Bytes bytes = step_->pieces().find(key);
  if (!bytes) return false;
  const PieceRequest& piece = next_->pieces.front();
  const format::Block block = step_->catalog().block(piece.block_request->location);
  copy_out(piece, block.raw_range(piece.piece), bytes.get());
  next_.reset();
  return true;
}

/// The verified bytes are in the scratch, or decompressed in `raw_`.
void DatasetReadRequest::cache_piece(InFlightLoad& in_flight) {
  const format::BlockLocation& location = in_flight.load.pieces.front().block_request->location;
  const bool is_raw = step_->catalog().block(location).codec == format::Codec::kNone;
  in_flight.loading->finish(std::move(is_raw ? in_flight.scratch : raw_));
}

/// Loads in flight of this request may hold the missing memory; then it waits for them. Otherwise
/// other requests hold it, and this one must not wait for these: it reads the load at once, past
/// all windows.
bool DatasetReadRequest::issue_without_session(IssueMode mode, const Error& why) {
  if (!in_flight_.empty()) return false;
  if (why.kind() != ErrorClass::kLimit) {
    fail(make_error(next_->pieces.front(), why));
    return false;
  }
  if (mode == IssueMode::kIfRoom) return false;
  InFlightLoad& in_flight = in_flight_.emplace_back(std::move(*next_));
  next_.reset();
  assign_buffer(in_flight);
  return true;
}

/// Blocks.
Status DatasetReadRequest::read_blocking(const InFlightLoad& in_flight) const {
  const format::StepFile& step_file = step_->catalog().files()[in_flight.load.file];
  const auto file = step_->sessions().open_without_session(step_file);
  if (!file) return failure(file.error());
  const auto got = (*file)->read_at(in_flight.bytes, in_flight.load.stored.offset);
  if (!got) return failure(got.error());
  if (*got == in_flight.bytes.size()) return {};
  return failure({.kind = ErrorClass::kShortFile,
                  .operation = "read",
                  .offset_bytes = in_flight.load.stored.offset + *got,
                  .cause = "the file ends there"});
}

/// True if the load is one piece, or a part of it, in the form in which the caller gets it.
bool DatasetReadRequest::is_read_in_place(const PieceLoad& load) const {
  const PieceRequest& piece = load.pieces.front();
  return load.pieces.size() == 1 && piece.block_request->box == kNoBox &&
         piece.raw.size == piece.stored.size &&
         step_->catalog().block(piece.block_request->location).codec == format::Codec::kNone;
}

std::byte* DatasetReadRequest::destination_of(const PieceRequest& piece) const {
  return into_.data() + piece.block_request->memory_offset +
         (piece.raw.offset - piece.block_request->raw.offset);
}

DatasetReadRequest::Memory DatasetReadRequest::acquire_scratch() {
  if (free_scratch_.empty()) return std::make_unique_for_overwrite<std::byte[]>(kLoadBytesMax);
  Memory memory = std::move(free_scratch_.back());
  free_scratch_.pop_back();
  return memory;
}

void DatasetReadRequest::assign_buffer(InFlightLoad& in_flight) {
  const std::uint64_t bytes = in_flight.load.stored.size;
  FOREBAY_ASSERT(bytes <= kLoadBytesMax);
  if (is_read_in_place(in_flight.load)) {
    in_flight.bytes = {destination_of(in_flight.load.pieces.front()), bytes};
    return;
  }
  in_flight.scratch = acquire_scratch();
  in_flight.bytes = {in_flight.scratch.get(), bytes};
}

/// Called when all bytes of a load have arrived.
Status DatasetReadRequest::complete_load(InFlightLoad& in_flight) {
  const auto read = in_flight.read ? in_flight.read->take() : read_blocking(in_flight).map([&] {
    return ByteCount{in_flight.bytes.size()};
  });
  if (!read) return failure(make_error(in_flight.load.pieces.front(), read.error()));
  for (const PieceRequest& piece : in_flight.load.pieces) {
    const std::uint64_t at = piece.stored.offset - in_flight.load.stored.offset;
    if (const Status taken = process_piece(piece, in_flight.bytes.subspan(at, piece.stored.size));
        !taken)
      return taken;
  }
  if (in_flight.loading) cache_piece(in_flight);
  return {};
}

Status DatasetReadRequest::process_piece(const PieceRequest& piece, std::span<std::byte> stored) {
  const format::Block block = step_->catalog().block(piece.block_request->location);
  const ByteRange whole = block.raw_range(piece.piece);
  if (block.codec == format::Codec::kNone) {
    const ByteRange held = stored.size() == whole.size ? whole : piece.raw;
    if (const Status whole_piece = verify_piece(piece, block, {stored, stored}); !whole_piece)
      return whole_piece;
    copy_out(piece, held, stored.data());
    return {};
  }
  const bool is_in_place = piece.block_request->box == kNoBox && piece.raw == whole;
  if (!is_in_place && !raw_)
    raw_ = std::make_unique_for_overwrite<std::byte[]>(format::kPieceBytes);
  const std::span<std::byte> raw(is_in_place ? destination_of(piece) : raw_.get(), whole.size);
  if (const Status made = format::decompress_piece(block.codec, stored, raw); !made)
    return failure(make_error(piece, made.error()));
  if (const Status whole_piece = verify_piece(piece, block, {raw, stored}); !whole_piece)
    return whole_piece;
  copy_out(piece, whole, raw.data());
  return {};
}

Status DatasetReadRequest::verify_piece(const PieceRequest& piece,
                                        const format::Block& block,
                                        const format::PieceBytes& bytes) {
  if (read_mode_ == PieceReadMode::kRequestedOnly) return {};
  const format::BlockLocation& location = piece.block_request->location;
  const format::BlockSeed seed =
      step_->catalog().index(location).seed(location.field, location.number);
  if (format::is_valid_piece(seed, block, piece.piece, bytes)) return {};
  const Error error({.kind = ErrorClass::kDamage,
                     .operation = "read",
                     .offset_bytes = block.stored_range(piece.piece).offset,
                     .cause = "its checksum does not fit: bytes were changed, or are those of "
                              "another place"});
  return failure(make_error(piece, error));
}

/// Copies the requested bytes out of `bytes`, which holds the range `held` of the block.
void DatasetReadRequest::copy_out(const PieceRequest& piece,
                                  ByteRange held,
                                  const std::byte* bytes) {
  if (piece.block_request->box != kNoBox) {
    const format::BoxCopy& box = list_.boxes[piece.block_request->box];
    box.to_memory(piece.raw, bytes + (piece.raw.offset - held.offset), into_.data());
    if (list_.swap_unit_bytes == 0) return;
    box.for_each(piece.raw, [&](const format::CopyRun& run) {
      swap_byte_order(into_.subspan(run.memory_offset, run.bytes));
    });
    return;
  }
  std::byte* const to = destination_of(piece);
  const std::byte* const from = bytes + (piece.raw.offset - held.offset);
  if (to != from) std::memcpy(to, from, piece.raw.size);
  swap_byte_order({to, piece.raw.size});
}

/// Runs begin and end at elements, as pieces and requested ranges do.
void DatasetReadRequest::swap_byte_order(std::span<std::byte> bytes) const {
  if (list_.swap_unit_bytes == 0) return;
  for (std::size_t at = 0; at < bytes.size(); at += list_.swap_unit_bytes)
    std::ranges::reverse(bytes.subspan(at, list_.swap_unit_bytes));
}

void DatasetReadRequest::fail(const Error& error) {
  error_ = step_->translate_error(error);
  in_flight_.clear();
  next_.reset();
}

/// The same failure with the full location for the user.
Error DatasetReadRequest::make_error(const PieceRequest& piece, const Error& error) const {
  const format::StepCatalog& catalog = step_->catalog();
  const format::BlockLocation& location = piece.block_request->location;
  return Error({.kind = error.kind(),
                .operation = "read " + catalog.describe(location) + " from",
                .path = catalog.files()[location.file].path,
                .offset_bytes = error.offset_bytes().value_or(piece.stored.offset),
                .error_number = error.error_number(),
                .cause = "piece " + std::to_string(piece.piece) + " (" +
                         std::to_string(catalog.block(location).raw_range(piece.piece).size) +
                         " bytes)" + (error.cause().empty() ? "" : ": " + error.cause())});
}

}  // namespace forebay::restore
