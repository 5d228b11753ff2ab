// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/candidate.hpp"

#include <algorithm>
#include <numeric>

namespace forebay::bench::checkpoint {

namespace {

CandidateList& registry() {
  static CandidateList list;
  return list;
}

}  // namespace

std::uint64_t Checkpoint::step_bytes() const noexcept {
  return std::accumulate(block_bytes.begin(), block_bytes.end(), std::uint64_t{0});
}

std::uint64_t Checkpoint::offset_of(std::uint32_t writer) const noexcept {
  return std::accumulate(block_bytes.begin(), block_bytes.begin() + writer, std::uint64_t{0});
}

std::span<std::byte> Writer::block_memory(std::uint32_t /*step*/, std::span<std::byte> own) {
  return own;
}

Result<MemorySpans> Candidate::prepare(const RankTeam& /*team*/,
                                       const Checkpoint& /*checkpoint*/) const {
  return MemorySpans();
}

Result<std::unique_ptr<Reader>> Candidate::open_to_read(const RankTeam& /*team*/,
                                                        const Checkpoint& checkpoint) const {
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "read with " + name(),
                  .path = checkpoint.directory.string()});
}

const CandidateList& all_candidates() { return registry(); }

std::string family_of(const std::string& name) { return name.substr(0, name.find(':')); }

bool register_candidate(std::unique_ptr<const Candidate> candidate) {
  CandidateList& list = registry();
  const auto place = std::find_if(list.begin(), list.end(), [&](const auto& other) {
    return candidate->name() < other->name();
  });
  list.insert(place, std::move(candidate));
  return true;
}

}  // namespace forebay::bench::checkpoint
