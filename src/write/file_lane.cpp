// SPDX-License-Identifier: Apache-2.0
#include "write/file_lane.hpp"

#include <mutex>
#include <set>
#include <utility>

#include "base/assert.hpp"
#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "write/data_file_core.hpp"
#include "write/data_folder.hpp"
#include "write/errands.hpp"

namespace forebay::write {

namespace {

/// As streams choose it, where the lane's setup leaves it open.
Result<stream::AccountLimits> limits_for(const FileLane::Setup& setup, const storage::File& file) {
  StreamPlan wanted;
  wanted.request_bytes = setup.request_bytes;
  wanted.queue_depth = setup.requests;
  wanted.in_flight_bytes = setup.in_flight_bytes;
  const auto plan = plan_stream(wanted);
  if (!plan) return failure(plan.error());
  const auto budget = setup.queues->budget_of(file);
  const OutputFacts facts{.access = file.access(),
                          .in_flight_bytes = budget->limit_bytes(),
                          .in_flight_reason = budget->reason()};
  const OutputPlan chosen = plan_output(facts, *plan);
  return stream::AccountLimits{.request_bytes = chosen.request_bytes,
                               .requests = chosen.queue_depth,
                               .bytes = chosen.in_flight_bytes};
}

/// One target for each file, whoever of this process writes it.
Result<std::shared_ptr<stream::Target>> target_of(std::unique_ptr<storage::File> file,
                                                  stream::DeviceQueues& queues) {
  const storage::FileIdentity identity = storage::identity_of(*file);
  const std::string path = file->path();
  if (auto known = queues.find(identity)) return known;
  auto target = std::make_shared<stream::Target>(stream::Target::Setup{
      .file = std::move(file), .length = stream::Length::kLeftAlone, .is_dirty = true});
  if (queues.enlist(identity, target)) return target;
  if (auto known = queues.find(identity)) return known;
  return failure({.kind = ErrorClass::kIo,
                  .operation = "open",
                  .path = path,
                  .cause = "another thread of this program closed it at the same moment"});
}

Error not_aligned(const DataFile& file, std::uint64_t offset_bytes) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "write",
                .path = file.path(),
                .offset_bytes = offset_bytes,
                .cause = "offset, size and address must be multiples of " +
                         std::to_string(file.alignment_bytes()) + " for direct access"});
}

class QueuedFile final : public DataFile {
 public:
  explicit QueuedFile(std::shared_ptr<DataFileCore> core) : core_(std::move(core)) {}
  ~QueuedFile() override { core_->close(); }
  const format::DataFileName& name() const noexcept override { return core_->name(); }
  const std::string& path() const noexcept override { return core_->file().path(); }
  Access access() const noexcept override { return core_->file().access(); }
  DataFileCore& core() const noexcept { return *core_; }

 private:
  const std::shared_ptr<DataFileCore> core_;
};

DataFileCore& core_of(const DataFile& file) { return static_cast<const QueuedFile&>(file).core(); }

/// Through the queues of devices, and a thread for what blocks.
class QueuedLane final : public FileLane {
 public:
  QueuedLane(Setup setup, std::shared_ptr<Errands> errands);
  ~QueuedLane() override;

  void create(format::DataFileName name, std::uint64_t expected_bytes, Opened opened) override;
  void open(format::DataFileName name, Opened opened) override;
  void write(const std::shared_ptr<DataFile>& file,
             std::uint64_t offset_bytes,
             std::span<const std::byte> data,
             Done done) override;
  void sync(const std::shared_ptr<DataFile>& file, Done done) override;
  void seal(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes, Done done) override;
  void cut(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes) override;
  void punch(const std::shared_ptr<DataFile>& file, std::vector<ByteRange> places) override;
  void sync_folder(Done done) override;
  void recycle(format::DataFileName name, Done done) override;
  void give_up_free_files() override;
  void remove(format::DataFileName name, Done done) override;
  void run(std::function<void()> errand) override;
  void stop(const Error& why) override;

 private:
  Result<std::shared_ptr<DataFile>> open_here(const format::DataFileName& name,
                                              Result<std::unique_ptr<storage::File>> file);
  void finish_opening(const format::DataFileName& name,
                      Result<std::unique_ptr<storage::File>> file,
                      const Opened& opened);
  Done noting_loss(const std::shared_ptr<DataFile>& file, Done done);
  void errand(std::function<Status()> work, Done done);
  Urgency urgency_of_removing(const format::DataFileName& name);

  const Setup setup_;
  const std::shared_ptr<Errands> errands_;
  const std::shared_ptr<DataFolder> folder_;
  const std::shared_ptr<OpenFiles> files_;
  std::mutex mutex_;
  std::multiset<format::DataFileName> to_make_;  ///< asked for, and not made yet
};

QueuedLane::QueuedLane(Setup setup, std::shared_ptr<Errands> errands)
    : setup_(std::move(setup)),
      errands_(std::move(errands)),
      folder_(
          std::make_shared<DataFolder>(DataFolder::Setup{.folder = setup_.folder,
                                                         .dataset = setup_.dataset,
                                                         .access = setup_.access,
                                                         .files = setup_.files,
                                                         .stripes = setup_.stripes,
                                                         .log = setup_.log,
                                                         .free_files_max = setup_.free_files_max})),
      files_(std::make_shared<OpenFiles>()) {}

QueuedLane::~QueuedLane() {
  QueuedLane::stop(
      Error({.kind = ErrorClass::kClosed, .operation = "write", .cause = "the dataset is closed"}));
}

void QueuedLane::stop(const Error& why) {
  errands_->refuse(why);
  files_->refuse(why);
  errands_->stop();
  files_->wait_until_closed();
  files_->sweep();
  folder_->give_up_free_files();
}

