// SPDX-License-Identifier: Apache-2.0
// What tests of one role of an agent share: surroundings without ranks, threads and files. Letters
// are kept instead of sent, files are asked for and answered when the test says so, and what a role
// posts is run by settle().
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
#include "write/rank_step.hpp"

namespace forebay::write {

/// A step that is alone in its group.
inline StepName step(std::uint64_t number) { return {number, number}; }

/// A letter that a role has sent.
struct Sent {
  std::uint32_t to = 0;
  LetterKind kind = LetterKind::kHello;
  AgentContext::Words words = {};
  comm::Bytes payload = {};
  std::span<const std::byte> in_place = {};
  comm::Link::OnSent on_sent = nullptr;
};

enum class LaneCall : std::uint8_t {
  kCreate,
  kOpen,
  kWrite,
  kSync,
  kSeal,
  kCut,
  kPunch,
  kSyncFolder,
  kRecycle,
  kRemove,
  kGiveUpFreeFiles,
};

/// What a role has asked of its lane and has no answer to.
struct LaneRequest {
  LaneCall call = LaneCall::kCreate;
  format::DataFileName name = {};
  /// Of a write, or of what is punched; where a sealed or cut file ends; what a new one expects.
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes = {};
  std::function<void(const Status&)> answer = nullptr;
  std::uint64_t size = 0;  ///< of what is punched
};

class TestFile final : public DataFile {
 public:
  explicit TestFile(format::DataFileName name) : name_(name), path_(text_of(name)) {}
  const format::DataFileName& name() const noexcept override { return name_; }
  const std::string& path() const noexcept override { return path_; }
  Access access() const noexcept override { return Access::kBuffered; }

 private:
  const format::DataFileName name_;
  const std::string path_;
};

class TestLane final : public FileLane {
 public:
  void create(format::DataFileName name, std::uint64_t expected_bytes, Opened opened) override {
    ask({LaneCall::kCreate, name, expected_bytes, {}, with_file(name, std::move(opened))});
  }
  void open(format::DataFileName name, Opened opened) override {
    ask({LaneCall::kOpen, name, 0, {}, with_file(name, std::move(opened))});
  }
  void write(const std::shared_ptr<DataFile>& file,
             std::uint64_t offset_bytes,
             std::span<const std::byte> data,
             Done done) override {
    ask({LaneCall::kWrite, file->name(), offset_bytes, data, std::move(done)});
  }
  void sync(const std::shared_ptr<DataFile>& file, Done done) override {
    ask({LaneCall::kSync, file->name(), 0, {}, std::move(done)});
  }
  void seal(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes, Done done) override {
    ask({LaneCall::kSeal, file->name(), end_bytes, {}, std::move(done)});
  }
  void cut(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes) override {
    ask({LaneCall::kCut, file->name(), end_bytes, {}, nullptr});
  }
  void punch(const std::shared_ptr<DataFile>& file, std::vector<ByteRange> places) override {
    for (const ByteRange& place : places)
      ask({LaneCall::kPunch, file->name(), place.offset, {}, nullptr, place.size});
  }
  void sync_folder(Done done) override { ask({LaneCall::kSyncFolder, {}, 0, {}, std::move(done)}); }
  void recycle(format::DataFileName name, Done done) override {
    ask({LaneCall::kRecycle, name, 0, {}, std::move(done)});
  }
  void give_up_free_files() override { ask({.call = LaneCall::kGiveUpFreeFiles}); }
  void remove(format::DataFileName name, Done done) override {
    ask({LaneCall::kRemove, name, 0, {}, std::move(done)});
  }
  void run(std::function<void()> errand) override { errands.push_back(std::move(errand)); }
  void stop(const Error& /*why*/) override {}

  std::vector<LaneRequest> asked;
  std::deque<std::function<void()>> errands;

 private:
  void ask(LaneRequest request) { asked.push_back(std::move(request)); }
  static std::function<void(const Status&)> with_file(format::DataFileName name, Opened opened) {
    return [name, opened = std::move(opened)](const Status& status) {
      if (status) return opened(std::make_shared<TestFile>(name));
      opened(failure(status.error()));
    };
  }
};

/// One rank's surroundings, all ranks on one node unless told otherwise.
class TestContext final : public AgentContext {
 public:
  TestContext(Crew crew, const WritePlan& wanted, std::uint32_t rank)
      : crew_(std::move(crew)), plan_(complete(crew_, wanted)), routes_(crew_, plan_) {
    rank_.number = rank;
  }

