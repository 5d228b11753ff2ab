// SPDX-License-Identifier: Apache-2.0
#include "write/data_file_core.hpp"

#include <algorithm>
#include <utility>

namespace forebay::write {

namespace {

Error queue_has_ended() {
  return Error(
      {.kind = ErrorClass::kClosed, .operation = "write", .cause = "the Runtime has ended"});
}

}  // namespace

std::optional<Error> OpenFiles::add(const std::shared_ptr<DataFileCore>& core) {
  const std::lock_guard lock(mutex_);
  open_.push_back(core);
  return refused_;
}

void OpenFiles::note_closed(const DataFileCore& core) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(open_, &core, &std::shared_ptr<DataFileCore>::get);
  closed_.push_back(std::move(*found));
  open_.erase(found);
  one_closed_.notify_all();
}

void OpenFiles::sweep() {
  std::vector<std::shared_ptr<DataFileCore>> leaving;  // not under the lock
  const std::lock_guard lock(mutex_);
  leaving.swap(closed_);
}

void OpenFiles::refuse(const Error& why) {
  std::vector<std::shared_ptr<DataFileCore>> open;
  {
    const std::lock_guard lock(mutex_);
    if (!refused_) refused_ = why;
    open = open_;
  }
  for (const auto& core : open) {
    core->refuse(why);
    core->close();
  }
}

void OpenFiles::wait_until_closed() {
  std::unique_lock lock(mutex_);
  one_closed_.wait(lock, [this] { return open_.empty(); });
}

DataFileCore::DataFileCore(Setup setup)
    : setup_(std::move(setup)), account_(*this, {}, setup_.limits) {}

/// False if it has left the queue, or is about to.
bool DataFileCore::hold() noexcept {
  std::uint64_t held = holds_.load();
  while (held > 0) {
    if (holds_.compare_exchange_weak(held, held + 1)) return true;
  }
  return false;
}

/// The last one that lets go sends what the queue answers when it has forgotten the file.
void DataFileCore::let_go() noexcept {
  if (holds_.fetch_sub(1) != 1) return;
  last_.kind = stream::ParcelKind::kBarrier;
  last_.account = &account_;
  last_.is_last = true;
  setup_.queue->push(last_);
}

void DataFileCore::close() noexcept {
  if (!closed_.exchange(true)) let_go();
}

void DataFileCore::write(std::uint64_t offset_bytes, std::span<const std::byte> data, Done done) {
  if (!hold()) return answer_later(std::move(done));
  auto parcel = std::make_unique<Write>();
  parcel->account = &account_;
  parcel->target = setup_.target.get();
  parcel->range = {offset_bytes, data.size()};
  // Parcels of streams may be moved within their buffers; those without one never are.
  parcel->data = const_cast<std::byte*>(data.data());
  parcel->submitted_at = SteadyClock::shared().now();
  parcel->done = std::move(done);
  setup_.queue->push(*parcel.release());
}

void DataFileCore::wait(stream::Durability durability, Done done) {
  if (!hold()) return answer_later(std::move(done));
  auto barrier = std::make_unique<Wait>();
  barrier->kind = stream::ParcelKind::kBarrier;
  barrier->account = &account_;
  barrier->target = setup_.target.get();
  barrier->durability = durability;
  barrier->done = std::move(done);
  setup_.queue->push(*barrier.release());
}

void DataFileCore::seal(std::uint64_t end_bytes, Done done) {
  if (!hold()) return answer_later(std::move(done));
  wait(stream::Durability::kWritten, [this, end_bytes, done = std::move(done)](const Status& all) {
    const auto errand = [this, end_bytes, all, done](const std::optional<Error>& refused) {
      finish_seal(refused ? Status(tl::unexpect, *refused) : all, end_bytes, done);
    };
    setup_.errands->add(errand);
  });
}

void DataFileCore::finish_seal(const Status& written, std::uint64_t end_bytes, const Done& done) {
  if (written) {
    cut_and_sync(end_bytes, done);
  } else {
    fail(written.error());
    done(outcome());
  }
  let_go();
}

Status DataFileCore::cut(std::uint64_t end_bytes) {
  const auto size = file().size();
  if (!size) return failure(size.error());
  return *size > end_bytes ? file().truncate(end_bytes) : Status();
}

Status DataFileCore::punch(ByteRange place) { return file().punch(place); }

/// Blocks.
void DataFileCore::cut_and_sync(std::uint64_t end_bytes, const Done& done) {
  if (const Status is_cut = cut(end_bytes); !is_cut) return done(is_cut);
  sync(done);
}

/// It is too late to ask the queue.
void DataFileCore::answer_later(Done done) {
  Status told = outcome();
  if (told) told = failure(queue_has_ended());
  setup_.errands->add(
      [told = std::move(told), done = std::move(done)](const auto& /*refused*/) { done(told); });
}

Status DataFileCore::outcome() const {
  const std::lock_guard lock(mutex_);
  return error_ ? Status(failure(*error_)) : Status();
}

void DataFileCore::fail(const Error& error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = located(error, file().path());
    failed_.store(true, std::memory_order_release);
  }
  setup_.queue->ring();
}

void DataFileCore::fail_parcel(stream::Parcel& parcel, const Error& error) noexcept {
  auto& write = static_cast<Write&>(parcel);
  if (!write.error) write.error = error;
}

void DataFileCore::give_back(stream::Parcel& parcel) noexcept {
  {
    const std::unique_ptr<Write> write(static_cast<Write*>(&parcel));
    Status told;
    if (!write->is_written) told = outcome();
    if (write->error) told = failure(*write->error);
    if (!write->is_written && told) told = failure(queue_has_ended());
    write->done(told);
  }
  let_go();
}

void DataFileCore::reached(stream::Barrier& barrier) noexcept {
  if (&barrier == &last_) {
    const auto errands = setup_.errands;  // from the next line on this may be gone
    const auto files = setup_.files;
    files->note_closed(*this);
    errands->add([files](const std::optional<Error>& refused) {
      if (!refused) files->sweep();
    });
    return;
  }
  {
    const std::unique_ptr<Wait> wait(static_cast<Wait*>(&barrier));
    Status told = outcome();
    if (told && !wait->is_written) told = failure(queue_has_ended());
    wait->done(told);
  }
  let_go();
}

}  // namespace forebay::write
