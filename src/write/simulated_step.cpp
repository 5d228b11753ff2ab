// SPDX-License-Identifier: Apache-2.0
// Writers as clients of a StorageModel. Each has a number of requests in flight while it has bytes.
// Space is allocated in the order of requests, as file owners do.
#include "write/simulated_step.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/assert.hpp"
#include "write/file_layout.hpp"
#include "write/simulated_exchange.hpp"

namespace forebay::write {

namespace {

using model::RequestCompletion;
using model::RequestKind;
using model::Time;

/// Size of the index that follows the last byte of a file, and of the slot that publishes a step.
constexpr std::uint64_t kIndexBytes = 4_KiB;

/// The purpose of a request.
enum class RequestPurpose : std::uint8_t {
  kWrite,
  kCreate,
  kOpen,
  kWriterSync,
  kIndex,
  kFileSync,
  kDirectorySync,
  kPublish,
  kPublishSync
};
constexpr std::uint64_t kRequestPurposes = 9;

enum class SimulationEnd : std::uint8_t { kWritten, kDurable };

class StepSimulator final : public model::ModelObserver {
 public:
  StepSimulator(const WriteFacts& facts, const WritePlan& plan, SimulationEnd ending)
      : facts_(facts),
        plan_(plan),
        aggregation_(facts.rank_layout, plan),
        ending_(ending),
        model_(*facts.machine) {
    for (const RankNumber rank : aggregation_.writers()) {
      Writer writer{.file = aggregation_.file_of(rank), .client = client_of(rank)};
      for (const RankNumber one : aggregation_.ranks_of_writer(rank))
        writer.bytes_left += facts_.bytes_of(one);
      const RankNumber owner = aggregation_.owner_of(writer.file);
      const RankLayout& ranks = facts_.rank_layout;
      writer.must_sync = writer.bytes_left > 0 && ranks.node_of(rank) != ranks.node_of(owner);
      writers_.push_back(writer);
    }
    files_.resize(aggregation_.file_count() + 1, {.first_writer = aggregation_.writer_count()});
    for (std::uint32_t i = aggregation_.writer_count(); i-- > 0;)
      files_[writers_[i].file].first_writer = i;
    files_left_ = aggregation_.file_count();
  }

  SimulatedStep run(const std::vector<Arrival>& arrivals) {
    for (FileNumber file = 0; file < aggregation_.file_count(); ++file)
      submit_metadata(files_[file].first_writer, RequestPurpose::kCreate, Time{});
    for (const Arrival& arrival : arrivals) {
      model_.advance(arrival.at, *this);
      step_.exchanged = arrival.at;
      writers_[arrival.writer].bytes_ready += arrival.bytes;
      advance_writer(arrival.writer, arrival.at);
    }
    while (const auto event = model_.next_event())
      model_.advance(*event, *this);
    for (const Writer& writer : writers_)
      FOREBAY_ASSERT(writer.bytes_left == 0);
    return step_;
  }

  void on_complete(const RequestCompletion& one) override {
    const auto number = static_cast<std::uint32_t>(one.tag / kRequestPurposes);
    switch (static_cast<RequestPurpose>(one.tag % kRequestPurposes)) {
      case RequestPurpose::kCreate:
        open_for_others(writers_[number].file, one.finished);
        return handle_file_open(number, one.finished);
      case RequestPurpose::kOpen:
        return handle_file_open(number, one.finished);
      case RequestPurpose::kWrite:
        step_.written = one.finished;
        --writers_[number].in_flight;
        return advance_writer(number, one.finished);
      case RequestPurpose::kWriterSync:
        writers_[number].must_sync = false;
        return write_index_if_done(writers_[number].file, one.finished);
      case RequestPurpose::kIndex:
        return submit_sync(number, RequestPurpose::kFileSync, one.finished);
      case RequestPurpose::kFileSync:
        if (--files_left_ == 0) sync_directory(one.finished);
        return;
      case RequestPurpose::kDirectorySync:
        return publish(one.finished);
      case RequestPurpose::kPublish:
        return sync_publication(one.finished);
      case RequestPurpose::kPublishSync:
        step_.durable = one.finished;
        return;
    }
  }
  void on_lock_revoked(const model::LockRevoked&) override {}

