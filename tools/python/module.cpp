// SPDX-License-Identifier: Apache-2.0
// The extension _forebay_tools: the tools of the command line that start no MPI job, as functions
// that return documents. forebay.native imports it from the directory of native programs.
#include "tools/python/call.hpp"

NB_MODULE(_forebay_tools, module) {
  namespace tools = forebay::tools;
  nb::set_leak_warnings(false);  // objects of modules are not all destroyed at the exit of Python
  module.doc() =
      "Tools of the command line `forebay`. Failures raise forebay.errors.NativeError. `progress` "
      "is called with a forebay.native.Progress; an exception of it ends the call.";
  tools::register_failures();
  tools::bind_datasets(module);
  tools::bind_models(module);
  tools::bind_traces(module);
}
