// SPDX-License-Identifier: Apache-2.0
// Runs a program with the library of `forebay run`, without an agent, and compares the records of
// MPI-IO in the shared memory with the lines that the program has written to $FOREBAY_EXPECTED.
//
// Usage: mpi_records LIBRARY LOST_FILES COMMAND...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/run_memory.hpp"

extern char** environ;

namespace {

using forebay::trace::RunMemory;
using forebay::trace::RunOpen;
using forebay::trace::RunRing;
using Lines = std::vector<std::string>;

RunMemory* create_memory(int descriptor) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::ftruncate(descriptor, sizeof(RunMemory)) != 0) return nullptr;
  if (::fcntl(descriptor, F_ADD_SEALS, kSeals) != 0) return nullptr;
  void* const mapped =
      ::mmap(nullptr, sizeof(RunMemory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const memory = static_cast<RunMemory*>(mapped);
  memory->opens.initialize();
  memory->version = RunMemory::kVersion;
  memory->magic = RunMemory::kMagic;
  return memory;
}

int run(char** command) {
  pid_t child = 0;
  int status = 0;
  if (::posix_spawnp(&child, command[0], nullptr, nullptr, command, environ) != 0) return 127;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// As the test program writes them, each with the rank.
Lines lines_of(RunMemory& memory) {
  static constexpr const char* kNames[] = {"open", "read", "write", "close", "sync", "seek"};
  std::map<std::pair<std::uint32_t, std::uint16_t>, RunOpen> files;
  for (; const RunOpen* open = memory.opens.front(); memory.opens.pop())
    if (open->kind == forebay::trace::RunOpenKind::kMpiFile)
      files[{open->process, open->file}] = *open;
  Lines lines;
  for (RunRing& ring : memory.rings) {
    const auto content = ring.ring.content();
    for (const auto part : {content.first, content.second}) {
      for (const auto& record : part) {
        const auto found = files.find({ring.process, record.file});
        if (found == files.end()) continue;  // of POSIX
        const RunOpen& open = found->second;
        const std::filesystem::path path(std::string(open.path.data(), open.path_bytes));
        std::string line = std::to_string(memory.processes[ring.process].rank) + " " +
                           path.filename().string() + " " +
                           kNames[static_cast<int>(record.operation)];
        for (const std::uint64_t number : {record.offset, record.size, std::uint64_t{record.flags}})
          line += " " + std::to_string(number);
        line += " view";
        for (const std::uint64_t number : {open.view.displacement, open.view.etype_bytes,
                                           open.view.filetype_bytes, open.view.filetype_extent})
          line += " " + std::to_string(number);
        if (record.begin_ns == 0) line += " without a time";
        lines.push_back(line);
      }
    }
  }
  return lines;
}

Lines expected_in(const std::filesystem::path& folder) {
  Lines lines;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);)
      lines.push_back(file.path().filename().string() + " " + line);
  }
  return lines;
}

bool is_equal(Lines found, Lines expected) {
  Lines difference;
  std::ranges::sort(found);
  std::ranges::sort(expected);
  std::ranges::set_difference(expected, found, std::back_inserter(difference));
  for (const std::string& line : difference)
    std::printf("missing:    %s\n", line.c_str());
  const bool is_complete = difference.empty();
  difference.clear();
  std::ranges::set_difference(found, expected, std::back_inserter(difference));
  for (const std::string& line : difference)
    std::printf("unexpected: %s\n", line.c_str());
  std::printf("%zu records of MPI-IO\n", found.size());
  return is_complete && difference.empty() && !found.empty();
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  const int descriptor = ::memfd_create("forebay-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  RunMemory* const memory = create_memory(descriptor);
  std::string folder = std::filesystem::temp_directory_path() / "forebay-records-XXXXXX";
  if (memory == nullptr || ::mkdtemp(folder.data()) == nullptr) return 2;
  ::setenv("FOREBAY_EXPECTED", folder.c_str(), 1);
  ::setenv("LD_PRELOAD", words[1], 1);
  const std::string path =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor);
  ::setenv("FOREBAY_RUN_MEMORY", path.c_str(), 1);
  const int code = run(words + 3);
  unsigned lost = 0;
  for (const auto& process : memory->processes)
    lost += process.lost_opens;
  const bool is_right = is_equal(lines_of(*memory), expected_in(folder));
  std::filesystem::remove_all(folder);
  std::printf("exit code %d, %u files lost\n", code, lost);
  return code == 0 && is_right && lost == static_cast<unsigned>(std::atoi(words[2])) ? 0 : 1;
}
