// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/references.hpp"

#include <filesystem>
#include <utility>

#include "base/utf8.hpp"
#include "command/atomic_file.hpp"
#include "tools/dataset/chunk_grid.hpp"
#include "tools/dataset/export_names.hpp"

namespace forebay::dataset_tool {
namespace {

using command::Json;
using format::Block;
using format::BlockLocation;
using format::Coordinates;
using format::FieldKind;
using format::StepCatalog;
using format::StepField;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;

/// The output file, a JSON object whose members are written one after another.
class ReferenceFile {
 public:
  ReferenceFile(command::AtomicFile file, std::string directory)
      : file_(std::move(file)), directory_(std::move(directory)) {
    buffer_ = R"({"version":1,"refs":{)";
  }

  Status add_metadata(const std::string& key, const Json& value) {
    const std::string text = command::dump(value, -1);
    all_ += (all_.empty() ? "" : ",") + command::dump(Json(key), -1) + ":" + text;
    return add(key, text);
  }
  Status add_chunk(const std::string& key, const std::string& path, ByteRange range) {
    ++chunks_;
    bytes_ += range.size;
    const std::string name = std::filesystem::path(path).filename().string();
    return add(key, Json{directory_ + "/" + name, range.offset, range.size});
  }
  /// Adds all metadata once more, in one member: zarr cannot list groups of references.
  Status finish() {
    Status done = add(".zmetadata", R"({"zarr_consolidated_format":1,"metadata":{)" + all_ + "}}");
    buffer_ += "\n}}\n";
    if (done) done = flush();
    return done ? file_.publish() : done;
  }
  std::uint64_t chunks() const { return chunks_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Status add(const std::string& key, const Json& value) {
    buffer_ += std::exchange(separator_, ",\n");
    buffer_ += command::dump(Json(key), -1) + ":" + command::dump(value, -1);
    return buffer_.size() < kBufferBytes ? Status{} : flush();
  }
  Status flush() {
    Status done = file_.write(end_, std::as_bytes(std::span(buffer_)));
    end_ += buffer_.size();
    buffer_.clear();
    return done;
  }

  command::AtomicFile file_;
  std::string directory_;
  std::string buffer_;
  std::string all_;  ///< metadata so far
  const char* separator_ = "\n";
  std::uint64_t end_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t bytes_ = 0;
};

/// How the bytes of a block are stored, if they are read as one chunk. Consecutive Zstandard frames
/// are valid Zstandard.
enum class BlockEncoding : std::uint8_t { kUncompressed, kCompressed, kMixed };

BlockEncoding encoding_of(const Block& block) {
  std::uint64_t frames = 0;
  if (block.codec == format::Codec::kNone) return BlockEncoding::kUncompressed;
  for (std::uint64_t piece = 0; piece < block.pieces(); ++piece)
    frames += block.stored_range(piece).size < block.raw_range(piece).size ? 1 : 0;
  if (frames == 0) return BlockEncoding::kUncompressed;
  return frames == block.pieces() ? BlockEncoding::kCompressed : BlockEncoding::kMixed;
}

/// The .zarray document of an array, version 2 of Zarr.
Json array_document(const StepField& field,
                    const Coordinates& shape,
                    Coordinates chunk,
                    BlockEncoding encoding) {
  for (std::uint64_t& extent : chunk)
    extent = std::max<std::uint64_t>(extent, 1);
  Json compressor = nullptr;
  if (encoding == BlockEncoding::kCompressed) compressor = {{"id", "zstd"}, {"level", 1}};
  return {{"zarr_format", 2},
          {"shape", shape},
          {"chunks", chunk},
          {"dtype", numpy_type(field.definition.type, field.definition.order)},
          {"compressor", compressor},
          {"fill_value", nullptr},
          {"order", "C"},
          {"filters", nullptr}};
}

/// Names of dimensions, required by xarray. Only dimensions of equal size may have equal names.
Json dimension_names(const std::string& array, std::size_t dimensions) {
  Json names = Json::array();
  for (std::size_t d = 0; d < dimensions; ++d)
    names.push_back(array + "_" + std::to_string(d));
  return {{"_ARRAY_DIMENSIONS", names}};
}

class References {
 public:
  References(const Selected& selected, ReferenceFile& file)
      : step_(*selected.step), fields_(selected.fields), file_(file) {}

