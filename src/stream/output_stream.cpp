// SPDX-License-Identifier: Apache-2.0
// The public handles: each call is forwarded to the core.
#include <forebay/output_stream.hpp>

#include <utility>

#include "stream/stream_core.hpp"

namespace forebay {

void OutputBuffer::release() noexcept {
  bytes_ = {};
  const auto core = std::move(core_);
  if (core && core->check_process("release a buffer")) core->release_buffer(index_);
}

const std::string& OutputFile::path() const noexcept { return file_->path(); }
const std::string& OutputFile::write_path() const noexcept { return file_->write_path(); }
std::uint32_t OutputFile::number() const noexcept { return file_->number(); }
const OutputPlan& OutputFile::plan() const noexcept { return file_->plan(); }

Status OutputFile::drain() const {
  if (Status here = core_->check_process("drain"); !here) return here;
  return core_->drain_file(*file_, stream::Durability::kWritten);
}

Status OutputFile::sync() const {
  if (Status here = core_->check_process("sync"); !here) return here;
  return core_->drain_file(*file_, stream::Durability::kSynced);
}

Status OutputFile::publish() const {
  if (Status here = core_->check_process("publish"); !here) return here;
  return core_->publish(*file_);
}

OutputStream& OutputStream::operator=(OutputStream&& other) noexcept {
  if (this != &other) {
    end();
    core_ = std::move(other.core_);
  }
  return *this;
}

OutputStream::~OutputStream() { end(); }

void OutputStream::end() noexcept {
  if (core_ && core_->check_process("close")) core_->close();
}

Result<OutputFile> OutputStream::create(const std::string& path, const OutputFileOptions& options) {
  if (const Status here = core_->check_process("create"); !here) return failure(here.error());
  return core_->create(path, options);
}

Result<OutputBuffer> OutputStream::acquire() {
  if (const Status here = core_->check_process("acquire"); !here) return failure(here.error());
  return core_->acquire();
}

Result<OutputBuffer> OutputStream::acquire_at(const OutputFile& file, std::uint64_t offset_bytes) {
  if (const Status own = core_->check_ownership(file); !own) return failure(own.error());
  return core_->acquire_at(*file.file_, offset_bytes);
}

Result<std::optional<OutputBuffer>> OutputStream::try_acquire() {
  if (const Status here = core_->check_process("acquire"); !here) return failure(here.error());
  return core_->try_acquire();
}

Future<OutputBuffer> OutputStream::acquire_async() {
  if (const Status here = core_->check_process("acquire"); !here) return here.error();
  return core_->acquire_async();
}

Status OutputStream::submit(OutputBuffer buffer,
                            const OutputFile& file,
                            std::uint64_t offset_bytes,
                            std::uint64_t size_bytes) {
  if (const Status own = core_->check_ownership(file, buffer); !own) return own;
  return core_->submit(std::move(buffer), *file.file_, {offset_bytes, size_bytes});
}

Status OutputStream::write(const OutputFile& file,
                           std::uint64_t offset_bytes,
                           std::span<const std::byte> bytes) {
  if (const Status own = core_->check_ownership(file); !own) return own;
  return core_->write(*file.file_, offset_bytes, bytes);
}

Status OutputStream::drain() {
  if (Status here = core_->check_process("drain"); !here) return here;
  return core_->drain(stream::Durability::kWritten);
}

Status OutputStream::sync() {
  if (Status here = core_->check_process("sync"); !here) return here;
  return core_->drain(stream::Durability::kSynced);
}

Result<std::size_t> OutputStream::poll_completions(std::span<WriteCompletion> into) {
  if (const Status here = core_->check_process("list writes"); !here) return failure(here.error());
  return core_->written(into);
}

void OutputStream::cancel() noexcept {
  if (core_->check_process("cancel")) core_->cancel();
}

const StreamPlan& OutputStream::plan() const noexcept { return core_->plan(); }

StreamReport OutputStream::report() const {
  return core_->check_process("report") ? core_->report() : StreamReport();
}

}  // namespace forebay
