// SPDX-License-Identifier: Apache-2.0
#include "push/learned_hints.hpp"

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "trace/signature_search.hpp"

namespace forebay::push {

void LearnedHints::add(const std::string& file,
                       std::vector<trace::Access> reads,
                       const FileVersion& version) {
  const std::lock_guard lock(mutex_);
  if (!is_utf8(file)) return;
  if (reads.size() < reads_min_ || reads.size() > kReadsMax || total_ + reads.size() > kTotalMax)
    return;
  total_ += reads.size();
  streams_.emplace(file, Stream{std::move(reads), version});
}

std::vector<FileHint> LearnedHints::merge(std::span<const FileHint> earlier) const {
  const std::lock_guard lock(mutex_);
  std::vector<FileHint> hints;
  for (const auto& [file, stream] : streams_) {
    auto signature = trace::signature_of(stream.reads, trace::Operation::kRead);
    if (!signature) continue;
    const double explained = trace::explained_share(*signature);
    const std::string pattern = pattern_of(file);
    const bool is_known = std::ranges::any_of(hints, [&](const FileHint& one) {
      return one.file == pattern && *one.signature == *signature;
    });
    if (explained < explained_min_ || is_known) continue;
    hints.push_back({pattern, std::make_shared<const trace::Signature>(std::move(*signature)),
                     stream.reads.size(), explained, nullptr, stream.version});
  }
  std::ranges::sort(hints, [](const FileHint& a, const FileHint& b) {
    return a.file != b.file ? a.file < b.file : a.reads > b.reads;
  });
  const std::size_t learned = hints.size();
  for (const FileHint& hint : earlier) {
    const bool is_replaced = std::ranges::any_of(
        std::span(hints).first(learned), [&](const auto& one) { return one.file == hint.file; });
    if (!is_replaced) hints.push_back(hint);
  }
  if (hints.size() > kHintsMax) hints.resize(kHintsMax);
  return hints;
}

}  // namespace forebay::push
