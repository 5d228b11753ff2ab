// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/specification.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace forebay::bench::cube {

namespace {

struct Derived {
  std::string_view name;
  std::string_view unit;
  std::string_view expression;
};

constexpr std::array kDerived{
    Derived{"mpi_time", "sec", "${is_mpi}[${calculation::callpath::id}] * metric::time(e)"},
    Derived{"omp_time", "sec", "${is_omp}[${calculation::callpath::id}] * metric::time(e)"},
    Derived{"instructions_per_cycle", "1", "metric::PAPI_TOT_INS(e) / metric::PAPI_TOT_CYC(e)"},
    Derived{"stalled_time", "sec",
            "metric::time(e) * (1 - metric::PAPI_FP_OPS(e) / max(metric::PAPI_FP_OPS(e) + 20 * "
            "metric::PAPI_L2_TCM(e) + 200 * metric::PAPI_L3_TCM(e), 1))"},
    Derived{"bandwidth", "bytes/sec",
            "(metric::bytes_sent(e) + metric::bytes_received(e)) / metric::time(e)"},
    Derived{"time_per_visit", "sec",
            "{ ${mean} = metric::time(e) / metric::visits(e); if ( ${mean} > metric::max_time(e) ) "
            "{ ${mean} = metric::max_time(e); }; return ${mean}; }"},
};

constexpr std::string_view kInit = R"(
      <cubeplinit>
      {
          global(is_mpi); global(is_omp);
          ${i} = 0;
          while ( ${i} < ${cube::#callpaths} )
          {
              ${paradigm} = ${cube::region::paradigm}[${cube::callpath::calleeid}[${i}]];
              if ( ${paradigm} eq "mpi" ) { ${is_mpi}[${i}] = 1; };
              if ( ${paradigm} eq "openmp" ) { ${is_omp}[${i}] = 1; };
              ${i} = ${i} + 1;
          };
          return 0;
      }
      </cubeplinit>)";

}  // namespace

std::string stage_specification() {
  std::string text = "<metrics title=\"forebay bench cube\">\n";
  for (const Derived& metric : kDerived) {
    text += fmt::format(
        "  <metric type=\"PREDERIVED_EXCLUSIVE\">\n    <disp_name>{0}</disp_name> "
        "<uniq_name>{0}</uniq_name> <dtype>FLOAT</dtype> <uom>{1}</uom>{2}\n"
        "    <cubepl>{3}</cubepl>\n  </metric>\n",
        metric.name, metric.unit, &metric == kDerived.data() ? kInit : "", metric.expression);
  }
  return text + "</metrics>\n";
}

std::string compute_bound_specification() {
  return R"(<metrics title="forebay bench cube">
  <metric type="PREDERIVED_EXCLUSIVE">
    <disp_name>root</disp_name> <uniq_name>root</uniq_name> <dtype>FLOAT</dtype> <uom>1</uom>
    <cubepl>{
      ${visits} = metric::visits(e);
      ${root} = ${visits};
      ${i} = 0;
      while ( ${i} < 30 ) {
        ${root} = ( ${root} + ${visits} / ${root} ) / 2;
        ${i} = ${i} + 1;
      };
      return ${root};
    }</cubepl>
  </metric>
</metrics>
)";
}

}  // namespace forebay::bench::cube
