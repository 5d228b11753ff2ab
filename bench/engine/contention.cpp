// SPDX-License-Identifier: Apache-2.0
// Several streams on one device compared with one: the same bytes from as much memory to the same
// offsets of the same files. With less memory for one side, or fewer files, the result would
// compare the caches between program and device, not the streams.
#include <forebay/output_stream.hpp>
#include <forebay/runtime.hpp>

#include <filesystem>
#include <span>
#include <thread>

#include "bench/engine/engine.hpp"
#include "bench/engine/write_target.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::engine {

namespace {

constexpr std::uint64_t kBufferBytes = 8_MiB;
constexpr std::size_t kFiles = 8;

/// How files are distributed to streams.
struct StreamSetup {
  std::size_t streams = 1;  ///< each has a thread and the same number of files
  std::uint32_t buffers = 2;
};

/// A stream with its open files.
struct StreamWriter {
  OutputStream stream;
  std::vector<OutputFile> files;
};

Result<StreamWriter> open_writer(Runtime& runtime,
                                 std::span<const std::string> paths,
                                 std::uint32_t buffers) {
  auto stream = runtime.create_output_stream(
      {.access = Access::kDirect, .buffer_bytes = kBufferBytes, .buffers = buffers});
  if (!stream) return failure(stream.error());
  StreamWriter writer{std::move(*stream), {}};
  for (const std::string& path : paths) {
    auto file = writer.stream.create(path, {.existing_content = ExistingContent::kKeep});
    if (!file) return failure(file.error());
    writer.files.push_back(std::move(*file));
  }
  return writer;
}

/// Writes the present content of the buffers to each file in order, one file after the other.
Status write_files(StreamWriter& writer, std::uint64_t bytes_each) {
  for (OutputFile& file : writer.files) {
    for (std::uint64_t at = 0; at < bytes_each; at += kBufferBytes) {
      auto buffer = writer.stream.acquire();
      if (!buffer) return failure(buffer.error());
      if (auto taken = writer.stream.submit(std::move(*buffer), file, at); !taken) return taken;
    }
  }
  return writer.stream.drain();
}

/// Seconds until all is written, without the opening of files.
Result<double> time_stream_setup(Runtime& runtime,
                                 std::span<const std::string> paths,
                                 const StreamSetup& setup,
                                 std::uint64_t bytes_each) {
  const std::size_t files_each = paths.size() / setup.streams;
  std::vector<StreamWriter> writers;
  for (std::size_t i = 0; i < setup.streams; ++i) {
    auto writer = open_writer(runtime, paths.subspan(i * files_each, files_each), setup.buffers);
    if (!writer) return failure(writer.error());
    writers.push_back(std::move(*writer));
  }
  std::vector<Status> done(setup.streams);
  const Stopwatch watch;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < setup.streams; ++i)
      threads.emplace_back([&, i] { done[i] = write_files(writers[i], bytes_each); });
  }
  const double seconds = watch.seconds();
  for (const Status& one : done) {
    if (!one) return failure(one.error());
  }
  return seconds;
}

Result<std::vector<std::string>> make_files(Context& context, std::uint64_t bytes_each) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < kFiles; ++i) {
    paths.push_back((context.directory() / ("stream-" + std::to_string(i))).string());
    if (auto made = make_allocated_file(paths.back(), bytes_each); !made)
      return failure(made.error());
  }
  return paths;
}

}  // namespace

Status bench_contention(Context& context) {
  const std::string id = "engine.contention";
  if (!context.is_selected(id)) return {};
  const std::uint64_t bytes_each = context.choose<std::uint64_t>(128_MiB, 8_MiB);
  const auto paths = make_files(context, bytes_each);
  if (!paths) return failure(paths.error());
  Runtime runtime;
  const auto variant = [&](const std::string& name, const StreamSetup& setup) {
    return Variant{
        name, {}, [&, setup] { return time_stream_setup(runtime, *paths, setup, bytes_each); }};
  };
  const std::string eight = "8 streams";
  const std::string one = "1 stream";
  const std::string small = "1 stream, 16 MiB";
  const auto rounds =
      context.run(id, context.choose(11U, 2U),
                  {variant(eight, {8, 2}), variant(one, {1, 16}), variant(small, {1, 2})});
  if (!rounds) return failure(rounds.error());
  context.add({id,
               "1",
               rounds->ratio(one, eight),
               Goal{0.95, Better::kHigher},
               {{eight, "s", rounds->summary(eight)},
                {one, "s", rounds->summary(one)},
                {small, "s", rounds->summary(small)}}});
  return {};
}

}  // namespace forebay::bench::engine
