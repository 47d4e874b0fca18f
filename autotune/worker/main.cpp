// SPDX-License-Identifier: Apache-2.0
// yolk-worker: runs foreign code with limits, for a process that must survive it (docs/adr/0039).
#include <array>

#include "yolk/internal/autotune/search_task.hpp"
#include "yolk/internal/core/worker.hpp"
#include "yolk/internal/runtime/foreign_pipeline.hpp"
#include "yolk/internal/shaders/compile_task.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Under a sanitizer address space has no limit, memory has.
extern "C" {
const char* __asan_default_options() { return "hard_rss_limit_mb=6144"; }  // NOLINT(bugprone-reserved-identifier)
const char* __tsan_default_options() { return "hard_rss_limit_mb=6144"; }  // NOLINT(bugprone-reserved-identifier)
}
#endif

int main(int argc, char** argv) {
    constexpr std::array kTasks{yolk::WorkerTask{yolk::kCompileTask, &yolk::compile_task},
                                yolk::WorkerTask{yolk::kPipelineTask, &yolk::pipeline_task},
                                yolk::WorkerTask{yolk::autotune::kSearchTask, &yolk::autotune::search_task}};
    return yolk::serve_worker(argc, argv, kTasks);
}