  comm::Rank rank() const noexcept override { return rank_; }
  std::uint32_t rank_count() const noexcept override { return crew_.computing(); }
  const std::string& path() const noexcept override { return path_; }
  const WritePlan& plan() const noexcept override { return plan_; }
  const Routes& routes() const noexcept override { return routes_; }
  bool is_on_my_node(comm::Rank other) const noexcept override {
    return crew_.node_of(other.number) == crew_.node_of(rank_.number);
  }
  FileLane& lane() noexcept override { return lane_; }
  RoundCaller* round_caller() noexcept override { return round_caller_; }
  void send(comm::Rank to, LetterKind kind, const Words& words, comm::Bytes payload) override {
    sent_.push_back({to.number, kind, words, std::move(payload)});
  }
  void send_in_place(comm::Rank to,
                     LetterKind kind,
                     const Words& words,
                     std::span<const std::byte> payload,
                     comm::Link::OnSent on_sent) override {
    sent_.push_back({to.number, kind, words, {}, payload, std::move(on_sent)});
  }
  void post(std::function<void()> work) override { posted_.push_back(std::move(work)); }

  /// For a collective schedule; lives longer.
  void use(RoundCaller& caller) noexcept { round_caller_ = &caller; }

  /// Runs what was posted and what may block, until there is no more.
  void settle() {
    while (!posted_.empty() || !lane_.errands.empty()) {
      auto& from = posted_.empty() ? lane_.errands : posted_;
      const auto work = std::move(from.front());
      from.pop_front();
      work();
    }
  }

  /// The letters of one kind since the last time, in their order.
  std::vector<Sent> take(LetterKind kind) {
    std::vector<Sent> taken;
    for (Sent& one : sent_)
      if (one.kind == kind) taken.push_back(std::move(one));
    std::erase_if(sent_, [kind](const Sent& one) { return one.kind == kind; });
    return taken;
  }
  /// The one letter of this kind.
  Sent take_one(LetterKind kind) {
    auto taken = take(kind);
    EXPECT_EQ(taken.size(), 1U) << "letters of kind " << static_cast<int>(kind);
    return taken.empty() ? Sent{} : std::move(taken.front());
  }

  std::vector<LaneRequest> asked(LaneCall call) const {
    std::vector<LaneRequest> found;
    std::ranges::copy_if(lane_.asked, std::back_inserter(found),
                         [call](const LaneRequest& one) { return one.call == call; });
    return found;
  }
  /// Answers the oldest such request, and settles. False if there is none.
  bool answer(LaneCall call, const Status& status = {}) {
    settle();
    const auto found = std::ranges::find(lane_.asked, call, &LaneRequest::call);
    if (found == lane_.asked.end()) return false;
    const LaneRequest request = std::move(*found);
    lane_.asked.erase(found);
    request.answer(status);
    settle();
    return true;
  }
  /// Answers every such request, those too that answers lead to.
  std::uint32_t answer_all(LaneCall call) {
    std::uint32_t answered = 0;
    while (answer(call))
      ++answered;
    return answered;
  }

 private:
  static WritePlan complete(const Crew& crew, const WritePlan& wanted) {
    const auto plan = plan_write({.crew = crew}, wanted);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message());
    return plan.value_or(wanted);
  }

  const Crew crew_;
  const WritePlan plan_;
  const Routes routes_;
  comm::Rank rank_;
  const std::string path_ = "run.fb";
  TestLane lane_;
  RoundCaller* round_caller_ = nullptr;
  std::deque<std::function<void()>> posted_;
  std::vector<Sent> sent_;
};

/// So many ranks of one node.
inline Crew crew_of(std::uint32_t ranks) {
  return {.node_of_computing = std::vector<std::uint32_t>(ranks, 0)};
}

inline Error broken(const std::string& cause, int error_number = EIO) {
  return system_error({.operation = "write", .path = "run.fb/data", .cause = cause}, error_number);
}
inline Status failed(const std::string& cause, int error_number = EIO) {
  return failure(broken(cause, error_number));
}

/// A rank's part of a step: so many blocks of 800 bytes, in one region, which lies where no other
/// one with another first part does.
inline RankStep rank_step_of(std::uint64_t step, std::uint64_t first_part, std::uint64_t parts) {
  RankStep record{.step = step, .regions = parts > 0 ? 1U : 0U, .raw_bytes = parts * 800};
  record.fields.push_back({.name = "density", .type = ElementType::kFloat64});
  for (std::uint64_t part = 0; part < parts; ++part) {
    record.blocks.push_back({.part = first_part + part,
                             .offset = format::kPageBytes * (1 + first_part) + part * 800,
                             .raw_bytes = 800,
                             .stored_bytes = 800,
                             .first_extent = part,
                             .first_piece = part,
                             .region = 0});
    record.extents.push_back(100);
    record.piece_checksums.push_back(part);
  }
  return record;
}

}  // namespace forebay::write