  Status write() {
    Status done = file_.add_metadata(".zgroup", {{"zarr_format", 2}});
    if (done) done = file_.add_metadata(".zattrs", {{"step", step_.entry().step}});
    for (const StepField& field : fields_) {
      if (!done) return done;
      const bool is_global = field.definition.kind == FieldKind::kGlobal;
      done = is_global ? add_global(field) : add_parts(field);
    }
    return done;
  }
  std::uint64_t arrays() const { return arrays_; }

 private:
  Status unsupported(const StepField& field, const std::string& cause) const {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "export as references",
                    .path = std::filesystem::path(step_.files().front().path).parent_path(),
                    .cause = "step " + std::to_string(step_.entry().step) + ", field " +
                             field.definition.name + ": " + cause +
                             "; --hdf5 copies it, --field exports another field alone"});
  }
  Status add_array(const std::string& key, const Json& array, const Json& attributes) {
    ++arrays_;
    Status done = file_.add_metadata(key + "/.zarray", array);
    return done ? file_.add_metadata(key + "/.zattrs", attributes) : done;
  }
  Status add_parts(const StepField& field);
  Status add_part(const StepField& field, const BlockLocation& place);
  Status add_global(const StepField& field);
  Status add_block(const StepField& field,
                   const BlockLocation& place,
                   const ChunkGrid& grid,
                   BlockEncoding encoding);
  Result<BlockEncoding> common_encoding(const StepField& field,
                                        std::span<const BlockLocation> places) const;
  Result<ByteRange> chunk_range(const StepField& field,
                                const BlockLocation& place,
                                ByteRange in_block,
                                BlockEncoding encoding) const;

