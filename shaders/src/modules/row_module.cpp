// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/row_module.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "module_writer.hpp"
#include "yolk/internal/abi/row_program.h"

namespace yolk {
namespace {

constexpr std::array kReplaced{"program_begin",  "program_term_0",  "program_term_1", "program_term_2",
                               "program_term_3", "program_end_0",   "program_end_1",  "program_end_2",
                               "program_end_3",  "program_element", "program_result"};
static_assert(abi::row_program::kMostReductions == 4, "the library has a function for each");

class RowWriter : private ModuleWriter {
   public:
    RowWriter(ModuleParts parts, const LibraryIds& ids, const RowCode& code)
        : ModuleWriter(std::move(parts), ids), code_(code), varies_(varies_along_row(code)) {
        find_stages();
    }

    [[nodiscard]] Result<ModuleWords> write() {
        for (const RowCode::Input& input : code_.inputs) {
            const bool has_own_type = ids().is_quads() && !input.varies && !ids().is_texels();
            add_input(has_own_type ? std::optional(single_buffer()) : std::nullopt);
        }
        YOLK_TRY_VOID(write_begin());
        std::uint32_t reduction = 0;
        for (std::size_t s = 0; s < code_.steps.size(); ++s) {
            if (!code_.steps[s].is_reduction) continue;
            YOLK_TRY_VOID(write_value(fmt::format("program_term_{}", reduction), code_.steps[s].operands.front()));
            YOLK_TRY_VOID(write_end(reduction++, first_step() + s));
        }
        const std::size_t last = varies_.size() - 1;
        YOLK_TRY_VOID(write_value(varies_[last] ? "program_element" : "program_result", last));
        YOLK_TRY_VOID(write_main(varies_[last]));
        return joined();
    }

   private:
    [[nodiscard]] std::size_t first_number() const { return code_.inputs.size(); }
    [[nodiscard]] std::size_t first_step() const { return code_.inputs.size() + code_.numbers; }

    /// How many reductions have to be done before a value can be made.
    void find_stages() {
        stages_.assign(first_step(), 0);
        std::uint32_t done = 0;
        for (const RowCode::Step& step : code_.steps) {
            std::uint32_t stage = step.is_reduction ? ++done : 0;
            for (const std::uint32_t operand : step.operands) stage = std::max(stage, stages_.at(operand));
            stages_.push_back(stage);
        }
    }
    std::uint32_t place_in_row(std::uint32_t base, std::size_t number) {
        const std::uint32_t k = k_;
        const std::uint32_t along =
            code_.is_last ? k : operation(spv::OpIMul, {k, operation(spv::OpLoad, {stride_of_.at(number)})});
        return operation(spv::OpIAdd, {base, along});
    }
    /// Of an input that varies: one word, of quads the component at hand.
    std::uint32_t load_element(std::size_t number) {
        const std::uint32_t base = operation(spv::OpLoad, {kept_.at(number)});
        if (!ids().is_quads()) return loaded(number, place_in_row(base, number), true);
        if (!quads_.contains(number)) quads_[number] = loaded(number, item(place_in_row(base, number)), false);
        return operation(spv::OpCompositeExtract, {quads_[number], component_});
    }
    /// Kept for all of the row.
    void keep(std::size_t value, std::uint32_t word) {
        const auto [found, is_new] = kept_.try_emplace(value, 0U);
        if (is_new) found->second = add_private();
        instruction(spv::OpStore, {found->second, word});
        made_[value] = word;
    }
    /// In the body at hand; once.
    Result<std::uint32_t> value(std::size_t number) {
        if (const auto known = made_.find(number); known != made_.end()) return known->second;
        std::uint32_t word = 0;
        if (const auto kept = kept_.find(number); kept != kept_.end() && number >= first_number()) {
            word = operation(spv::OpLoad, {kept->second});
        } else if (number < first_number()) {
            word = varies_[number] ? load_element(number) : operation(spv::OpLoad, {kept_.at(number)});
        } else if (number < first_step()) {
            YOLK_TRY(word, param("numbers", static_cast<std::uint32_t>(number - first_number())));
        } else {
            const RowCode::Step& step = code_.steps[number - first_step()];
            ModuleWords operands;
            for (const std::uint32_t operand : step.operands) {
                YOLK_TRY(const std::uint32_t one, value(operand));
                operands.push_back(one);
            }
            YOLK_TRY(word, call_step(step.function, operands));
        }
        made_[number] = word;
        return word;
    }
    void begin(const std::string& function) {
        begin_body(parts().named(function));
        made_.clear();
        quads_.clear();
    }
    /// Steps with one value for each row, for which exactly this number of reductions comes first.
    Result<void> write_row_steps(std::uint32_t stage) {
        for (std::size_t s = 0; s < code_.steps.size(); ++s) {
            const std::size_t number = first_step() + s;
            if (varies_[number] || code_.steps[s].is_reduction || stages_[number] != stage) continue;
            YOLK_TRY(const std::uint32_t word, value(number));
            keep(number, word);
        }
        instruction(spv::OpReturn, {});
        return {};
    }
    /// Where each input's row begins, or the one word of an input that does not vary along it.
    Result<void> write_begin() {
        begin("program_begin");
        const std::uint32_t element = operation(spv::OpLoad, {parameter()});
        std::vector<ElementCode::Run> runs;
        for (const RowCode::Run& run : code_.runs) runs.push_back(run.of);
        YOLK_TRY(const ModuleWords places, run_places(runs, element));
        ModuleWords strides;
        for (std::uint32_t r = 0; !code_.is_last && r < runs.size(); ++r) {
            strides.push_back(constant(0));
            if (code_.runs[r].has_row) {
                YOLK_TRY(strides.back(), param("row_stride", r));
            }
        }
        for (std::size_t i = 0; i < code_.inputs.size(); ++i) {
            YOLK_TRY(const std::uint32_t place, joined_place(code_.inputs[i].runs, places));
            keep(i, varies_[i] ? place : loaded(i, place, true));
            if (!varies_[i] || code_.is_last) continue;
            YOLK_TRY(const std::uint32_t stride, joined_place(code_.inputs[i].runs, strides));
            stride_of_[i] = add_private();
            instruction(spv::OpStore, {stride_of_[i], stride});
        }
        return write_row_steps(0);
    }
    Result<void> write_end(std::uint32_t reduction, std::size_t number) {
        begin(fmt::format("program_end_{}", reduction));
        keep(number, operation(spv::OpLoad, {parameter()}));
        return write_row_steps(reduction + 1);
    }
    Result<void> write_value(const std::string& function, std::size_t number) {
        begin(function);
        if (function != "program_result") k_ = operation(spv::OpLoad, {parameter()});
        ModuleWords words;
        for (component_ = 0; component_ < (ids().is_quads() && function != "program_result" ? kQuadWords : 1);
             ++component_) {
            std::erase_if(made_, [&](const auto& made) { return varies_[made.first]; });
            YOLK_TRY(const std::uint32_t word, value(number));
            words.push_back(word);
        }
        const std::uint32_t result =
            words.size() == 1
                ? words[0]
                : operation(spv::OpCompositeConstruct, {words[0], words[1], words[2], words[3]}, ids().item);
        instruction(spv::OpReturnValue, {result});
        return {};
    }

