// SPDX-License-Identifier: Apache-2.0
#include "write/async_file_writer.hpp"

#include <mutex>
#include <set>
#include <utility>

#include "base/assert.hpp"
#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "stream/plan.hpp"
#include "write/blocking_executor.hpp"
#include "write/data_file_core.hpp"
#include "write/dataset_directory.hpp"

namespace forebay::write {

namespace {

/// As for streams, where the writer's setup leaves limits open.
Result<stream::ClientLimits> limits_for(const AsyncFileWriter::Setup& setup,
                                        const storage::File& file) {
  StreamPlan stream_plan;
  stream_plan.tuning.request_bytes = setup.request_bytes;
  stream_plan.tuning.queue_depth = setup.requests;
  stream_plan.tuning.in_flight_bytes = setup.in_flight_bytes;
  const auto plan = plan_stream(stream_plan);
  if (!plan) return failure(plan.error());
  const auto budget = setup.queues->budget_of(file);
  const OutputFacts facts{.access = file.access(),
                          .in_flight_bytes = budget->limit_bytes(),
                          .in_flight_reason = budget->reason()};
  const OutputPlan chosen = plan_output(facts, *plan);
  return stream::ClientLimits{.request_bytes = chosen.request_bytes,
                              .requests = chosen.queue_depth,
                              .bytes = chosen.in_flight_bytes};
}

/// One OutputFileState for each file, shared by all writers of this process.
Result<std::shared_ptr<stream::OutputFileState>> file_state_of(std::unique_ptr<storage::File> file,
                                                               stream::DeviceQueues& queues) {
  const storage::FileIdentity identity = storage::identity_of(*file);
  const std::string path = file->path();
  if (auto known = queues.find(identity)) return known;
  auto file_state = std::make_shared<stream::OutputFileState>(
      stream::OutputFileState::Setup{.file = std::move(file),
                                     .size_policy = stream::SizePolicy::kNeverTruncate,
                                     .is_dirty = true});
  if (queues.register_file(identity, file_state)) return file_state;
  if (auto known = queues.find(identity)) return known;
  return failure({.kind = ErrorClass::kIo,
                  .operation = "open",
                  .path = path,
                  .cause = "another thread of this program closed it at the same moment"});
}

Error misaligned_error(const DataFile& file, std::uint64_t offset_bytes) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "write",
                .path = file.path(),
                .offset_bytes = offset_bytes,
                .cause = "offset, size and address must be multiples of " +
                         std::to_string(file.alignment_bytes()) + " for direct access"});
}

class QueuedDataFile final : public DataFile {
 public:
  explicit QueuedDataFile(std::shared_ptr<DataFileCore> core) : core_(std::move(core)) {}
  ~QueuedDataFile() override { core_->close(); }
  const format::DataFileName& name() const noexcept override { return core_->name(); }
  const std::string& path() const noexcept override { return core_->file().path(); }
  Access access() const noexcept override { return core_->file().access(); }
  DataFileCore& core() const noexcept { return *core_; }

 private:
  const std::shared_ptr<DataFileCore> core_;
};

DataFileCore& core_of(const DataFile& file) {
  return static_cast<const QueuedDataFile&>(file).core();
}

/// Uses the queues of devices, and a thread for blocking calls.
class QueuedFileWriter final : public AsyncFileWriter {
 public:
  QueuedFileWriter(Setup setup, std::shared_ptr<BlockingExecutor> blocking_executor);
  ~QueuedFileWriter() override;

  void create(format::DataFileName name,
              std::uint64_t expected_bytes,
              std::optional<Access> access,
              OpenCallback opened) override;
  void open(format::DataFileName name, std::optional<Access> access, OpenCallback opened) override;
  void write(const std::shared_ptr<DataFile>& file,
             std::uint64_t offset_bytes,
             std::span<const std::byte> data,
             Done done) override;
  void sync(const std::shared_ptr<DataFile>& file, Done done) override;
  void seal(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes, Done done) override;
  void truncate(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes) override;
  void punch_hole(const std::shared_ptr<DataFile>& file, std::vector<ByteRange> ranges) override;
  void sync_directory(Done done) override;
  void recycle(format::DataFileName name, Done done) override;
  void remove_free_files() override;
  void remove(format::DataFileName name, Done done) override;
  void run_blocking(std::function<void()> task) override;
  void stop(const Error& why) override;

