// SPDX-License-Identifier: Apache-2.0
// Two ways in which tasks of an N-body code get their particles. ChaNGa's scheme: every task opens
// the snapshot, reads the header and seeks to the end to check the size; then one task of each rank
// reads the particles of all its tasks, record by record through one std::ifstream. With sessions,
// each task requests its particles.
#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "bench/read/kernels.hpp"
#include "bench/read/particle_sums.hpp"
#include "runner/task.hpp"
#include "tipsy/header.hpp"

namespace forebay::bench::read {

namespace {

constexpr tipsy::RecordFormat kShape{tipsy::Family::kDark, tipsy::Precision::kSingle,
                                     tipsy::ByteOrder::kStandard};
constexpr std::uint64_t kRecordBytes = kShape.size_bytes();

/// The particles of a rank's tasks.
struct Shares {
  explicit Shares(const KernelContext& context)
      : path(context.job.partition().path.string()),
        file_bytes(context.job.file_bytes),
        tasks(tasks_of(context.job, context.ranks)),
        task_particles((context.job.file_bytes - tipsy::kHeaderBytes) / kRecordBytes /
                       context.job.task_count) {}

  ByteRange bytes_of(std::uint64_t task) const {
    const std::uint64_t size = task_particles * kRecordBytes;
    return {tipsy::kHeaderBytes + task * size, size};
  }

  std::string path;
  std::uint64_t file_bytes;
  TaskRange tasks;
  std::uint64_t task_particles;
};

/// A run whose result is sums.
class SumRun : public PreparedRun {
 public:
  explicit SumRun(const KernelContext& context) : shares_(context), sums_(shares_.tasks.count()) {}
  double rank_result() const override { return total_of(sums_).digest(); }

 protected:
  const Shares& shares() const { return shares_; }
  ParticleSums& sums_of(std::uint64_t task) { return sums_[task - shares_.tasks.first]; }

 private:
  Shares shares_;
  std::vector<ParticleSums> sums_;  // by task of this rank
};

/// ChaNGa decodes by the XDR library, a call for each number; swapping bytes is faster, which
/// favors ChaNGa.
class ChangaRun final : public SumRun {
 public:
  using SumRun::SumRun;

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
    return io_failure(0);
  }

  Status read_all(std::ifstream& stream) {
    stream.seekg(static_cast<std::streamoff>(shares().bytes_of(shares().tasks.first).offset));
    for (std::uint64_t task = shares().tasks.first; task < shares().tasks.last; ++task) {
      ParticleSums sums;
      for (std::uint64_t i = 0; i < shares().task_particles; ++i)
        sums.add(next_particle(stream));
      sums_of(task) = sums;
      if (!stream) return io_failure(shares().bytes_of(task).offset);
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

  tl::unexpected<Error> io_failure(std::uint64_t offset_bytes) const {
    return failure({.kind = ErrorClass::kShortFile,
                    .operation = "read a snapshot",
                    .path = shares().path,
                    .offset_bytes = offset_bytes});
  }
};

class SessionRun final : public SumRun {
 public:
  SessionRun(const KernelContext& context, File file)
      : SumRun(context), loop_(context.team.runtime().event_loop()), file_(std::move(file)) {}

  Status run() override {
    runner::TaskGroup group(loop_);
    const auto session = file_.read_session({.offset = tipsy::kHeaderBytes});
    if (!session) return failure(session.error());
    for (std::uint64_t task = shares().tasks.first; task < shares().tasks.last; ++task)
      group.spawn(read_task(*session, task));
    return group.run();
  }

 private:
  runner::Task read_task(const Session& session, std::uint64_t task) {
    const Result<View> view = co_await session.view(shares().bytes_of(task));
    if (!view) co_return failure(view.error());
    sums_of(task) = sum_records(view->bytes());
    co_return Status();
  }

  /// In batches that stay in the L1 cache.
  static ParticleSums sum_records(std::span<const std::byte> records) {
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

Result<std::unique_ptr<PreparedRun>> prepare_tipsy(const KernelContext& context) {
  if (context.job.kernel == Kernel::kTipsyChanga) return std::make_unique<ChangaRun>(context);
  auto file = context.team.runtime().open_file(context.job.partition().path.string());
  if (!file) return failure(file.error());
  return std::make_unique<SessionRun>(context, std::move(*file));
}

}  // namespace forebay::bench::read
