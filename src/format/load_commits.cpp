// SPDX-License-Identifier: Apache-2.0
#include "format/load_commits.hpp"

#include <algorithm>
#include <utility>

#include "format/decode_context.hpp"
#include "format/read_range.hpp"

namespace forebay::format {
namespace {

/// No writer publishes faster than this number of reads of a small file.
constexpr int kAttemptsMax = 100;

/// One read of the file.
class CommitsLoader {
 public:
  CommitsLoader(storage::File& file, std::span<const std::byte> pages)
      : file_(file), pages_(pages) {}

  Result<LoadedCommits> load() {
    if (Status decoded = decode_slots(); !decoded) return tl::unexpected(decoded.error());
    for (const HistoryPolicy policy : {HistoryPolicy::kRequired, HistoryPolicy::kOptional})
      for (const CommitSlot& slot : slots_)
        if (try_slot(slot, policy)) return finish(slot.generation);
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read slots of",
                    .path = file_.path(),
                    .offset_bytes = 0,
                    .cause = "no slot is valid with its table" + first_cause()});
  }

 private:
  enum class HistoryPolicy : std::uint8_t { kRequired, kOptional };

  /// Newest first. Fails only with an Error for which no other slot may be used.
  Status decode_slots() {
    for (const std::uint64_t number : {0U, 1U}) {
      const std::uint64_t at = std::min<std::uint64_t>(number * kPageBytes, pages_.size());
      auto slot = decode_slot(pages_.subspan(at), number, file_.path());
      if (slot) {
        slots_.push_back(std::move(*slot));
      } else if (slot.error().kind() == ErrorClass::kUnsupported) {
        return tl::unexpected(slot.error());
      } else {
        slot_errors_.push_back(slot.error());
      }
    }
    std::ranges::sort(slots_, std::greater(), &CommitSlot::generation);
    return {};
  }

  bool try_slot(const CommitSlot& slot, HistoryPolicy policy) {
    result_ = {};
    auto table = load_table(slot);
    if (!table) {
      add_error(table.error());
      return false;
    }
    result_.state = {.dataset = slot.dataset,
                     .generation = slot.generation,
                     .first_step = slot.first_step,
                     .table = std::move(*table)};
    if (slot.table.offset != 0) result_.state.table_range = {slot.table.offset, slot.table.bytes};
    const bool has_past = load_history(slot);
    if (!has_past && policy == HistoryPolicy::kRequired) return false;
    std::ranges::reverse(history_);
    for (const HistoryTable& history : history_)
      append_live(history.steps);
    append_live(result_.state.table);
    return true;
  }

  void append_live(std::span<const StepEntry> steps) {
    for (const StepEntry& step : steps)
      if (step.step >= result_.state.first_step) result_.steps.push_back(step);
  }

  Result<std::vector<StepEntry>> load_table(const CommitSlot& slot) {
    if (slot.table.offset == 0) return decode_table(slot, slot.inline_table, file_.path());
    const auto bytes = read_range(file_, {slot.table.offset, slot.table.bytes});
    if (!bytes) return tl::unexpected(bytes.error());
    return decode_table(slot, *bytes, file_.path());
  }

  /// Newest first. True unless the newest block is damaged: older ones were valid when it was
  /// written.
  bool load_history(const CommitSlot& slot) {
    history_.clear();
    Reference next = slot.history;
    while (next.bytes != 0) {
      auto history = load_history_table(slot.dataset, next);
      if (!history) {
        add_error(history.error());
        result_.has_lost_history = true;
        return !history_.empty();
      }
      result_.state.history.push_back(
          {next, history->steps.front().step, history->steps.back().step});
      const bool follows = history->previous.bytes != 0 &&
                           history->previous_last_step >= slot.first_step &&
                           history->previous_last_step < history->steps.front().step;
      next = follows ? history->previous : Reference{};
      history_.push_back(std::move(*history));
    }
    return true;
  }

  Result<HistoryTable> load_history_table(const DatasetId& dataset, const Reference& place) {
    if (place.bytes > kTableBytesReadMax)
      return DecodeContext{"history table", file_.path(), place.offset}.damage_error(
          0, "it is too long");
    const auto bytes = read_range(file_, {place.offset, place.bytes});
    if (!bytes) return tl::unexpected(bytes.error());
    return decode_history_table(dataset, place, *bytes, file_.path());
  }

  /// The same damage may be found twice.
  void add_error(const Error& error) {
    const auto is_same = [&](const Error& known) { return known.message() == error.message(); };
    if (std::ranges::none_of(errors_, is_same)) errors_.push_back(error);
  }

  std::string first_cause() const {
    const std::vector<Error>& from = slot_errors_.empty() ? errors_ : slot_errors_;
    return from.empty() ? "" : "; the first: " + from.front().cause();
  }

  LoadedCommits finish(std::uint64_t generation) {
    const bool is_new = generation == 0 && pages_.size() == kSlotsBytes &&
                        std::ranges::all_of(pages_.subspan(kPageBytes),
                                            [](std::byte byte) { return byte == std::byte{0}; });
    if (is_new) {
      result_.empty_slot = std::move(slot_errors_.front());
    } else {
      result_.errors = std::move(slot_errors_);
    }
    result_.errors.insert(result_.errors.end(), errors_.begin(), errors_.end());
    return std::move(result_);
  }

  storage::File& file_;
  std::span<const std::byte> pages_;
  std::vector<CommitSlot> slots_;
  std::vector<Error> slot_errors_;
  std::vector<Error> errors_;  ///< of tables and history tables
  std::vector<HistoryTable> history_;
  LoadedCommits result_;
};

}  // namespace

Result<LoadedCommits> load_commits(storage::File& file) {
  auto pages = read_range(file, {0, kSlotsBytes});
  for (int attempt = 1; pages; ++attempt) {
    auto loaded = CommitsLoader(file, *pages).load();
    const bool is_whole = loaded && loaded->errors.empty();
    if (is_whole || attempt == kAttemptsMax) return loaded;
    auto again = read_range(file, {0, kSlotsBytes});
    if (!again || *again == *pages) return loaded;
    pages = std::move(again);
  }
  return tl::unexpected(pages.error());
}

}  // namespace forebay::format
