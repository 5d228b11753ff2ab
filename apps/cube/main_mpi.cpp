// SPDX-License-Identifier: Apache-2.0
// The program forebay-cube-mpi: `remap` on the ranks of an MPI job, which write one file together.
// Arguments, document and exit codes are those of forebay-cube; rank 0 prints.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "command/command_result.hpp"
#include "cube/remap_commands.hpp"

namespace forebay::cube {
namespace {

/// All ranks of MPI_COMM_WORLD.
class MpiWriterComm final : public WriterComm {
 public:
  MpiWriterComm() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(size_); }

  Status agree(const Status& local) override {
    const int local_rank = local ? size_ : rank_;
    int first = size_;
    MPI_Allreduce(&local_rank, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size_) return {};
    return failure(
        broadcast_error(first == rank_ ? std::optional(local.error()) : std::nullopt, first));
  }

  /// One broadcast per rank: the numbers of all ranks together may exceed the count of one MPI
  /// call.
  Result<std::vector<std::uint64_t>> allgather(Result<std::vector<std::uint64_t>> local) override {
    const Status agreed = agree(local ? Status() : failure(local.error()));
    if (!agreed) return failure(agreed.error());
    std::vector<std::uint64_t> gathered;
    for (int root = 0; root < size_; ++root) {
      std::vector<std::uint64_t> of_one;
      if (root == rank_) of_one = std::move(*local);
      broadcast(of_one, MPI_UINT64_T, root);
      gathered.insert(gathered.end(), of_one.begin(), of_one.end());
    }
    return gathered;
  }

 private:
  /// Returns the error of rank `root`.
  static Error broadcast_error(const std::optional<Error>& local, int root) {
    std::string text = local ? local->cause() : std::string();
    std::string path = local ? local->path() : std::string();
    std::string operation = local ? local->operation() : std::string();
    broadcast(text, MPI_CHAR, root);
    broadcast(path, MPI_CHAR, root);
    broadcast(operation, MPI_CHAR, root);
    std::array<std::uint64_t, 4> numbers{};
    if (local) {
      numbers = {static_cast<std::uint64_t>(local->kind()),
                 static_cast<std::uint64_t>(local->error_number()), local->offset_bytes() ? 1U : 0U,
                 local->offset_bytes().value_or(0)};
    }
    MPI_Bcast(numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, root, MPI_COMM_WORLD);
    ErrorDetails details{.kind = static_cast<ErrorClass>(numbers[0]),
                         .operation = operation,
                         .path = path,
                         .error_number = static_cast<int>(numbers[1]),
                         .cause = text,
                         .rank = static_cast<std::uint32_t>(root)};
    if (numbers[2] != 0) details.offset_bytes = numbers[3];
    return Error(std::move(details));
  }

  /// Copies the items of `root` to all ranks, whatever their number.
  template <class Items>
  static void broadcast(Items& items, MPI_Datatype type, int root) {
    std::uint64_t count = items.size();
    MPI_Bcast(&count, 1, MPI_UINT64_T, root, MPI_COMM_WORLD);
    items.resize(count);
    for (std::uint64_t done = 0; done < count; done += kBroadcastItemsMax) {
      const auto now = static_cast<int>(std::min(kBroadcastItemsMax, count - done));
      MPI_Bcast(items.data() + done, now, type, root, MPI_COMM_WORLD);
    }
  }

  /// MPI counts are int.
  static constexpr std::uint64_t kBroadcastItemsMax = 1ULL << 24U;
  int rank_ = 0;
  int size_ = 1;
};

command::Run declare_remap(CLI::App& app) {
  const auto options = std::make_shared<RemapOptions>();
  add_remap(app, *options);
  return [options] {
    MpiWriterComm comm;
    if (comm.rank() > 0) options->progress = command::ProgressMode::kSilent;
    return command::make_result(run_remap(*options, comm));
  };
}

command::CommandResult run(std::span<const std::string_view> args) {
  const command::Command remap{"remap", "Write a profile with computed metrics.", declare_remap};
  CLI::App app("Remap Cube profiles on several ranks; print one JSON document.",
               "forebay-cube-mpi");
  return command::run(app, args, std::span(&remap, 1));
}

/// For exceptions: if one rank ended, the others would wait for it without limit.
[[noreturn]] void abort_job(const char* what) {
  const std::string text = command::describe_exception(what);
  std::fputs(text.c_str(), stderr);
  MPI_Abort(MPI_COMM_WORLD, command::kExitFailure);
  std::terminate();
}

int print(const command::CommandResult& outcome) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) return outcome.exit_code;
  std::fputs(outcome.output.c_str(), stdout);
  std::fputs(outcome.errors.c_str(), stderr);
  return std::fflush(stdout) == 0 ? outcome.exit_code : command::kExitFailure;
}

}  // namespace
}  // namespace forebay::cube

int main(int argument_count, char** argument_values) {
  MPI_Init(&argument_count, &argument_values);
  int exit_code = forebay::command::kExitFailure;
  try {
    const std::vector<std::string_view> args(argument_values + 1, argument_values + argument_count);
    exit_code = forebay::cube::print(forebay::cube::run(args));
  } catch (const std::exception& caught) {
    forebay::cube::abort_job(caught.what());
  }
  MPI_Finalize();
  return exit_code;
}
