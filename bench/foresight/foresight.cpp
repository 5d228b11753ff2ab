// SPDX-License-Identifier: Apache-2.0
// Prediction of reads: in a simulated page cache, its cost, and on an emulated storage.
#include <memory>
#include <utility>

#include "bench/foresight/streams.hpp"
#include "trace/access_patterns.hpp"
#include "trace/signature_cursor.hpp"

namespace forebay::bench::foresight {

Stream stream_of(std::string_view pattern) {
  const bool is_text = pattern.find('{') != std::string_view::npos;
  auto signature = is_text ? trace::parse_signature(pattern) : trace::access_pattern(pattern);
  Stream stream;
  trace::SignatureCursor cursor(
      std::make_shared<const trace::Signature>(std::move(signature).value()));
  for (; !cursor.is_done(); cursor.advance())
    stream.push_back(cursor.current());
  return stream;
}

FOREBAY_BENCHMARK(foresight, "prediction of reads beside kernel readahead, and its cost") {
  check(run_each(context, simulated_rows()));
  check(run_each(context, cost_rows()));
  return bench_storage(context);
}

}  // namespace forebay::bench::foresight
