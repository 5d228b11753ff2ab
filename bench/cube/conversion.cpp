// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/conversion.hpp"

#include "cube/profile_file.hpp"
#include "cube/remap.hpp"

namespace forebay::bench::cube {

Result<std::unique_ptr<Conversion>> Conversion::open(const std::string& input,
                                                     const std::string& specification) {
  auto profile = forebay::cube::open_profile(input);
  if (!profile) return failure(profile.error());
  std::unique_ptr<Conversion> made(new Conversion(std::move(*profile)));
  if (auto planned = made->plan(specification); !planned) return failure(planned.error());
  return made;
}

Status Conversion::plan(const std::string& specification) {
  auto parsed = cubepl::parse_specification(specification, "the specification of the benchmark");
  if (!parsed) return failure(parsed.error());
  auto program = forebay::cube::compile_remap(profile_.anchor(), std::move(*parsed), {});
  if (!program) return failure(program.error());
  // As much as in the program that it is compared with.
  const std::uint64_t cache_bytes = forebay::cube::RemapOptions{}.cache_bytes;
  auto source = forebay::cube::RemapContext::create(profile_, std::move(*program), cache_bytes);
  if (!source) return failure(source.error());
  source_ = std::move(*source);
  auto metrics = plan_metrics(source_->input(), {});
  if (!metrics) return failure(metrics.error());
  metrics_ = std::move(*metrics);
  builder_.emplace(*source_);
  return {};
}

std::uint64_t Conversion::row_bytes(std::size_t metric) const {
  return profile_.anchor().row_bytes(metrics_[metric].description);
}

std::string Conversion::description() const {
  forebay::cube::Anchor anchor = profile_.anchor();
  anchor.metrics.clear();
  for (const auto& metric : metrics_)
    anchor.metrics.push_back(metric.description);
  return write_anchor(anchor);
}

Status Conversion::compute(std::size_t metric, std::size_t row_number, std::span<std::byte> into) {
  return builder_->fill(metrics_[metric], row_number, into);
}

}  // namespace forebay::bench::cube
