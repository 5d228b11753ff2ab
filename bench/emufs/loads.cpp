// SPDX-License-Identifier: Apache-2.0
#include "bench/emufs/loads.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "model/storage_model.hpp"

namespace forebay::bench::emufs {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kFileBytes = 256_MiB;
constexpr std::size_t kAlignment = 4096;

/// What one client asks for, one thing after the other: the same on a mount and on the model.
class Sequence {
 public:
  Sequence(const LoadSpec& load, std::uint32_t client) : load_(load), random_(client + 1) {}
  std::uint64_t next_offset() {
    return random_() % (kFileBytes / load_.request_bytes) * load_.request_bytes;
  }

 private:
  const LoadSpec& load_;
  std::mt19937_64 random_;
};

std::string file_name(std::uint32_t file) { return "load-" + std::to_string(file); }

/// Each client makes names in one of its own: the kernel makes one at a time in each.
std::string folder_name(std::uint32_t client) { return "of-" + std::to_string(client); }

/// Memory for one request.
struct Buffer {
  explicit Buffer(std::uint64_t bytes)
      : memory(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)), &std::free) {
    if (memory) std::fill_n(memory.get(), bytes, std::byte{1});
  }
  std::unique_ptr<std::byte, decltype(&std::free)> memory;
};

/// One thread of a load, and what it found.
class MountClient {
 public:
  MountClient(const LoadSpec& load, const fs::path& folder, std::uint32_t client)
      : load_(load),
        folder_(folder),
        client_(client),
        sequence_(load, client),
        buffer_(std::max<std::uint64_t>(load.request_bytes, kAlignment)) {}

  Status open() {
    if (load_.kind == LoadKind::kCreate) return {};
    const int flags = O_DIRECT | O_CLOEXEC | (load_.kind == LoadKind::kRead ? O_RDONLY : O_WRONLY);
    const fs::path path = folder_ / file_name(client_ % load_.files);
    file_ = Descriptor(::open(path.c_str(), flags));
    if (file_) return {};
    return tl::unexpected<Error>(
        system_error({.operation = "open directly", .path = path.string()}, errno));
  }

  void run() {
    for (std::uint32_t i = 0; i < load_.requests_each && !error_; ++i) {
      const Stopwatch watch;
      if (!ask(i)) error_ = errno;
      times_.push_back(watch.seconds());
    }
  }

  int error() const { return error_; }
  const AnswerTimes& times() const { return times_; }

 private:
  bool ask(std::uint32_t i) {
    const auto bytes = static_cast<ssize_t>(load_.request_bytes);
    switch (load_.kind) {
      case LoadKind::kRead:
        return ::pread(file_.get(), buffer_.memory.get(), load_.request_bytes,
                       static_cast<off_t>(sequence_.next_offset())) == bytes;
      case LoadKind::kWrite:
        return ::pwrite(file_.get(), buffer_.memory.get(), load_.request_bytes,
                        static_cast<off_t>(sequence_.next_offset())) == bytes;
      case LoadKind::kCreate: {
        const fs::path path = folder_ / folder_name(client_) / ("new-" + std::to_string(i));
        return Descriptor(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600))
                   .get() >= 0;
      }
    }
    return false;
  }

  const LoadSpec& load_;
  const fs::path& folder_;
  const std::uint32_t client_;
  Sequence sequence_;
  Buffer buffer_;
  Descriptor file_;
  int error_ = 0;
  AnswerTimes times_;
};

Status make_files(const LoadSpec& load, const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  for (std::uint32_t i = 0; i < load.clients && load.kind == LoadKind::kCreate; ++i)
    fs::create_directories(folder / folder_name(i), failed);
  for (std::uint32_t i = 0; i < load.files && load.kind != LoadKind::kCreate; ++i) {
    const fs::path path = folder / file_name(i);
    const Descriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(kFileBytes)) != 0) {
      return tl::unexpected<Error>(
          system_error({.operation = "make", .path = path.string()}, errno));
    }
  }
  return {};
}

/// Clients of the model: each submits its next request when the last one is answered.
class ModelClients final : public model::Sink {
 public:
  ModelClients(const LoadSpec& load, const model::Machine& machine)
      : load_(load), machine_(machine), storage_(machine), left_(load.clients, load.requests_each) {
    for (std::uint32_t client = 0; client < load.clients; ++client)
      sequences_.emplace_back(load, client);
  }

  AnswerTimes run() {
    for (std::uint32_t client = 0; client < load_.clients; ++client)
      submit(client, {});
    while (const auto event = storage_.next_event())
      storage_.advance(*event, *this);
    return std::move(times_);
  }

  void on_finished(const model::Finished& finished) override {
    times_.push_back(std::chrono::duration<double>(finished.finished - finished.submitted).count());
    submit(static_cast<std::uint32_t>(finished.tag), finished.finished);
  }
  void on_lock_lost(const model::LockLost& /*lost*/) override {}

 private:
  void submit(std::uint32_t client, model::Time now) {
    if (left_[client]-- == 0) {
      left_[client] = 0;
      return;
    }
    model::Request request{.tag = client};
    if (load_.kind == LoadKind::kCreate) {
      request.kind = model::RequestKind::kCreate;
    } else {
      const std::uint32_t file = client % load_.files;
      request.kind =
          load_.kind == LoadKind::kRead ? model::RequestKind::kRead : model::RequestKind::kWrite;
      request.file = file + 1;
      request.range = {sequences_[client].next_offset(), load_.request_bytes};
      request.layout = model::layout_of_new_file(machine_, file);
    }
    storage_.submit(now, request);
  }

  const LoadSpec& load_;
  const model::Machine& machine_;
  model::StorageModel storage_;
  std::vector<std::uint32_t> left_;
  std::vector<Sequence> sequences_;
  AnswerTimes times_;
};

using MountClients = std::vector<std::unique_ptr<MountClient>>;

Result<MountClients> open_clients(const LoadSpec& load, const fs::path& folder) {
  MountClients clients;
  for (std::uint32_t i = 0; i < load.clients; ++i) {
    clients.push_back(std::make_unique<MountClient>(load, folder, i));
    if (auto opened = clients.back()->open(); !opened) return tl::unexpected<Error>(opened.error());
  }
  return clients;
}

/// All at once, until the last has done.
void run(const MountClients& clients) {
  std::latch together(static_cast<std::ptrdiff_t>(clients.size()));
  std::vector<std::jthread> threads;
  for (const auto& client : clients) {
    threads.emplace_back([&together, &client] {
      together.arrive_and_wait();
      client->run();
    });
  }
}

}  // namespace

Result<AnswerTimes> put_on_mount(const LoadSpec& load, const fs::path& mount_point) {
  const fs::path folder = mount_point / load.name;
  if (auto made = make_files(load, folder); !made) return tl::unexpected<Error>(made.error());
  const auto clients = open_clients(load, folder);
  if (!clients) return tl::unexpected<Error>(clients.error());
  run(*clients);
  AnswerTimes times;
  for (const auto& client : *clients) {
    if (client->error() != 0) {
      return tl::unexpected<Error>(system_error(
          {.operation = "put " + load.name + " on", .path = folder.string()}, client->error()));
    }
    times.insert(times.end(), client->times().begin(), client->times().end());
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return times;
}

AnswerTimes put_on_model(const LoadSpec& load, const model::Machine& machine) {
  return ModelClients(load, machine).run();
}

}  // namespace forebay::bench::emufs
