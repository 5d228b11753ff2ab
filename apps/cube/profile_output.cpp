// SPDX-License-Identifier: Apache-2.0
#include "cube/profile_output.hpp"

#include <utility>

namespace forebay::cube {

namespace {

template <class Value>
tl::unexpected<Error> propagate(const Result<Value>& failed) {
  return failure(failed.error());
}

/// Several ranks write one file through the page cache.
StreamPlan stream_plan(const OutputOptions& options, const WriterComm& comm) {
  StreamPlan plan{.buffer_bytes = options.buffer_bytes, .buffers = options.buffers};
  if (comm.size() > 1) plan.access = Access::kBuffered;
  return plan;
}

/// Encodes a text as one number per character, to send it between ranks.
std::vector<std::uint64_t> encode_text(const std::string& text) {
  std::vector<std::uint64_t> words;
  for (const char letter : text)
    words.push_back(static_cast<unsigned char>(letter));
  return words;
}

std::string decode_text(const std::vector<std::uint64_t>& words) {
  std::string text;
  for (const std::uint64_t word : words)
    text.push_back(static_cast<char>(word));
  return text;
}

}  // namespace

ProfileOutput::ProfileOutput(std::unique_ptr<Runtime> runtime,
                             OutputStream stream,
                             WriterComm& comm)
    : comm_(comm), runtime_(std::move(runtime)), stream_(std::move(stream)) {}

Result<std::unique_ptr<ProfileOutput>> ProfileOutput::create(const OutputOptions& options,
                                                             WriterComm& comm) {
  auto output = open_stream(options, comm);
  if (const Status ready = comm.agree(output ? Status() : Status(propagate(output))); !ready)
    return propagate(ready);
  if (const Status created = (*output)->create_file(options); !created) return propagate(created);
  return output;
}

Result<std::unique_ptr<ProfileOutput>> ProfileOutput::open_stream(const OutputOptions& options,
                                                                  WriterComm& comm) {
  auto settings = options_from_environment();
  if (!settings) return propagate(settings);
  auto runtime = std::make_unique<Runtime>(std::move(*settings));
  auto stream = runtime->create_output_stream(stream_plan(options, comm));
  if (!stream) return propagate(stream);
  return std::unique_ptr<ProfileOutput>(
      new ProfileOutput(std::move(runtime), std::move(*stream), comm));
}

/// Rank 0 creates the file, and the others open it before any byte is written. So no rank mistakes
/// the current size for the end of the file.
Status ProfileOutput::create_file(const OutputOptions& options) {
  Status local;
  const FileSharing writers = comm_.size() > 1 ? FileSharing::kShared : FileSharing::kExclusive;
  if (comm_.rank() == 0) {
    local = open_file(options.path, {.expected_bytes = options.expected_bytes,
                                     .visibility = FileVisibility::kOnPublish,
                                     .sharing = writers});
  }
  const bool is_first = comm_.rank() == 0;
  auto words = local && is_first ? encode_text(file_->write_path()) : std::vector<std::uint64_t>();
  auto gathered = comm_.allgather(local ? Result<std::vector<std::uint64_t>>(std::move(words))
                                        : Result<std::vector<std::uint64_t>>(propagate(local)));
  if (!gathered) return propagate(gathered);
  if (!is_first)
    local = open_file(decode_text(*gathered), {.existing_content = ExistingContent::kKeep});
  return comm_.agree(local);
}

Status ProfileOutput::open_file(const std::string& path, const OutputFileOptions& how) {
  auto file = stream_.create(path, how);
  if (!file) return propagate(file);
  file_.emplace(std::move(*file));
  return {};
}

Status ProfileOutput::write(std::span<const FileSegment> segments) {
  for (const FileSegment& segment : segments)
    if (const Status wrote = write(segment.offset, segment.bytes); !wrote) return wrote;
  return {};
}

Status ProfileOutput::publish(const Status& local) {
  const bool must_sync = local && comm_.rank() > 0;
  if (const Status complete = comm_.agree(must_sync ? file_->sync() : local); !complete)
    return complete;
  return comm_.agree(comm_.rank() == 0 ? file_->publish() : Status());
}

}  // namespace forebay::cube
