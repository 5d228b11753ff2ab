// SPDX-License-Identifier: Apache-2.0
// Shared by tests of one role of an agent: a context without ranks, threads and files. Messages are
// recorded and not sent. File operations are recorded, and complete when the test completes them.
// run_pending() runs what a role posts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "write/agent_context.hpp"
#include "write/plan.hpp"
#include "write/rank_metadata.hpp"

namespace forebay::write {

/// A step that is alone in its group.
inline StepId step_id(std::uint64_t number) { return {number, number}; }

/// A message that a role has sent.
struct SentMessage {
  std::uint32_t to = 0;
  MessageKind kind = MessageKind::kHello;
  AgentContext::Words words = {};
  comm::Bytes payload = {};
  std::span<const std::byte> in_place = {};
  comm::Link::OnSent on_sent = nullptr;
};

enum class FileOperation : std::uint8_t {
  kCreate,
  kOpen,
  kWrite,
  kSync,
  kSeal,
  kTruncate,
  kPunchHole,
  kSyncDirectory,
  kRecycle,
  kRemove,
  kRemoveFreeFiles,
};

/// An operation that a role has started and that is not complete.
struct FileRequest {
  FileOperation operation = FileOperation::kCreate;
  format::DataFileName name = {};
  /// Offset of a write or of a hole; end of a sealed or truncated file; expected size of a new one.
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes = {};
  std::function<void(const Status&)> on_done = nullptr;
  std::uint64_t size = 0;             ///< of a hole
  std::optional<Access> access = {};  ///< of a file to create or to open
};

class TestFile final : public DataFile {
 public:
  explicit TestFile(format::DataFileName name) : name_(name), path_(to_string(name)) {}
  const format::DataFileName& name() const noexcept override { return name_; }
  const std::string& path() const noexcept override { return path_; }
  Access access() const noexcept override { return Access::kBuffered; }

 private:
  const format::DataFileName name_;
  const std::string path_;
};

class TestFileWriter final : public AsyncFileWriter {
 public:
  void create(format::DataFileName name,
              std::uint64_t expected_bytes,
              std::optional<Access> access,
              OpenCallback opened) override {
    record({.operation = FileOperation::kCreate,
            .name = name,
            .offset = expected_bytes,
            .on_done = with_file_result(name, std::move(opened)),
            .access = access});
  }
  void open(format::DataFileName name, std::optional<Access> access, OpenCallback opened) override {
    record({.operation = FileOperation::kOpen,
            .name = name,
            .on_done = with_file_result(name, std::move(opened)),
            .access = access});
  }
  void write(const std::shared_ptr<DataFile>& file,
             std::uint64_t offset_bytes,
             std::span<const std::byte> data,
             Done done) override {
    record({FileOperation::kWrite, file->name(), offset_bytes, data, std::move(done)});
  }
  void sync(const std::shared_ptr<DataFile>& file, Done done) override {
    record({FileOperation::kSync, file->name(), 0, {}, std::move(done)});
  }
  void seal(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes, Done done) override {
    record({FileOperation::kSeal, file->name(), end_bytes, {}, std::move(done)});
  }
  void truncate(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes) override {
    record({FileOperation::kTruncate, file->name(), end_bytes, {}, nullptr});
  }
  void punch_hole(const std::shared_ptr<DataFile>& file, std::vector<ByteRange> ranges) override {
    for (const ByteRange& range : ranges)
      record({FileOperation::kPunchHole, file->name(), range.offset, {}, nullptr, range.size});
  }
  void sync_directory(Done done) override {
    record({FileOperation::kSyncDirectory, {}, 0, {}, std::move(done)});
  }
  void recycle(format::DataFileName name, Done done) override {
    record({FileOperation::kRecycle, name, 0, {}, std::move(done)});
  }
  void remove_free_files() override { record({.operation = FileOperation::kRemoveFreeFiles}); }
  void remove(format::DataFileName name, Done done) override {
    record({FileOperation::kRemove, name, 0, {}, std::move(done)});
  }
  void run_blocking(std::function<void()> task) override {
    blocking_tasks.push_back(std::move(task));
  }
  void stop(const Error& /*why*/) override {}

  std::vector<FileRequest> requests;
  std::deque<std::function<void()>> blocking_tasks;

 private:
  void record(FileRequest request) { requests.push_back(std::move(request)); }
  static std::function<void(const Status&)> with_file_result(format::DataFileName name,
                                                             OpenCallback opened) {
    return [name, opened = std::move(opened)](const Status& status) {
      if (status) return opened(std::make_shared<TestFile>(name));
      opened(failure(status.error()));
    };
  }
};

/// How the dataset of a test was opened.
struct TestOpening {
  std::uint64_t first_group = 0;
  PlanChanges changes = PlanChanges::kNever;
};

/// The context of one rank; all ranks are on one node unless the layout differs.
class TestContext final : public AgentContext {
 public:
  TestContext(RankLayout rank_layout,
              const WritePlan& requested,
              std::uint32_t rank,
              const TestOpening& opening = {})
      : rank_layout_(std::move(rank_layout)),
        plans_({.rank_layout = rank_layout_,
                .plan = complete_plan(rank_layout_, requested),
                .first_group = opening.first_group,
                .changes = opening.changes}) {
    rank_.number = rank;
  }

