// SPDX-License-Identifier: Apache-2.0
// Functions of <forebay/c/stream.h>.
#include <new>

#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/handles.hpp"

using namespace forebay::bindings;
using forebay::OutputBuffer;

struct forebay_stream {
  SharedRuntime runtime;
  forebay::OutputStream stream;
};

struct forebay_output_file {
  SharedRuntime runtime;
  forebay::OutputFile file;
};

namespace {

constexpr const char* kCreateFile = "create a file";

static_assert(sizeof(OutputBuffer) <= sizeof(forebay_output_buffer::storage));
static_assert(alignof(OutputBuffer) <= alignof(forebay_output_buffer));

forebay::StreamPlan stream_plan_of(const forebay_stream_plan* plan) {
  const auto given = read_struct("create a stream", plan);
  return {.access = access_of("create a stream", given.access),
          .buffer_bytes = given.buffer_bytes,
          .buffers = given.buffers,
          .tuning = {.request_bytes = given.request_bytes,
                     .queue_depth = given.queue_depth,
                     .in_flight_bytes = given.in_flight_bytes}};
}

forebay::OutputFileOptions file_options_of(const forebay_output_file_options* options) {
  using forebay::ExistingContent;
  using forebay::FileSharing;
  using forebay::FileVisibility;
  const auto given = read_struct(kCreateFile, options);
  return {
      .expected_bytes = given.expected_bytes,
      .visibility = choose({kCreateFile, "visibility", given.visibility},
                           {FileVisibility::kImmediate, FileVisibility::kOnPublish}),
      .existing_content = choose({kCreateFile, "existing_content", given.existing_content},
                                 {ExistingContent::kReplace, ExistingContent::kKeep}),
      .sharing = given.is_shared ? FileSharing::kShared : FileSharing::kExclusive,
  };
}

OutputBuffer& held_buffer(forebay_output_buffer& buffer) noexcept {
  return *std::launder(reinterpret_cast<OutputBuffer*>(buffer.storage));
}

/// Moves the buffer out, and leaves an empty one.
OutputBuffer take(forebay_output_buffer& buffer) noexcept {
  OutputBuffer taken = std::move(held_buffer(buffer));
  forebay_output_buffer_release(&buffer);
  return taken;
}

}  // namespace

int forebay_stream_create(forebay_runtime* runtime,
                          const forebay_stream_plan* plan,
                          forebay_stream** stream,
                          forebay_error* error) {
  return make({"create a stream", error}, {{"runtime", runtime}}, stream, [&] {
    return new forebay_stream{
        runtime->runtime,
        runtime->runtime->runtime.create_output_stream(stream_plan_of(plan)).value()};
  });
}

int forebay_stream_create_file(forebay_stream* stream,
                               const char* path,
                               const forebay_output_file_options* options,
                               forebay_output_file** file,
                               forebay_error* error) {
  return make({kCreateFile, error}, {{"stream", stream}, {"path", path}}, file, [&] {
    return new forebay_output_file{stream->runtime,
                                   stream->stream.create(path, file_options_of(options)).value()};
  });
}

int forebay_stream_acquire(forebay_stream* stream,
                           const forebay_output_file* file,
                           uint64_t offset,
                           forebay_output_buffer* buffer,
                           forebay_error* error) {
  if (buffer != nullptr) *buffer = {};
  return run({"acquire", error}, {{"stream", stream}, {"buffer", buffer}}, [&] {
    auto acquired =
        file == nullptr ? stream->stream.acquire() : stream->stream.acquire_at(file->file, offset);
    OutputBuffer got = std::move(acquired).value();
    buffer->data = got.bytes().data();
    buffer->size = got.bytes().size();
    ::new (static_cast<void*>(buffer->storage)) OutputBuffer(std::move(got));
  });
}

int forebay_stream_submit(forebay_stream* stream,
                          forebay_output_buffer* buffer,
                          const forebay_output_file* file,
                          forebay_range range,
                          forebay_error* error) {
  const int status =
      run({"submit", error}, {{"stream", stream}, {"buffer", buffer}, {"file", file}}, [&] {
        if (buffer->data == nullptr)
          refuse_argument("submit", "the buffer is empty; call forebay_stream_acquire() before");
        check(stream->stream.submit(take(*buffer), file->file, range.offset, range.size));
      });
  if (status != FOREBAY_OK) forebay_output_buffer_release(buffer);
  return status;
}

void forebay_output_buffer_release(forebay_output_buffer* buffer) {
  if (buffer == nullptr || buffer->data == nullptr) return;
  held_buffer(*buffer).~OutputBuffer();
  *buffer = {};
}

int forebay_stream_write(forebay_stream* stream,
                         const forebay_output_file* file,
                         forebay_range range,
                         const void* data,
                         forebay_error* error) {
  return run({"write", error}, {{"stream", stream}, {"file", file}}, [&] {
    check(stream->stream.write(file->file, range.offset, memory_of("write", data, range.size)));
  });
}

int forebay_stream_drain(forebay_stream* stream, forebay_error* error) {
  return run({"drain", error}, {{"stream", stream}}, [&] { check(stream->stream.drain()); });
}

int forebay_stream_sync(forebay_stream* stream, forebay_error* error) {
  return run({"sync", error}, {{"stream", stream}}, [&] { check(stream->stream.sync()); });
}

int forebay_stream_cancel(forebay_stream* stream, forebay_error* error) {
  return run({"cancel", error}, {{"stream", stream}}, [&] { stream->stream.cancel(); });
}

int forebay_output_file_publish(forebay_output_file* file, forebay_error* error) {
  return run({"publish", error}, {{"file", file}}, [&] { check(file->file.publish()); });
}

void forebay_output_file_close(forebay_output_file* file) { delete file; }

int forebay_stream_close(forebay_stream* stream, forebay_error* error) {
  if (stream == nullptr) return FOREBAY_OK;
  const int status = forebay_stream_drain(stream, error);
  delete stream;
  return status;
}
