// SPDX-License-Identifier: Apache-2.0
// Text of traces: the sample trace of the seed, round trips of random records, and invalid lines.
#include "trace/trace_text.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::trace {
namespace {

/// The sample trace of the seed.
constexpr std::string_view kSample =
    R"(Proc ID	Rank	File #	File Pos	# of Bytes	Time(s)	I/O Op
29074	0	16	0	1024	7.501304	MPI_READALL
29074	0	16	2048	1024	7.545113	MPI_READALL
29074	0	16	8192	1024	7.588820	MPI_READALL
29074	0	16	10240	1024	7.629080	MPI_READALL
29074	0	16	16384	1024	7.674620	MPI_READALL
29074	0	16	18432	1024	7.717406	MPI_READALL
29074	0	16	24576	1024	7.761096	MPI_READALL
29074	0	16	26624	1024	7.805323	MPI_READALL
29074	0	16	32768	1024	7.849006	MPI_READALL
29074	0	16	34816	1024	7.889342	MPI_READALL
29074	0	16	40960	1024	7.933130	MPI_READALL
29074	0	16	43008	1024	7.977495	MPI_READALL
29074	0	16	49152	1024	8.021255	MPI_READALL
29074	0	16	51200	1024	8.065650	MPI_READALL
29074	0	16	57344	1024	8.109380	MPI_READALL
29074	0	16	59392	1024	8.153768	MPI_READALL
29074	0	16	65536	1024	8.197396	MPI_READALL
29074	0	16	67584	1024	8.241783	MPI_READALL
29074	0	16	73728	1024	8.285514	MPI_READALL
29074	0	16	75776	1024	8.331166	MPI_READALL
29074	0	16	81920	1024	8.373678	MPI_READALL
29074	0	16	83968	1024	8.418154	MPI_READALL
29074	0	16	90112	1024	8.461751	MPI_READALL
)";

/// The records of a text, or the first Error.
Result<std::vector<TextRecord>> parse_text(TextParser& parser, std::string_view text) {
  std::vector<TextRecord> records;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto record = parser.parse_line(text.substr(0, end));
    if (!record) return failure(record.error());
    if (*record) records.push_back(**record);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return records;
}

TEST(TraceText, sample_trace_of_the_seed_is_printed_as_it_was_read) {
  TextParser parser("sample");
  const auto records = parse_text(parser, kSample).value();
  ASSERT_EQ(records.size(), 23U);
  const TextRecord& first = records.front();
  EXPECT_EQ(first.process, 29074U);
  EXPECT_EQ(first.rank, 0U);
  EXPECT_EQ(first.record, (TraceRecord{.offset = 0,
                                       .size = 1024,
                                       .begin_ns = 7'501'304'000,
                                       .file = 16,
                                       .operation = TraceOperation::kRead,
                                       .flags = kFlagCollective}));
  std::string text = text_header(parser.layout()) + "\n";
  for (const TextRecord& record : records)
    text += text_line(parser.layout(), record) + "\n";
  EXPECT_EQ(text, kSample);
}

TextRecord random_record(std::mt19937_64& random) {
  const auto number = [&] { return random() >> (1 + random() % 63); };
  TextRecord text{.process = random(), .thread = random()};
  if (random() % 2 != 0) text.rank = static_cast<std::uint32_t>(random());
  TraceRecord& record = text.record;
  record = {.offset = number(), .size = number(), .begin_ns = number()};
  record.offset = std::min(record.offset, kTraceNumberMax - record.size);
  record.duration_ns = static_cast<std::uint32_t>(number());
  record.file = static_cast<std::uint16_t>(random());
  record.operation = static_cast<TraceOperation>(random() % (kTraceOperationMax + 1));
  record.flags = static_cast<std::uint8_t>(random() % (kFlagsAll + 1));
  if ((record.flags & kFlagOffsetUnknown) != 0) record.offset = 0;
  if ((record.flags & kFlagTimeUnknown) != 0) record.begin_ns = 0;
  return text;
}

