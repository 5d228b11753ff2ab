// SPDX-License-Identifier: Apache-2.0
#include "flow/directory_store.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "command/atomic_file.hpp"
#include "flow/part_file.hpp"

namespace forebay::flow {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr const char* kComplete = "complete";

std::string step_directory(const std::string& path, std::uint64_t step) {
  return fmt::format("{}/{}{:06}", path, kStepPrefix, step);
}

PartFile part_file(const std::string& path, std::uint64_t step, std::uint32_t part) {
  return {fmt::format("{}/part-{:06}", step_directory(path, step), part), step, part};
}

Error directory_error(const char* operation, const std::string& path, std::error_code code) {
  return system_error({.operation = operation, .path = path}, code.value());
}

/// Makes the names in a directory durable.
Status sync_directory(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int failed = descriptor < 0 || ::fsync(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (failed == 0) return {};
  return failure(system_error({.operation = "sync", .path = path}, failed));
}

/// Parses the number in "step-000042".
bool parse_step(const std::string& name, std::uint64_t& step) {
  if (!name.starts_with(kStepPrefix)) return false;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kStepPrefix.size(), end, step);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

using Receipts = std::vector<StepReceipt>;
using Clock = std::chrono::steady_clock;

class DirectoryStepWriter final : public PartStepWriter {
 public:
  DirectoryStepWriter(std::string path, SolverComm& comm, std::uint64_t step, Receipts& receipts)
      : path_(std::move(path)), comm_(comm), step_(step), receipts_(receipts) {}

  Status put(const ArrayName& name,
             const ArrayShape& shape,
             std::span<const std::byte> bytes) override {
    if (name.name.empty() || name.name.size() > kArrayNameBytesMax) {
      return failure(
          {.kind = ErrorClass::kInvalidArgument,
           .operation = "put array",
           .path = path_,
           .cause = fmt::format("an array name must have 1 to {} bytes", kArrayNameBytesMax)});
    }
    parts_[name.part][name.name] = {shape, {bytes.begin(), bytes.end()}};
    return {};
  }

  Status commit() override {
    const Status written = comm_.agree(write_parts());
    if (!written) return written;
    Status status;
    if (comm_.rank() == 0) status = write_complete_marker();
    const Status agreed = comm_.agree(status);
    // commit() waits until the step is durable, so the rank is blocked for the whole time.
    const auto blocked = Clock::now() - begin_time_;
    if (agreed) receipts_.push_back({step_, bytes(), begin_time_, blocked, blocked});
    return agreed;
  }

 private:
  Status write_parts() const {
    for (const auto& [part, arrays] : parts_) {
      const Status written = write_part_file(part_file(path_, step_, part), arrays);
      if (!written) return written;
    }
    return {};
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [part, arrays] : parts_)
      for (const auto& [name, array] : arrays)
        sum += array.bytes.size();
    return sum;
  }

  Status write_complete_marker() const {
    const std::string directory = step_directory(path_, step_);
    auto file = command::AtomicFile::create(directory + "/" + kComplete);
    if (!file) return failure(file.error());
    if (const Status published = file->publish(); !published) return published;
    return sync_directory(path_);
  }

  std::string path_;
  SolverComm& comm_;
  std::uint64_t step_;
  Receipts& receipts_;
  Clock::time_point begin_time_ = Clock::now();
  std::map<std::uint32_t, std::map<std::string, StoredArray>> parts_;
};

class DirectoryStepReader final : public PartStepReader {
 public:
  DirectoryStepReader(std::string path, std::uint64_t step) : path_(std::move(path)), step_(step) {}
  Result<StoredArray> get(const ArrayName& name) override {
    return read_part_file(part_file(path_, step_, name.part), name.name);
  }

 private:
  std::string path_;
  std::uint64_t step_;
};

class DirectoryStore final : public PartStore {
 public:
  DirectoryStore(std::string path, SolverComm& comm) : path_(std::move(path)), comm_(comm) {}

  Result<std::unique_ptr<PartStepWriter>> begin_step(std::uint64_t step) override {
    Status begun = step_order_.advance(step);
    if (begun && comm_.rank() == 0) begun = make_directory(step);
    const Status agreed = comm_.agree(begun);
    if (!agreed) return failure(agreed.error());
    return std::make_unique<DirectoryStepWriter>(path_, comm_, step, receipts_);
  }

  Result<std::unique_ptr<PartStepReader>> open_step(std::uint64_t step) override {
    const Result<std::vector<std::uint64_t>> complete = steps();
    if (!complete) return failure(complete.error());
    if (std::ranges::binary_search(*complete, step)) {
      return std::make_unique<DirectoryStepReader>(path_, step);
    }
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "open step",
                    .path = path_,
                    .cause = fmt::format("step {} does not exist or is not complete", step)});
  }

  /// The steps that rank 0 finds.
  Result<std::vector<std::uint64_t>> steps() override {
    Result<std::vector<std::uint64_t>> found;
    if (comm_.rank() == 0) found = list_steps();
    const Status agreed = comm_.agree(found ? Status() : failure(found.error()));
    if (!agreed) return failure(agreed.error());
    const std::uint64_t count = comm_.allgather<std::uint64_t>(found->size()).front();
    std::vector<std::size_t> sizes(comm_.size());
    sizes.front() = count * sizeof(std::uint64_t);
    std::vector<std::uint64_t> numbers(count);
    comm_.allgatherv(std::as_bytes(std::span(*found)), sizes,
                     std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }

  Status wait() override { return {}; }  // commit() has waited
  Receipts receipts() const override { return receipts_; }
  std::string description() const override { return "folder, a file for each part"; }

  void set_existing_steps(std::span<const std::uint64_t> existing) {
    step_order_ = StepOrder(existing);
  }

 private:
  Status make_directory(std::uint64_t step) const {
    const std::string directory = step_directory(path_, step);
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) return failure(directory_error("create", directory, error));
    return {};
  }

  Result<std::vector<std::uint64_t>> list_steps() const {
    std::vector<std::uint64_t> found;
    std::error_code error;
    for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
         entry.increment(error)) {
      std::uint64_t step = 0;
      const bool is_step = parse_step(entry->path().filename().string(), step);
      std::error_code ignored;
      if (is_step && fs::exists(entry->path() / kComplete, ignored)) found.push_back(step);
    }
    if (error) return failure(directory_error("list", path_, error));
    std::ranges::sort(found);
    return found;
  }

  std::string path_;
  SolverComm& comm_;
  StepOrder step_order_;
  Receipts receipts_;
};

}  // namespace

Result<std::unique_ptr<PartStore>> open_directory_store(const std::string& path,
                                                        StoreMode mode,
                                                        SolverComm& comm) {
  Status opened;
  std::error_code error;
  if (comm.rank() == 0 && mode == StoreMode::kWrite) {
    fs::create_directories(path, error);
    if (error) opened = failure(directory_error("create", path, error));
  } else if (comm.rank() == 0 && !fs::is_directory(path, error)) {
    opened =
        failure(system_error({.operation = "open", .path = path}, error ? error.value() : ENOTDIR));
  }
  const Status agreed = comm.agree(opened);
  if (!agreed) return failure(agreed.error());
  auto store = std::make_unique<DirectoryStore>(path, comm);
  const auto existing = store->steps();
  if (!existing) return failure(existing.error());
  store->set_existing_steps(*existing);
  return store;
}

}  // namespace forebay::flow
