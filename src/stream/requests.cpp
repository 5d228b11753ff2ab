// SPDX-License-Identifier: Apache-2.0
// How a queue asks for things: whose turn it is, what of a parcel goes directly, what by way of
// blocks, and for which space must be reserved before.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "stream/device_queue.hpp"

namespace forebay::stream {

namespace {

/// What an account may ask for when its turn comes, before it is the turn of the next one.
constexpr std::uint64_t kTurnBytes = std::uint64_t{4} << 20U;
/// A file with more blocks that wait for their neighbors than this has all of them written at once.
constexpr std::size_t kBlocksWaitingMax = 1024;

constexpr std::uint64_t length_of_request(ByteRange rest, std::uint64_t request_bytes) noexcept {
  return std::min(rest.size, request_bytes - rest.offset % request_bytes);
}

}  // namespace

std::size_t DeviceQueue::room() const noexcept {
  return engine_->capacity() - engine_->in_flight() - batch_.size();
}

void DeviceQueue::issue() {
  issue_errands();
  issue_data();
  const std::size_t taken = engine_->enqueue(batch_);  // the queue waits next
  FOREBAY_ASSERT(taken == batch_.size());
  batch_.clear();
}

void DeviceQueue::issue_errands() {
  while (!errands_.empty() && room() > 0) {
    const Flight flight = errands_.front();
    errands_.pop_front();
    start(flight, operation_of(flight));
  }
}

/// Round by round, each account as many bytes.
void DeviceQueue::issue_data() {
  while (!turns_.empty() && room() > 0) {
    Account& account = *turns_.front();
    if (!has_request(account)) {
      end_turn(account);
      continue;
    }
    const std::uint64_t bytes =
        length_of_request(account.waiting.front().rest, account.limits.request_bytes);
    if (account.credit_bytes < bytes) {
      account.credit_bytes += kTurnBytes;
      std::rotate(turns_.begin(), turns_.begin() + 1, turns_.end());
      continue;
    }
    if (!budget_->try_take(bytes)) return;  // rings when there is some again
    account.credit_bytes -= bytes;
    send_request(account);
  }
}

/// Whether the account's first parcel has a request that may be sent now. Gets parcels out of the
/// way that have none.
bool DeviceQueue::has_request(Account& account) {
  while (!account.waiting.empty()) {
    Parcel& parcel = account.waiting.front();
    const bool is_dropped = account.client->gives_up();
    if (!is_dropped && !parcel.is_prepared && !prepare(parcel)) return false;
    if (!is_dropped && !parcel.rest.empty()) {
      return account.requests_in_flight < account.limits.requests &&
             (account.bytes_in_flight == 0 ||
              account.bytes_in_flight +
                      length_of_request(parcel.rest, account.limits.request_bytes) <=
                  account.limits.bytes);
    }
    account.waiting.pop();
    parcel.rest = {};
    if (is_dropped) parcel.is_written = false;
    if (parcel.requests_left == 0) finish(parcel);
  }
  return false;
}

void DeviceQueue::send_request(Account& account) {
  Parcel& parcel = account.waiting.front();
  const std::uint64_t bytes = length_of_request(parcel.rest, account.limits.request_bytes);
  const ByteRange range{parcel.rest.offset, bytes};
  parcel.rest = {range.end(), parcel.rest.size - bytes};
  ++parcel.requests_left;
  ++account.requests_in_flight;
  begin_work(account);
  account.bytes_in_flight += bytes;
  const Flight flight{.target = parcel.target, .range = range, .parcel = &parcel};
  start(flight, operation_of(flight));
  if (parcel.rest.empty()) account.waiting.pop();
}

/// Storage works for the account: what its time of writing is.
void DeviceQueue::begin_work(Account& account) noexcept {
  if (account.jobs++ == 0) account.client->note_busy(SteadyClock::shared().now());
}

void DeviceQueue::end_work(Account& account) noexcept {
  if (--account.jobs == 0) account.client->note_idle(SteadyClock::shared().now());
}

void DeviceQueue::add_turn(Account& account) {
  if (account.has_turn) return;
  account.has_turn = true;
  turns_.push_back(&account);
}

/// The account at the front has nothing to ask for now.
void DeviceQueue::end_turn(Account& account) noexcept {
  account.has_turn = false;
  account.credit_bytes = 0;
  turns_.pop_front();
}

void DeviceQueue::start(const Flight& flight, const storage::Operation& operation) {
  if (free_flights_.empty()) {
    free_flights_.push_back(checked_cast<std::uint32_t>(flights_.size()));
    flights_.emplace_back();
  }
  const std::uint32_t index = free_flights_.back();
  free_flights_.pop_back();
  flights_[index] = flight;
  batch_.push_back(operation);
  batch_.back().tag = index;
}

storage::Operation DeviceQueue::operation_of(const Flight& flight) const {
  storage::File& file = flight.target->file();
  const std::uint64_t offset = flight.range.offset;
  switch (flight.kind) {
    case FlightKind::kData: {
      const std::byte* const data = flight.parcel->data + (offset - flight.parcel->range.offset);
      return storage::write_operation(file, offset, {data, flight.range.size}, 0);
    }
    case FlightKind::kSpace:
      return storage::allocate_operation(file, flight.range, 0);
    case FlightKind::kBlockWrite: {
      const bool is_whole = flight.range.size == kBlockBytes;
      storage::File& its_file = is_whole ? file : flight.target->exact_file();
      return storage::write_operation(its_file, offset, flight.block->part(flight.range), 0);
    }
    case FlightKind::kSync:
      break;
  }
  return storage::sync_operation(file, 0);
}

/// An operation that is no parcel's: goes before data.
void DeviceQueue::run_errand(const Flight& flight) {
  ++flight.target->errands;
  errands_.push_back(flight);
}

/// Gets a parcel ready for its first request. False if it must wait: it is tried again when an
/// errand has ended.
bool DeviceQueue::prepare(Parcel& parcel) {
  Target& target = *parcel.target;
  if (target.is_reserving || target.must_cut_back) return hold_up(*parcel.account);
  if (!parcel.range.empty() && target.space.needed(parcel.range)) {
    reserve_space(parcel);
    return hold_up(*parcel.account);
  }
  if (target.file().access() == Access::kBuffered) {
    parcel.rest = parcel.range;
    if (!parcel.range.empty()) target.note_write(parcel.range);
  } else if (!cut_at_edges(parcel)) {
    return hold_up(*parcel.account);
  }
  parcel.is_prepared = true;
  ++target.prepared;
  const auto waited = SteadyClock::shared().now() - parcel.submitted_at;
  parcel.account->counts.queue_wait_ns += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(waited).count());
  return true;
}

