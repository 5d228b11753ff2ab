// SPDX-License-Identifier: Apache-2.0
// The locks that a part of a request takes before its link and server, and their release.
#include "base/assert.hpp"
#include "model/storage_model_impl.hpp"

namespace forebay::model {

void StorageModel::Impl::set_lock_units(Subrequest& state, const Layout& layout) const {
  if (machine_.locks.unit == LockUnit::kNone) return;
  const std::uint64_t unit_bytes = lock_unit_bytes(machine_.locks, layout);
  state.first_unit = state.range.offset / unit_bytes;
  state.unit = state.first_unit;
  state.units_end = (state.range.end() - 1) / unit_bytes + 1;
}

void StorageModel::Impl::acquire_locks(SubrequestIndex subrequest) {
  while (simulation_.subrequests[subrequest].unit < simulation_.subrequests[subrequest].units_end) {
    Subrequest& state = simulation_.subrequests[subrequest];
    state.queued_at = now_;
    const LockUpdate update = locks_.enqueue({request_of(subrequest).file, state.unit}, subrequest);
    if (update.transferring != kNoSubrequest) {
      simulation_.events.push(
          {now_ + costs_.lock_change(), EventKind::kLockTransferred, 0, subrequest});
    }
    // A new waiting subrequest cannot help those before it: if one is granted, it is this one.
    if (update.granted.empty()) return;
    ++state.unit;
  }
  handle_locked(subrequest);
}

void StorageModel::Impl::handle_lock_transfer(SubrequestIndex subrequest) {
  const Subrequest& state = simulation_.subrequests[subrequest];
  const LockUpdate update = locks_.complete_transfer({request_of(subrequest).file, state.unit});
  ClientCounters& requester = clients_[state.client];
  ++requester.lock_changes;
  notify_revoked(subrequest, update.revoked_clients);
  continue_granted(update.granted);
  FOREBAY_ASSERT(update.transferring == kNoSubrequest);  // the lock is in use
}

void StorageModel::Impl::notify_revoked(SubrequestIndex subrequest,
                                        const std::vector<ClientId>& former_holders) {
  const Request request = request_of(subrequest);
  const std::uint64_t unit = simulation_.subrequests[subrequest].unit;
  const std::uint64_t unit_bytes = lock_unit_bytes(machine_.locks, request.layout);
  const bool is_whole = unit_bytes == kAll;
  const ByteRange range = is_whole ? ByteRange{0, kAll} : ByteRange{unit * unit_bytes, unit_bytes};
  for (const ClientId previous_holder : former_holders) {
    ++clients_[previous_holder].locks_revoked;
    observer_->on_lock_revoked({previous_holder, request.file, range, now_});
  }
}

void StorageModel::Impl::continue_granted(const std::vector<SubrequestIndex>& granted) {
  for (const SubrequestIndex subrequest : granted) {
    Subrequest& state = simulation_.subrequests[subrequest];
    clients_[state.client].lock_wait_time += now_ - state.queued_at;
    ++state.unit;
    acquire_locks(subrequest);
  }
}

void StorageModel::Impl::acquire_extent_lock(SubrequestIndex subrequest) {
  Subrequest& state = simulation_.subrequests[subrequest];
  state.queued_at = now_;
  const Request& request = request_of(subrequest);
  const ExtentLockUpdate update =
      extent_locks_.take({request.file, state.server}, request.layout, subrequest);
  schedule_cancels(update.cancelling);
  if (!update.granted.empty()) handle_locked(subrequest);
}

void StorageModel::Impl::handle_lock_cancelled(std::uint32_t number) {
  const CancelledLock cancelled = extent_locks_.complete_cancel(number);
  schedule_cancels(cancelled.update.cancelling);
  ++clients_[cancelled.requester].lock_changes;
  ++clients_[cancelled.previous_holder].locks_revoked;
  observer_->on_lock_revoked(
      {cancelled.previous_holder, cancelled.object.file, cancelled.range, now_});
  for (const SubrequestIndex subrequest : cancelled.update.granted) {
    clients_[simulation_.subrequests[subrequest].client].lock_wait_time +=
        now_ - simulation_.subrequests[subrequest].queued_at;
    handle_locked(subrequest);
  }
}

void StorageModel::Impl::schedule_cancels(const std::vector<std::uint32_t>& pending) {
  for (const std::uint32_t number : pending)
    simulation_.events.push({now_ + costs_.lock_change(), EventKind::kLockCancelled, 0, number});
}

void StorageModel::Impl::release_locks(const Subrequest& state, const Request& request) {
  if (state.is_sync) return;
  if (has_extent_locks() && is_data_request(request.kind))
    return schedule_cancels(extent_locks_.release({request.file, state.server}, state).cancelling);
  for (std::uint64_t unit = state.first_unit; unit < state.units_end; ++unit) {
    const LockUpdate update = locks_.release({request.file, unit}, state.client);
    if (update.transferring != kNoSubrequest) {
      simulation_.events.push(
          {now_ + costs_.lock_change(), EventKind::kLockTransferred, 0, update.transferring});
    }
    continue_granted(update.granted);
  }
}

}  // namespace forebay::model
