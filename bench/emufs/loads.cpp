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
#include "bench/emufs/sequence.hpp"
#include "bench/frame/clock.hpp"
#include "model/storage_model.hpp"

namespace forebay::bench::emufs {

namespace fs = std::filesystem;

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kAlignment = 4096;

std::string file_name(std::uint32_t file) { return "load-" + std::to_string(file); }

/// Each client uses names in a folder of its own: the kernel makes one at a time in each.
std::string folder_name(std::uint32_t client) { return "of-" + std::to_string(client); }

tl::unexpected<Error> refuse(const std::string& what, const fs::path& path, int error_number) {
  return failure(system_error({.operation = what, .path = path.string()}, error_number));
}

/// The measuring thread is to hear of its answer as soon as emufs has sent it: what is measured is
/// emufs, and not who else computes here. Without the right to this, it is measured as it is.
void hear_at_once() noexcept {
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

/// One thread of a load, and what it found.
class MountClient {
 public:
  MountClient(const LoadSpec& load, const Sequence& sequence, fs::path folder)
      : load_(load),
        sequence_(sequence),
        folder_(std::move(folder)),
        buffer_(std::max<std::uint64_t>(load.request_bytes, kAlignment)) {}

  /// Makes what its requests need, in no time that counts.
  void prepare() {
    bool done = true;
    if (load_.kind == LoadKind::kStat) done = make_file(name(0));
    for (std::uint32_t i = 0; load_.kind == LoadKind::kUnlink && i < load_.requests_each; ++i)
      done = make_file(name(i)) && done;
    if (!is_on_names(load_.kind)) {
      const int access = load_.kind == LoadKind::kRead ? O_RDONLY : O_WRONLY;
      const fs::path path = folder_ / file_name(sequence_.file());
      file_ = Descriptor(::open(path.c_str(), O_DIRECT | O_CLOEXEC | access));
      done = file_.get() >= 0;
    }
    if (!done) error_ = errno;
  }

  void run(SteadyTime begin) {
    hear_at_once();
    std::this_thread::sleep_until(begin + sequence_.begins_after());
    for (std::uint32_t i = 0; i < load_.requests_each && error_ == 0; ++i) {
      const Stopwatch watch;
      if (!ask(i)) error_ = errno;
      times_.push_back(watch.seconds());
    }
  }

  int error() const { return error_; }
  const AnswerTimes& times() const { return times_; }

 private:
  fs::path name(std::uint32_t i) const { return folder_ / ("name-" + std::to_string(i)); }

  bool ask(std::uint32_t i) {
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
    }
    return false;
  }
  off_t offset(std::uint32_t i) const { return static_cast<off_t>(sequence_.offset(i)); }

  const LoadSpec& load_;
  Sequence sequence_;
  fs::path folder_;
  Buffer buffer_;
  Descriptor file_;
  int error_ = 0;
  AnswerTimes times_;
};

/// A folder that no load had before, by its name below each mount point.
Result<std::string> make_folder(const LoadSpec& load, const fs::path& mount_point) {
  constexpr unsigned kRuns = 1000;
  for (unsigned run = 0; run < kRuns; ++run) {
    const std::string name = load.name + "-" + std::to_string(run);
    if (::mkdir((mount_point / name).c_str(), 0700) == 0) return name;
    if (errno != EEXIST) break;
  }
  return refuse("make a folder for " + load.name, mount_point, errno);
}

/// Files have their length beforehand: the kernel has writes that make one longer wait for each
/// other.
Status make_things(const LoadSpec& load, const fs::path& folder) {
  for (std::uint32_t i = 0; is_on_names(load.kind) && i < load.clients; ++i) {
    const fs::path path = folder / folder_name(i);
    if (::mkdir(path.c_str(), 0700) != 0) return refuse("make", path, errno);
  }
  for (std::uint32_t i = 0; !is_on_names(load.kind) && i < load.files; ++i) {
    const fs::path path = folder / file_name(i);
    const Descriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(Sequence::kFileBytes)) != 0)
      return refuse("make", path, errno);
  }
  return {};
}

using MountClients = std::vector<std::unique_ptr<MountClient>>;

