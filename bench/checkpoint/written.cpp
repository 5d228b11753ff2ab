// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/written.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/descriptor.hpp"
#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/stored.hpp"
#include "bench/checkpoint/trial.hpp"

namespace forebay::bench::checkpoint {

namespace fs = std::filesystem;

namespace {

/// So much of a block is looked for; then it is compared.
constexpr std::size_t kBeginningBytes = 64;

/// A file's bytes.
class Mapped {
 public:
  explicit Mapped(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0 || status.st_size == 0) return;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const base = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (base != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(base), size};
  }
  ~Mapped() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  /// Empty where there are none.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// A rank's block of a step.
struct BlockOfRank {
  Place place;
  std::size_t size_bytes = 0;
};

bool has_block(std::span<const std::byte> file, const BlockOfRank& block) {
  std::array<std::byte, kBeginningBytes> room{};
  const auto beginning = std::span(room).first(std::min(room.size(), block.size_bytes));
  fill(beginning, block.place);
  while (file.size() >= block.size_bytes) {
    const void* const found =
        ::memmem(file.data(), file.size(), beginning.data(), beginning.size());
    if (found == nullptr) return false;
    file =
        file.subspan(static_cast<std::size_t>(static_cast<const std::byte*>(found) - file.data()));
    if (file.size() < block.size_bytes) return false;
    if (!first_wrong(file.first(block.size_bytes), block.place)) return true;
    file = file.subspan(1);  // only the first word of a page tells the step
  }
  return false;
}

Status find_blocks(const Contender& contender, const Team& team, const Checkpoint& checkpoint) {
  const auto files = files_below(checkpoint.folder);
  if (!files) return failure(files.error());
  for (std::uint32_t step = 0; step < checkpoint.steps; ++step) {
    const BlockOfRank block{{step, checkpoint.offset_of(team.rank)},
                            checkpoint.block_bytes[team.rank]};
    const bool is_there = std::any_of(files->begin(), files->end(), [&](const fs::path& path) {
      return has_block(Mapped(path).bytes(), block);
    });
    if (is_there) continue;
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "find step " + std::to_string(step) + " of " + contender.name(),
                    .path = checkpoint.folder.string(),
                    .cause = "no file has this rank's block"});
  }
  return {};
}

Status read_steps(const Contender& contender,
                  const Team& team,
                  const Checkpoint& checkpoint,
                  std::span<std::byte> room) {
  for (std::uint32_t step = 0; step < checkpoint.steps; ++step) {
    const auto read = measure_restart(contender, team, checkpoint, step, room);
    if (!read) return failure(read.error());
  }
  return {};
}

}  // namespace

Status check_written(const Contender& contender,
                     const Team& team,
                     const Checkpoint& checkpoint,
                     Check check,
                     std::span<std::byte> room) {
  const std::uint64_t payload_bytes = checkpoint.step_bytes() * checkpoint.steps;
  Status mine = team.rank == 0 ? check_sizes(checkpoint.folder, payload_bytes) : Status();
  if (auto all = agree(team, mine); !all || check == Check::kSizes) return all;
  if (contender.can_read()) return read_steps(contender, team, checkpoint, room);
  return agree(team, find_blocks(contender, team, checkpoint));
}

}  // namespace forebay::bench::checkpoint