 private:
  Result<std::shared_ptr<DataFile>> open_core(const format::DataFileName& name,
                                              Result<std::unique_ptr<storage::File>> file);
  void complete_open(const format::DataFileName& name,
                     Result<std::unique_ptr<storage::File>> file,
                     const OpenCallback& opened);
  Done mark_bad_on_error(const std::shared_ptr<DataFile>& file, Done done);
  void submit(std::function<Status()> work, Done done);
  TaskPriority priority_of_removal(const format::DataFileName& name);

  const Setup setup_;
  const std::shared_ptr<BlockingExecutor> blocking_executor_;
  const std::shared_ptr<DatasetDirectory> directory_;
  const std::shared_ptr<OpenFileTable> files_;
  std::mutex mutex_;
  std::multiset<format::DataFileName> pending_creates_;  ///< requested, not created yet
};

QueuedFileWriter::QueuedFileWriter(Setup setup, std::shared_ptr<BlockingExecutor> blocking_executor)
    : setup_(std::move(setup)),
      blocking_executor_(std::move(blocking_executor)),
      directory_(std::make_shared<DatasetDirectory>(
          DatasetDirectory::Setup{.directory = setup_.directory,
                                  .dataset = setup_.dataset,
                                  .files = setup_.files,
                                  .stripes = setup_.stripes,
                                  .log = setup_.log,
                                  .free_files_max = setup_.free_files_max})),
      files_(std::make_shared<OpenFileTable>()) {}

QueuedFileWriter::~QueuedFileWriter() {
  QueuedFileWriter::stop(
      Error({.kind = ErrorClass::kClosed, .operation = "write", .cause = "the dataset is closed"}));
}

void QueuedFileWriter::stop(const Error& why) {
  blocking_executor_->cancel(why);
  files_->cancel(why);
  blocking_executor_->stop();
  files_->wait_until_closed();
  files_->release_closed();
  directory_->remove_free_files();
}

void QueuedFileWriter::create(format::DataFileName name,
                              std::uint64_t expected_bytes,
                              std::optional<Access> access,
                              OpenCallback opened) {
  const auto make = [this, name, expected_bytes, access,
                     opened = std::move(opened)](const auto& cancel_reason) {
    using Made = Result<std::unique_ptr<storage::File>>;
    Made file = cancel_reason ? Made(failure(*cancel_reason))
                              : directory_->create(name, expected_bytes, access);
    {
      const std::lock_guard lock(mutex_);
      pending_creates_.extract(name);
    }
    if (cancel_reason) return opened(failure(*cancel_reason));
    complete_open(name, std::move(file), opened);
  };
  {
    const std::lock_guard lock(mutex_);
    pending_creates_.insert(name);
  }
  blocking_executor_->add(make, TaskPriority::kBackground);
}

void QueuedFileWriter::open(format::DataFileName name,
                            std::optional<Access> access,
                            OpenCallback opened) {
  const auto find = [this, name, access, opened = std::move(opened)](const auto& cancel_reason) {
    if (cancel_reason) return opened(failure(*cancel_reason));
    complete_open(name, directory_->open(name, access), opened);
  };
  blocking_executor_->add(find);
}

void QueuedFileWriter::complete_open(const format::DataFileName& name,
                                     Result<std::unique_ptr<storage::File>> file,
                                     const OpenCallback& opened) {
  opened(open_core(name, std::move(file)));
}

Result<std::shared_ptr<DataFile>> QueuedFileWriter::open_core(
    const format::DataFileName& name, Result<std::unique_ptr<storage::File>> file) {
  if (!file) return failure(file.error());
  const auto limits = limits_for(setup_, **file);
  if (!limits) return failure(limits.error());
  auto file_state = file_state_of(std::move(*file), *setup_.queues);
  if (!file_state) return failure(file_state.error());
  auto queue = setup_.queues->queue_of((*file_state)->file());
  if (!queue) return failure(queue.error());
  auto core =
      std::make_shared<DataFileCore>(DataFileCore::Setup{.name = name,
                                                         .queue = std::move(*queue),
                                                         .file_state = std::move(*file_state),
                                                         .limits = *limits,
                                                         .blocking_executor = blocking_executor_,
                                                         .files = files_});
  const auto too_late = files_->add(core);
  auto handle = std::make_shared<QueuedDataFile>(core);  // closes the core when it is released
  if (!too_late) return handle;
  core->cancel(*too_late);
  return failure(*too_late);
}

