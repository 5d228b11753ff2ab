// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/verify_written.hpp"

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
#include "bench/checkpoint/run_files.hpp"
#include "bench/checkpoint/trial.hpp"

namespace forebay::bench::checkpoint {

namespace fs = std::filesystem;

namespace {

/// A block is searched by this prefix, and then compared.
constexpr std::size_t kBeginningBytes = 64;

/// A file's bytes.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0 || status.st_size == 0) return;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const base = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (base != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(base), size};
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  /// Empty on failure, or for an empty file.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// A rank's block of a step.
struct RankBlock {
  ContentPosition position;
  std::size_t size_bytes = 0;
};

bool has_block(std::span<const std::byte> file, const RankBlock& block) {
  std::array<std::byte, kBeginningBytes> buffer{};
  const auto beginning = std::span(buffer).first(std::min(buffer.size(), block.size_bytes));
  fill_content(beginning, block.position);
  while (file.size() >= block.size_bytes) {
    const void* const found =
        ::memmem(file.data(), file.size(), beginning.data(), beginning.size());
    if (found == nullptr) return false;
    file =
        file.subspan(static_cast<std::size_t>(static_cast<const std::byte*>(found) - file.data()));
    if (file.size() < block.size_bytes) return false;
    if (!first_mismatch(file.first(block.size_bytes), block.position)) return true;
    file = file.subspan(1);  // only the first word of a page depends on the step
  }
  return false;
}

Status find_blocks(const Candidate& candidate, const RankTeam& team, const Checkpoint& checkpoint) {
  const auto files = files_below(checkpoint.directory);
  if (!files) return failure(files.error());
  for (std::uint32_t step = 0; step < checkpoint.steps; ++step) {
    const RankBlock block{{step, checkpoint.offset_of(team.rank)},
                          checkpoint.block_bytes[team.rank]};
    const bool is_there = std::any_of(files->begin(), files->end(), [&](const fs::path& path) {
      return has_block(MappedFile(path).bytes(), block);
    });
    if (is_there) continue;
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "find step " + std::to_string(step) + " of " + candidate.name(),
                    .path = checkpoint.directory.string(),
                    .cause = "no file has this rank's block"});
  }
  return {};
}

Status read_steps(const Candidate& candidate,
                  const RankTeam& team,
                  const Checkpoint& checkpoint,
                  std::span<std::byte> buffer) {
  for (std::uint32_t step = 0; step < checkpoint.steps; ++step) {
    const auto read = measure_restart(candidate, team, checkpoint, step, buffer);
    if (!read) return failure(read.error());
  }
  return {};
}

}  // namespace

Status verify_written(const Candidate& candidate,
                      const RankTeam& team,
                      const Checkpoint& checkpoint,
                      CheckLevel check,
                      std::span<std::byte> buffer) {
  const std::uint64_t payload_bytes = checkpoint.step_bytes() * checkpoint.steps;
  Status mine = team.rank == 0 ? check_sizes(checkpoint.directory, payload_bytes) : Status();
  if (auto all = agree(team, mine); !all || check == CheckLevel::kSizes) return all;
  if (candidate.can_read()) return read_steps(candidate, team, checkpoint, buffer);
  return agree(team, find_blocks(candidate, team, checkpoint));
}

}  // namespace forebay::bench::checkpoint
