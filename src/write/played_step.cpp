// SPDX-License-Identifier: Apache-2.0
// Writers as clients of a StorageModel: each has so many requests under way as long as it has
// bytes, and places are given out in the order of asking, as owners of files do.
#include "write/played_step.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/assert.hpp"
#include "write/file_places.hpp"

namespace forebay::write {

namespace {

using model::Finished;
using model::RequestKind;
using model::Time;

class StepPlayer final : public model::Sink {
 public:
  StepPlayer(const WriteFacts& facts, const WritePlan& plan)
      : facts_(facts), plan_(plan), routes_(facts.crew, plan), model_(*facts.machine) {
    std::map<std::uint32_t, model::ClientId> clients;
    for (const Rank rank : routes_.writers()) {
      const auto next = static_cast<model::ClientId>(clients.size());
      const auto client = clients.try_emplace(facts_.crew.node_of(rank), next).first->second;
      Writer writer{.file = routes_.file_of(rank), .client = client % facts_.machine->client.count};
      for (const Rank one : routes_.group_of(rank))
        writer.bytes_left += facts_.bytes_of(one);
      writers_.push_back(writer);
    }
    file_ends_.resize(routes_.file_count());
    first_writers_.resize(routes_.file_count() + 1, routes_.writer_count());
    for (std::uint32_t i = routes_.writer_count(); i-- > 0;)
      first_writers_[writers_[i].file] = i;
  }

  Time play() {
    for (FileNumber file = 0; file < routes_.file_count(); ++file)
      ask_name(first_writers_[file], RequestKind::kCreate, Time{});
    while (const auto event = model_.next_event())
      model_.advance(*event, *this);
    for (const Writer& writer : writers_)
      FOREBAY_ASSERT(writer.bytes_left == 0);
    return end_;
  }

  void on_finished(const Finished& one) override {
    end_ = one.finished;
    const auto number = static_cast<std::uint32_t>(one.tag / kKinds);
    const auto kind = static_cast<RequestKind>(one.tag % kKinds);
    Writer& writer = writers_[number];
    if (kind == RequestKind::kCreate) open_for_others(writer.file, one.finished);
    if (kind == RequestKind::kWrite) {
      --writer.under_way;
    } else {
      writer.has_file = true;
      if (!is_baton() || number == first_writers_[writer.file]) writer.may_write = true;
    }
    go_on(number, one.finished);
  }
  void on_lock_lost(const model::LockLost&) override {}

 private:
  static constexpr std::uint64_t kKinds = 8;

  struct Writer {
    FileNumber file = 0;
    model::ClientId client = 0;
    std::uint64_t bytes_left = 0;
    std::uint32_t under_way = 0;
    bool has_file = false;
    bool may_write = false;
  };

  bool is_baton() const { return plan_.schedule == Schedule::kBaton; }

  std::uint64_t tag_of(std::uint32_t writer, RequestKind kind) const {
    return writer * kKinds + static_cast<std::uint64_t>(kind);
  }
  void ask_name(std::uint32_t number, RequestKind kind, Time now) {
    const Writer& writer = writers_[number];
    model_.submit(now, {.client = writer.client,
                        .kind = kind,
                        .name = name_hash_of_file(*facts_.machine, writer.file),
                        .tag = tag_of(number, kind)});
  }
  void open_for_others(FileNumber file, Time now) {
    for (std::uint32_t i = first_writers_[file] + 1; i < first_writers_[file + 1]; ++i)
      ask_name(i, RequestKind::kOpen, now);
  }
  void go_on(std::uint32_t number, Time now) {
    for (; number < first_writers_[writers_[number].file + 1]; ++number) {
      Writer& writer = writers_[number];
      if (!writer.has_file || !writer.may_write) return;
      ask(number, now);
      if (!is_baton() || writer.bytes_left > 0 || writer.under_way > 0) return;
      if (number + 1 == first_writers_[writer.file + 1]) return;
      writers_[number + 1].may_write = true;
    }
  }
  void ask(std::uint32_t number, Time now) {
    Writer& writer = writers_[number];
    while (writer.under_way < facts_.requests_of_writer && writer.bytes_left > 0) {
      const std::uint64_t bytes = std::min(writer.bytes_left, plan_.unit_bytes);
      const std::uint64_t grain = plan_.alignment_bytes;
      const std::uint64_t offset = file_ends_[writer.file];
      file_ends_[writer.file] += (bytes + grain - 1) / grain * grain;
      writer.bytes_left -= bytes;
      ++writer.under_way;
      model_.submit(now, {.client = writer.client,
                          .kind = RequestKind::kWrite,
                          .file = writer.file,
                          .range = {offset, bytes},
                          .layout = layout_of_file(*facts_.machine, plan_, writer.file),
                          .tag = tag_of(number, RequestKind::kWrite)});
    }
  }

  const WriteFacts& facts_;
  const WritePlan& plan_;
  const Routes routes_;
  model::StorageModel model_;
  std::vector<Writer> writers_;
  std::vector<std::uint64_t> file_ends_;
  std::vector<std::uint32_t> first_writers_;  ///< of each file, and the end
  Time end_ = {};
};

}  // namespace

Time played_step_time(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return StepPlayer(facts, plan).play();
}

}  // namespace forebay::write