/// All at once, until the last has done.
void run(const MountClients& clients) {
  constexpr std::chrono::milliseconds kToGetReady{5};
  SteadyTime begin{};
  std::latch prepared(static_cast<std::ptrdiff_t>(clients.size()));
  std::latch together(static_cast<std::ptrdiff_t>(clients.size()) + 1);
  std::vector<std::jthread> threads;
  for (const auto& client : clients) {
    threads.emplace_back([&] {
      client->prepare();
      prepared.count_down();
      together.arrive_and_wait();
      client->run(begin);
    });
  }
  prepared.wait();
  begin = std::chrono::steady_clock::now() + kToGetReady;
  together.arrive_and_wait();
}

/// Clients of the model: each submits its next request when the last one is answered.
class ModelClients final : public model::Sink {
 public:
  ModelClients(const LoadSpec& load, const model::Machine& machine)
      : load_(load), machine_(machine), storage_(machine), asked_(load.clients, 0) {
    for (std::uint32_t client = 0; client < load.clients; ++client)
      sequences_.emplace_back(load, machine, client);
  }

  AnswerTimes run() {
    for (std::uint32_t client = 0; client < load_.clients; ++client) {
      const model::Time begin = sequences_[client].begins_after();
      advance_to(begin);
      submit(client, begin);
    }
    advance_to(model::Time::max());
    return std::move(times_);
  }

  void on_finished(const model::Finished& finished) override {
    times_.push_back(std::chrono::duration<double>(finished.finished - finished.submitted).count());
    submit(static_cast<std::uint32_t>(finished.tag), finished.finished);
  }
  void on_lock_lost(const model::LockLost& /*lost*/) override {}

 private:
  void advance_to(model::Time end) {
    for (auto event = storage_.next_event(); event && *event <= end; event = storage_.next_event())
      storage_.advance(*event, *this);
  }

  model::RequestKind kind() const {
    switch (load_.kind) {
      case LoadKind::kRead:
        return model::RequestKind::kRead;
      case LoadKind::kWrite:
        return model::RequestKind::kWrite;
      case LoadKind::kCreate:
        return model::RequestKind::kCreate;
      case LoadKind::kStat:
        return model::RequestKind::kStat;
      case LoadKind::kUnlink:
        break;
    }
    return model::RequestKind::kUnlink;
  }

  void submit(std::uint32_t client, model::Time now) {
    if (asked_[client] == load_.requests_each) return;
    const Sequence& sequence = sequences_[client];
    model::Request request{.client = sequence.node(), .kind = kind(), .tag = client};
    if (!is_on_names(load_.kind)) {
      request.file = sequence.file() + 1;
      request.range = {sequence.offset(asked_[client]), load_.request_bytes};
      request.layout = model::layout_of_new_file(machine_, sequence.file());
    }
    ++asked_[client];
    storage_.submit(now, request);
  }

  const LoadSpec& load_;
  const model::Machine& machine_;
  model::StorageModel storage_;
  std::vector<std::uint32_t> asked_;
  std::vector<Sequence> sequences_;
  AnswerTimes times_;
};

}  // namespace

Result<AnswerTimes> put_on_mounts(const LoadSpec& load,
                                  const model::Machine& machine,
                                  const std::vector<fs::path>& mount_points) {
  const auto folder = make_folder(load, mount_points.front());
  if (!folder) return failure(folder.error());
  const fs::path first = mount_points.front() / *folder;
  if (auto made = make_things(load, first); !made) return failure(made.error());
  MountClients clients;
  for (std::uint32_t i = 0; i < load.clients; ++i) {
    const Sequence sequence(load, machine, i);
    fs::path place = mount_points.at(sequence.node()) / *folder;
    if (is_on_names(load.kind)) place /= folder_name(i);
    clients.push_back(std::make_unique<MountClient>(load, sequence, std::move(place)));
  }
  run(clients);
  AnswerTimes times;
  for (const auto& client : clients) {
    if (client->error() != 0) return refuse("put " + load.name + " on", first, client->error());
    times.insert(times.end(), client->times().begin(), client->times().end());
  }
  for (std::uint32_t i = 0; !is_on_names(load.kind) && i < load.files; ++i)
    ::unlink((first / file_name(i)).c_str());
  return times;
}

AnswerTimes put_on_model(const LoadSpec& load, const model::Machine& machine) {
  return ModelClients(load, machine).run();
}

}  // namespace forebay::bench::emufs
