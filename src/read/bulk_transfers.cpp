// SPDX-License-Identifier: Apache-2.0
#include "read/bulk_transfers.hpp"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace forebay::read {

namespace {

constexpr comm::Tag kBulkTag{1};

std::atomic<std::uint64_t> leaked_send_count{0};

}  // namespace

std::uint64_t leaked_sends() noexcept { return leaked_send_count; }

void BulkTransfers::send(std::shared_ptr<View> view) {
  auto transfer = ranks_->send(view->bytes(), peer_, kBulkTag);
  sends_.push_back({std::move(transfer), std::move(view)});
}

std::uint64_t BulkTransfers::release_completed_sends() {
  std::uint64_t count = 0;
  while (!sends_.empty()) {
    const auto sent = sends_.front().transfer.test();
    if (sent && !*sent) break;
    sends_.pop_front();
    ++count;
  }
  return count;
}

void BulkTransfers::receive(std::span<std::byte> memory, std::uint64_t id) {
  receives_.push_back({ranks_->receive(memory, peer_, kBulkTag), id});
  ++unconfirmed_;
}

/// Messages between two ranks arrive in order: while the first is incomplete, later ones are not
/// tested.
std::optional<BulkTransfers::Received> BulkTransfers::take_received() {
  if (receives_.empty()) return std::nullopt;
  const auto received = receives_.front().transfer.test();
  if (received && !*received) return std::nullopt;
  const std::uint64_t id = receives_.front().id;
  receives_.pop_front();
  return Received{id, received ? Status() : failure(received.error())};
}

bool BulkTransfers::confirm_sends(std::uint64_t count) noexcept {
  if (count > unconfirmed_) return false;
  unconfirmed_ -= count;
  return true;
}

/// The peer's MPI may complete its sends only while this process calls MPI, even if the bytes have
/// arrived here.
void BulkTransfers::progress() {
  if (receives_.empty() && unconfirmed_ > 0) ranks_->progress();
}

void BulkTransfers::abandon() {
  receives_.clear();  // cancels them: their memory is no longer owned here
  unconfirmed_ = 0;
  release_completed_sends();
  if (sends_.empty()) return;
  // Reachable, so that leak checkers do not report it.
  static std::mutex mutex;
  static auto* const leaked = new std::deque<std::deque<Send>>;  // NOLINT
  const std::lock_guard lock(mutex);
  leaked_send_count += sends_.size();
  leaked->push_back(std::exchange(sends_, {}));
}

}  // namespace forebay::read