  const StepCatalog& step_;
  std::span<const StepField> fields_;
  ReferenceFile& file_;
  std::uint64_t arrays_ = 0;
};

Status References::add_parts(const StepField& field) {
  Status done =
      file_.add_metadata(node_name(field.definition.name) + "/.zgroup", {{"zarr_format", 2}});
  for (const BlockLocation& place : step_.blocks(field.definition.name)) {
    if (!done) return done;
    done = add_part(field, place);
  }
  return done;
}

Status References::add_part(const StepField& field, const BlockLocation& place) {
  const Block block = step_.block(place);
  const Coordinates shape = step_.index(place).shape(place.field, place.number);
  const BlockEncoding encoding = encoding_of(block);
  const std::string part = std::to_string(block.key);
  if (encoding == BlockEncoding::kMixed)
    return unsupported(field, "pieces of part " + part + " are stored in different ways");
  const std::string key = node_name(field.definition.name) + "/" + part;
  const Json array = array_document(field, shape, shape, encoding);
  const Json attributes = dimension_names("part_" + part, shape.size());
  Status done = add_array(key, array, attributes);
  if (!done || block.raw_bytes == 0) return done;
  std::string chunk = "0";
  for (std::size_t d = 1; d < shape.size(); ++d)
    chunk += ".0";
  return file_.add_chunk(key + "/" + chunk, step_.files()[place.file].path,
                         {block.offset, block.stored_bytes});
}

Result<BlockEncoding> References::common_encoding(const StepField& field,
                                                  std::span<const BlockLocation> places) const {
  const BlockEncoding encoding =
      places.empty() ? BlockEncoding::kUncompressed : encoding_of(step_.block(places.front()));
  for (const BlockLocation& place : places) {
    if (encoding != BlockEncoding::kMixed && encoding_of(step_.block(place)) == encoding) continue;
    return tl::unexpected(unsupported(field, "its blocks are stored in different ways").error());
  }
  return encoding;
}

/// The range of a chunk. Zarr requires full chunks, also at the end of the array. Without a codec a
/// chunk may extend into the bytes that follow in the file; readers ignore these.
Result<ByteRange> References::chunk_range(const StepField& field,
                                          const BlockLocation& place,
                                          ByteRange in_block,
                                          BlockEncoding encoding) const {
  const Block block = step_.block(place);
  if (block.raw_bytes == in_block.size) return ByteRange{block.offset, block.stored_bytes};
  const auto file = format::open_step_file(step_.files()[place.file]);
  if (!file) return tl::unexpected(file.error());
  const auto file_bytes = (*file)->size();
  if (!file_bytes) return tl::unexpected(file_bytes.error());
  const ByteRange range{block.offset + in_block.offset, in_block.size};
  if (encoding == BlockEncoding::kUncompressed && range.end() <= *file_bytes) return range;
  return tl::unexpected(
      unsupported(field,
                  "the last blocks are shorter than the others, but all chunks must have one size")
          .error());
}

Status References::add_block(const StepField& field,
                             const BlockLocation& place,
                             const ChunkGrid& grid,
                             BlockEncoding encoding) {
  const std::string name = node_name(field.definition.name);
  const std::uint64_t bytes = format::array_bytes(field.definition.type, grid.chunk).value();
  const format::Box box = step_.index(place).box(place.field, place.number);
  Coordinates start = box.start;
  for (std::uint64_t offset = 0; start[0] < box.start[0] + box.count[0]; offset += bytes) {
    const auto range = chunk_range(field, place, {offset, bytes}, encoding);
    if (!range) return tl::unexpected(range.error());
    const Status done = file_.add_chunk(name + "/" + chunk_key(grid, start),
                                        step_.files()[place.file].path, *range);
    if (!done) return done;
    start[0] += grid.chunk[0];
  }
  return {};
}

Status References::add_global(const StepField& field) {
  const Coordinates& shape = field.definition.shape;
  const std::vector<BlockLocation> places = step_.blocks(field.definition.name);
  const auto encoding = common_encoding(field, places);
  if (!encoding) return tl::unexpected(encoding.error());
  std::vector<format::Box> boxes;
  boxes.reserve(places.size());
  for (const BlockLocation& place : places)
    boxes.push_back(step_.index(place).box(place.field, place.number));
  const bool is_empty = format::array_bytes(field.definition.type, shape) == 0U;
  const SplitMode split_mode =
      *encoding == BlockEncoding::kUncompressed ? SplitMode::kByRows : SplitMode::kNone;
  const auto grid = is_empty ? ChunkGrid{.chunk = shape} : find_grid(shape, boxes, split_mode);
  if (!grid) return unsupported(field, grid.error().cause());
  const std::string name = node_name(field.definition.name);
  Status done = add_array(name, array_document(field, shape, grid->chunk, *encoding),
                          dimension_names(name, shape.size()));
  for (const BlockLocation& place : places)
    if (done && !is_empty) done = add_block(field, place, *grid, *encoding);
  return done;
}

/// The directory of the dataset, as the references name it; they are JSON.
Result<std::string> directory_for_references(const std::string& path) {
  std::error_code error;
  std::string directory = std::filesystem::canonical(path, error).string();
  if (error)
    return tl::unexpected(system_error({.operation = "find", .path = path}, error.value()));
  if (is_utf8(directory)) return directory;
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "export as references",
                  .path = directory,
                  .cause = "this path is not UTF-8, and references are JSON, which must be; "
                           "move the dataset, or export it with --hdf5"});
}

}  // namespace

Result<Json> write_references(const Selection& selection, const std::string& output) {
  const auto selected = select(selection);
  if (!selected) return tl::unexpected(selected.error());
  auto directory = directory_for_references(selection.path);
  if (!directory) return tl::unexpected(directory.error());
  auto published = command::AtomicFile::create(output);
  if (!published) return tl::unexpected(published.error());
  ReferenceFile file(std::move(*published), std::move(*directory));
  References references(*selected, file);
  Status done = references.write();
  if (done) done = file.finish();
  if (!done) return tl::unexpected(done.error());
  return Json{{"path", selection.path},
              {"output", output},
              {"step", selected->step->entry().step},
              {"fields", selected->fields.size()},
              {"arrays", references.arrays()},
              {"chunks", file.chunks()},
              {"referenced_bytes", file.bytes()}};
}

}  // namespace forebay::dataset_tool
