// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/call.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "tools/emufs/overhead_probe.hpp"
#include "tools/emufs/syscall_inspector.hpp"

namespace forebay::emufs {

namespace {

constexpr double kUnlimitedS = 3600;
/// How long a client may not see that another client has changed permissions of a directory.
constexpr double kSharedDirectoryS = 1;

void on_interrupt(fuse_req_t request, void* ticket) {
  const Call call(request);
  call.file_system().scheduler->interrupt(
      reinterpret_cast<Ticket>(ticket),
      [thread = call.thread()] { return has_pending_fatal_signal(thread); });
}

}  // namespace

model::Request Call::name_request(model::RequestKind kind,
                                  const Inode& directory,
                                  const char* name) const {
  const auto spread = file_system_.settings.machine.metadata.spread;
  return {.client = client_.number(),
          .kind = kind,
          .name = model::name_hash(spread, directory.id(), name)};
}

model::Request Call::inode_request(model::RequestKind kind, const Inode& inode) const {
  return {.client = client_.number(), .kind = kind, .name = inode.name_hash()};
}

model::Request Call::data_request(model::RequestKind kind, Inode& inode, ByteRange range) const {
  return {.client = client_.number(),
          .kind = kind,
          .file = inode.id(),
          .range = range,
          .layout = file_system_.layouts.of(inode)};
}

void Call::invalidate_other_clients(Inode& inode) {
  if (!file_system_.has_coherent_caches()) return;
  file_system_.scheduler->invalidate_other_clients(client_.number(), inode.id());
  changed_file_ = inode.id();
}

void Call::record_change(Inode& inode) const {
  inode.record_change(client_.number());
  struct stat now{};
  if (!file_system_.has_coherent_caches()) return;
  if (::fstatat(inode.fd(), "", &now, AT_EMPTY_PATH) != 0) return;
  if (!inode.update_size(static_cast<std::uint64_t>(now.st_size))) return;
  for (const model::ClientId reader : inode.other_readers(client_.number()))
    file_system_.scheduler->notify_size(reader, inode.id());
}

void Call::reply_result(const model::Request& cost, int error_number) const {
  if (error_number != 0) return fail(error_number);
  const fuse_req_t request = request_;
  reply(cost, [request] { fuse_reply_err(request, 0); });
}

void Call::record_lookup() const {
  const model::Time request_time = request_arrival() - file_system_.fuse_overheads().name.before;
  file_system_.lookups.add(thread_, request_time, monotonic_now());
}

/// When emufs would have received the request without lookups before it.
model::Time Call::start_time(const model::Request& cost, const FuseOverhead& overhead) const {
  const model::Time arrival = request_arrival();
  const bool has_lookups =
      model::is_metadata_request(cost.kind) && cost.kind != model::RequestKind::kSyncDirectory;
  if (!has_lookups) return arrival;
  const auto begin = file_system_.lookups.consume(thread_, arrival - overhead.before);
  return begin ? *begin + overhead.before : arrival;
}

void Call::submit(const model::Request& cost, std::unique_ptr<Reply> reply) const {
  if (OverheadProbe* probe = file_system_.probe.load(); probe != nullptr) {
    probe->schedule(*file_system_.scheduler, request_arrival(), std::move(reply));
    return;
  }
  const Ticket ticket = ++file_system_.last_ticket;
  fuse_req_interrupt_func(request_, on_interrupt, reinterpret_cast<void*>(ticket));
  const FuseOverhead overhead =
      file_system_.fuse_overheads().for_request(cost.kind, cost.range.size);
  file_system_.scheduler->submit(ticket, {.request = cost,
                                          .arrival = start_time(cost, overhead),
                                          .overhead = overhead,
                                          .changed_file = changed_file_,
                                          .reply = std::move(reply)});
}

CacheTimeouts cache_timeouts(const EmulatedFileSystem& file_system, mode_t mode) {
  const bool several = file_system.has_several_clients();
  const bool free = file_system.settings.delay_mode == DelayMode::kDisabled;
  if (S_ISDIR(mode))
    return several ? CacheTimeouts{0, kSharedDirectoryS} : CacheTimeouts{kUnlimitedS, kUnlimitedS};
  const auto cached_s = static_cast<double>(file_system.settings.attribute_cache_s);
  return several ? CacheTimeouts{} : CacheTimeouts{kUnlimitedS, free ? kUnlimitedS : cached_s};
}

fuse_entry_param entry_of(const EmulatedFileSystem& file_system, const LookupResult& found) {
  const CacheTimeouts timeouts = cache_timeouts(file_system, found.attributes.st_mode);
  fuse_entry_param entry{};
  entry.ino = file_system.inodes.node_of(*found.inode);
  entry.attr = found.attributes;
  entry.attr_timeout = timeouts.attributes_s;
  entry.entry_timeout = timeouts.entry_s;
  return entry;
}

void forget_file(EmulatedFileSystem& file_system, Inode& inode, std::uint64_t times) {
  struct stat left{};
  const bool gone = inode.kind() == S_IFREG &&
                    ::fstatat(inode.fd(), "", &left, AT_EMPTY_PATH) == 0 && left.st_nlink == 0;
  const model::FileId id = inode.id();
  // Other clients may have it open still, with pages that locks keep coherent.
  if (file_system.inodes.forget(inode, times) == InodeState::kReferenced || !gone) return;
  file_system.scheduler->with_model(
      [id](model::StorageModel& model, model::Time) { model.remove_file(id); });
}

}  // namespace forebay::emufs
