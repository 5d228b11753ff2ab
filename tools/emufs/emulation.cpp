// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/emulation.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/emufs/call.hpp"
#include "tools/emufs/probe.hpp"

namespace forebay::emufs {

namespace {

/// Each file that the kernel knows takes a descriptor.
constexpr rlim_t kDescriptorsWanted = 1U << 20U;
/// The kernel's XATTR_SIZE_MAX. What is longer is told without its sources.
constexpr std::size_t kToldBytesMax = 65536;

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlimit wanted{std::max(limit.rlim_max, kDescriptorsWanted),
                      std::max(limit.rlim_max, kDescriptorsWanted)};
  if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// A storage that costs nothing, with the same servers and locks: it counts, and delays nothing.
model::Machine without_costs(model::Machine machine) {
  machine.client.link_latency_us = 0;
  machine.client.link_bandwidth_mb_per_s = 0;
  for (model::ServerGroup& group : machine.servers) {
    group.latency_us = group.write_latency_us = 0;
    group.bandwidth_mb_per_s = group.write_bandwidth_mb_per_s = 0;
  }
  machine.metadata.create_us = machine.metadata.open_us = 0;
  machine.metadata.stat_us = machine.metadata.unlink_us = 0;
  machine.locks.change_us = 0;
  return machine;
}

/// What programs are told, so that they plan by what they will meet: with --no-delay that is a
/// storage without costs, and where the numbers of the machine come from is no matter.
std::string told_of(const Settings& settings) {
  model::Machine machine = settings.machine;
  if (settings.delays == Delays::kNone && machine != without_costs(machine)) {
    machine = without_costs(std::move(machine));
    machine.about = "answers at once, as it is mounted with --no-delay";
    machine.sources.clear();
  }
  std::string text = to_toml(machine);
  if (text.size() <= kToldBytesMax) return text;
  machine.sources.clear();
  return to_toml(machine);
}

/// Of a client that has lost a lock. An empty range stands for the size of the file.
void drop_unlocked_pages(FileSystem& shared, const model::LockLost& lost) {
  Inode* inode = shared.inodes.hold(lost.file);
  if (inode == nullptr) return;
  Client& client = *shared.clients[lost.client];
  if (lost.range.empty()) {
    client.tell_size(*inode);
  } else {
    client.drop_pages(*inode, lost.range);
  }
  forget_file(shared, *inode, 1);
}

}  // namespace

Result<std::unique_ptr<Emulation>> Emulation::start(Plan plan) {
  std::unique_ptr<Emulation> emulation(new Emulation(std::move(plan)));
  Status done = emulation->prepare();
  if (done) done = emulation->mount_clients();
  if (done) done = emulation->measure();
  if (!done) return failure(done.error());
  return emulation;
}

Status Emulation::prepare() {
  raise_descriptor_limit();
  ::umask(0);  // the kernel has applied the caller's
  Settings& settings = plan_.settings;
  // What costs nothing needs nobody who waits.
  if (without_costs(settings.machine) == settings.machine) settings.delays = Delays::kNone;
  settings.told = told_of(settings);
  auto held = hold_backing(plan_.places.backing);
  if (!held) return failure(held.error());
  held_ = std::move(*held);
  ended_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  Descriptor root(::open(plan_.places.backing.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat attributes{};
  if (!root || !ended_ || ::fstat(root.get(), &attributes) != 0) {
    return failure(system_error(
        {.operation = "open the backing folder", .path = plan_.places.backing}, errno));
  }
  file_system_ = std::make_unique<FileSystem>(settings, std::move(root), attributes);
  DropPages drop_pages;
  if (file_system_->has_shared_caches() || file_system_->sees_others_late()) {
    drop_pages = [shared = file_system_.get()](const model::LockLost& lost) {
      drop_unlocked_pages(*shared, lost);
    };
  }
  const bool free = settings.delays == Delays::kNone;
  Processors processors;
  if (!free && settings.idling == Idling::kStayAwake) {
    auto opened = Processors::open();
    if (opened) processors = std::move(*opened);
    if (!opened) add_remark("answers may be late: " + opened.error().message());
  }
  auto time =
      Timekeeper::start({.machine = free ? without_costs(settings.machine) : settings.machine,
                         .delays = settings.delays,
                         .drop_pages = std::move(drop_pages),
                         .processors = std::move(processors)});
  if (!time) return failure(time.error());
  file_system_->time = std::move(*time);
  return {};
}

/// Once, however many clients it is true of.
void Emulation::add_remark(const std::string& text) {
  if (remark_.find(text) != std::string::npos) return;
  remark_ += remark_.empty() ? text : "; " + text;
}

Status Emulation::mount_clients() {
  const std::uint32_t count = plan_.settings.machine.client.count;
  file_system_->clients.reserve(count);
  for (model::ClientId i = 0; i < count; ++i) {
    if (auto mounted = mount_client(i); !mounted) return mounted;
  }
  return {};
}

Status Emulation::mount_client(model::ClientId number) {
  std::string path = plan_.places.mount_point;
  if (file_system_->has_several_clients()) {
    path += "/" + std::to_string(number);
    auto folder = ClientFolder::make(path);
    if (!folder) return failure(folder.error());
    folders_made_.push_back(std::move(*folder));
  }
  auto device = mount_at(path, plan_.places.backing);
  if (!device) return failure(device.error());
  mounts_.emplace_back(path, plan_.places.backing);
  auto& clients = file_system_->clients;
  clients.push_back(std::make_unique<Client>(*file_system_, number, std::move(*device), path));
  ++mounted_;
  auto started = clients.back()->start([this] { client_ended(); });
  if (!started) return started;
  const std::uint64_t read_ahead = plan_.settings.machine.client.read_ahead_bytes;
  if (!set_read_ahead(path, read_ahead)) {
    add_remark("read-ahead is the kernel's (128 KiB at most), as /sys does not let it be set");
  }
  return {};
}

Status Emulation::measure() {
  if (plan_.settings.delays == Delays::kKept) {
    const auto allowances = measure_allowances(*file_system_, mount_points().front());
    // On a full disk, for example. The mount works, and its answers come a little late.
    if (allowances) file_system_->measured.publish(std::make_unique<Allowances>(*allowances));
    if (!allowances) add_remark("FUSE was not measured: " + allowances.error().message());
  }
  file_system_->layouts.begin_rotation();
  file_system_->time->with_model(
      [](model::StorageModel& model, model::Time) { model.reset_counters(); });
  if (plan_.record.empty()) return {};
  auto recorder = Recorder::create(plan_.record, plan_.places.backing);
  if (!recorder) return failure(recorder.error());
  file_system_->recorder.publish(std::move(*recorder));
  return {};
}

std::vector<std::string> Emulation::mount_points() const {
  std::vector<std::string> points;
  for (const auto& client : file_system_->clients)
    points.push_back(client->mount_point());
  return points;
}

void Emulation::client_ended() {
  if (--mounted_ > 0) return;
  const std::uint64_t one = 1;
  static_cast<void>(::write(ended_.get(), &one, sizeof(one)) == sizeof(one));
}

Emulation::~Emulation() {
  if (!file_system_) return;
  for (const OwnMount& mount : mounts_)
    mount.end();
  for (const auto& client : file_system_->clients)
    client->join();
  file_system_->time.reset();
  file_system_->clients.clear();
  for (const ClientFolder& folder : folders_made_)
    folder.remove();
}

}  // namespace forebay::emufs
