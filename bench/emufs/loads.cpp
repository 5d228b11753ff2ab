// SPDX-License-Identifier: Apache-2.0
#include "bench/emufs/loads.hpp"

#include <cerrno>
#include <cstdlib>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/emufs/request_sequence.hpp"
#include "bench/frame/check.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::emufs {

namespace fs = std::filesystem;

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kAlignment = 4096;

std::string file_name(std::uint32_t file) { return "load-" + std::to_string(file); }

/// Each client uses names in a separate directory, because the kernel creates one name at a time in
/// each.
std::string directory_name(std::uint32_t client) { return "of-" + std::to_string(client); }

tl::unexpected<Error> io_failure(const std::string& what, const fs::path& path, int error_number) {
  return failure(system_error({.operation = what, .path = path.string()}, error_number));
}

/// The measuring thread wakes as soon as emufs has sent the reply, so that other computation is not
/// measured. Without the privilege, it measures at normal priority.
void raise_thread_priority() noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  sched_param parameters{};
  parameters.sched_priority = 1;
  static_cast<void>(::sched_setscheduler(0, SCHED_FIFO, &parameters));
}

bool make_file(const fs::path& path) { return ::mknod(path.c_str(), S_IFREG | 0600, 0) == 0; }

/// Memory for one request.
struct Buffer {
  explicit Buffer(std::uint64_t bytes)
      : memory(static_cast<std::byte*>(std::aligned_alloc(
                   kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)),
               &std::free) {
    if (memory) std::fill_n(memory.get(), bytes, std::byte{1});
  }
  std::unique_ptr<std::byte, decltype(&std::free)> memory;
};

/// One thread of a load, and its results.
class MountClient {
 public:
  MountClient(const LoadSpec& load, const RequestSequence& sequence, fs::path directory)
      : load_(load),
        sequence_(sequence),
        directory_(std::move(directory)),
        buffer_(std::max<std::uint64_t>(load.request_bytes, kAlignment)) {}

  /// Creates what its requests need, outside the measured time.
  void prepare() {
    bool done = true;
    if (load_.kind == LoadKind::kStat) done = make_file(name(0));
    for (std::uint32_t i = 0; load_.kind == LoadKind::kUnlink && i < load_.requests_per_client; ++i)
      done = make_file(name(i)) && done;
    if (is_data_request(load_.kind)) {
      const int access = load_.kind == LoadKind::kRead ? O_RDONLY : O_WRONLY;
      const fs::path path = directory_ / file_name(sequence_.file());
      file_ = Descriptor(::open(path.c_str(), O_DIRECT | O_CLOEXEC | access));
      done = file_.get() >= 0;
    }
    if (!done) error_ = errno;
  }

  void run(SteadyTime begin) {
    raise_thread_priority();
    std::this_thread::sleep_until(begin + sequence_.start_delay());
    for (std::uint32_t i = 0; i < load_.requests_per_client && error_ == 0; ++i) {
      const Stopwatch watch;
      if (!issue_request(i)) error_ = errno;
      times_.push_back(watch.seconds());
    }
  }

  int error() const { return error_; }
  const ResponseTimes& times() const { return times_; }

 private:
  fs::path name(std::uint32_t i) const { return directory_ / ("name-" + std::to_string(i)); }

  bool issue_request(std::uint32_t i) {
    const auto bytes = static_cast<ssize_t>(load_.request_bytes);
    struct stat attributes{};
    switch (load_.kind) {
      case LoadKind::kRead:
        return ::pread(file_.get(), buffer_.memory.get(), load_.request_bytes, offset(i)) == bytes;
      case LoadKind::kWrite:
        return ::pwrite(file_.get(), buffer_.memory.get(), load_.request_bytes, offset(i)) == bytes;
      case LoadKind::kCreate:
        return make_file(name(i));
      case LoadKind::kStat:
        return ::stat(name(0).c_str(), &attributes) == 0;
      case LoadKind::kUnlink:
        return ::unlink(name(i).c_str()) == 0;
      default:
        return false;
    }
  }
  off_t offset(std::uint32_t i) const { return static_cast<off_t>(sequence_.offset(i)); }

  const LoadSpec& load_;
  RequestSequence sequence_;
  fs::path directory_;
  Buffer buffer_;
  Descriptor file_;
  int error_ = 0;
  ResponseTimes times_;
};

/// Creates a new directory and returns its name below each mount point.
Result<std::string> make_directory(const LoadSpec& load, const fs::path& mount_point) {
  constexpr unsigned kRuns = 1000;
  for (unsigned run = 0; run < kRuns; ++run) {
    const std::string name = load.name + "-" + std::to_string(run);
    if (::mkdir((mount_point / name).c_str(), 0700) == 0) return name;
    if (errno != EEXIST) break;
  }
  return io_failure("create a directory for " + load.name, mount_point, errno);
}

