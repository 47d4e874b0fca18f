// SPDX-License-Identifier: Apache-2.0
#include "tune_command.hpp"

#include <memory>

#include "tune_surface.hpp"

namespace yolk::cli {
namespace {

struct TuneFlags {
    SurfaceFlags surface;
    CommonFlags common;
};

Result<int> run_tune(const TuneFlags& flags) {
    if (!flags.surface.surface.empty()) return tune_surface(flags.surface, flags.common);
    return bad_input("tune needs to be told what to tune: --surface FILE, a recorded surface (see yolk tune --help).");
}

}  // namespace

Command add_tune_command(CLI::App& app) {
    const auto flags = std::make_shared<TuneFlags>();
    CLI::App* command = app.add_subcommand("tune", "Tune kernels; with --surface, try a strategy on recorded times");
    add_surface_flags(*command, flags->surface);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_tune(*flags); }};
}

}  // namespace yolk::cli
