// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/streams_document.hpp"

#include <gtest/gtest.h>

#include "trace/signature.hpp"

namespace forebay::trace_tool {
namespace {

using command::Json;

LoadedTrace trace_of_reads(std::uint64_t count) {
  LoadedTrace loaded{.records = count};
  loaded.sources[0] = {.host = "a", .process = 7, .rank = 3};
  loaded.files[0] = {.path = "data"};
  Stream& stream = loaded.streams[{0, 0}];
  for (std::uint64_t i = 0; i < count; ++i) {
    stream.reads.all.push_back({4096 * i, 1024, static_cast<std::int64_t>(1000 * i)});
    stream.reads.bytes += 1024;
  }
  return loaded;
}

TEST(StreamsDocument, reads_have_signature_and_class) {
  const Json document = streams_document(trace_of_reads(200), 0).value();
  const Json& stream = document.at("streams").at(0);
  EXPECT_EQ(stream.at("file"), "data");
  EXPECT_EQ(stream.at("rank"), 3);
  EXPECT_TRUE(stream.at("writes").is_null());
  const Json& reads = stream.at("reads");
  EXPECT_EQ(reads.at("count"), 200);
  EXPECT_EQ(reads.at("bytes"), 200 * 1024);
  EXPECT_EQ(reads.at("last_ns"), 199'000);
  EXPECT_EQ(reads.at("explained_share"), 1.0);
  EXPECT_EQ(reads.at("signature"), "read {200 x (4096 i, 1024, after 1 us)}");
  EXPECT_TRUE(reads.at("points").empty());
}

TEST(StreamsDocument, stream_of_mpi_io_has_its_view) {
  LoadedTrace loaded = trace_of_reads(9);
  EXPECT_TRUE(streams_document(loaded, 0)->at("streams").at(0).at("view").is_null());
  loaded.files[0].interface = trace::kMpiInterface;
  loaded.files[0].view = trace::FileView{.displacement = 64, .filetype_extent = 4096};
  const Json stream = streams_document(loaded, 0)->at("streams").at(0);
  EXPECT_EQ(stream.at("interface"), "MPI-IO");
  EXPECT_EQ(stream.at("view").at("displacement"), 64);
  EXPECT_EQ(stream.at("view").at("filetype_extent"), 4096);
}

TEST(StreamsDocument, points_are_at_most_as_many_as_requested) {
  const Json document = streams_document(trace_of_reads(1000), 64).value();
  const Json& points = document.at("streams").at(0).at("reads").at("points");
  EXPECT_LE(points.size(), 64U);
  EXPECT_GE(points.size(), 32U);
  EXPECT_EQ(points.at(0), (Json{0, 0, 1024}));
}

TEST(StreamsDocument, stream_without_source_and_file_has_empty_names) {
  LoadedTrace loaded;
  loaded.streams[{5, 9}].other_records = 2;
  loaded.warnings.emplace_back(ErrorDetails{.kind = ErrorClass::kShortFile, .operation = "read"});
  const Json document = streams_document(loaded, 0).value();
  EXPECT_EQ(document.at("streams").at(0).at("file"), "");
  EXPECT_EQ(document.at("streams").at(0).at("other_records"), 2);
  EXPECT_EQ(document.at("warnings").size(), 1U);
}

TEST(StreamsDocument, stream_without_signature_has_a_class) {
  LoadedTrace loaded;
  std::uint64_t offset = 1;
  for (std::size_t i = 0; i <= trace::kListedAccessesMax; ++i) {
    offset = offset * 6364136223846793005U + 1442695040888963407U;
    loaded.streams[{0, 0}].reads.all.push_back({offset >> 20U, 1 + (offset >> 50U)});
  }
  const Json document = streams_document(loaded, 0).value();
  const Json& reads = document.at("streams").at(0).at("reads");
  EXPECT_TRUE(reads.at("signature").is_null());
  EXPECT_FALSE(reads.at("error").get<std::string>().empty());
  EXPECT_EQ(reads.at("class"), "random; variable small requests; single; unknown interval; read");
}

}  // namespace
}  // namespace forebay::trace_tool
