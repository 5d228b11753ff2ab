// SPDX-License-Identifier: Apache-2.0
// Several streams on one device compared with one: the same bytes from as much memory to the same
// offsets of the same files. With less memory for one side, or fewer files, the result would
// compare the caches between program and device, not the streams.
#include <forebay/output_stream.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <span>
#include <thread>

#include "bench/engine/engine.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/word_file.hpp"

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

StreamWriter open_writer(Runtime& runtime,
                         std::span<const std::string> paths,
                         std::uint32_t buffers) {
  StreamWriter writer{
      runtime
          .create_output_stream(
              {.access = Access::kDirect, .buffer_bytes = kBufferBytes, .buffers = buffers})
          .value(),
      {}};
  for (const std::string& path : paths)
    writer.files.push_back(
        writer.stream.create(path, {.existing_content = ExistingContent::kKeep}).value());
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
double time_stream_setup(Runtime& runtime,
                         std::span<const std::string> paths,
                         const StreamSetup& setup,
                         std::uint64_t bytes_each) {
  const std::size_t files_each = paths.size() / setup.streams;
  std::vector<StreamWriter> writers;
  for (std::size_t i = 0; i < setup.streams; ++i)
    writers.push_back(
        open_writer(runtime, paths.subspan(i * files_each, files_each), setup.buffers));
  std::vector<Status> done(setup.streams);
  const Stopwatch watch;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < setup.streams; ++i)
      threads.emplace_back([&, i] { done[i] = write_files(writers[i], bytes_each); });
  }
  const double seconds = watch.seconds();
  std::ranges::for_each(done, check);
  return seconds;
}

}  // namespace

Status bench_contention(Context& context) {
  const std::uint64_t bytes_each = context.choose<std::uint64_t>(128_MiB, 8_MiB);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < kFiles; ++i) {
    paths.push_back((context.directory() / ("stream-" + std::to_string(i))).string());
    check(write_word_file(paths.back(), bytes_each));
  }
  Runtime runtime;
  const auto variant = [&](const std::string& name, const StreamSetup& setup) {
    return Variant{
        name, {}, [&, setup] { return time_stream_setup(runtime, paths, setup, bytes_each); }};
  };
  return context.compare({.rows = {{"engine.contention", ratio_of("1 stream", "8 streams"),
                                    Goal{0.95, Better::kHigher}}},
                          .rounds = context.choose(11U, 2U),
                          .variants = {variant("8 streams", {8, 2}), variant("1 stream", {1, 16}),
                                       variant("1 stream, 16 MiB", {1, 2})}});
}

}  // namespace forebay::bench::engine
