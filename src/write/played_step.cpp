// SPDX-License-Identifier: Apache-2.0
// Writers as clients of a StorageModel: each has so many requests under way as long as it has
// bytes, and places are given out in the order of asking, as owners of files do.
#include "write/played_step.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/assert.hpp"
#include "write/file_places.hpp"
#include "write/played_hand_over.hpp"

namespace forebay::write {

namespace {

using model::Finished;
using model::RequestKind;
using model::Time;

/// What follows the last byte of a file, and what publishes a step.
constexpr std::uint64_t kIndexBytes = 4_KiB;

/// Everything that a request can be for.
enum class Errand : std::uint8_t { kWrite, kCreate, kOpen, kIndex, kPublish };
constexpr std::uint64_t kErrands = 5;

enum class Ending : std::uint8_t { kWritten, kDurable };

class StepPlayer final : public model::Sink {
 public:
  StepPlayer(const WriteFacts& facts, const WritePlan& plan, Ending ending)
      : facts_(facts),
        plan_(plan),
        routes_(facts.crew, plan),
        ending_(ending),
        model_(*facts.machine) {
    for (const Rank rank : routes_.writers()) {
      Writer writer{.file = routes_.file_of(rank), .client = client_of(rank)};
      for (const Rank one : routes_.group_of(rank))
        writer.bytes_left += facts_.bytes_of(one);
      writers_.push_back(writer);
    }
    files_.resize(routes_.file_count() + 1, {.first_writer = routes_.writer_count()});
    for (std::uint32_t i = routes_.writer_count(); i-- > 0;)
      files_[writers_[i].file].first_writer = i;
    files_left_ = routes_.file_count();
  }

  PlayedStep play(const std::vector<Arrival>& arrivals) {
    for (FileNumber file = 0; file < routes_.file_count(); ++file)
      ask_name(files_[file].first_writer, Errand::kCreate, Time{});
    for (const Arrival& arrival : arrivals) {
      model_.advance(arrival.at, *this);
      step_.handed = arrival.at;
      writers_[arrival.writer].bytes_here += arrival.bytes;
      go_on(arrival.writer, arrival.at);
    }
    while (const auto event = model_.next_event())
      model_.advance(*event, *this);
    for (const Writer& writer : writers_)
      FOREBAY_ASSERT(writer.bytes_left == 0);
    return step_;
  }

  void on_finished(const Finished& one) override {
    const auto number = static_cast<std::uint32_t>(one.tag / kErrands);
    switch (static_cast<Errand>(one.tag % kErrands)) {
      case Errand::kCreate:
        open_for_others(writers_[number].file, one.finished);
        return got_file(number, one.finished);
      case Errand::kOpen:
        return got_file(number, one.finished);
      case Errand::kWrite:
        step_.written = one.finished;
        --writers_[number].under_way;
        return go_on(number, one.finished);
      case Errand::kIndex:
        if (--files_left_ == 0) publish(one.finished);
        return;
      case Errand::kPublish:
        step_.durable = one.finished;
        return;
    }
  }
  void on_lock_lost(const model::LockLost&) override {}

 private:
  struct Writer {
    FileNumber file = 0;
    model::ClientId client = 0;
    std::uint64_t bytes_left = 0;  ///< not asked for yet
    std::uint64_t bytes_here = 0;  ///< of those
    std::uint32_t under_way = 0;
    bool has_file = false;
  };
  struct File {
    std::uint32_t first_writer = 0;
    std::uint64_t end = 0;
    std::uint32_t turns_over = 0;  ///< of a baton: writers that are done
    bool has_index = false;
  };

  model::ClientId client_of(Rank rank) {
    const auto next = static_cast<model::ClientId>(clients_.size());
    const auto client = clients_.try_emplace(facts_.crew.node_of(rank), next).first->second;
    return client % facts_.machine->client.count;
  }
  std::uint32_t writers_end(FileNumber file) const { return files_[file + 1].first_writer; }
  static std::uint64_t tag_of(std::uint32_t writer, Errand errand) {
    return writer * kErrands + static_cast<std::uint64_t>(errand);
  }

  void ask_name(std::uint32_t number, Errand errand, Time now) {
    const Writer& writer = writers_[number];
    const bool creates = errand == Errand::kCreate;
    model_.submit(now, {.client = writer.client,
                        .kind = creates ? RequestKind::kCreate : RequestKind::kOpen,
                        .name = name_hash_of_file(*facts_.machine, writer.file),
                        .tag = tag_of(number, errand)});
  }
  void open_for_others(FileNumber file, Time now) {
    for (std::uint32_t i = files_[file].first_writer + 1; i < writers_end(file); ++i)
      ask_name(i, Errand::kOpen, now);
  }
  void got_file(std::uint32_t number, Time now) {
    step_.named = now;
    writers_[number].has_file = true;
    go_on(number, now);
  }

