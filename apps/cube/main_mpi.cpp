// SPDX-License-Identifier: Apache-2.0
// The program forebay-cube-mpi: `remap` by the ranks of an MPI job, which write one file together.
// Words, document and exit codes are those of forebay-cube; rank 0 prints.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "command/report.hpp"
#include "cube/remap_commands.hpp"

namespace forebay::cube {
namespace {

/// All ranks of MPI_COMM_WORLD.
class MpiTeam final : public Team {
 public:
  MpiTeam() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(size_); }

  Status agree(const Status& mine) override {
    const int bid = mine ? size_ : rank_;
    int first = size_;
    MPI_Allreduce(&bid, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size_) return {};
    return failure(shared(first == rank_ ? std::optional(mine.error()) : std::nullopt, first));
  }

  /// Rank by rank: the numbers of all together may be more than one call of MPI can count.
  Result<std::vector<std::uint64_t>> gather(Result<std::vector<std::uint64_t>> mine) override {
    const Status agreed = agree(mine ? Status() : failure(mine.error()));
    if (!agreed) return failure(agreed.error());
    std::vector<std::uint64_t> all;
    for (int root = 0; root < size_; ++root) {
      std::vector<std::uint64_t> of_one;
      if (root == rank_) of_one = std::move(*mine);
      share(of_one, MPI_UINT64_T, root);
      all.insert(all.end(), of_one.begin(), of_one.end());
    }
    return all;
  }

 private:
  /// The error that `root` has.
  static Error shared(const std::optional<Error>& mine, int root) {
    std::string text = mine ? mine->cause() : std::string();
    std::string path = mine ? mine->path() : std::string();
    std::string operation = mine ? mine->operation() : std::string();
    share(text, MPI_CHAR, root);
    share(path, MPI_CHAR, root);
    share(operation, MPI_CHAR, root);
    std::array<std::uint64_t, 4> numbers{};
    if (mine) {
      numbers = {static_cast<std::uint64_t>(mine->kind()),
                 static_cast<std::uint64_t>(mine->error_number()), mine->offset_bytes() ? 1U : 0U,
                 mine->offset_bytes().value_or(0)};
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

  /// What `root` has becomes everyone's, however much it is.
  template <class Items>
  static void share(Items& items, MPI_Datatype type, int root) {
    std::uint64_t count = items.size();
    MPI_Bcast(&count, 1, MPI_UINT64_T, root, MPI_COMM_WORLD);
    items.resize(count);
    for (std::uint64_t done = 0; done < count; done += kItemsAtOnce) {
      const auto now = static_cast<int>(std::min(kItemsAtOnce, count - done));
      MPI_Bcast(items.data() + done, now, type, root, MPI_COMM_WORLD);
    }
  }

  /// MPI counts in int.
  static constexpr std::uint64_t kItemsAtOnce = 1ULL << 24U;
  int rank_ = 0;
  int size_ = 1;
};

command::Outcome run(std::span<const std::string_view> words) {
  if (words.empty() || words.front() != "remap") {
    return command::failed(command::usage_error("the command of several ranks is remap"));
  }
  const auto arguments = command::Arguments::parse(words.subspan(1), remap_rules());
  if (!arguments) return command::failed(arguments.error());
  auto options = remap_options(*arguments);
  if (!options) return command::failed(options.error());
  MpiTeam team;
  if (team.rank() > 0) options->progress = command::ProgressMode::kSilent;
  const auto document = remap(*options, team);
  if (!document) return command::failed(document.error());
  return command::answered(*document);
}

/// What is left where a rank cannot go on: the others would wait for it for ever.
[[noreturn]] void give_up(const char* what) {
  const std::string text = command::describe_exception(what);
  std::fputs(text.c_str(), stderr);
  MPI_Abort(MPI_COMM_WORLD, command::kExitFailed);
  std::terminate();
}

int print(const command::Outcome& outcome) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) return outcome.exit_code;
  std::fputs(outcome.output.c_str(), stdout);
  std::fputs(outcome.errors.c_str(), stderr);
  return std::fflush(stdout) == 0 ? outcome.exit_code : command::kExitFailed;
}

}  // namespace
}  // namespace forebay::cube

int main(int argument_count, char** argument_values) {
  MPI_Init(&argument_count, &argument_values);
  int exit_code = forebay::command::kExitFailed;
  try {
    const std::vector<std::string_view> words(argument_values + 1,
                                              argument_values + argument_count);
    exit_code = forebay::cube::print(forebay::cube::run(words));
  } catch (const std::exception& caught) {
    forebay::cube::give_up(caught.what());
  }
  MPI_Finalize();
  return exit_code;
}
