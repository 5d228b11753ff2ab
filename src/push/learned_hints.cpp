// SPDX-License-Identifier: Apache-2.0
#include "push/learned_hints.hpp"

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "trace/signature_cursor.hpp"
#include "trace/signature_search.hpp"

namespace forebay::push {

namespace {

/// Whether the reads are the first ones of a longer hint for the same version of the file.
bool is_begin_of(const std::vector<trace::Access>& reads,
                 const FileVersion& version,
                 const FileHint& hint) {
  if (hint.signature == nullptr || hint.reads <= reads.size() || hint.version != version)
    return false;
  trace::SignatureCursor cursor(hint.signature);
  for (const trace::Access& read : reads) {
    if (cursor.is_done()) return false;
    if (cursor.current().offset != read.offset || cursor.current().size != read.size) return false;
    cursor.advance();
  }
  return true;
}

/// Of hints in the order of their files.
std::span<const FileHint> hints_of_file(std::span<const FileHint> hints, const std::string& file) {
  const auto found = std::ranges::equal_range(hints, file, {}, &FileHint::file);
  return {found.begin(), found.end()};
}

}  // namespace

bool LearnedHints::add(const std::string& file,
                       std::vector<trace::Access> reads,
                       const FileVersion& version) {
  const std::lock_guard lock(mutex_);
  const bool is_kept = is_utf8(file) && streams_.size() < kStreamsMax &&
                       reads.size() >= reads_min_ && reads.size() <= kReadsMax &&
                       total_ + reads.size() <= kTotalMax;
  if (!is_kept) return false;
  total_ += reads.size();
  streams_.emplace(file, Stream{std::move(reads), version});
  return true;
}

/// Of this run. `earlier` is in the order of files.
std::vector<FileHint> LearnedHints::hints_of(std::span<const FileHint> earlier) const {
  std::vector<FileHint> hints;
  std::size_t first = 0;  // of the file
  for (const auto& [file, stream] : streams_) {
    const std::string pattern = pattern_of(file);
    if (first < hints.size() && hints[first].file != pattern) first = hints.size();
    const auto of_file = std::span(hints).subspan(first);
    const auto older = hints_of_file(earlier, pattern);
    const auto longer = std::ranges::find_if(
        older, [&](const FileHint& one) { return is_begin_of(stream.reads, stream.version, one); });
    FileHint hint{.file = pattern, .reads = stream.reads.size(), .version = stream.version};
    if (longer != older.end()) {
      hint = *longer;
    } else {
      auto signature = trace::signature_of(stream.reads, trace::Operation::kRead);
      if (!signature) continue;
      hint.explained = trace::explained_share(*signature);
      hint.signature = std::make_shared<const trace::Signature>(std::move(*signature));
    }
    const bool is_known = std::ranges::any_of(
        of_file, [&](const FileHint& one) { return *one.signature == *hint.signature; });
    if (hint.explained >= explained_min_ && !is_known) hints.push_back(std::move(hint));
  }
  return hints;
}

std::vector<FileHint> LearnedHints::merge(std::span<const FileHint> earlier) const {
  const std::lock_guard lock(mutex_);
  std::vector<FileHint> sorted(earlier.begin(), earlier.end());
  const auto is_before = [](const FileHint& a, const FileHint& b) {
    return a.file != b.file ? a.file < b.file : a.reads > b.reads;
  };
  std::ranges::sort(sorted, is_before);
  std::vector<FileHint> hints = hints_of(sorted);
  std::ranges::sort(hints, is_before);
  const std::vector<FileHint> learned = hints;
  for (const FileHint& hint : earlier)
    if (hints_of_file(learned, hint.file).empty()) hints.push_back(hint);
  if (hints.size() > kHintsMax) hints.resize(kHintsMax);
  return hints;
}

}  // namespace forebay::push