  void go_on(std::uint32_t number, Time now) {
    const FileNumber file = writers_[number].file;
    switch (plan_.schedule.value_or(Schedule::kIndependent)) {
      case Schedule::kIndependent:
        ask(number, facts_.requests_of_writer, now);
        break;
      case Schedule::kBaton:
        pass_baton(file, now);
        break;
      case Schedule::kCollective:
        begin_round(file, now);
        break;
    }
    if (ending_ == Ending::kDurable) end_file(file, now);
  }
  void pass_baton(FileNumber file, Time now) {
    for (File& state = files_[file];; ++state.turns_over) {
      const std::uint32_t number = state.first_writer + state.turns_over;
      if (number == writers_end(file)) return;
      ask(number, facts_.requests_of_writer, now);
      const Writer& writer = writers_[number];
      if (!writer.has_file || writer.bytes_left > 0 || writer.under_way > 0) return;
    }
  }
  /// All ranks of a file write a unit at a time, and wait for each other before the next.
  void begin_round(FileNumber file, Time now) {
    for (std::uint32_t i = files_[file].first_writer; i < writers_end(file); ++i) {
      const Writer& writer = writers_[i];
      const bool is_there = writer.has_file && writer.bytes_here == writer.bytes_left;
      if (!is_there || writer.under_way > 0) return;
    }
    for (std::uint32_t i = files_[file].first_writer; i < writers_end(file); ++i)
      ask(i, 1, now);
  }
  void ask(std::uint32_t number, std::uint32_t requests_most, Time now) {
    Writer& writer = writers_[number];
    while (writer.has_file && writer.under_way < requests_most && writer.bytes_left > 0) {
      const std::uint64_t bytes = std::min(writer.bytes_left, plan_.unit_bytes);
      if (writer.bytes_here < bytes) return;
      writer.bytes_here -= bytes;
      writer.bytes_left -= bytes;
      ++writer.under_way;
      write(number, bytes, Errand::kWrite, now);
    }
  }
  void write(std::uint32_t number, std::uint64_t bytes, Errand errand, Time now) {
    const Writer& writer = writers_[number];
    File& file = files_[writer.file];
    const std::uint64_t grain = plan_.alignment_bytes;
    const std::uint64_t offset = file.end;
    file.end += (bytes + grain - 1) / grain * grain;
    model_.submit(now, {.client = writer.client,
                        .kind = RequestKind::kWrite,
                        .file = writer.file,
                        .range = {offset, bytes},
                        .layout = layout_of_file(*facts_.machine, plan_, writer.file),
                        .tag = tag_of(number, errand)});
  }

  /// The owner of a file writes its index when all others have written.
  void end_file(FileNumber file, Time now) {
    if (files_[file].has_index) return;
    for (std::uint32_t i = files_[file].first_writer; i < writers_end(file); ++i) {
      const Writer& writer = writers_[i];
      if (!writer.has_file || writer.bytes_left > 0 || writer.under_way > 0) return;
    }
    files_[file].has_index = true;
    write(files_[file].first_writer, kIndexBytes, Errand::kIndex, now);
  }
  /// A slot of one file for all steps, which lies there already.
  void publish(Time now) {
    const FileNumber commits = routes_.file_count();
    model_.submit(now, {.client = client_of(Routes::coordinator()),
                        .kind = RequestKind::kWrite,
                        .file = commits,
                        .range = {0, kIndexBytes},
                        .layout = model::layout_of_new_file(*facts_.machine, commits),
                        .tag = tag_of(0, Errand::kPublish)});
  }

  const WriteFacts& facts_;
  const WritePlan& plan_;
  const Routes routes_;
  const Ending ending_;
  model::StorageModel model_;
  std::map<std::uint32_t, model::ClientId> clients_;  ///< of nodes
  std::vector<Writer> writers_;
  std::vector<File> files_;  ///< and one more, which begins where the writers end
  std::uint32_t files_left_ = 0;
  PlayedStep step_;
};

/// All at their writers from the beginning.
std::vector<Arrival> at_once(const WriteFacts& facts, const WritePlan& plan) {
  const Routes routes(facts.crew, plan);
  std::vector<Arrival> arrivals;
  for (std::uint32_t i = 0; i < routes.writer_count(); ++i) {
    Arrival arrival{.writer = i};
    for (const Rank rank : routes.group_of(routes.writers()[i]))
      arrival.bytes += facts.bytes_of(rank);
    arrivals.push_back(arrival);
  }
  return arrivals;
}

}  // namespace

PlayedStep played_step(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return StepPlayer(facts, plan, Ending::kDurable).play(played_arrivals(facts, plan));
}

model::Time played_step_time(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return StepPlayer(facts, plan, Ending::kWritten).play(at_once(facts, plan)).written;
}

}  // namespace forebay::write