void QueuedFileWriter::write(const std::shared_ptr<DataFile>& file,
                             std::uint64_t offset_bytes,
                             std::span<const std::byte> data,
                             Done done) {
  const auto address = reinterpret_cast<std::uintptr_t>(data.data());
  const std::uint64_t aligned = offset_bytes | data.size() | address;
  if (aligned % file->alignment_bytes() == 0) {
    core_of(*file).write(offset_bytes, data,
                         [file, done = std::move(done)](const Status& status) { done(status); });
    return;
  }
  blocking_executor_->add([why = misaligned_error(*file, offset_bytes),
                           done = std::move(done)](const auto&) { done(failure(why)); });
}

/// After a failed sync it is unknown which bytes the system dropped, and why. So the file is not
/// reused for another step.
AsyncFileWriter::Done QueuedFileWriter::mark_bad_on_error(const std::shared_ptr<DataFile>& file,
                                                          Done done) {
  return [this, file, done = std::move(done)](const Status& status) {
    if (!status) run_blocking([this, name = file->name()] { directory_->mark_bad(name); });
    done(status);
  };
}

void QueuedFileWriter::sync(const std::shared_ptr<DataFile>& file, Done done) {
  core_of(*file).sync(mark_bad_on_error(file, std::move(done)));
}

void QueuedFileWriter::seal(const std::shared_ptr<DataFile>& file,
                            std::uint64_t end_bytes,
                            Done done) {
  core_of(*file).seal(end_bytes, mark_bad_on_error(file, std::move(done)));
}

void QueuedFileWriter::truncate(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes) {
  blocking_executor_->add([file, end_bytes](const auto& /*refused*/) {
    std::ignore = core_of(*file).truncate_if_longer(end_bytes);
  });
}

void QueuedFileWriter::punch_hole(const std::shared_ptr<DataFile>& file,
                                  std::vector<ByteRange> ranges) {
  blocking_executor_->add([file, ranges = std::move(ranges)](const auto& /*refused*/) {
    for (const ByteRange& range : ranges)
      std::ignore = core_of(*file).punch_hole(range);
  });
}

void QueuedFileWriter::submit(std::function<Status()> work, Done done) {
  blocking_executor_->add(
      [work = std::move(work), done = std::move(done)](const auto& cancel_reason) {
        done(cancel_reason ? Status(failure(*cancel_reason)) : work());
      });
}

void QueuedFileWriter::sync_directory(Done done) {
  submit([this] { return directory_->sync(); }, std::move(done));
}

void QueuedFileWriter::recycle(format::DataFileName name, Done done) {
  submit([this, name] { return directory_->recycle(name); }, std::move(done));
}

void QueuedFileWriter::remove_free_files() {
  run_blocking([this] { directory_->remove_free_files(); });
}

/// The removal must follow a pending create(): a file that is created after its removal would stay.
TaskPriority QueuedFileWriter::priority_of_removal(const format::DataFileName& name) {
  const std::lock_guard lock(mutex_);
  return pending_creates_.contains(name) ? TaskPriority::kBackground : TaskPriority::kForeground;
}

void QueuedFileWriter::remove(format::DataFileName name, Done done) {
  const auto task = [this, name, done = std::move(done)](const auto& /*refused*/) {
    done(directory_->remove(name));
  };
  blocking_executor_->add(task, priority_of_removal(name));
}

void QueuedFileWriter::run_blocking(std::function<void()> task) {
  blocking_executor_->add([task = std::move(task)](const auto& /*refused*/) { task(); });
}

}  // namespace

std::size_t DataFile::alignment_bytes() const noexcept {
  return access() == Access::kDirect ? format::kPageBytes : 1;
}

Result<std::unique_ptr<AsyncFileWriter>> AsyncFileWriter::start(Setup setup) {
  FOREBAY_ASSERT(setup.queues != nullptr);
  auto blocking_executor = BlockingExecutor::start();
  if (!blocking_executor) return failure(blocking_executor.error());
  return std::make_unique<QueuedFileWriter>(std::move(setup), std::move(*blocking_executor));
}

}  // namespace forebay::write