 private:
  struct Writer {
    FileNumber file = 0;
    model::ClientId client = 0;
    std::uint64_t bytes_left = 0;   ///< not requested yet
    std::uint64_t bytes_ready = 0;  ///< of those, at the writer
    std::uint32_t in_flight = 0;
    bool has_file = false;
    bool must_sync = false;  ///< its data, as it is on another node than the owner of the file
    bool is_syncing = false;

    bool has_written() const { return has_file && bytes_left == 0 && in_flight == 0; }
  };
  struct File {
    std::uint32_t first_writer = 0;
    std::uint64_t end = 0;
    std::uint32_t writers_done = 0;  ///< of a baton: writers that are done
    bool has_index = false;
  };

  model::ClientId client_of(RankNumber rank) {
    const auto next = static_cast<model::ClientId>(clients_.size());
    const auto client = clients_.try_emplace(facts_.rank_layout.node_of(rank), next).first->second;
    return client % facts_.machine->client.count;
  }
  std::uint32_t writers_end(FileNumber file) const { return files_[file + 1].first_writer; }
  static std::uint64_t tag_of(std::uint32_t writer, RequestPurpose purpose) {
    return writer * kRequestPurposes + static_cast<std::uint64_t>(purpose);
  }

  void submit_metadata(std::uint32_t number, RequestPurpose purpose, Time now) {
    const Writer& writer = writers_[number];
    const bool creates = purpose == RequestPurpose::kCreate;
    model_.submit(now, {.client = writer.client,
                        .kind = creates ? RequestKind::kCreate : RequestKind::kOpen,
                        .name = name_hash_of_file(*facts_.machine, writer.file),
                        .tag = tag_of(number, purpose)});
  }
  void open_for_others(FileNumber file, Time now) {
    for (std::uint32_t i = files_[file].first_writer + 1; i < writers_end(file); ++i)
      submit_metadata(i, RequestPurpose::kOpen, now);
  }
  void handle_file_open(std::uint32_t number, Time now) {
    step_.files_opened = now;
    writers_[number].has_file = true;
    advance_writer(number, now);
  }

  void advance_writer(std::uint32_t number, Time now) {
    const FileNumber file = writers_[number].file;
    switch (plan_.tuning.transfer_mode.value_or(TransferMode::kIndependent)) {
      case TransferMode::kIndependent:
        submit_writes(number, kRequestsPerWriter, now);
        break;
      case TransferMode::kBaton:
        pass_baton(file, now);
        break;
      case TransferMode::kCollective:
        begin_round(file, now);
        break;
    }
    if (ending_ != SimulationEnd::kDurable) return;
    sync_if_done(number, now);
    write_index_if_done(file, now);
  }
  void pass_baton(FileNumber file, Time now) {
    for (File& state = files_[file];; ++state.writers_done) {
      const std::uint32_t number = state.first_writer + state.writers_done;
      if (number == writers_end(file)) return;
      submit_writes(number, kRequestsPerWriter, now);
      if (!writers_[number].has_written()) return;
    }
  }
  /// All ranks of a file write one unit in each round, and wait for each other before the next.
  void begin_round(FileNumber file, Time now) {
    for (std::uint32_t i = files_[file].first_writer; i < writers_end(file); ++i) {
      const Writer& writer = writers_[i];
      const bool is_there = writer.has_file && writer.bytes_ready == writer.bytes_left;
      if (!is_there || writer.in_flight > 0) return;
    }
    for (std::uint32_t i = files_[file].first_writer; i < writers_end(file); ++i)
      submit_writes(i, 1, now);
  }
  void submit_writes(std::uint32_t number, std::uint32_t requests_most, Time now) {
    Writer& writer = writers_[number];
    while (writer.has_file && writer.in_flight < requests_most && writer.bytes_left > 0) {
      const std::uint64_t bytes = std::min(writer.bytes_left, segment_bytes_of(plan_));
      if (writer.bytes_ready < bytes) return;
      writer.bytes_ready -= bytes;
      writer.bytes_left -= bytes;
      ++writer.in_flight;
      submit_write(number, bytes, RequestPurpose::kWrite, now);
    }
  }
  void submit_write(std::uint32_t number, std::uint64_t bytes, RequestPurpose purpose, Time now) {
    const Writer& writer = writers_[number];
    File& file = files_[writer.file];
    const std::uint64_t grain = plan_.tuning.alignment_bytes;
    const std::uint64_t offset = file.end;
    file.end += (bytes + grain - 1) / grain * grain;
    model_.submit(now, {.client = writer.client,
                        .kind = RequestKind::kWrite,
                        .file = writer.file,
                        .range = {offset, bytes},
                        .layout = layout_of_file(*facts_.machine, plan_, writer.file),
                        .tag = tag_of(number, purpose)});
  }