  comm::Rank rank() const noexcept override { return rank_; }
  std::uint32_t rank_count() const noexcept override { return rank_layout_.compute_rank_count(); }
  const std::string& path() const noexcept override { return path_; }
  const PlanSchedule& plans() const noexcept override { return plans_; }
  PlanSchedule& plans_to_change() noexcept { return plans_; }
  bool is_same_node(comm::Rank other) const noexcept override {
    return rank_layout_.node_of(other.number) == rank_layout_.node_of(rank_.number);
  }
  AsyncFileWriter& file_writer() noexcept override { return file_writer_; }
  CollectiveIoThread* collective_io_thread() noexcept override { return collective_io_thread_; }
  void send(comm::Rank to, MessageKind kind, const Words& words, comm::Bytes payload) override {
    sent_.push_back({to.number, kind, words, std::move(payload)});
  }
  void send_in_place(comm::Rank to,
                     MessageKind kind,
                     const Words& words,
                     std::span<const std::byte> payload,
                     comm::Link::OnSent on_sent) override {
    sent_.push_back({to.number, kind, words, {}, payload, std::move(on_sent)});
  }
  void post(std::function<void()> work) override { posted_.push_back(std::move(work)); }

  /// For a collective plan; must outlive this object.
  void set_collective_io_thread(CollectiveIoThread& caller) noexcept {
    collective_io_thread_ = &caller;
  }

  /// Runs posted and blocking tasks until none is left.
  void run_pending() {
    while (!posted_.empty() || !file_writer_.blocking_tasks.empty()) {
      auto& from = posted_.empty() ? file_writer_.blocking_tasks : posted_;
      const auto work = std::move(from.front());
      from.pop_front();
      work();
    }
  }

  /// The messages of one kind since the last call, in their order.
  std::vector<SentMessage> take_messages(MessageKind kind) {
    std::vector<SentMessage> taken;
    for (SentMessage& one : sent_)
      if (one.kind == kind) taken.push_back(std::move(one));
    std::erase_if(sent_, [kind](const SentMessage& one) { return one.kind == kind; });
    return taken;
  }
  /// The only message of this kind.
  SentMessage take_one(MessageKind kind) {
    auto taken = take_messages(kind);
    EXPECT_EQ(taken.size(), 1U) << "messages of kind " << static_cast<int>(kind);
    return taken.empty() ? SentMessage{} : std::move(taken.front());
  }

  std::vector<FileRequest> requests(FileOperation call) const {
    std::vector<FileRequest> found;
    std::ranges::copy_if(file_writer_.requests, std::back_inserter(found),
                         [call](const FileRequest& one) { return one.operation == call; });
    return found;
  }
  /// Completes the oldest such operation, then runs what was posted. False if there is none.
  bool complete(FileOperation call, const Status& status = {}) {
    run_pending();
    const auto found = std::ranges::find(file_writer_.requests, call, &FileRequest::operation);
    if (found == file_writer_.requests.end()) return false;
    const FileRequest request = std::move(*found);
    file_writer_.requests.erase(found);
    request.on_done(status);
    run_pending();
    return true;
  }
  /// Completes every such operation, also those that completions start. Returns their number.
  std::uint32_t complete_all(FileOperation call) {
    std::uint32_t answered = 0;
    while (complete(call))
      ++answered;
    return answered;
  }

 private:
  static WritePlan complete_plan(const RankLayout& rank_layout, const WritePlan& requested) {
    const auto plan = plan_write({.rank_layout = rank_layout}, requested);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message());
    return plan.value_or(requested);
  }

  const RankLayout rank_layout_;
  PlanSchedule plans_;
  comm::Rank rank_;
  const std::string path_ = "run.fb";
  TestFileWriter file_writer_;
  CollectiveIoThread* collective_io_thread_ = nullptr;
  std::deque<std::function<void()>> posted_;
  std::vector<SentMessage> sent_;
};

/// `ranks` ranks of one node.
inline RankLayout single_node_layout(std::uint32_t ranks) {
  return {.node_of_compute_rank = std::vector<std::uint32_t>(ranks, 0)};
}

inline Error io_error(const std::string& cause, int error_number = EIO) {
  return system_error({.operation = "write", .path = "run.fb/data", .cause = cause}, error_number);
}
inline Status failed_status(const std::string& cause, int error_number = EIO) {
  return failure(io_error(cause, error_number));
}

/// Metadata of one rank in a step: `parts` blocks of 800 bytes, in one region. Metadata with
/// another first part lies elsewhere.
inline RankMetadata test_metadata(std::uint64_t step_id,
                                  std::uint64_t first_part,
                                  std::uint64_t parts) {
  RankMetadata record{.step = step_id, .regions = parts > 0 ? 1U : 0U, .raw_bytes = parts * 800};
  record.fields.push_back({.name = "density", .type = ElementType::kFloat64});
  for (std::uint64_t part = 0; part < parts; ++part) {
    record.blocks.push_back({.part = first_part + part,
                             .offset = format::kPageBytes * (1 + first_part) + part * 800,
                             .raw_bytes = 800,
                             .stored_bytes = 800,
                             .first_dim = part,
                             .first_piece = part,
                             .region = 0});
    record.dims.push_back(100);
    record.piece_checksums.push_back(part);
  }
  return record;
}

}  // namespace forebay::write
