// SPDX-License-Identifier: Apache-2.0
#include "cube/profile_output.hpp"

#include <utility>

namespace forebay::cube {

namespace {

template <class Value>
tl::unexpected<Error> pass_on(const Result<Value>& failed) {
  return failure(failed.error());
}

/// Ranks write one file through the page cache.
StreamPlan stream_plan(const OutputShape& shape, const Team& team) {
  StreamPlan plan{.buffer_bytes = shape.buffer_bytes, .buffers = shape.buffers};
  if (team.size() > 1) plan.access = Access::kBuffered;
  return plan;
}

/// A text as ranks send it: a number for each character.
std::vector<std::uint64_t> words_of(const std::string& text) {
  std::vector<std::uint64_t> words;
  for (const char letter : text)
    words.push_back(static_cast<unsigned char>(letter));
  return words;
}

std::string text_of(const std::vector<std::uint64_t>& words) {
  std::string text;
  for (const std::uint64_t word : words)
    text.push_back(static_cast<char>(word));
  return text;
}

}  // namespace

ProfileOutput::ProfileOutput(std::unique_ptr<Runtime> runtime, OutputStream stream, Team& team)
    : team_(team), runtime_(std::move(runtime)), stream_(std::move(stream)) {}

Result<std::unique_ptr<ProfileOutput>> ProfileOutput::create(const OutputShape& shape, Team& team) {
  auto output = open_stream(shape, team);
  if (const Status ready = team.agree(output ? Status() : Status(pass_on(output))); !ready)
    return pass_on(ready);
  if (const Status created = (*output)->create_file(shape); !created) return pass_on(created);
  return output;
}

Result<std::unique_ptr<ProfileOutput>> ProfileOutput::open_stream(const OutputShape& shape,
                                                                  Team& team) {
  auto settings = options_from_environment();
  if (!settings) return pass_on(settings);
  auto runtime = std::make_unique<Runtime>(std::move(*settings));
  auto stream = runtime->output_stream(stream_plan(shape, team));
  if (!stream) return pass_on(stream);
  return std::unique_ptr<ProfileOutput>(
      new ProfileOutput(std::move(runtime), std::move(*stream), team));
}

/// Rank 0 makes the file, and the others join in before a byte of it is written: so none of them
/// takes a size for its end that is not.
Status ProfileOutput::create_file(const OutputShape& shape) {
  Status mine;
  const Writers writers = team_.size() > 1 ? Writers::kOtherProcesses : Writers::kThisRuntime;
  if (team_.rank() == 0) {
    mine = open_file(shape.path, {.expected_bytes = shape.expected_bytes,
                                  .publication = Publication::kWhenComplete,
                                  .writers = writers});
  }
  const bool is_first = team_.rank() == 0;
  auto words = mine && is_first ? words_of(file_->written_path()) : std::vector<std::uint64_t>();
  auto all_words = team_.gather(mine ? Result<std::vector<std::uint64_t>>(std::move(words))
                                     : Result<std::vector<std::uint64_t>>(pass_on(mine)));
  if (!all_words) return pass_on(all_words);
  if (!is_first) mine = open_file(text_of(*all_words), {.existing = Existing::kKeep});
  return team_.agree(mine);
}

Status ProfileOutput::open_file(const std::string& path, const CreateOptions& how) {
  auto file = stream_.create(path, how);
  if (!file) return pass_on(file);
  file_.emplace(std::move(*file));
  return {};
}

Status ProfileOutput::write(std::span<const Piece> pieces) {
  for (const Piece& piece : pieces)
    if (const Status wrote = write(piece.offset, piece.bytes); !wrote) return wrote;
  return {};
}

Status ProfileOutput::publish(const Status& mine) {
  const bool must_sync = mine && team_.rank() > 0;
  if (const Status complete = team_.agree(must_sync ? file_->sync() : mine); !complete)
    return complete;
  return team_.agree(team_.rank() == 0 ? file_->publish() : Status());
}

}  // namespace forebay::cube
