// SPDX-License-Identifier: Apache-2.0
// Prediction of reads: in a simulated page cache, its cost, and on an emulated storage.
#include <memory>
#include <utility>

#include "bench/foresight/comparison.hpp"
#include "trace/access_patterns.hpp"
#include "trace/signature_cursor.hpp"

namespace forebay::bench::foresight {

Result<Stream> stream_of(std::string_view pattern) {
  const bool is_text = pattern.find('{') != std::string_view::npos;
  auto signature = is_text ? trace::parse_signature(pattern) : trace::access_pattern(pattern);
  if (!signature) return failure(signature.error());
  Stream stream;
  trace::SignatureCursor cursor(std::make_shared<const trace::Signature>(std::move(*signature)));
  for (; !cursor.is_done(); cursor.advance())
    stream.push_back(cursor.current());
  return stream;
}

FOREBAY_BENCHMARK(foresight, "prediction of reads beside kernel readahead, and its cost") {
  if (auto done = bench_simulated(context); !done) return done;
  if (auto done = bench_costs(context); !done) return done;
  return bench_storage(context);
}

}  // namespace forebay::bench::foresight
