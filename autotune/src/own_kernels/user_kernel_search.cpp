// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_search.hpp"

#include "yolk/internal/autotune/tune_live.hpp"

namespace yolk::autotune {

Result<TuneLiveOutcome> search_once(const UserKernelTuning& run, Machine& machine) {
    UnitLimits limits(machine.device, machine.dispatcher, run.end - KernelClock::now());
    TuneLiveOptions options{
        .tuner = {.strategy = run.options.strategy, .budget = run.options.budget, .seed = run.options.seed},
        .again = run.options.again,
        .deadline = run.end,
        .limit = run.end,
        .limit_of = [&limits](ArithmeticUnit unit) { return limits.of(unit); }};
    if (run.options.progress) {
        const std::string shape = shape_text(run.key.family, run.key.shape);
        options.progress = [&run, shape](const LiveProgress& at) { return run.options.progress(shape, at); };
    }
    YOLK_TRY(RunJournal journal, RunJournal::create(journal_folder(run.file.path())));
    return tune_live(machine.device, machine.dispatcher, run.kernel, run.file, journal, options);
}

}  // namespace yolk::autotune