    Result<void> write_main(bool writes_elements) {
        begin("main");
        std::vector<std::string> functions{"begin"};
        for (const RowCode::Step& step : code_.steps)
            if (step.is_reduction) functions.push_back(fmt::format("row_{}_{}", step.function, functions.size() - 1));
        functions.emplace_back(writes_elements ? "write_elements" : "write_row");
        for (const std::string& function : functions) YOLK_TRY_VOID(call_step(function, {}));
        instruction(spv::OpReturn, {});
        return {};
    }

    const RowCode& code_;
    std::vector<bool> varies_;
    std::vector<std::uint32_t> stages_;               // by value
    std::map<std::size_t, std::uint32_t> kept_;       // variables, by value; of an input that varies its beginning
    std::map<std::size_t, std::uint32_t> stride_of_;  // variables, by input
    std::map<std::size_t, std::uint32_t> made_;       // in the body at hand, by value
    std::map<std::size_t, std::uint32_t> quads_;      // likewise, of inputs that vary
    std::uint32_t component_ = 0;                     // of a quad, which one is made
    std::uint32_t k_ = 0;                             // which element of the row
};

}  // namespace

std::vector<bool> varies_along_row(const RowCode& code) {
    std::vector<bool> varies;
    for (const RowCode::Input& input : code.inputs) varies.push_back(input.varies);
    varies.resize(varies.size() + code.numbers, false);
    for (const RowCode::Step& step : code.steps) {
        const auto operand_varies = [&](std::uint32_t operand) { return varies.at(operand); };
        varies.push_back(!step.is_reduction && std::ranges::any_of(step.operands, operand_varies));
    }
    return varies;
}

Result<std::vector<std::uint32_t>> make_row_module(std::span<const std::uint32_t> library, const RowCode& code) {
    YOLK_TRY(ModuleParts parts, take_apart(library));
    const LibraryIds ids(parts);
    if (!ids.complete() || !can_replace(parts, kReplaced))
        return bad_input("The module that programs of rows are made of lacks a part.");
    const auto reductions = std::ranges::count(code.steps, true, &RowCode::Step::is_reduction);
    if (ids.is_quads() && !code.is_last)
        return bad_input("A program of rows takes four elements at once only along the last dimension.");
    if (code.inputs.empty() || reductions < 1 || reductions > abi::row_program::kMostReductions)
        return bad_input(
            "A program of rows has {} inputs and {} reductions; at least one of each is needed, at most {} "
            "reductions.",
            code.inputs.size(), reductions, abi::row_program::kMostReductions);
    return RowWriter(std::move(parts), ids, code).write();
}

}  // namespace yolk