TEST(TraceText, random_records_are_read_as_printed) {
  std::mt19937_64 random(1);
  for (const char separator : {',', '\t'}) {
    TextLayout layout = TextLayout::all_columns();
    std::ranges::shuffle(layout.columns, random);
    layout.separator = separator;
    std::string text = text_header(layout) + "\r\n\n";
    std::vector<TextRecord> written;
    for (int i = 0; i < 2000; ++i) {
      written.push_back(random_record(random));
      text += text_line(layout, written.back()) + "\n";
    }
    TextParser parser("text");
    EXPECT_EQ(parse_text(parser, text).value(), written);
    EXPECT_EQ(parser.layout().columns, layout.columns);
  }
}

TEST(TraceText, absent_columns_have_defaults) {
  TextParser parser("text");
  const auto records =
      parse_text(parser, "I/O Op , # of Bytes, File Pos\npwrite64, 7, 9\n").value();
  const TextRecord expected{.record = {.offset = 9,
                                       .size = 7,
                                       .file = 0,
                                       .operation = TraceOperation::kWrite,
                                       .flags = kFlagTimeUnknown}};
  EXPECT_EQ(records, std::vector{expected});
}

TEST(TraceText, names_of_functions_are_operations) {
  const auto operation = [](const std::string& name) {
    TextParser parser("text");
    const std::string text = "File Pos,# of Bytes,Time(s),I/O Op\n0,0,1,";
    const auto record = parse_text(parser, text + name).value().at(0).record;
    return std::pair(record.operation, record.flags);
  };
  using enum TraceOperation;
  const std::uint8_t none = 0;
  EXPECT_EQ(operation("fread"), std::pair(kRead, none));
  EXPECT_EQ(operation("MPI_File_iread_at"), std::pair(kRead, none));
  EXPECT_EQ(operation("MPI_File_write_at_all_begin"), std::pair(kWrite, kFlagCollective));
  EXPECT_EQ(operation("MPI_File_read_ordered"), std::pair(kRead, kFlagCollective));
  EXPECT_EQ(operation("lseek64"), std::pair(kSeek, none));
  EXPECT_EQ(operation("fdatasync"), std::pair(kSync, none));
  EXPECT_EQ(operation("OPEN"), std::pair(kOpen, none));
  EXPECT_EQ(operation("fclose"), std::pair(kClose, none));
}

TEST(TraceText, invalid_text_is_refused_with_line_and_column) {
  const auto expect_refused = [](const std::string& text, const std::string& cause) {
    TextParser parser("text");
    const auto records = parse_text(parser, text);
    ASSERT_EQ(error_class(records), ErrorClass::kInvalidArgument) << text;
    EXPECT_TRUE(message_contains(records.error(), cause)) << records.error().message();
  };
  expect_refused("File Pos,Bytes", "line 1: unknown column `Bytes`; valid: Proc ID, ");
  expect_refused("File Pos,I/O Op", "no column `# of Bytes`");
  expect_refused("File Pos,# of Bytes,I/O Op,File Pos", "column `File Pos` twice");
  const std::string header = "File Pos,# of Bytes,I/O Op,Time(s),Rank,File #,Flags\n";
  expect_refused(header + "1,2,read", "line 2: 3 columns instead of 7");
  expect_refused(header + "1,2,read,1,0,0,0\nx,2,read,1,0,0,0",
                 "line 3: column `File Pos`: invalid value `x`");
  for (const char* line :
       {"-1,2,read,1,0,0,0", "1,,read,1,0,0,0", "1,2,stat,1,0,0,0", "1,2,read,.,0,0,0",
        "1,2,read,1e5,0,0,0", "1,2,read,-1,0,0,0", "1,2,read,1.2.3,0,0,0", "1,2,read,1,-1,0,0",
        "1,2,read,1,0,65536,0", "1,2,read,1,0,0,32", "1,2,read,9223372037,0,0,0",
        "9223372036854775807,1,read,1,0,0,0", "1,99999999999999999999,read,1,0,0,0"})
    expect_refused(header + line, "line 2: ");
}

}  // namespace
}  // namespace forebay::trace