void QueuedLane::create(format::DataFileName name, std::uint64_t expected_bytes, Opened opened) {
  const auto make = [this, name, expected_bytes, opened = std::move(opened)](const auto& refused) {
    using Made = Result<std::unique_ptr<storage::File>>;
    Made file = refused ? Made(failure(*refused)) : folder_->create(name, expected_bytes);
    {
      const std::lock_guard lock(mutex_);
      to_make_.extract(name);
    }
    if (refused) return opened(failure(*refused));
    finish_opening(name, std::move(file), opened);
  };
  {
    const std::lock_guard lock(mutex_);
    to_make_.insert(name);
  }
  errands_->add(make, Urgency::kAhead);
}

void QueuedLane::open(format::DataFileName name, Opened opened) {
  const auto find = [this, name, opened = std::move(opened)](const auto& refused) {
    if (refused) return opened(failure(*refused));
    finish_opening(name, folder_->open(name), opened);
  };
  errands_->add(find);
}

void QueuedLane::finish_opening(const format::DataFileName& name,
                                Result<std::unique_ptr<storage::File>> file,
                                const Opened& opened) {
  opened(open_here(name, std::move(file)));
}

Result<std::shared_ptr<DataFile>> QueuedLane::open_here(
    const format::DataFileName& name, Result<std::unique_ptr<storage::File>> file) {
  if (!file) return failure(file.error());
  const auto limits = limits_for(setup_, **file);
  if (!limits) return failure(limits.error());
  auto target = target_of(std::move(*file), *setup_.queues);
  if (!target) return failure(target.error());
  auto queue = setup_.queues->queue_of((*target)->file());
  if (!queue) return failure(queue.error());
  auto core = std::make_shared<DataFileCore>(DataFileCore::Setup{.name = name,
                                                                 .queue = std::move(*queue),
                                                                 .target = std::move(*target),
                                                                 .limits = *limits,
                                                                 .errands = errands_,
                                                                 .files = files_});
  const auto too_late = files_->add(core);
  auto handle = std::make_shared<QueuedFile>(core);  // closes what it lets go of
  if (!too_late) return handle;
  core->refuse(*too_late);
  return failure(*too_late);
}

void QueuedLane::write(const std::shared_ptr<DataFile>& file,
                       std::uint64_t offset_bytes,
                       std::span<const std::byte> data,
                       Done done) {
  const auto address = reinterpret_cast<std::uintptr_t>(data.data());
  const std::uint64_t places = offset_bytes | data.size() | address;
  if (places % file->alignment_bytes() == 0) {
    core_of(*file).write(offset_bytes, data,
                         [file, done = std::move(done)](const Status& told) { done(told); });
    return;
  }
  errands_->add([why = not_aligned(*file, offset_bytes), done = std::move(done)](const auto&) {
    done(failure(why));
  });
}

/// Nobody knows which of its bytes a system dropped that could not sync it, nor why: another step
/// does not get that file.
FileLane::Done QueuedLane::noting_loss(const std::shared_ptr<DataFile>& file, Done done) {
  return [this, file, done = std::move(done)](const Status& told) {
    if (!told) run([this, name = file->name()] { folder_->distrust(name); });
    done(told);
  };
}

void QueuedLane::sync(const std::shared_ptr<DataFile>& file, Done done) {
  core_of(*file).sync(noting_loss(file, std::move(done)));
}

void QueuedLane::seal(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes, Done done) {
  core_of(*file).seal(end_bytes, noting_loss(file, std::move(done)));
}

void QueuedLane::cut(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes) {
  errands_->add(
      [file, end_bytes](const auto& /*refused*/) { std::ignore = core_of(*file).cut(end_bytes); });
}

void QueuedLane::punch(const std::shared_ptr<DataFile>& file, std::vector<ByteRange> places) {
  errands_->add([file, places = std::move(places)](const auto& /*refused*/) {
    for (const ByteRange& place : places)
      std::ignore = core_of(*file).punch(place);
  });
}

void QueuedLane::errand(std::function<Status()> work, Done done) {
  errands_->add([work = std::move(work), done = std::move(done)](const auto& refused) {
    done(refused ? Status(failure(*refused)) : work());
  });
}

void QueuedLane::sync_folder(Done done) {
  errand([this] { return folder_->sync(); }, std::move(done));
}

void QueuedLane::recycle(format::DataFileName name, Done done) {
  errand([this, name] { return folder_->recycle(name); }, std::move(done));
}

void QueuedLane::give_up_free_files() {
  run([this] { folder_->give_up_free_files(); });
}

/// Nobody knows any more of a file that is made after it was removed.
Urgency QueuedLane::urgency_of_removing(const format::DataFileName& name) {
  const std::lock_guard lock(mutex_);
  return to_make_.contains(name) ? Urgency::kAhead : Urgency::kNow;
}

void QueuedLane::remove(format::DataFileName name, Done done) {
  const auto errand = [this, name, done = std::move(done)](const auto& /*refused*/) {
    done(folder_->remove(name));
  };
  errands_->add(errand, urgency_of_removing(name));
}

void QueuedLane::run(std::function<void()> errand) {
  errands_->add([errand = std::move(errand)](const auto& /*refused*/) { errand(); });
}

}  // namespace

std::size_t DataFile::alignment_bytes() const noexcept {
  return access() == Access::kDirect ? format::kPageBytes : 1;
}

Result<std::unique_ptr<FileLane>> FileLane::start(Setup setup) {
  FOREBAY_ASSERT(setup.queues != nullptr);
  auto errands = Errands::start();
  if (!errands) return failure(errands.error());
  return std::make_unique<QueuedLane>(std::move(setup), std::move(*errands));
}

}  // namespace forebay::write
