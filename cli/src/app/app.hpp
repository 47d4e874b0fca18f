// SPDX-License-Identifier: Apache-2.0
// Commands and their flags, over a parser that one file alone knows (app.cpp). A flag is declared with what it goes
// with; one that has no effect on what was asked is refused by its name, in every command, by one function.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "yolk/internal/core/owned.hpp"
#include "yolk/result.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
class Option;
}  // namespace CLI

namespace yolk::cli {

/// When a flag has an effect. `text` ends the sentence "--step has no effect here: it ..."; `holds` is asked after
/// parsing, so it sees what was given.
struct Condition {
    std::string text;
    std::function<bool()> holds;
};

/// A flag or a positional argument; belongs to its App. Each function returns the option itself.
class Option {
   public:
    /// What help calls the value: "FILE".
    Option* type_name(const std::string& name);
    /// What help shows as the default.
    Option* default_str(const std::string& text);
    Option* required();
    /// One more condition that must hold where the flag is given.
    Option* only(Condition condition);
    /// Takes away the conditions of the groups in which it was added.
    Option* always();
    /// How often it was given.
    [[nodiscard]] std::size_t count() const noexcept;
    /// Its first name, without dashes, and what was given: of a switch "true" or "false".
    [[nodiscard]] std::string key() const;
    [[nodiscard]] std::vector<std::string> texts() const;
    /// As it was given: "--no-antithetic", not the name that it negates.
    [[nodiscard]] std::string name() const;

   private:
    friend class App;
    Option(CLI::Option* option, std::string negated) : option_(option), negated_(std::move(negated)) {}

    CLI::Option* option_;
    std::string negated_;                 ///< "--no-antithetic", where there is such a name
    std::function<bool()> is_negated_{};  ///< of a switch with such a name: whether that one was given
    std::vector<Condition> conditions_{};
};

/// "goes with --run". `what`: more words, such as the values that it goes with.
[[nodiscard]] Condition with(const Option* other);
/// "goes without --all".
[[nodiscard]] Condition without(const Option* other);

/// A command: the program itself, or one of its subcommands. Targets of flags must outlive it; a target keeps its value
/// where the flag is not given.
class App {
   public:
    App(const std::string& description, const std::string& name);
    App(const App&) = delete;
    App& operator=(const App&) = delete;

    /// A call names at most one; that it names none is for run_named() to tell: the parser would tell it first, and so
    /// hide what was typed in its place.
    App* add_subcommand(const std::string& name, const std::string& description);
    void set_version(const std::string& text);  ///< of --version
    void set_footer(const std::string& text);

    /// A name without dashes is a positional argument.
    Option* add_option(const std::string& name, std::string& target, const std::string& help);
    Option* add_option(const std::string& name, std::filesystem::path& target, const std::string& help);
    /// Several values after one flag, or several arguments: FILES...
    Option* add_list(const std::string& name, std::vector<std::string>& target, const std::string& help);
    /// One value each time; may be given more than once.
    Option* add_repeatable(const std::string& name, std::vector<std::string>& target, const std::string& help);
    /// A switch: "--name", or "--name,!--no-name" with its opposite.
    Option* add_flag(const std::string& name, bool& target, const std::string& help);
    /// `read` takes the text and keeps the value, or says what is wrong with it.
    Option* add_value(const std::string& name, std::function<Result<void>(const std::string&)> read,
                      const std::string& help);
    /// A flag that another spelling has replaced: refused, whatever follows it, with `instead` as what to type.
    void add_moved(const std::string& name, const std::string& instead);

    /// The options that `add` adds go with `condition`.
    void group(Condition condition, const std::function<void()>& add);
    [[nodiscard]] Option* option(const std::string& name) const;  ///< an option that is there
    [[nodiscard]] std::vector<const Option*> given() const;       ///< those that the call gives
    /// The subcommands that the call named, as "tune table list"; empty where it named none.
    [[nodiscard]] std::string named() const;
    /// Whether the call named this subcommand.
    [[nodiscard]] bool parsed() const noexcept;
    /// Holds where the call named none of this command's subcommands.
    [[nodiscard]] Condition without_subcommand() const;

    /// Nothing: go on. A number: help or version was printed, end with this exit code. Error (BadInput): a mistake in
    /// the call, or a flag that has no effect on it.
    [[nodiscard]] Result<std::optional<int>> parse(int argc, const char* const* argv);

   private:
    explicit App(CLI::App* app);
    Option* keep(CLI::Option* option, std::string negated = {});
    [[nodiscard]] Result<void> refuse_without_effect() const;

    Owned<CLI::App> own_;  ///< of the program alone
    CLI::App* app_;
    std::vector<std::unique_ptr<App>> subcommands_{};
    std::vector<std::unique_ptr<Option>> options_{};
    std::vector<Condition> open_groups_{};
};

}  // namespace yolk::cli
