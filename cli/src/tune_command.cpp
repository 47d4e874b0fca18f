// SPDX-License-Identifier: Apache-2.0
#include "tune_command.hpp"

#include <memory>
#include <string>

#include "tune_algebra.hpp"
#include "tune_kernel.hpp"
#include "tune_live.hpp"
#include "tune_prior.hpp"
#include "tune_report.hpp"
#include "tune_surface.hpp"
#include "tune_table.hpp"

namespace yolk::cli {
namespace {

struct TuneFlags {
    SurfaceFlags surface;
    LiveFlags live;
    KernelFlags kernel;
    TableFlags table;
    ReportFlags report;
    PriorFlags prior;
    AlgebraFlags algebra;
    std::string out;  ///< of kernel and of prior
    CommonFlags common;
    const Option* budget = nullptr;
};

Result<int> run_tune(TuneFlags& flags) {
    flags.kernel.out = flags.prior.out = flags.out;
    if (!flags.out.empty() && flags.kernel.kernel.empty() && flags.prior.train.empty())
        return bad_input("--out goes with --kernel or --train-prior.");
    flags.surface.algebra = flags.live.algebra = flags.algebra.algebra;
    const bool tunes = !flags.live.job.empty() || !flags.live.shapes.empty() || !flags.kernel.kernel.empty();
    if (!flags.report.file.empty() && !tunes) return tune_report(flags.report, flags.surface, flags.common);
    if (!flags.surface.surface.empty()) return tune_surface(flags.surface, flags.common);
    if (!flags.prior.train.empty()) {
        flags.prior.budget = flags.budget->count() > 0 ? flags.surface.budget : 0;
        flags.prior.seed = flags.surface.seed;
        flags.prior.threads = flags.surface.threads;
        return train_prior(flags.prior, flags.common);
    }
    flags.table.prior = flags.surface.prior;
    if (flags.table.any()) return tune_table(flags.table, flags.common);
    if (flags.budget->count() > 0) {
        if (flags.surface.budget == 0) return bad_input("--budget is 0; at least 1 measurement is needed.");
        flags.live.budget = flags.surface.budget;
    }
    flags.live.strategy = flags.surface.strategy;
    flags.live.seed = flags.surface.seed;
    flags.live.prior = flags.surface.prior;
    Result<int> tuned = flags.kernel.kernel.empty() ? tune_live(flags.live, flags.common)
                                                    : tune_kernel(flags.kernel, flags.live, flags.common);
    if (!tuned || flags.report.file.empty()) return tuned;
    YOLK_TRY_VOID(tune_report(flags.report, flags.surface, flags.common));
    return tuned;
}

}  // namespace

Command add_tune_command(App& app) {
    const auto flags = std::make_shared<TuneFlags>();
    App* command = app.add_subcommand(
        "tune",
        "Tune kernels on a device, look into the tuning table, or (--surface) try a strategy on recorded times");
    add_live_flags(*command, flags->live);
    add_kernel_flags(*command, flags->kernel);
    add_device_flag(*command, flags->common);
    add_table_flags(*command, flags->table);
    add_surface_flags(*command, flags->surface);
    add_report_flags(*command, flags->report);
    add_prior_flags(*command, flags->prior);
    add_algebra_flag(*command, flags->algebra);
    flags->budget = command->option("--budget");
    command->option("--budget")->default_str("60 a shape; 200 with --surface");
    command
        ->add_option("--out", flags->out,
                     "Of --kernel: write the winner as JSON, for an engine to load; of --train-prior: the prior")
        ->type_name("FILE");
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_tune(*flags); }};
}

}  // namespace yolk::cli
