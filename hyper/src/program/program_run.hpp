// SPDX-License-Identifier: Apache-2.0
// One evaluation of a program: chunk by chunk, phase by phase.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "candidates.hpp"
#include "host_calls.hpp"
#include "program.hpp"

namespace yolk::hyper::population {

class Run {
   public:
    /// `memory` of host calls may be null.
    /// The dispatcher may be null where nothing runs on a device.
    Run(Dispatcher* dispatcher, HostPool* pool, Program& program, Candidates& candidates, std::uint32_t examples,
        HostMemory* memory = nullptr);
    [[nodiscard]] Result<PopulationOutputs> all();
    /// PopulationEvaluator::evaluate_into, of a program whose means stay.
    [[nodiscard]] Result<PopulationOutputs> all_into(const BufferView& means);

   private:
    /// Phase by phase, the host waiting for the device.
    [[nodiscard]] Result<void> in_turn();
    /// Without a host's part: chunks are prepared and read while the device works on others.
    [[nodiscard]] Result<void> overlapped();

    /// A part of the candidates, on the device or done.
    struct Chunk {
        ChunkPlan* plan = nullptr;
        ChunkPlan::Slot* slot = nullptr;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
        Submission submission{};
        Progress progress{};
    };
    [[nodiscard]] Result<PopulationOutputs> all_chunks();
    [[nodiscard]] Result<void> begin_chunk(std::uint32_t first, std::size_t slot);
    /// By source; nothing where candidates carry none.
    [[nodiscard]] std::vector<BufferView> states_of(const Chunk& chunk) const;
    [[nodiscard]] Result<void> submit(const Phase& phase);
    [[nodiscard]] Result<void> collect(const Chunk& chunk, const Phase& phase);
    /// Of a chunk before the one that is prepared: its outputs as well.
    [[nodiscard]] Result<void> finish(const Chunk& chunk, const Phase& phase);
    void host_phase(const Phase& phase);
    void call_hosts(std::span<const EquationRef> equations);
    void evaluate(const EquationRef& equation);
    void evaluate_on_pool(const EquationRef& ref, const Equation& equation, std::uint32_t examples);
    void host_outputs();
    /// Candidates whose branches and loops would have been errors.
    void judge();

    void fill(const Upload& upload);
    void take(const Chunk& chunk, const Download& download);
    void take_means(const Chunk& chunk);
    /// Of an output, for PopulationOutputs::plain.
    void take_plain(const Chunk& chunk, const Download& download);
    [[nodiscard]] Value output(std::uint32_t group, std::uint32_t m, std::uint32_t e);
    [[nodiscard]] Value operand(std::uint32_t group, const AtomPlace& place, std::uint32_t m, std::uint32_t e);
    void keep(std::uint32_t group, std::size_t equation, std::uint32_t m, std::uint32_t e, std::vector<Value> results);
    void fail(std::uint32_t m, Error error);
    /// For errors: "example 3, candidate 17".
    [[nodiscard]] std::string label_of(std::uint32_t group, std::uint32_t m, std::uint32_t e) const;
    [[nodiscard]] bool failed(std::uint32_t m) const { return result_.errors[chunk_.first + m].has_value(); }
    [[nodiscard]] std::uint32_t examples_of(std::uint32_t group, VariableId variable) const;

    Dispatcher* dispatcher_;
    HostPool* pool_;
    HostMemory* memory_;
    Program& program_;
    Candidates& candidates_;
    PopulationOutputs result_;
    BufferView means_;  ///< where means stay; empty: they come to the host
    Chunk chunk_;
    std::vector<std::vector<std::vector<Value>>> values_;  // by group and variable; [members, examples or 1]
};

}  // namespace yolk::hyper::population
