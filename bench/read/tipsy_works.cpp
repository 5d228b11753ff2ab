// SPDX-License-Identifier: Apache-2.0
// Two ways for the tasks of an N-body code to get their particles. ChaNGa's, as it is: every task
// opens the snapshot, reads the header and seeks to the end to check the size, and then one task of
// each rank reads the particles of all of them, record by record through one std::ifstream. And
// ours: each task asks the session for its own.
#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "bench/read/particle_sums.hpp"
#include "bench/read/works.hpp"
#include "runner/task.hpp"
#include "tipsy/header.hpp"

namespace forebay::bench::read {

namespace {

constexpr tipsy::RecordShape kShape{tipsy::Family::kDark, tipsy::Precision::kSingle,
                                    tipsy::ByteOrder::kStandard};
constexpr std::uint64_t kRecordBytes = kShape.size_bytes();

/// Which particles belong to a rank's tasks.
struct Shares {
  explicit Shares(const WorkSite& site)
      : path(site.job.cut().path.string()),
        file_bytes(site.job.file_bytes),
        tasks(tasks_of(site.job, site.ranks)),
        task_particles((site.job.file_bytes - tipsy::kHeaderBytes) / kRecordBytes /
                       site.job.task_count) {}

  ByteRange bytes_of(std::uint64_t task) const {
    const std::uint64_t size = task_particles * kRecordBytes;
    return {tipsy::kHeaderBytes + task * size, size};
  }

  std::string path;
  std::uint64_t file_bytes;
  TaskRange tasks;
  std::uint64_t task_particles;
};

/// A way of reading that leaves sums.
class Summing : public Performance {
 public:
  explicit Summing(const WorkSite& site) : shares_(site), sums_(shares_.tasks.count()) {}
  double found() const override { return total_of(sums_).digest(); }

 protected:
  const Shares& shares() const { return shares_; }
  ParticleSums& sums_of(std::uint64_t task) { return sums_[task - shares_.tasks.first]; }

 private:
  Shares shares_;
  std::vector<ParticleSums> sums_;  // by task of this rank
};

/// ChaNGa decodes by the XDR library, a call for each number; swapping bytes is quicker, and fair
/// to it.
class ChangaReading final : public Summing {
 public:
  using Summing::Summing;

  Status run() override {
    for (std::uint64_t task = shares().tasks.first; task < shares().tasks.last; ++task) {
      std::ifstream stream(shares().path, std::ios::binary);
      if (Status checked = check(stream); !checked) return checked;
      if (task != shares().tasks.first) continue;
      if (Status read = read_all(stream); !read) return read;
    }
    return {};
  }

 private:
  Status check(std::ifstream& stream) const {
    tipsy::HeaderBytes bytes;
    stream.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
    const tipsy::Header header = tipsy::decode_header(bytes, kShape.order);
    stream.seekg(0, std::ios::end);
    const std::uint64_t needed = tipsy::kHeaderBytes + header.ndark * kRecordBytes;
    if (stream && static_cast<std::uint64_t>(stream.tellg()) == needed) return {};
    return failed(0);
  }

  Status read_all(std::ifstream& stream) {
    stream.seekg(static_cast<std::streamoff>(shares().bytes_of(shares().tasks.first).offset));
    for (std::uint64_t task = shares().tasks.first; task < shares().tasks.last; ++task) {
      ParticleSums sums;
      for (std::uint64_t i = 0; i < shares().task_particles; ++i)
        sums.add(next_particle(stream));
      sums_of(task) = sums;
      if (!stream) return failed(shares().bytes_of(task).offset);
    }
    return {};
  }

  static tipsy::Particle next_particle(std::ifstream& stream) {
    std::array<std::byte, kRecordBytes> record;
    stream.read(reinterpret_cast<char*>(record.data()), record.size());
    tipsy::Particle particle;
    tipsy::decode_records(kShape, record, {&particle, 1});
    return particle;
  }

  tl::unexpected<Error> failed(std::uint64_t offset_bytes) const {
    return failure({.kind = ErrorClass::kShortFile,
                    .operation = "read a snapshot",
                    .path = shares().path,
                    .offset_bytes = offset_bytes});
  }
};

class SessionReading final : public Summing {
 public:
  SessionReading(const WorkSite& site, File file)
      : Summing(site), loop_(site.team.runtime().loop()), file_(std::move(file)) {}

  Status run() override {
    runner::TaskGroup group(loop_);
    const auto session = file_.read_session({.offset = tipsy::kHeaderBytes});
    if (!session) return failure(session.error());
    for (std::uint64_t task = shares().tasks.first; task < shares().tasks.last; ++task)
      group.spawn(read_own(*session, task));
    return group.run();
  }

 private:
  runner::Task read_own(const Session& session, std::uint64_t task) {
    const Result<View> view = co_await session.view(shares().bytes_of(task));
    if (!view) co_return failure(view.error());
    sums_of(task) = add_up(view->bytes());
    co_return Status();
  }

  /// In batches that stay in the fastest cache.
  static ParticleSums add_up(std::span<const std::byte> records) {
    constexpr std::size_t kBatch = 128;
    std::array<tipsy::Particle, kBatch> buffer;
    ParticleSums sums;
    while (!records.empty()) {
      const auto particles =
          std::span(buffer).first(std::min(kBatch, records.size() / kRecordBytes));
      tipsy::decode_records(kShape, records, particles);
      for (const tipsy::Particle& particle : particles)
        sums.add(particle);
      records = records.subspan(particles.size() * kRecordBytes);
    }
    return sums;
  }

  EventLoop& loop_;
  File file_;
};

}  // namespace

Result<std::unique_ptr<Performance>> prepare_tipsy(const WorkSite& site) {
  if (site.job.work == Work::kTipsyChanga) return std::make_unique<ChangaReading>(site);
  auto file = site.team.runtime().open(site.job.cut().path.string());
  if (!file) return failure(file.error());
  return std::make_unique<SessionReading>(site, std::move(*file));
}

}  // namespace forebay::bench::read
