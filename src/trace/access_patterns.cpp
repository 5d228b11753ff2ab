// SPDX-License-Identifier: Apache-2.0
#include "trace/access_patterns.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "base/name_list.hpp"

namespace forebay::trace {

namespace {

struct Pattern {
  std::string_view name;
  std::string_view text;  ///< empty: random_epochs()
};

constexpr std::array kPatterns{
    // The table of the seed: strides, nested strides, LU and BTIO, with as many reads. A nested
    // stride of 4k/12k continues after 4096 and 12288 bytes in turn, so pairs are 16384 apart.
    Pattern{"stride.4k", "read {200 x (4096 i, 1024)}"},
    Pattern{"stride.16k", "read {200 x (16384 i, 1024)}"},
    Pattern{"stride.32k", "read {200 x (32768 i, 1024)}"},
    Pattern{"stride.64k", "read {200 x (65536 i, 1024)}"},
    Pattern{"nested.4k", "read {100 x {2 x (16384 i + 4096 j, 1024)}}"},
    Pattern{"nested.16k", "read {100 x {2 x (65536 i + 16384 j, 1024)}}"},
    Pattern{"nested.64k", "read {100 x {2 x (262144 i + 65536 j, 1024)}}"},
    Pattern{"lu",
            "read {126 x (1049088 + 524544 i, 524544), {2 + i x (524544 j, 522368 - 4096 j)}}"},
    Pattern{"btio", "read {40 x (42450944 i, 5308416)}"},
    // NPB 3.3 BT-IO, class B, 16 processes, rank 0, 3 dumps (make_set.f, simple_mpiio.f). The grid
    // has 102^3 points of 40 bytes: 4080 bytes from row to row, 416160 from plane to plane,
    // 42448320
    // from dump to dump. Each dimension is cut at 26, 52 and 77. The 4 cells of rank 0 begin at the
    // points (x, y, z) = (0, 0, 0), (26, 77, 26), (52, 52, 52), (77, 26, 77), and have 26 x 26 x
    // 26,
    // 26 x 25 x 26, 25 x 25 x 25 and 25 x 26 x 25 points; one read is one row of a cell.
    Pattern{"btio_simple",
            "read {3 x {26 x {26 x (42448320 i + 416160 j + 4080 k, 1040)}},"
            " {26 x {25 x (11135360 + 42448320 i + 416160 j + 4080 k, 1040)}},"
            " {25 x {25 x (21854560 + 42448320 i + 416160 j + 4080 k, 1000)}},"
            " {25 x {26 x (32153480 + 42448320 i + 416160 j + 4080 k, 1000)}}}"},
    Pattern{"sequential", "read {1024 x (4096 i, 4096)}"},
    Pattern{"stride.4k.1024", "read {1024 x (4096 i, 1024)}"},
    Pattern{"stride.32k.2000", "read {2000 x (32768 i, 1024)}"},
    Pattern{"stride.64k.2000", "read {2000 x (65536 i, 1024)}"},
    // A tile of a wall of 3 x 2 displays, as in the tile reader benchmark: 1024 x 768 points of 3
    // bytes, which overlap by 270 columns and 128 rows, so a frame has 2532 x 1408 points. The tile
    // is in column 1 and row 1: it begins at point (754, 640). 10 frames. Ching et al.,
    // Noncontiguous I/O through PVFS, CLUSTER'02; its numbers are from memory.
    Pattern{"mpi_tile_io", "read {10 x {768 x (4863702 + 10695168 i + 7596 j, 3072)}}"},
    // A checkpoint of FLASH-IO (its README): 24 variables, 8 x 8 x 8 zones of 8 bytes in a block,
    // 100 blocks in a process. Rank 3 of 16. One array for each variable, as in the file.
    Pattern{"flash_io", "write {24 x {100 x (1228800 + 6553600 i + 4096 j, 4096)}}"},
    // Like mpiBLAST: an index, then the fragments of a database, each with a header. The numbers
    // have no source.
    Pattern{
        "mpiblast",
        "read {32 x (8192 i, 8192)},"
        " {16 x (1048576 + 16777216 i, 4096), {100 x (1114112 + 16777216 i + 131072 j, 131072)}}"},
    Pattern{"random.2_epochs", ""},
};

/// All 200 cells of 256 KiB in random order, twice: as an application with a shuffled data set.
Signature random_epochs() {
  constexpr std::uint64_t kSeed = 1;
  constexpr std::uint64_t kCells = 200;
  std::mt19937_64 random(kSeed);
  ListItem list;
  for (std::uint64_t cell = 0; cell < kCells; ++cell) {
    list.accesses.push_back({cell * 256_KiB, 1024});
    // Not std::shuffle(): it differs between standard libraries. Fisher-Yates, from the inside.
    std::swap(list.accesses.back(), list.accesses[random() % (cell + 1)]);
  }
  return {.items = {LoopItem{.count = {.constant = 2}, .items = {std::move(list)}}}};
}

}  // namespace

std::vector<std::string_view> access_pattern_names() {
  std::vector<std::string_view> names;
  for (const Pattern& pattern : kPatterns)
    names.push_back(pattern.name);
  return names;
}

Result<Signature> access_pattern(std::string_view name) {
  const auto* const found = std::ranges::find(kPatterns, name, &Pattern::name);
  if (found != kPatterns.end())
    return found->text.empty() ? random_epochs() : parse_signature(found->text, std::string(name));
  NameList names;
  for (const Pattern& pattern : kPatterns)
    names.add(pattern.name);
  return failure(
      {.kind = ErrorClass::kInvalidArgument,
       .operation = "find an access pattern",
       .cause = "there is no pattern '" + std::string(name) + "'; give one of " + names.text()});
}

}  // namespace forebay::trace
