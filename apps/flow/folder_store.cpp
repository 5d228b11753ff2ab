// SPDX-License-Identifier: Apache-2.0
#include "flow/folder_store.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "command/published_file.hpp"
#include "flow/part_file.hpp"

namespace forebay::flow {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr const char* kComplete = "complete";

std::string step_folder(const std::string& path, std::uint64_t step) {
  return fmt::format("{}/{}{:06}", path, kStepPrefix, step);
}

PartFile part_file(const std::string& path, std::uint64_t step, std::uint32_t part) {
  return {fmt::format("{}/part-{:06}", step_folder(path, step), part), step, part};
}

Error folder_error(const char* operation, const std::string& path, std::error_code code) {
  return system_error({.operation = operation, .path = path}, code.value());
}

/// Makes names in a folder durable.
Status sync_folder(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int failed = descriptor < 0 || ::fsync(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (failed == 0) return {};
  return failure(system_error({.operation = "sync", .path = path}, failed));
}

/// The number in "step-000042".
bool parse_step(const std::string& name, std::uint64_t& step) {
  if (!name.starts_with(kStepPrefix)) return false;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kStepPrefix.size(), end, step);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

using Receipts = std::vector<StepReceipt>;
using Clock = std::chrono::steady_clock;

class FolderWriter final : public StepWriter {
 public:
  FolderWriter(std::string path, Team& team, std::uint64_t step, Receipts& receipts)
      : path_(std::move(path)), team_(team), step_(step), receipts_(receipts) {}

  Status put(const ArrayName& name,
             const ArrayShape& shape,
             std::span<const std::byte> bytes) override {
    if (name.name.empty() || name.name.size() > kArrayNameBytesMax) {
      return failure({.kind = ErrorClass::kInvalidArgument,
                      .operation = "put array",
                      .path = path_,
                      .cause = fmt::format("a name has 1 to {} bytes", kArrayNameBytesMax)});
    }
    parts_[name.part][name.name] = {shape, {bytes.begin(), bytes.end()}};
    return {};
  }

  Status commit() override {
    const Status written = team_.agree(write_parts());
    if (!written) return written;
    Status told;
    if (team_.rank() == 0) told = tell_complete();
    const Status agreed = team_.agree(told);
    // Whoever has waited for all of it was held up all the time.
    const auto held_up = Clock::now() - begun_;
    if (agreed) receipts_.push_back({step_, bytes(), begun_, held_up, held_up});
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

  Status tell_complete() const {
    const std::string folder = step_folder(path_, step_);
    auto file = command::PublishedFile::create(folder + "/" + kComplete);
    if (!file) return failure(file.error());
    if (const Status published = file->publish(); !published) return published;
    return sync_folder(path_);
  }

  std::string path_;
  Team& team_;
  std::uint64_t step_;
  Receipts& receipts_;
  Clock::time_point begun_ = Clock::now();
  std::map<std::uint32_t, std::map<std::string, StoredArray>> parts_;
};

class FolderReader final : public StepReader {
 public:
  FolderReader(std::string path, std::uint64_t step) : path_(std::move(path)), step_(step) {}
  Result<StoredArray> get(const ArrayName& name) override {
    return read_part_file(part_file(path_, step_, name.part), name.name);
  }

 private:
  std::string path_;
  std::uint64_t step_;
};

class FolderStore final : public PartStore {
 public:
  FolderStore(std::string path, Team& team) : path_(std::move(path)), team_(team) {}

  Result<std::unique_ptr<StepWriter>> begin_step(std::uint64_t step) override {
    Status begun = numbers_.begin(step);
    if (begun && team_.rank() == 0) begun = make_folder(step);
    const Status agreed = team_.agree(begun);
    if (!agreed) return failure(agreed.error());
    return std::make_unique<FolderWriter>(path_, team_, step, receipts_);
  }

  Result<std::unique_ptr<StepReader>> open_step(std::uint64_t step) override {
    const Result<std::vector<std::uint64_t>> whole = steps();
    if (!whole) return failure(whole.error());
    if (std::ranges::binary_search(*whole, step)) {
      return std::make_unique<FolderReader>(path_, step);
    }
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "open step",
                    .path = path_,
                    .cause = fmt::format("there is no step {} that is whole", step)});
  }

  /// As rank 0 sees them.
  Result<std::vector<std::uint64_t>> steps() override {
    Result<std::vector<std::uint64_t>> found;
    if (team_.rank() == 0) found = look();
    const Status agreed = team_.agree(found ? Status() : failure(found.error()));
    if (!agreed) return failure(agreed.error());
    const std::uint64_t count = team_.gather<std::uint64_t>(found->size()).front();
    std::vector<std::size_t> sizes(team_.size());
    sizes.front() = count * sizeof(std::uint64_t);
    std::vector<std::uint64_t> all(count);
    team_.gather_bytes(std::as_bytes(std::span(*found)), sizes,
                       std::as_writable_bytes(std::span(all)));
    return all;
  }

  Status wait() override { return {}; }  // commit() has waited
  Receipts receipts() const override { return receipts_; }
  std::string description() const override { return "folder, a file for each part"; }

  void begin_above(std::span<const std::uint64_t> there) { numbers_ = RisingSteps(there); }

 private:
  Status make_folder(std::uint64_t step) const {
    const std::string folder = step_folder(path_, step);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return failure(folder_error("create", folder, error));
    return {};
  }

  Result<std::vector<std::uint64_t>> look() const {
    std::vector<std::uint64_t> found;
    std::error_code error;
    for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
         entry.increment(error)) {
      std::uint64_t step = 0;
      const bool is_step = parse_step(entry->path().filename().string(), step);
      std::error_code ignored;
      if (is_step && fs::exists(entry->path() / kComplete, ignored)) found.push_back(step);
    }
    if (error) return failure(folder_error("list", path_, error));
    std::ranges::sort(found);
    return found;
  }

  std::string path_;
  Team& team_;
  RisingSteps numbers_;
  Receipts receipts_;
};

}  // namespace

Result<std::unique_ptr<PartStore>> open_folder_store(const std::string& path,
                                                     StoreUse use,
                                                     Team& team) {
  Status opened;
  std::error_code error;
  if (team.rank() == 0 && use == StoreUse::kWrite) {
    fs::create_directories(path, error);
    if (error) opened = failure(folder_error("create", path, error));
  } else if (team.rank() == 0 && !fs::is_directory(path, error)) {
    opened =
        failure(system_error({.operation = "open", .path = path}, error ? error.value() : ENOTDIR));
  }
  const Status agreed = team.agree(opened);
  if (!agreed) return failure(agreed.error());
  auto store = std::make_unique<FolderStore>(path, team);
  const auto there = store->steps();
  if (!there) return failure(there.error());
  store->begin_above(*there);
  return store;
}

}  // namespace forebay::flow
