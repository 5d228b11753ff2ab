// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/contender.hpp"

#include <algorithm>
#include <numeric>

namespace forebay::bench::checkpoint {

namespace {

ContenderList& registry() {
  static ContenderList list;
  return list;
}

}  // namespace

std::uint64_t Checkpoint::step_bytes() const noexcept {
  return std::accumulate(block_bytes.begin(), block_bytes.end(), std::uint64_t{0});
}

std::uint64_t Checkpoint::offset_of(std::uint32_t writer) const noexcept {
  return std::accumulate(block_bytes.begin(), block_bytes.begin() + writer, std::uint64_t{0});
}

std::span<std::byte> Writer::memory_for(std::uint32_t /*step*/, std::span<std::byte> own) {
  return own;
}

Result<Memories> Contender::prepare(const Team& /*team*/, const Checkpoint& /*checkpoint*/) const {
  return Memories();
}

Result<std::unique_ptr<Reader>> Contender::open_to_read(const Team& /*team*/,
                                                        const Checkpoint& checkpoint) const {
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "read with " + name(),
                  .path = checkpoint.folder.string()});
}

const ContenderList& all_contenders() { return registry(); }

std::string family_of(const std::string& name) { return name.substr(0, name.find(':')); }

bool register_contender(std::unique_ptr<const Contender> contender) {
  ContenderList& list = registry();
  const auto place = std::find_if(list.begin(), list.end(), [&](const auto& other) {
    return contender->name() < other->name();
  });
  list.insert(place, std::move(contender));
  return true;
}

}  // namespace forebay::bench::checkpoint
