// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/call.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "tools/emufs/asker.hpp"
#include "tools/emufs/probe.hpp"

namespace forebay::emufs {

namespace {

constexpr double kForEverS = 3600;
/// How long a client may not see that another one has changed rights of a folder.
constexpr double kFolderOfOthersS = 1;

void interrupted(fuse_req_t request, void* ticket) {
  const Call call(request);
  call.file_system().time->interrupt(reinterpret_cast<Ticket>(ticket),
                                     [thread = call.thread()] { return is_dying(thread); });
}

}  // namespace

model::Request Call::on_name(model::RequestKind kind, const Inode& folder, const char* name) const {
  const auto spread = file_system_.settings.machine.metadata.spread;
  return {.client = client_.number(),
          .kind = kind,
          .name = model::name_hash(spread, folder.id(), name)};
}

model::Request Call::on_inode(model::RequestKind kind, const Inode& inode) const {
  return {.client = client_.number(), .kind = kind, .name = inode.name_hash()};
}

model::Request Call::on_bytes(model::RequestKind kind, Inode& inode, ByteRange range) const {
  return {.client = client_.number(),
          .kind = kind,
          .file = inode.id(),
          .range = range,
          .layout = file_system_.layouts.of(inode)};
}

void Call::forget_pages_of_others(Inode& inode) {
  if (!file_system_.has_shared_caches()) return;
  file_system_.time->drop_pages_of_others(client_.number(), inode.id());
  changed_ = inode.id();
}

void Call::note_change(Inode& inode) const {
  inode.changed_by(client_.number());
  struct stat now{};
  if (!file_system_.has_shared_caches()) return;
  if (::fstatat(inode.fd(), "", &now, AT_EMPTY_PATH) != 0) return;
  if (!inode.has_new_size(static_cast<std::uint64_t>(now.st_size))) return;
  for (const model::ClientId reader : inode.readers_besides(client_.number()))
    file_system_.time->tell_size(reader, inode.id());
}

void Call::answer_result(const model::Request& cost, int error_number) const {
  if (error_number != 0) return fail(error_number);
  const fuse_req_t request = request_;
  answer(cost, [request] { fuse_reply_err(request, 0); });
}

void Call::note_lookup() const {
  const model::Time asked = request_taken() - file_system_.allowances().name.before;
  file_system_.lookups.add(thread_, asked, monotonic_now());
}

/// When we would have had the request if nothing had been looked up for it.
model::Time Call::begun(const model::Request& cost, const Allowance& allowance) const {
  const model::Time taken = request_taken();
  if (model::is_on_bytes(cost.kind)) return taken;
  const auto begin = file_system_.lookups.take(thread_, taken - allowance.before);
  return begin ? *begin + allowance.before : taken;
}

void Call::submit(const model::Request& cost, std::unique_ptr<Answer> answer) const {
  if (Probe* probe = file_system_.probe.load(); probe != nullptr) {
    probe->take(*file_system_.time, request_taken(), std::move(answer));
    return;
  }
  const Ticket ticket = ++file_system_.last_ticket;
  fuse_req_interrupt_func(request_, interrupted, reinterpret_cast<void*>(ticket));
  const Allowance allowance = file_system_.allowances().of(cost.kind, cost.range.size);
  file_system_.time->submit(ticket, {.request = cost,
                                     .taken = begun(cost, allowance),
                                     .allowance = allowance,
                                     .changed = changed_,
                                     .answer = std::move(answer)});
}

Trust trust_of(const FileSystem& file_system, mode_t mode) {
  const bool several = file_system.has_several_clients();
  const bool free = file_system.settings.delays == Delays::kNone;
  if (S_ISDIR(mode)) return several ? Trust{0, kFolderOfOthersS} : Trust{kForEverS, kForEverS};
  return several ? Trust{} : Trust{kForEverS, free ? kForEverS : 0};
}

fuse_entry_param entry_of(const FileSystem& file_system, const Found& found) {
  const Trust trust = trust_of(file_system, found.attributes.st_mode);
  fuse_entry_param entry{};
  entry.ino = file_system.inodes.node_of(*found.inode);
  entry.attr = found.attributes;
  entry.attr_timeout = trust.attributes_s;
  entry.entry_timeout = trust.entry_s;
  return entry;
}

void forget_file(FileSystem& file_system, Inode& inode, std::uint64_t times) {
  struct stat left{};
  const bool gone = file_system.has_locks() && inode.kind() == S_IFREG &&
                    ::fstatat(inode.fd(), "", &left, AT_EMPTY_PATH) == 0 && left.st_nlink == 0;
  const model::FileId id = inode.id();
  // Other clients may have it open still, with pages that the locks keep true.
  if (file_system.inodes.forget(inode, times) == Known::kBySome || !gone) return;
  file_system.time->with_model(
      [id](model::StorageModel& model, model::Time) { model.forget_file(id); });
}

}  // namespace forebay::emufs
