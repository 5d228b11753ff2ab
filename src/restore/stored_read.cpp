// SPDX-License-Identifier: Apache-2.0
#include "restore/stored_read.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "format/codec.hpp"

namespace forebay::restore {

namespace {

/// Loads under way of one request. So many of them keep a device busy; sessions set narrower limits
/// by their memory.
constexpr std::size_t kFlightsMax = 16;
/// Requests from here on keep a device busy, and get the memory for that.
constexpr std::uint64_t kWideBytesMin = 2_MiB;

Extents extents_of(const StepCore& step) {
  return step.verification() == Verification::kOn ? Extents::kPieces : Extents::kWantedOnly;
}

/// A list of one range and nothing more is a request of which no neighbours are read along.
read::ExtentCursor cursor_over(ByteRange range, bool exact) {
  if (!exact) return read::ExtentCursor(range);
  return read::ExtentCursor::of_ranges(std::array{range});
}

}  // namespace

StoredRead::StoredRead(std::shared_ptr<const StepCore> step,
                       WantList list,
                       std::span<std::byte> into)
    : step_(std::move(step)),
      list_(std::move(list)),
      into_(into),
      extents_(extents_of(*step_)),
      cursor_(list_, extents_),
      exact_(!is_dense(list_)),
      turn_(step_->sessions().turns()) {
  FOREBAY_ASSERT(into_.size() == list_.bytes);
}

bool StoredRead::begin() {
  fill(Start::kIfRoom);
  const bool is_small = !next_ && cursor_.done() && flights_.size() <= 1;
  return is_small ? advance() : finished();
}

bool StoredRead::advance() {
  while (!finished()) {
    fill(Start::kAlways);
    if (finished()) break;
    if (flights_.empty()) return false;  // it is not this rank's turn
    Flight& front = flights_.front();
    if (front.read && !front.read->advance()) return false;
    if (const Status landed = land(front); !landed) {
      fail(landed.error());
    } else {
      if (front.scratch) spare_.push_back(std::move(front.scratch));
      flights_.pop_front();
    }
  }
  turn_.give_back();
  return true;
}

bool StoredRead::arm(detail::Waiter& waiter) {
  if (finished()) return false;
  return flights_.empty() ? turn_.arm(waiter) : flights_.front().read->arm(waiter);
}

void StoredRead::disarm(detail::Waiter& waiter) noexcept {
  if (flights_.empty()) return turn_.disarm(waiter);
  flights_.front().read->disarm(waiter);
}

bool StoredRead::help(detail::Help how) {
  return !flights_.empty() && flights_.front().read->help(how);
}

ErrorDetails StoredRead::describe() const {
  const format::StepCatalog& catalog = step_->catalog();
  return {
      .operation = "read step " + std::to_string(catalog.entry().step),
      .path = flights_.empty() ? std::string() : catalog.files()[flights_.front().load.file].path};
}

Result<ByteCount> StoredRead::take() {
  if (error_) return failure(*error_);
  return list_.bytes;
}

void StoredRead::fill(Start start) {
  while (!error_ && flights_.size() < kFlightsMax) {
    if (!next_ && !cursor_.done()) next_ = cursor_.next();
    if (!next_ || !turn_.has() || !take_off(start)) return;
  }
}

/// False if that has to wait.
bool StoredRead::take_off(Start start) {
  const Width width = list_.bytes < kWideBytesMin ? Width::kNarrow : Width::kWide;
  auto session = step_->sessions().of(step_->catalog().files()[next_->file], width);
  if (!session) return take_without_session(start, session.error());
  const std::uint64_t bytes = next_->stored.size;
  if (flights_.empty() && start == Start::kAlways) {
    (*session)->take_anyway(bytes);
  } else if (!(*session)->take(bytes)) {
    return false;
  }
  Flight& flight = flights_.emplace_back(std::move(*next_));
  next_.reset();
  flight.session = std::move(*session);
  give_memory(flight);
  flight.read = std::make_unique<read::GatherRead>(
      flight.session->core(), cursor_over(flight.load.stored, exact_), flight.bytes);
  flight.read->advance();
  return true;
}

/// What is under way here may hold the memory that is missing. If others do, who may not wait until
/// this request waits for them: the load is read at once, past all windows.
bool StoredRead::take_without_session(Start start, const Error& why) {
  if (!flights_.empty()) return false;
  if (why.kind() != ErrorClass::kLimit) {
    fail(failed(next_->pieces.front(), why));
    return false;
  }
  if (start == Start::kIfRoom) return false;
  Flight& flight = flights_.emplace_back(std::move(*next_));
  next_.reset();
  give_memory(flight);
  return true;
}

/// Blocks.
Status StoredRead::read_now(const Flight& flight) const {
  const format::StepFile& step_file = step_->catalog().files()[flight.load.file];
  const auto file = step_->sessions().file_without_session(step_file);
  if (!file) return failure(file.error());
  const auto got = (*file)->read_at(flight.bytes, flight.load.stored.offset);
  if (!got) return failure(got.error());
  if (*got == flight.bytes.size()) return {};
  return failure({.kind = ErrorClass::kShortFile,
                  .operation = "read",
                  .offset_bytes = flight.load.stored.offset + *got,
                  .cause = "the file ends there"});
}

/// Whether the bytes of a load are one piece, or what is wanted of it, as the caller wants them.
bool StoredRead::goes_straight(const Load& load) const {
  const PieceWant& piece = load.pieces.front();
  return load.pieces.size() == 1 && piece.want->box == kNoBox &&
         piece.raw.size == piece.stored.size &&
         step_->catalog().block(piece.want->place).codec == format::Codec::kNone;
}

std::byte* StoredRead::place_of(const PieceWant& piece) const {
  return into_.data() + piece.want->into + (piece.raw.offset - piece.want->raw.offset);
}

StoredRead::Memory StoredRead::scratch() {
  if (spare_.empty()) return std::make_unique_for_overwrite<std::byte[]>(kLoadBytesMax);
  Memory memory = std::move(spare_.back());
  spare_.pop_back();
  return memory;
}

void StoredRead::give_memory(Flight& flight) {
  const std::uint64_t bytes = flight.load.stored.size;
  FOREBAY_ASSERT(bytes <= kLoadBytesMax);
  if (goes_straight(flight.load)) {
    flight.bytes = {place_of(flight.load.pieces.front()), bytes};
    return;
  }
  flight.scratch = scratch();
  flight.bytes = {flight.scratch.get(), bytes};
}

/// All bytes of a load are there.
Status StoredRead::land(Flight& flight) {
  const auto read = flight.read
                        ? flight.read->take()
                        : read_now(flight).map([&] { return ByteCount{flight.bytes.size()}; });
  if (!read) return failure(failed(flight.load.pieces.front(), read.error()));
  for (const PieceWant& piece : flight.load.pieces) {
    const std::uint64_t at = piece.stored.offset - flight.load.stored.offset;
    if (const Status taken = take_piece(piece, flight.bytes.subspan(at, piece.stored.size)); !taken)
      return taken;
  }
  return {};
}

Status StoredRead::take_piece(const PieceWant& piece, std::span<std::byte> stored) {
  const format::Block block = step_->catalog().block(piece.want->place);
  const ByteRange whole = block.raw_range(piece.piece);
  if (block.codec == format::Codec::kNone) {
    const ByteRange held = stored.size() == whole.size ? whole : piece.raw;
    if (const Status whole_piece = check(piece, block, {stored, stored}); !whole_piece)
      return whole_piece;
    deliver(piece, held, stored.data());
    return {};
  }
  const bool goes_there = piece.want->box == kNoBox && piece.raw == whole;
  if (!goes_there && !raw_) raw_ = std::make_unique_for_overwrite<std::byte[]>(format::kPieceBytes);
  const std::span<std::byte> raw(goes_there ? place_of(piece) : raw_.get(), whole.size);
  if (const Status made = format::decompress_piece(block.codec, stored, raw); !made)
    return failure(failed(piece, made.error()));
  if (const Status whole_piece = check(piece, block, {raw, stored}); !whole_piece)
    return whole_piece;
  deliver(piece, whole, raw.data());
  return {};
}

Status StoredRead::check(const PieceWant& piece,
                         const format::Block& block,
                         const format::PieceBytes& bytes) {
  if (extents_ == Extents::kWantedOnly) return {};
  const format::BlockPlace& place = piece.want->place;
  const format::BlockSeed seed = step_->catalog().index(place).seed(place.field, place.number);
  if (format::is_whole(seed, block, piece.piece, bytes)) return {};
  const Error error({.kind = ErrorClass::kDamage,
                     .operation = "read",
                     .offset_bytes = block.stored_range(piece.piece).offset,
                     .cause = "its checksum does not fit: bytes were changed, or are those of "
                              "another place"});
  return failure(failed(piece, error));
}

/// Copies what is wanted of the bytes `held` of the block, which lie at `bytes`.
void StoredRead::deliver(const PieceWant& piece, ByteRange held, const std::byte* bytes) {
  if (piece.want->box != kNoBox) {
    list_.boxes[piece.want->box].for_each(piece.raw, [&](const Run& run) {
      std::byte* const to = into_.data() + run.into_offset;
      std::memcpy(to, bytes + (run.block_offset - held.offset), run.bytes);
      swap({to, run.bytes});
    });
    return;
  }
  std::byte* const to = place_of(piece);
  const std::byte* const from = bytes + (piece.raw.offset - held.offset);
  if (to != from) std::memcpy(to, from, piece.raw.size);
  swap({to, piece.raw.size});
}

/// Runs begin and end at elements: pieces do, and so do the ranges that are asked for.
void StoredRead::swap(std::span<std::byte> bytes) const {
  if (list_.swap_bytes == 0) return;
  for (std::size_t at = 0; at < bytes.size(); at += list_.swap_bytes)
    std::ranges::reverse(bytes.subspan(at, list_.swap_bytes));
}

void StoredRead::fail(const Error& error) {
  error_ = step_->explained(error);
  flights_.clear();
  next_.reset();
}

/// The same failure with all that a reader needs to know about where it is.
Error StoredRead::failed(const PieceWant& piece, const Error& error) const {
  const format::StepCatalog& catalog = step_->catalog();
  const format::BlockPlace& place = piece.want->place;
  return Error({.kind = error.kind(),
                .operation = "read " + catalog.describe(place) + " from",
                .path = catalog.files()[place.file].path,
                .offset_bytes = error.offset_bytes().value_or(piece.stored.offset),
                .error_number = error.error_number(),
                .cause = "piece " + std::to_string(piece.piece) + " (" +
                         std::to_string(catalog.block(place).raw_range(piece.piece).size) +
                         " bytes)" + (error.cause().empty() ? "" : ": " + error.cause())});
}

}  // namespace forebay::restore
