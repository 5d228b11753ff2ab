// SPDX-License-Identifier: Apache-2.0
// FileDecorator: the base of files that change some calls of another file and pass on the others.
#pragma once

#include <memory>
#include <utility>

#include "storage/file.hpp"

namespace forebay::storage {

/// Owns a file and passes all calls on. It has no descriptor: backends that need one refuse it, and
/// the thread pool calls its methods, so no transfer bypasses a derived class.
class FileDecorator : public File {
 public:
  explicit FileDecorator(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}

  const std::string& path() const noexcept override { return inner_->path(); }
  FileSystem file_system() const noexcept override { return inner_->file_system(); }
  Access access() const noexcept override { return inner_->access(); }
  std::size_t alignment_bytes() const noexcept override { return inner_->alignment_bytes(); }
  int descriptor() const noexcept override { return -1; }
  Result<std::uint64_t> size() const override { return inner_->size(); }
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override {
    return inner_->read_at(into, offset_bytes);
  }
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override {
    return inner_->write_at(from, offset_bytes);
  }
  Status sync() override { return inner_->sync(); }
  Status allocate(ByteRange range) override { return inner_->allocate(range); }
  Status reserve(ByteRange range) override { return inner_->reserve(range); }
  Status punch_hole(ByteRange range) override { return inner_->punch_hole(range); }
  Status truncate(std::uint64_t size_bytes) override { return inner_->truncate(size_bytes); }
  std::optional<double> cached_fraction(ByteRange range) const override {
    return inner_->cached_fraction(range);
  }
  std::optional<std::uint64_t> free_bytes() const override { return inner_->free_bytes(); }

 protected:
  File& inner() const noexcept { return *inner_; }

 private:
  const std::unique_ptr<File> inner_;
};

}  // namespace forebay::storage