void DeviceQueue::reserve_space(const Parcel& parcel) {
  Target& target = *parcel.target;
  const std::uint64_t free_bytes = target.file().free_bytes().value_or(all);
  target.is_reserving = true;
  Flight flight{.kind = FlightKind::kSpace, .target = &target};
  flight.range = *target.space.needed(parcel.range, free_bytes);
  flight.account = parcel.account;
  flight.wanted = parcel.range;
  begin_work(*parcel.account);
  run_errand(flight);
}

bool DeviceQueue::cut_at_edges(Parcel& parcel) {
  Target& target = *parcel.target;
  const Cut cut = cut_at_blocks(parcel.range);
  for (const ByteRange edge : {cut.head, cut.tail}) {
    if (!edge.empty() && target.edges.is_under_way(edge.offset)) return false;
  }
  put_edge(parcel, cut.head);
  put_edge(parcel, cut.tail);
  if (!parcel.range.empty()) target.note_write(parcel.range);
  if (!cut.middle.empty()) align(parcel, cut.middle);
  parcel.rest = cut.middle;
  if (target.edges.size() > kBlocksWaitingMax) flush_blocks(target);
  return true;
}

void DeviceQueue::put_edge(Parcel& parcel, ByteRange edge) {
  if (edge.empty()) return;
  const std::byte* const data = parcel.data + (edge.offset - parcel.range.offset);
  EdgeBlock& block = parcel.target->edges.put(edge.offset, {data, edge.size});
  if (block.is_full()) write_block(*parcel.target, block, *parcel.account);
}

/// Writes what has arrived of a block: the whole block directly, parts of it byte for byte.
void DeviceQueue::write_block(Target& target, EdgeBlock& block, Account& account) {
  Flight flight{.kind = FlightKind::kBlockWrite, .target = &target};
  flight.block = &block;
  ++account.counts.edge_blocks;
  if (block.is_full()) {
    block.begin_writing(1);
    flight.range = {block.offset_bytes(), kBlockBytes};
    return run_errand(flight);
  }
  ++account.counts.partial_blocks;
  const std::vector<ByteRange> parts = block.parts();
  block.begin_writing(parts.size());
  for (const ByteRange part : parts) {
    flight.range = part;
    run_errand(flight);
  }
}

/// Moves the middle of a parcel in its buffer, if its address does not suit its offset.
void DeviceQueue::align(Parcel& parcel, ByteRange middle) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(parcel.data);
  const std::size_t alignment = parcel.target->file().alignment_bytes();
  if (agrees(address, parcel.range.offset, alignment)) return;
  std::byte* const moved = parcel.data + shift_to_agree(address, parcel.range.offset);
  FOREBAY_ASSERT(parcel.room != nullptr);
  FOREBAY_ASSERT(moved >= parcel.room);
  const std::uint64_t first = middle.offset - parcel.range.offset;
  std::memmove(moved + first, parcel.data + first, middle.size);
  parcel.data = moved;
  parcel.account->counts.copied_bytes += middle.size;
}

/// Writes all blocks of the target that still wait for parts.
void DeviceQueue::flush_blocks(Target& target) {
  if (target.users.empty()) return;  // left behind by a stream that gave up
  for (EdgeBlock* const block : target.edges.waiting())
    write_block(target, *block, *target.users.front());
}

bool DeviceQueue::hold_up(Account& account) {
  if (std::ranges::find(held_up_, &account) == held_up_.end()) held_up_.push_back(&account);
  return false;
}

void DeviceQueue::let_go_on() {
  for (Account* const account : held_up_)
    add_turn(*account);
  held_up_.clear();
}

}  // namespace forebay::stream