  /// A writer on another node than the owner of the file syncs when it has written all its bytes.
  void sync_if_done(std::uint32_t number, Time now) {
    Writer& writer = writers_[number];
    if (!writer.must_sync || writer.is_syncing || !writer.has_written()) return;
    writer.is_syncing = true;
    submit_sync(number, RequestPurpose::kWriterSync, now);
  }
  void submit_sync(std::uint32_t number, RequestPurpose purpose, Time now) {
    model_.submit(now, {.client = writers_[number].client,
                        .kind = RequestKind::kSync,
                        .file = writers_[number].file,
                        .tag = tag_of(number, purpose)});
  }

  /// The owner of a file writes its index when all writers have written.
  void write_index_if_done(FileNumber file, Time now) {
    if (files_[file].has_index) return;
    for (std::uint32_t i = files_[file].first_writer; i < writers_end(file); ++i) {
      if (!writers_[i].has_written() || writers_[i].must_sync) return;
    }
    files_[file].has_index = true;
    submit_write(files_[file].first_writer, kIndexBytes, RequestPurpose::kIndex, now);
  }
  /// One sync makes the names of all files durable.
  void sync_directory(Time now) {
    model_.submit(now, {.client = client_of(AggregationMap::coordinator()),
                        .kind = RequestKind::kSyncDirectory,
                        .tag = tag_of(0, RequestPurpose::kDirectorySync)});
  }
  /// The slot is in one file for all steps, which exists already.
  void publish(Time now) {
    const FileNumber commits = aggregation_.file_count();
    model_.submit(now, {.client = client_of(AggregationMap::coordinator()),
                        .kind = RequestKind::kWrite,
                        .file = commits,
                        .range = {0, kIndexBytes},
                        .layout = model::layout_of_new_file(*facts_.machine, commits),
                        .tag = tag_of(0, RequestPurpose::kPublish)});
  }
  void sync_publication(Time now) {
    model_.submit(now, {.client = client_of(AggregationMap::coordinator()),
                        .kind = RequestKind::kSync,
                        .file = aggregation_.file_count(),
                        .tag = tag_of(0, RequestPurpose::kPublishSync)});
  }

  const WriteFacts& facts_;
  const WritePlan& plan_;
  const AggregationMap aggregation_;
  const SimulationEnd ending_;
  model::StorageModel model_;
  std::map<std::uint32_t, model::ClientId> clients_;  ///< by node
  std::vector<Writer> writers_;
  std::vector<File> files_;  ///< a last one marks the end of writers_
  std::uint32_t files_left_ = 0;
  SimulatedStep step_;
};

/// All bytes are at their writers from the start.
std::vector<Arrival> arrivals_at_start(const WriteFacts& facts, const WritePlan& plan) {
  const AggregationMap aggregation(facts.rank_layout, plan);
  std::vector<Arrival> arrivals;
  for (std::uint32_t i = 0; i < aggregation.writer_count(); ++i) {
    Arrival arrival{.writer = i};
    for (const RankNumber rank : aggregation.ranks_of_writer(aggregation.writers()[i]))
      arrival.bytes += facts.bytes_of(rank);
    arrivals.push_back(arrival);
  }
  return arrivals;
}

}  // namespace

SimulatedStep simulate_step(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return StepSimulator(facts, plan, SimulationEnd::kDurable).run(simulate_arrivals(facts, plan));
}

model::Time simulate_write_time(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return StepSimulator(facts, plan, SimulationEnd::kWritten)
      .run(arrivals_at_start(facts, plan))
      .written;
}

}  // namespace forebay::write
