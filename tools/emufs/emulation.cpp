// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/emulation.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/emufs/call.hpp"
#include "tools/emufs/overhead_probe.hpp"

namespace forebay::emufs {

namespace {

/// Each file to which the kernel has references takes a descriptor.
constexpr rlim_t kDescriptorLimit = 1U << 20U;
/// The kernel's XATTR_SIZE_MAX. A longer machine file is published without its sources.
constexpr std::size_t kMachineTextBytesMax = 65536;

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlimit wanted{std::max(limit.rlim_max, kDescriptorLimit),
                      std::max(limit.rlim_max, kDescriptorLimit)};
  if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// A storage without costs, with the same servers and locks: it counts, and delays nothing.
model::Machine without_delays(model::Machine machine) {
  machine.client.link_latency_us = 0;
  machine.client.link_bandwidth_mb_per_s = 0;
  for (model::ServerGroup& group : machine.servers) {
    group.latency_us = group.write_latency_us = 0;
    group.bandwidth_mb_per_s = group.write_bandwidth_mb_per_s = 0;
    group.sync_us = 0;
  }
  machine.metadata.create_us = machine.metadata.open_us = 0;
  machine.metadata.stat_us = machine.metadata.unlink_us = 0;
  machine.metadata.sync_us = 0;
  machine.locks.change_us = 0;
  return machine;
}

/// The machine file that programs read, so that they plan for what the mount does. With --no-delay
/// that is a storage without costs, and the sources of the machine's numbers are left out.
std::string machine_text_of(const MountSettings& settings) {
  model::Machine machine = settings.machine;
  if (settings.delay_mode == DelayMode::kDisabled && machine != without_delays(machine)) {
    machine = without_delays(std::move(machine));
    machine.about = "replies at once, as it is mounted with --no-delay";
    machine.sources.clear();
  }
  std::string text = to_toml(machine);
  if (text.size() <= kMachineTextBytesMax) return text;
  machine.sources.clear();
  return to_toml(machine);
}

/// For a client that has lost a lock. An empty range means the size of the file.
void invalidate_unlocked_pages(EmulatedFileSystem& shared, const model::LockRevoked& lost) {
  Inode* inode = shared.inodes.acquire(lost.file);
  if (inode == nullptr) return;
  Client& client = *shared.clients[lost.client];
  if (lost.range.empty()) {
    client.notify_size(*inode);
  } else {
    client.invalidate_pages(*inode, lost.range);
  }
  forget_file(shared, *inode, 1);
}

}  // namespace

Result<std::unique_ptr<Emulation>> Emulation::start(Config config) {
  std::unique_ptr<Emulation> emulation(new Emulation(std::move(config)));
  Status done = emulation->prepare();
  if (done) done = emulation->mount_clients();
  if (done) done = emulation->measure();
  if (!done) return failure(done.error());
  return emulation;
}

Status Emulation::prepare() {
  raise_descriptor_limit();
  ::umask(0);  // the kernel has applied the caller's
  MountSettings& settings = config_.settings;
  // A machine without costs needs no delays.
  if (without_delays(settings.machine) == settings.machine)
    settings.delay_mode = DelayMode::kDisabled;
  settings.machine_text = machine_text_of(settings);
  auto locked = lock_backing(config_.paths.backing);
  if (!locked) return failure(locked.error());
  backing_lock_ = std::move(*locked);
  end_event_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  Descriptor root(::open(config_.paths.backing.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat attributes{};
  if (!root || !end_event_ || ::fstat(root.get(), &attributes) != 0) {
    return failure(system_error(
        {.operation = "open the backing directory", .path = config_.paths.backing}, errno));
  }
  file_system_ = std::make_unique<EmulatedFileSystem>(settings, std::move(root), attributes);
  InvalidatePages drop_pages;
  if (file_system_->has_coherent_caches() || file_system_->is_close_to_open()) {
    drop_pages = [shared = file_system_.get()](const model::LockRevoked& lost) {
      invalidate_unlocked_pages(*shared, lost);
    };
  }
  const bool free = settings.delay_mode == DelayMode::kDisabled;
  CpuLatency cpu_latency;
  if (!free && settings.idle_policy == IdlePolicy::kStayActive) {
    auto opened = CpuLatency::open();
    if (opened) cpu_latency = std::move(*opened);
    if (!opened) add_warning("replies may be late: " + opened.error().message());
  }
  auto scheduler =
      ReplyScheduler::start({.machine = free ? without_delays(settings.machine) : settings.machine,
                             .delay_mode = settings.delay_mode,
                             .invalidate_pages = std::move(drop_pages),
                             .cpu_latency = std::move(cpu_latency)});
  if (!scheduler) return failure(scheduler.error());
  file_system_->scheduler = std::move(*scheduler);
  return {};
}

/// Adds the text once, for any number of clients.
void Emulation::add_warning(const std::string& text) {
  if (warning_.find(text) != std::string::npos) return;
  warning_ += warning_.empty() ? text : "; " + text;
}

Status Emulation::mount_clients() {
  const std::uint32_t count = config_.settings.machine.client.count;
  file_system_->clients.reserve(count);
  for (model::ClientId i = 0; i < count; ++i) {
    if (auto mounted = mount_client(i); !mounted) return mounted;
  }
  return {};
}

Status Emulation::mount_client(model::ClientId number) {
  std::string path = config_.paths.mount_point;
  if (file_system_->has_several_clients()) {
    path += "/" + std::to_string(number);
    auto directory = ClientDirectory::make(path);
    if (!directory) return failure(directory.error());
    directories_made_.push_back(std::move(*directory));
  }
  auto device = mount_at(path, config_.paths.backing);
  if (!device) return failure(device.error());
  mounts_.emplace_back(path, config_.paths.backing);
  auto& clients = file_system_->clients;
  clients.push_back(std::make_unique<Client>(*file_system_, number, std::move(*device), path));
  ++mounted_;
  auto started = clients.back()->start([this] { client_ended(); });
  if (!started) return started;
  const std::uint64_t read_ahead = config_.settings.machine.client.read_ahead_bytes;
  if (!set_read_ahead(path, read_ahead)) {
    add_warning(
        "readahead is the kernel's default, at most 128 KiB: /sys does not permit a change");
  }
  return {};
}

Status Emulation::measure() {
  if (config_.settings.delay_mode == DelayMode::kEnabled) {
    const auto overheads = measure_fuse_overheads(*file_system_, mount_points().front());
    // On a full disk, for example. The mount works, and its replies are slightly late.
    if (overheads)
      file_system_->measured_overheads.set(std::make_unique<FuseOverheads>(*overheads));
    if (!overheads)
      add_warning("the overhead of FUSE was not measured: " + overheads.error().message());
  }
  file_system_->layouts.reset_rotation();
  file_system_->scheduler->with_model(
      [](model::StorageModel& model, model::Time) { model.reset_counters(); });
  if (config_.record.empty()) return {};
  auto recorder = Recorder::create(config_.record, config_.paths.backing);
  if (!recorder) return failure(recorder.error());
  file_system_->recorder.set(std::move(*recorder));
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
  static_cast<void>(::write(end_event_.get(), &one, sizeof(one)) == sizeof(one));
}

Emulation::~Emulation() {
  if (!file_system_) return;
  for (const MountHandle& mount : mounts_)
    mount.abort();
  for (const auto& client : file_system_->clients)
    client->join();
  file_system_->scheduler.reset();
  file_system_->clients.clear();
  for (const ClientDirectory& directory : directories_made_)
    directory.remove();
}

}  // namespace forebay::emufs
