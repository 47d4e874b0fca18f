// SPDX-License-Identifier: Apache-2.0
#include "app.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "output.hpp"
#include "ranks.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::cli {
namespace {

/// Thrown through the parser, from whose callbacks there is no other way out; parse() catches it.
class Moved : public CLI::ParseError {
   public:
    explicit Moved(const std::string& message) : ParseError("Moved", message, CLI::ExitCodes::InvalidError) {}
};

/// "yolk tune table": the program and the subcommands that were named.
std::string called(const CLI::App& app) {
    std::string text = app.get_name();
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
        at = at->get_subcommands().front();
        text += " " + at->get_name();
    }
    return text;
}

/// The commands below `app`, by how they are called, that have this flag.
void find_flag(const CLI::App& app, const std::string& flag, const std::string& call, std::vector<std::string>& found) {
    if (app.get_option_no_throw(flag) != nullptr) found.push_back(call);
    for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
        find_flag(*below, flag, call + " " + below->get_name(), found);
}

/// What was not expected, in the order in which it was given, and which neighbouring commands have the first such flag.
std::string unexpected(const CLI::App& app) {
    constexpr std::size_t kMostNamed = 3;
    std::vector<std::string> rest = app.remaining(true);
    std::ranges::transform(rest, rest.begin(), [](const std::string& each) { return shown(each); });
    std::string text = fmt::format("The following argument{} not expected: {}", rest.size() == 1 ? " was" : "s were",
                                   fmt::join(rest, " "));
    const auto word = std::ranges::find_if(rest, [](const std::string& each) { return each.starts_with("--"); });
    if (word == rest.end() || app.get_subcommands().empty()) return text;
    const std::string flag = word->substr(0, word->find('='));
    const CLI::App& group = *app.get_subcommands().front();
    std::vector<std::string> found;
    find_flag(group, flag, app.get_name() + " " + group.get_name(), found);
    if (!found.empty() && found.size() <= kMostNamed)
        text += fmt::format("; {} is a flag of {}", flag, fmt::join(found, ", "));
    return text;
}

/// By one process of a launcher's. Standard output may be full; whoever ends the command finds out.
int print_help(const CLI::App& app, const CLI::ParseError& error) {
    std::ostringstream text;
    const int code = app.exit(error, text, text);
    if (speaks_for_ranks()) print_text(text.str());
    return code;
}

}  // namespace

Option* Option::type_name(const std::string& name) {
    option_->type_name(name);
    return this;
}
Option* Option::default_str(const std::string& text) {
    option_->default_str(text);
    return this;
}
Option* Option::required() {
    option_->required();
    return this;
}
Option* Option::only(Condition condition) {
    conditions_.push_back(std::move(condition));
    return this;
}
Option* Option::always() {
    conditions_.clear();
    return this;
}
std::size_t Option::count() const noexcept { return option_->count(); }
std::string Option::key() const {
    const std::string& name = option_->get_name();
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}
std::vector<std::string> Option::texts() const { return option_->reduced_results(); }
std::string Option::name() const { return is_negated_ && is_negated_() ? negated_ : option_->get_name(); }

Condition with(const Option* other) {
    return {"goes with " + other->name(), [other] { return other->count() > 0; }};
}
Condition without(const Option* other) {
    return {"goes without " + other->name(), [other] { return other->count() == 0; }};
}

App::App(const std::string& description, const std::string& name)
    : own_(std::make_unique<CLI::App>(description, name)), app_(own_.get()) {
    app_->require_subcommand(0, 1);
}
App::App(CLI::App* app) : app_(app) { app_->require_subcommand(0, 1); }

App* App::add_subcommand(const std::string& name, const std::string& description) {
    subcommands_.push_back(std::unique_ptr<App>(new App(app_->add_subcommand(name, description))));
    return subcommands_.back().get();
}
void App::set_version(const std::string& text) { app_->set_version_flag("--version", text); }
void App::set_footer(const std::string& text) { app_->footer(text); }

Option* App::keep(CLI::Option* option, std::string negated) {
    options_.push_back(std::unique_ptr<Option>(new Option(option, std::move(negated))));
    options_.back()->conditions_ = open_groups_;
    return options_.back().get();
}

