// SPDX-License-Identifier: Apache-2.0
// Makes a module of a library's pieces: new inputs, new bodies for some of its functions, without what nothing calls
// any more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module_parts.hpp"
#include "yolk/internal/shaders/element_module.hpp"
#include "yolk/result.hpp"

namespace yolk {

using ModuleWords = std::vector<std::uint32_t>;

inline constexpr std::size_t kMostOperands = 3;
inline constexpr std::uint32_t kQuadWords = 4;

void append_instruction(ModuleWords& to, std::uint32_t op, std::span<const std::uint32_t> operands);

/// What of a library bodies refer to. 0 means that it lacks it, which `complete` tells.
struct LibraryIds {
    std::uint32_t main = 0, quotient = 0, in = 0, out = 0, params = 0;
    std::uint32_t word = 0, word_in_function = 0, word_in_params = 0, boolean = 0;
    /// What is loaded at once, a word or four, and pointers to it; `in_pointer` is that of a whole buffer.
    std::uint32_t item = 0, item_in_buffer = 0, item_in_function = 0, in_pointer = 0;
    /// Where inputs are texel buffers: their types, and those of what is read. Else 0.
    std::uint32_t sampled = 0, image = 0, number = 0, four_numbers = 0;

    explicit LibraryIds(const ModuleParts& parts);
    [[nodiscard]] bool is_texels() const { return sampled != 0; }
    [[nodiscard]] bool is_quads() const { return item != word; }
    [[nodiscard]] bool complete() const;

   private:
    void find_texels(const ModuleParts& parts);
};

/// Whether the library has these functions, and the two that no body replaces.
[[nodiscard]] bool can_replace(const ModuleParts& parts, std::span<const char* const> functions);

class ModuleWriter {
   protected:
    ModuleWriter(ModuleParts parts, const LibraryIds& ids);

    [[nodiscard]] const ModuleParts& parts() const { return parts_; }
    [[nodiscard]] const LibraryIds& ids() const { return ids_; }
    [[nodiscard]] std::uint32_t next_id() { return next_++; }
    [[nodiscard]] std::uint32_t input(std::size_t number) const { return inputs_[number]; }

    /// `pointer`: its type, in place of the library's.
    void add_input(std::optional<std::uint32_t> pointer = {});
    /// A pointer to a buffer of words; the libraries of quads have none.
    std::uint32_t single_buffer();
    /// A word that each invocation has for itself.
    [[nodiscard]] std::uint32_t add_private();
    ModuleWords& globals() { return globals_; }
    std::uint32_t constant(std::uint32_t value);

    /// A body for a function; what is written from here on belongs to it, until the next one.
    void begin_body(std::uint32_t function);
    void instruction(std::uint32_t op, std::initializer_list<std::uint32_t> operands);
    /// Its result, a word unless a type is given.
    std::uint32_t operation(std::uint32_t op, std::initializer_list<std::uint32_t> operands,
                            std::optional<std::uint32_t> type = {});
    [[nodiscard]] std::uint32_t local(std::uint32_t pointer_type);
    /// Of the function that the body belongs to.
    [[nodiscard]] std::uint32_t parameter() const;
    std::uint32_t call(std::uint32_t function, std::span<const std::uint32_t> operands);
    /// Calls a function of the library. Error: no function has that name and number of operands.
    Result<std::uint32_t> call_step(const std::string& function, std::span<const std::uint32_t> operands);
    Result<std::uint32_t> param(std::string_view name, std::uint32_t run);
    Result<std::uint32_t> quotient(std::uint32_t element, std::string_view factor, std::string_view shift,
                                   std::uint32_t run);
    /// Where an element of the space is in each run.
    Result<ModuleWords> run_places(std::span<const ElementCode::Run> runs, std::uint32_t element);
    /// Of an input that keeps these runs, from what there is for each run: its place, or what its place grows by.
    Result<std::uint32_t> joined_place(std::span<const std::uint32_t> runs, const ModuleWords& places);
    /// The item that begins with this element.
    std::uint32_t item(std::uint32_t element);
    /// Of an input: an item, or a word where `is_word`, of a buffer of words (single_buffer) or a texel.
    std::uint32_t loaded(std::size_t number, std::uint32_t place, bool is_word);
    void branch(std::uint32_t to);
    void label(std::uint32_t id);

    [[nodiscard]] ModuleWords joined();

   private:
    struct Body {
        ModuleWords words, callees;
        std::array<std::uint32_t, kMostOperands> arguments{};
    };

    std::uint32_t fetch(std::uint32_t buffer, std::uint32_t texel, bool is_word);
    [[nodiscard]] ModuleWords with_body(const ModuleWords& old, const Body& body) const;
    [[nodiscard]] std::set<std::uint32_t> left_out(const std::set<std::uint32_t>& kept) const;
    void decorate_inputs(ModuleWords words, ModuleWords& to) const;
    void add_to_preamble(ModuleWords words, const std::set<std::uint32_t>& gone, ModuleWords& to) const;
    [[nodiscard]] ModuleWords functions_of(const std::set<std::uint32_t>& kept) const;

    ModuleParts parts_;
    LibraryIds ids_;
    std::uint32_t next_;  // id
    ModuleWords annotations_, globals_, inputs_, privates_;
    std::map<std::uint32_t, Body> bodies_;  // by function
    std::uint32_t function_ = 0;            // whose body is written
    std::map<std::uint32_t, std::uint32_t> constants_;
    std::uint32_t single_ = 0, word_in_single_ = 0;
};

}  // namespace yolk