/// Files get their length beforehand: the kernel serializes writes that extend a file.
Status create_files(const LoadSpec& load, const fs::path& directory) {
  for (std::uint32_t i = 0; !is_data_request(load.kind) && i < load.clients; ++i) {
    const fs::path path = directory / directory_name(i);
    if (::mkdir(path.c_str(), 0700) != 0) return io_failure("create", path, errno);
  }
  for (std::uint32_t i = 0; is_data_request(load.kind) && i < load.files; ++i) {
    const fs::path path = directory / file_name(i);
    const Descriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(RequestSequence::kFileBytes)) != 0)
      return io_failure("create", path, errno);
  }
  return {};
}

using MountClients = std::vector<std::unique_ptr<MountClient>>;

/// Runs all clients concurrently until the last has finished.
void run(const MountClients& clients) {
  constexpr std::chrono::milliseconds kStartDelay{5};
  SteadyTime begin{};
  std::latch prepared(static_cast<std::ptrdiff_t>(clients.size()));
  std::latch start(static_cast<std::ptrdiff_t>(clients.size()) + 1);
  std::vector<std::jthread> threads;
  for (const auto& client : clients) {
    threads.emplace_back([&] {
      client->prepare();
      prepared.count_down();
      start.arrive_and_wait();
      client->run(begin);
    });
  }
  prepared.wait();
  begin = std::chrono::steady_clock::now() + kStartDelay;
  start.arrive_and_wait();
}

/// Clients of the model: each submits its next request when the last one is complete.
class ModelClients final : public model::ModelObserver {
 public:
  ModelClients(const LoadSpec& load, const model::Machine& machine)
      : load_(load), machine_(machine), storage_(machine), issued_(load.clients, 0) {
    for (std::uint32_t client = 0; client < load.clients; ++client)
      sequences_.emplace_back(load, machine, client);
  }

  ResponseTimes run() {
    for (std::uint32_t client = 0; client < load_.clients; ++client) {
      const model::Time begin = sequences_[client].start_delay();
      advance_to(begin);
      submit(client, begin);
    }
    advance_to(model::Time::max());
    return std::move(times_);
  }

  void on_complete(const model::RequestCompletion& finished) override {
    times_.push_back(std::chrono::duration<double>(finished.finished - finished.submitted).count());
    submit(static_cast<std::uint32_t>(finished.tag), finished.finished);
  }
  void on_lock_revoked(const model::LockRevoked& /*lost*/) override {}

 private:
  void advance_to(model::Time end) {
    for (auto event = storage_.next_event(); event && *event <= end; event = storage_.next_event())
      storage_.advance(*event, *this);
  }

  void submit(std::uint32_t client, model::Time now) {
    if (issued_[client] == load_.requests_per_client) return;
    const RequestSequence& sequence = sequences_[client];
    model::Request request{.client = sequence.node(), .kind = load_.kind, .tag = client};
    if (is_data_request(load_.kind)) {
      request.file = sequence.file() + 1;
      request.range = {sequence.offset(issued_[client]), load_.request_bytes};
      request.layout = model::layout_of_new_file(machine_, sequence.file());
    }
    ++issued_[client];
    storage_.submit(now, request);
  }

  const LoadSpec& load_;
  const model::Machine& machine_;
  model::StorageModel storage_;
  std::vector<std::uint32_t> issued_;
  std::vector<RequestSequence> sequences_;
  ResponseTimes times_;
};

}  // namespace

ResponseTimes run_on_mounts(const LoadSpec& load,
                            const model::Machine& machine,
                            const std::vector<fs::path>& mount_points) {
  const std::string directory = make_directory(load, mount_points.front()).value();
  const fs::path first = mount_points.front() / directory;
  check(create_files(load, first));
  MountClients clients;
  for (std::uint32_t i = 0; i < load.clients; ++i) {
    const RequestSequence sequence(load, machine, i);
    fs::path place = mount_points.at(sequence.node()) / directory;
    if (!is_data_request(load.kind)) place /= directory_name(i);
    clients.push_back(std::make_unique<MountClient>(load, sequence, std::move(place)));
  }
  run(clients);
  ResponseTimes times;
  for (const auto& client : clients) {
    if (client->error() != 0) check(io_failure("run " + load.name + " on", first, client->error()));
    times.insert(times.end(), client->times().begin(), client->times().end());
  }
  for (std::uint32_t i = 0; is_data_request(load.kind) && i < load.files; ++i)
    ::unlink((first / file_name(i)).c_str());
  return times;
}

ResponseTimes run_on_model(const LoadSpec& load, const model::Machine& machine) {
  return ModelClients(load, machine).run();
}

}  // namespace forebay::bench::emufs
