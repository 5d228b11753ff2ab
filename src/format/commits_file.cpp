// SPDX-License-Identifier: Apache-2.0
#include "format/commits_file.hpp"

#include <algorithm>
#include <utility>

#include "format/damage.hpp"
#include "format/file_bytes.hpp"

namespace forebay::format {
namespace {

/// Somebody who publishes faster than this many readings of a small file does not exist.
constexpr int kAttemptsMax = 100;

/// One reading of the file.
class Attempt {
 public:
  Attempt(storage::File& file, std::span<const std::byte> pages) : file_(file), pages_(pages) {}

  Result<LoadedCommits> load() {
    if (Status decoded = decode_slots(); !decoded) return tl::unexpected(decoded.error());
    for (const NeedsPast needs : {NeedsPast::kYes, NeedsPast::kNo})
      for (const Slot& slot : slots_)
        if (try_slot(slot, needs)) return finish(slot.generation);
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read slots of",
                    .path = file_.path(),
                    .offset_bytes = 0,
                    .cause = "no slot is valid with its table" + first_cause()});
  }

 private:
  enum class NeedsPast : std::uint8_t { kYes, kNo };

  /// Newest first. An Error only for what no other slot may stand in for.
  Status decode_slots() {
    for (const std::uint64_t number : {0U, 1U}) {
      const std::uint64_t at = std::min<std::uint64_t>(number * kPageBytes, pages_.size());
      auto slot = decode_slot(pages_.subspan(at), number, file_.path());
      if (slot) {
        slots_.push_back(std::move(*slot));
      } else if (slot.error().kind() == ErrorClass::kUnsupported) {
        return tl::unexpected(slot.error());
      } else {
        slot_damages_.push_back(slot.error());
      }
    }
    std::ranges::sort(slots_, std::greater(), &Slot::generation);
    return {};
  }

  bool try_slot(const Slot& slot, NeedsPast needs) {
    loaded_ = {};
    auto table = load_table(slot);
    if (!table) {
      note(table.error());
      return false;
    }
    loaded_.state = {.dataset = slot.dataset,
                     .generation = slot.generation,
                     .first_step = slot.first_step,
                     .table = std::move(*table)};
    if (slot.table.offset != 0) loaded_.state.table_place = {slot.table.offset, slot.table.bytes};
    const bool has_past = load_past(slot);
    if (!has_past && needs == NeedsPast::kYes) return false;
    std::ranges::reverse(pasts_);
    for (const PastBlock& past : pasts_)
      append_alive(past.steps);
    append_alive(loaded_.state.table);
    return true;
  }

  void append_alive(std::span<const StepEntry> steps) {
    for (const StepEntry& step : steps)
      if (step.step >= loaded_.state.first_step) loaded_.steps.push_back(step);
  }

  Result<std::vector<StepEntry>> load_table(const Slot& slot) {
    if (slot.table.offset == 0) return decode_table(slot, slot.table_here, file_.path());
    const auto bytes = read_range(file_, {slot.table.offset, slot.table.bytes});
    if (!bytes) return tl::unexpected(bytes.error());
    return decode_table(slot, *bytes, file_.path());
  }

  /// Newest first. True unless the newest is damaged: older ones were whole when it was written.
  bool load_past(const Slot& slot) {
    pasts_.clear();
    Reference next = slot.past;
    while (next.bytes != 0) {
      auto past = load_block(slot.dataset, next);
      if (!past) {
        note(past.error());
        loaded_.has_lost_past = true;
        return !pasts_.empty();
      }
      loaded_.state.past.push_back({next, past->steps.front().step, past->steps.back().step});
      const bool follows = past->before.bytes != 0 && past->before_last_step >= slot.first_step &&
                           past->before_last_step < past->steps.front().step;
      next = follows ? past->before : Reference{};
      pasts_.push_back(std::move(*past));
    }
    return true;
  }

  Result<PastBlock> load_block(const DatasetId& dataset, const Reference& place) {
    if (place.bytes > kTableBytesLimit)
      return Source{"past block", file_.path(), place.offset}.damage(0, "it is too long");
    const auto bytes = read_range(file_, {place.offset, place.bytes});
    if (!bytes) return tl::unexpected(bytes.error());
    return decode_past(dataset, place, *bytes, file_.path());
  }

  /// The same damage may be met twice.
  void note(const Error& error) {
    const auto is_same = [&](const Error& known) { return known.message() == error.message(); };
    if (std::ranges::none_of(damages_, is_same)) damages_.push_back(error);
  }

  std::string first_cause() const {
    const std::vector<Error>& from = slot_damages_.empty() ? damages_ : slot_damages_;
    return from.empty() ? "" : "; the first: " + from.front().cause();
  }

  LoadedCommits finish(std::uint64_t generation) {
    const bool is_new = generation == 0 && pages_.size() == kSlotsBytes &&
                        std::ranges::all_of(pages_.subspan(kPageBytes),
                                            [](std::byte byte) { return byte == std::byte{0}; });
    if (is_new) {
      loaded_.empty_slot = std::move(slot_damages_.front());
    } else {
      loaded_.damages = std::move(slot_damages_);
    }
    loaded_.damages.insert(loaded_.damages.end(), damages_.begin(), damages_.end());
    return std::move(loaded_);
  }

  storage::File& file_;
  std::span<const std::byte> pages_;
  std::vector<Slot> slots_;
  std::vector<Error> slot_damages_;
  std::vector<Error> damages_;  ///< of tables and past blocks
  std::vector<PastBlock> pasts_;
  LoadedCommits loaded_;
};

}  // namespace

Result<LoadedCommits> load_commits(storage::File& file) {
  auto pages = read_range(file, {0, kSlotsBytes});
  for (int attempt = 1; pages; ++attempt) {
    auto loaded = Attempt(file, *pages).load();
    const bool is_whole = loaded && loaded->damages.empty();
    if (is_whole || attempt == kAttemptsMax) return loaded;
    auto again = read_range(file, {0, kSlotsBytes});
    if (!again || *again == *pages) return loaded;
    pages = std::move(again);
  }
  return tl::unexpected(pages.error());
}

}  // namespace forebay::format