Option* App::add_option(const std::string& name, std::string& target, const std::string& help) {
    return keep(app_->add_option(name, target, help));
}
Option* App::add_option(const std::string& name, std::filesystem::path& target, const std::string& help) {
    const auto read = [&target](const std::string& text) -> Result<void> {
        target = text;
        return {};
    };
    return add_value(name, read, help);
}
Option* App::add_list(const std::string& name, std::vector<std::string>& target, const std::string& help) {
    return keep(app_->add_option(name, target, help));
}
Option* App::add_repeatable(const std::string& name, std::vector<std::string>& target, const std::string& help) {
    return keep(app_->add_option(name, target, help)->allow_extra_args(false));
}
Option* App::add_flag(const std::string& name, bool& target, const std::string& help) {
    const std::size_t sign = name.find(",!");
    const std::string negated = sign == std::string::npos ? std::string() : name.substr(sign + 2);
    Option* const option = keep(app_->add_flag(name, target, help), negated);
    if (!negated.empty()) option->is_negated_ = [&target] { return !target; };
    return option;
}
Option* App::add_value(const std::string& name, std::function<Result<void>(const std::string&)> read,
                       const std::string& help) {
    const auto check = [read = std::move(read)](const std::string& text) {
        const Result<void> taken = read(text);
        return taken ? std::string() : taken.error().message;
    };
    return keep(app_->add_option(
                        name, [](const CLI::results_t&) { return true; }, help)
                    ->check(check, "", ""));
}
void App::add_moved(const std::string& name, const std::string& instead) {
    const auto refuse = [name, instead](const CLI::results_t&) -> bool {
        throw Moved(fmt::format("{} is now a command of its own: {}", name, instead));
    };
    constexpr int kAny = 1 << 20;
    app_->add_option(name, refuse)->expected(0, kAny)->group("");  // no group: not in the help
}

void App::group(Condition condition, const std::function<void()>& add) {
    open_groups_.push_back(std::move(condition));
    add();
    open_groups_.pop_back();
}
Option* App::option(const std::string& name) const {
    const auto found =
        std::ranges::find_if(options_, [&](const auto& option) { return option->option_->check_name(name); });
    return found->get();
}
std::vector<const Option*> App::given() const {
    std::vector<const Option*> options;
    for (const auto& option : options_) {
        if (option->count() > 0) options.push_back(option.get());
    }
    return options;
}
std::string App::named() const {
    const std::string all = called(*app_);
    return all.size() > app_->get_name().size() ? all.substr(app_->get_name().size() + 1) : std::string();
}
bool App::parsed() const noexcept { return app_->parsed(); }
Condition App::without_subcommand() const {
    return {"goes after the subcommand, if that takes it", [this] { return app_->get_subcommands().empty(); }};
}

Result<void> App::refuse_without_effect() const {
    for (const auto& option : options_) {
        if (option->count() == 0) continue;
        for (const Condition& condition : option->conditions_) {
            if (!condition.holds()) return bad_input("{} has no effect here: it {}.", option->name(), condition.text);
        }
    }
    for (const auto& subcommand : subcommands_) {
        if (subcommand->parsed()) YOLK_TRY_VOID(subcommand->refuse_without_effect());
    }
    return {};
}

Result<std::optional<int>> App::parse(int argc, const char* const* argv) {
    try {
        app_->parse(argc, argv);
    } catch (const CLI::ExtrasError&) {
        return bad_input("{} (see {} --help)", unexpected(*app_), called(*app_));
    } catch (const CLI::ParseError& error) {
        // Help and version are printed, by one process of a launcher's, and end well; any other outcome of parsing is
        // bad input.
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
            return std::optional<int>(print_help(*app_, error));
        return bad_input("{} (see {} --help)", shown(error.what()), called(*app_));
    }
    if (Result<void> refused = refuse_without_effect(); !refused)
        return bad_input("{} (see {} --help)", refused.error().message, called(*app_));
    return std::optional<int>();
}

}  // namespace yolk::cli
